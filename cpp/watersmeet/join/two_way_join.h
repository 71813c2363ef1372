// The exact windowed join of two streams: every change is a transaction that can be undone.
//
// A change (a batch, a promise, the end) goes through three steps. begin_*() takes rows in, up to where they
// may be processed now, and computes the range of the other window that each may meet. probe() finds
// candidates, a block at a time, and accept() takes those that are results. commit() makes the change final,
// expires what no row to come can meet and releases results; roll_back() leaves the join as it was before
// begin_*().
//
// Paper: [Gedik] Fig. 3 (insert, expire, probe), with two-sided windows ([Hammad], SPEC H5), so that streams
// may run ahead of one another. Rows are processed as they come; in (timestamp, stream, arrival) order where
// a row-count window or Sync-Filter asks for it. Invariants
//   (1) Each pair is found once, by the member that is processed later.
//   (2) A row leaves its window only when no row still to come can meet it.
//   (3) Between commits, results and counters are those of whole changes.
//   (4) Rows given up early, by evict(), stay due: per direction, due = done + lost.
// Threads    one caller at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "watersmeet/base/errors.h"
#include "watersmeet/join/bounds.h"
#include "watersmeet/join/config.h"
#include "watersmeet/join/match_ages.h"
#include "watersmeet/join/shared_probes.h"
#include "watersmeet/join/side.h"
#include "watersmeet/join/term_set.h"
#include "watersmeet/order/hold_buffer.h"
#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet {

// The work of one direction: new rows of a stream in the other's window.
struct DirectionCounts {
  Work work;
  std::uint64_t due = 0;   // pairs within the window's bounds
  std::uint64_t done = 0;  // of these, decided
  std::uint64_t lost = 0;  // of these, with rows given up for want of memory
};

// What a change gives back: results as parallel columns of row numbers, and the numbers of late rows.
struct Released : ResultRows {
  std::vector<RowId> late;
};

class TwoWayJoin {
 public:
  explicit TwoWayJoin(JoinConfig config);

