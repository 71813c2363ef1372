// What one input of a join keeps to be probed: the rows of a stream, or the combinations that a join below
// made.
//
// Rows are in the order in which they were processed; a combination belongs where its newest member was. Rows
// of different streams are processed by time, then by stream: that pair is a row's turn. Invariants
//   (1) Turns never decrease.
//   (2) A combination holds no references to interned values: its members' windows hold them, and a
//   combination with
//       a member that is gone is dead, whatever its key says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/index/index.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

// When a row is, or its newest member was, processed among the rows of all streams. Rows with the same turn
// are of one stream, so that the two inputs of a join never share one.
struct Turn {
  Timestamp ts = 0;
  std::size_t stream = 0;

  [[nodiscard]] bool before(const Turn& other) const {
    return ts < other.ts || (ts == other.ts && stream < other.stream);
  }
};

struct TreeState {
  // Timestamps of the newest members; column 0 drives the join above.
  Window window;
  std::unique_ptr<Index> index;
  // Rows of a stream from here on wait; a combination never does.
  Seq processed = 0;
  // The streams of a row's members, and per stream the members' row numbers. A stream's own rows need none.
  std::vector<std::size_t> streams;
  std::vector<SlidingArray<Seq>> members;
  // The stream of each combination's newest member.
  SlidingArray<std::uint8_t> newest;
  // Of combinations that are kept for themselves: how many.
  std::optional<std::uint64_t> window_rows;
  // Rows from here to `processed` belong to the slice being processed.
  Seq slice = 0;

  [[nodiscard]] bool is_stream() const { return members.empty(); }
  [[nodiscard]] std::size_t newest_stream(Seq row) const { return is_stream() ? streams[0] : newest[row]; }
  [[nodiscard]] Turn turn(Seq row) const { return {window.timestamps[row], newest_stream(row)}; }
  [[nodiscard]] Seq member(std::size_t at, Seq row) const { return is_stream() ? row : members[at][row]; }

  void drop_before(Seq row) {
    index->expire_before(row);
    window.drop_before(row);
    for (auto& each : members) each.drop_front_to(row);
    if (!is_stream()) newest.drop_front_to(row);
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = window.bytes() + index->bytes() + newest.bytes();
    for (const auto& each : members) total += each.bytes();
    return total;
  }
};

}  // namespace watersmeet
