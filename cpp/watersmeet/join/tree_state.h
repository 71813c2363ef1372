// What one input of a join keeps to be probed: the rows of a stream, or the combinations that a join below made.
//
// Rows are in the order in which they were processed; a combination belongs where its newest member was. A tick is
// that place among the rows of all streams, so "processed before" is a comparison of ticks.
// Invariants
//   (1) Ticks never decrease; those of a stream's rows increase.
//   (2) A combination holds no references to interned values: its members' windows hold them, and a combination with
//       a member that is gone is dead, whatever its key says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/index/index.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

using Tick = std::uint64_t;

struct TreeState {
  // Timestamps of the newest members; column 0 drives the join above.
  Window window;
  std::unique_ptr<Index> index;
  // One per processed row; rows of a stream that wait have none yet.
  SlidingArray<Tick> ticks;
  // The streams of a row's members, and per stream the members' row numbers. A stream's own rows need none.
  std::vector<std::size_t> streams;
  std::vector<SlidingArray<Seq>> members;
  // Rows from here to processed() belong to the slice being processed.
  Seq slice = 0;

  [[nodiscard]] bool is_stream() const { return members.empty(); }
  [[nodiscard]] Seq processed() const { return ticks.end(); }
  [[nodiscard]] Seq member(std::size_t at, Seq row) const { return is_stream() ? row : members[at][row]; }

  void drop_before(Seq row) {
    index->expire_before(row);
    window.drop_before(row);
    ticks.drop_front_to(row);
    for (auto& each : members) each.drop_front_to(row);
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t total = window.bytes() + index->bytes() + ticks.bytes();
    for (const auto& each : members) total += each.bytes();
    return total;
  }
};

}  // namespace watersmeet
