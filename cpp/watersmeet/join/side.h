// One stream's part of a join: its window with an index, the rows that wait before it, its clock and counts.
//
// Invariants
//   (1) row_id(row) is the number under which the window's row was pushed.
//   (2) Nothing that may still come and is not late has a timestamp below watermark; nothing unprocessed is
//   below
//       low(). The watermark of an idle stream follows the others', so it may be ahead of `newest`.
// Threads    one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "watersmeet/index/index.h"
#include "watersmeet/join/absent.h"
#include "watersmeet/join/config.h"
#include "watersmeet/join/stage.h"
#include "watersmeet/join/term_set.h"
#include "watersmeet/order/result.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

struct SideCounts {
  std::uint64_t rows = 0;
  std::uint64_t bad_rows = 0;
  std::uint64_t late_rows = 0;
  std::uint64_t expired_rows = 0;
  std::uint64_t evicted_rows = 0;  // left the window early, for want of memory
  std::uint64_t thinned_rows = 0;  // never taken in, for want of memory; not in `rows`
};

class Side {
 public:
  Side(const StreamConfig& config, const TermSet& terms, bool track_matches);

  [[nodiscard]] RowId row_id(Seq row) const { return dense_ ? row : row_ids_[row]; }
  // No row that is still to be processed is older than this; beyond all timestamps once the stream ended.
  [[nodiscard]] Wide low() const;
  // Whether this stream promises that every row still to come is at `ts` or later (after it, if `beyond`).
  [[nodiscard]] bool complete_to(Timestamp ts, bool beyond) const {
    return ended || (beyond ? watermark > ts : watermark >= ts);
  }

  // Row numbers are no longer the window's own: keep them beside it from now on.
  void stop_being_dense();
  // The window's rows from `first` on got these numbers; call after they were appended.
  void add_row_id(RowId id) {
    if (!dense_) row_ids_.push_back(id);
  }
  [[nodiscard]] bool dense() const { return dense_; }

  // Moves the first waiting row of the stage into the window.
  void admit_waiting(TermSet& terms);
  // Opens the window's new rows, [first, end), to probes.
  void index_from(Seq first);
  // Keeps the window in another kind of index from now on; if building it throws, the old one stays.
  void reindex(IndexKind kind, MergeKind merge, const TermSet& terms);
  // Takes the window's rows from `row` on back; `indexed`: whether index_from() had seen them.
  void take_back(Seq row, bool indexed, TermSet& terms);
  // Forgets rows before `row`, or before the basic window that holds it when expiry is lazy.
  void expire_before(Seq row, TermSet& terms);
  // Forgets rows before `row` although they might still be met, and remembers how many lie when.
  void evict_before(Seq row, TermSet& terms);
  // Drops what only waits to be dropped, and looks for the first row needed at the next call; between changes only.
  void forget_unneeded(TermSet& terms);
  // Gives back memory that stands empty; between changes only.
  void trim();

  // What of bytes() giving up the window's rows does not free.
  [[nodiscard]] std::size_t lasting_bytes() const {
    return stage.bytes() + evicted.bytes() + thinned.bytes();
  }
  // The smallest number of all rows in window and stage, or a smaller one.
  [[nodiscard]] RowId first_needed();
  [[nodiscard]] std::size_t bytes() const;

  void save(ByteWriter& writer, const TermSet& terms) const;
  void load(ByteReader& reader, TermSet& terms);

  const StreamConfig config;
  Window window;
  std::unique_ptr<Index> index;
  Stage stage;
  Timestamp watermark = kMinTimestamp;
  Timestamp newest = kMinTimestamp;  // the largest timestamp or promise so far
  Duration lateness;                 // the bound in force
  bool ended = false;
  bool idle = false;  // holds nobody back until a row or a promise comes
  // Rows before this one have had all their partners; only moved where unmatched rows matter.
  Seq settled = 0;
  SideCounts counts;
  // Rows that are missing from the window for want of memory: evicted from it, or never taken in.
  Absent evicted;
  Absent thinned;

 private:
  void forget_before(Seq row, TermSet& terms);

  SlidingArray<RowId> row_ids_;
  bool dense_;
  RowId needed_ = 0;                   // a lower bound, from the last look
  std::uint64_t expired_at_look_ = 0;  // when the last look was
  bool looks_again_ = false;           // memory is short: a walk is worth its while
};

[[nodiscard]] std::unique_ptr<Index> make_index(const StreamConfig& config, const Window& window,
                                                const TermSet& terms);

}  // namespace watersmeet
