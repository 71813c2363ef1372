// One stream of a tree of joins: its rows, processed or waiting, with the columns of every pair it belongs
// to.
//
// Rows that wait for other streams are in the window already, beyond the processed ones: probes never reach
// them. Invariants
//   (1) The columns of every pair hold the same rows as the window.
//   (2) Nothing that may still come has a timestamp below watermark.
// Threads    one writer.
#pragma once

#include <cstddef>
#include <vector>

#include "watersmeet/join/term_set.h"
#include "watersmeet/join/tree_config.h"
#include "watersmeet/join/tree_state.h"

namespace watersmeet {

inline constexpr std::size_t kNoPair = SIZE_MAX;

class Leaf {
 public:
  Leaf(const TreeConfig& config, std::size_t stream, std::vector<TermSet>& pairs);

  // Takes a batch in: an Arrow struct of the time column and then each pair's columns. Throws SchemaError or
  // OrderError; take_back() then undoes what was done by then.
  void append(const ArrowSchema& schema, const ArrowArray& array);
  // Takes rows from `end` on back, of which those from `processed` on were processed.
  void take_back(Seq end, Seq processed);
  void drop_before(Seq row);
  // Loading throws SnapshotError for rows that no leaf could have held.
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

  // Moves the columns of `pair` to where the window's index reads them, and makes that index anew.
  void drive_by(std::size_t pair, const TreeConfig& config);
  [[nodiscard]] const std::vector<Column>& columns(std::size_t pair) const {
    return pair == driver_ ? state.window.columns : others_[pair];
  }

  // The timestamp of the next row to be processed; none if no row waits.
  [[nodiscard]] bool has_waiting() const { return state.processed < state.window.end(); }
  [[nodiscard]] Timestamp next_ts() const { return state.window.timestamps[state.processed]; }
  // No row still to be processed is older than this; beyond all timestamps once the stream ended.
  [[nodiscard]] Wide low() const {
    if (has_waiting()) return Wide{next_ts()};
    return ended ? Wide{kMaxTimestamp} + 1 : Wide{watermark};
  }
  [[nodiscard]] std::size_t bytes() const;

  const TreeStream config;
  TreeState state;
  Timestamp watermark = kMinTimestamp;
  bool ended = false;

 private:
  [[nodiscard]] std::vector<Column>& columns_of(std::size_t pair) {
    return pair == driver_ ? state.window.columns : others_[pair];
  }
  [[nodiscard]] bool belongs(std::size_t pair) const { return sides_[pair] < kSides; }

  std::vector<TermSet>* pairs_;
  std::vector<std::size_t> sides_;  // per pair: this stream's side, or kSides
  std::size_t driver_ = kNoPair;
  std::vector<std::vector<Column>> others_;
};

// An index for the rows of `window` by the first term, or none of them.
[[nodiscard]] std::unique_ptr<Index> make_tree_index(const Window& window, const Term* term);

}  // namespace watersmeet