  // The batch: an Arrow struct of the time column and then the columns of each term. Throws SchemaError or
  // OrderError, having changed nothing.
  void begin_push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array);
  // Nothing of `stream` older than `to` will come.
  void begin_advance(std::size_t stream, Timestamp to);
  // Nothing will come any more.
  void begin_finish();
  // The same for one stream; the other goes on.
  void begin_end(std::size_t stream);
  // Nothing came, but settings may have changed: gives what they release.
  void begin_poll();

  // True while there are rows of the change that have not looked for partners.
  [[nodiscard]] bool probing() const { return phase_ < kSides; }
  // Finds candidates: pairs that satisfy all terms, one direction at a time, about `max_pairs` at most.
  // Replaces `found`; own rows are those of stream probing_stream() as it was before the call.
  void probe(std::size_t max_pairs, std::uint64_t max_work, Pairs& found);
  [[nodiscard]] std::size_t probing_stream() const { return phase_; }
  // Adds results of the change: rows of `found`, as probe() gave them, all or some. Their memory may be
  // exchanged.
  void accept(std::size_t own_stream, Pairs& found);

  // The results so far of a change, where nothing holds them back: inner joins without an order.
  [[nodiscard]] const ResultRows& plain_results() const { return plain_; }

  // Copies both columns of them, on all lanes where that pays.
  void copy_plain_results(std::byte* left, std::byte* right);

  // Adds what the change releases to `out`.
  void commit(Released& out);
  void roll_back();

  // The numbers under which these rows of `stream`'s window were pushed.
  void row_ids(std::size_t stream, const UninitializedVector<Seq>& rows, RowId* out) const;

  // Keeps a stream's window in another kind of index; between changes only. Answers stay what they are.
  void reindex(std::size_t stream, IndexKind kind, MergeKind merge) {
    sides_[stream]->reindex(kind, merge, terms_);
  }

  // Keeps the newest `rows` of a stream's window and gives the others up, though rows to come might meet them; between
  // changes only. Pairs with them are counted as lost.
  void evict(std::size_t stream, std::size_t rows);
  // So many rows of the last batch of `stream`, of times within [first, last], were not pushed; `kept` of it were.
  void note_thinned(std::size_t stream, std::uint64_t rows, std::uint64_t kept, Timestamp first,
                    Timestamp last);
  // Measures at which age rows match from the next change on.
  void measure_ages() { measures_ages_ = true; }
  [[nodiscard]] const MatchAges& ages(std::size_t stream) const { return ages_[stream]; }
  // Drops what only waits to be dropped; between changes only.
  void forget_unneeded();
  // Gives back memory that stands empty; between changes only. The join's state stays what it is.
  void trim();
  // What of bytes() no eviction frees: results held and found, and rows that wait for their turn.
  [[nodiscard]] std::size_t waiting_bytes() const;

  // Process rows in order across streams from the next change on, or as they come.
  void set_synchronised(bool synchronised) { synchronised_ = synchronised || config_.has_count_window(); }
  [[nodiscard]] bool synchronised() const { return synchronised_; }

  // Rows of `stream`, which was given a lateness, may be out of order by so much from the next change on.
  // What is late, or has left the reorder buffer, stays so.
  void set_lateness(std::size_t stream, Duration lateness) { sides_[stream]->lateness = lateness; }
  // An idle stream's watermark follows the others' from the next change on, until it brings a row in time or
  // a promise. When all streams are idle, everything that has come is complete.
  void set_idle(std::size_t stream, bool idle) { sides_[stream]->idle = idle; }

  [[nodiscard]] const JoinConfig& config() const { return config_; }
  [[nodiscard]] const Side& side(std::size_t stream) const { return *sides_[stream]; }
  [[nodiscard]] const DirectionCounts& direction(std::size_t stream) const { return directions_[stream]; }
  [[nodiscard]] std::uint64_t results() const { return results_; }
  [[nodiscard]] std::size_t held() const { return hold_.size() + timeless_.size(); }
  [[nodiscard]] std::size_t held_bytes() const {
    return hold_.bytes() + timeless_.capacity() * sizeof(Result);
  }
  // Whether this pair was found and is kept back for its order.
  [[nodiscard]] bool holds(RowId left, RowId right) const { return hold_.holds({left, right}); }
  [[nodiscard]] std::size_t bytes() const;
  [[nodiscard]] RowId first_needed(std::size_t stream);

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  // The rows of a change, per stream: those of the window from `first` on, with the ranges they may meet.
  struct Fresh {
    Seq first = 0;
    bool indexed = false;
    std::vector<Seq> visible;  // other rows processed before each; empty: all that there are
    UninitializedVector<Seq> lo;
    UninitializedVector<Seq> hi;
    std::uint64_t due = 0;
    std::size_t probed = 0;
  };

  // Where things stood when the change began.
  struct Before {
    Timestamp watermark = 0;
    Timestamp newest = 0;
    bool ended = false;
    bool idle = false;
    SideCounts counts;
    DirectionCounts direction;
    MatchAges ages;
  };

  void begin();
  template <class Change>
  void change(Change apply);
  void take_batch(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array);
  [[nodiscard]] bool goes_straight(const Side& side, const ArrowView& times) const;
  void take_straight(std::size_t stream, const ArrowView& times, const std::vector<ArrowView>& views);
  void take_staged(std::size_t stream, const ArrowView& times, const std::vector<ArrowView>& views);

  void move_watermarks();
  void admit_all();
  void admit_in_order();
  void admit_own(std::size_t stream);
  void admit_next(std::size_t stream);
  void prepare_probes();
  void index_now();
  void find_ranges(std::size_t stream);
  [[nodiscard]] Wide age_span(std::size_t window) const;
  [[nodiscard]] std::uint64_t absent_for(std::size_t stream, Timestamp ts, Seq visible) const;
  [[nodiscard]] std::uint64_t absent_for_change(std::size_t stream) const;
  [[nodiscard]] double due_between(std::size_t stream, Timestamp first, Timestamp last) const;
  void sample_probes(std::size_t stream);
  void sample_results(std::size_t own_stream, const Pairs& found);
  void drop_absent(std::size_t stream);
  [[nodiscard]] std::uint64_t find_ranges(std::size_t stream, std::size_t from, std::size_t to);
  [[nodiscard]] std::size_t serve(const ProbeRun& run, Pairs& found);
  void verify(std::size_t stream, Pairs& found, Work& work) const;
  [[noreturn]] void explain(std::size_t stream, const PairError& error) const;
  void next_phase();

  [[nodiscard]] bool plain() const { return config_.how == How::kInner && config_.order == Order::kNone; }
  void accept_plain(std::size_t own_stream, Pairs& found);
  void accept_in_step(std::size_t own_stream, const Pairs& found);
  void mark_matches();
  void settle(std::size_t stream);
  void emit_alone(std::size_t stream, Timestamp ts, RowId id);
  void emit_bad_rows();
  [[nodiscard]] Seq first_alive(std::size_t stream) const;
  [[nodiscard]] Wide release_bound() const;
  void release(Released& out);
  void look_for_needed(std::size_t stream);
  [[nodiscard]] std::size_t scratch_bytes() const;

  JoinConfig config_;
  Bounds bounds_;
  TermSet terms_;
  std::array<std::unique_ptr<Side>, kSides> sides_;
  std::array<DirectionCounts, kSides> directions_;
  std::unique_ptr<SharedProbes> shared_;  // null: one lane
  HoldBuffer hold_;
  std::vector<Result> timeless_;  // unmatched bad rows, held to the end where results are ordered
  std::uint64_t results_ = 0;
  bool synchronised_;
  std::array<RowId, kSides> needed_ = {};  // lower bounds of what held results need, from the last look
  std::array<std::uint64_t, kSides> results_at_look_ = {};
  std::array<MatchAges, kSides> ages_;
  bool measures_ages_ = false;

  // The change under way.
  std::array<Before, kSides> before_;
  std::array<Fresh, kSides> fresh_;
  std::size_t phase_ = kSides;  // the stream whose rows probe; kSides: none
  std::size_t unindexed_ =
      kSides;                  // the stream whose rows have yet to enter their index, beside their probes
  Released plain_;             // its results, where neither order nor outer rows matter
  std::vector<Result> found_;  // its results otherwise
  std::array<std::vector<Result>, kSides>
      in_step_;                                   // of ordered results, those at the own row's time, by time
  std::array<std::vector<Seq>, kSides> matched_;  // rows in results, where unmatched ones matter
  std::array<std::uint64_t, kSides> last_due_ = {};  // of the last change
  std::vector<RowId> bad_;
  std::size_t bad_stream_ = 0;
};

}  // namespace watersmeet
