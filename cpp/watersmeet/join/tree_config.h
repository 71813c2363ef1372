// What a join of several streams by a tree of binary joins is told at its birth; all times in the join's own
// unit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "watersmeet/join/config.h"

namespace watersmeet {

// Streams of a join: enough for every tree that can be planned.
inline constexpr std::size_t kMostStreams = 16;

struct TreeStream {
  std::string name;
  std::string time_column;
  // A batch's times count this many of the join's units each.
  std::int64_t time_multiplier = 1;
  // A window of so many rows; without it, a window of the time `window`.
  std::optional<std::uint64_t> window_rows;
  Wide window = 0;
  // The oldest a row may be in a result; without it, as old as the window allows.
  std::optional<Duration> freshness;
};

// What two streams must satisfy: a conjunction whose first term can drive an index; empty where only the
// caller's own predicate (`opaque`) says it.
struct TreePair {
  std::array<std::size_t, kSides> streams = {0, 1};
  std::vector<TermConfig> terms;
  bool opaque = false;
};

// A binary join: inputs below the number of streams are streams, others are that many joins further on.
using TreeInputs = std::array<std::size_t, kSides>;

struct TreeConfig {
  std::vector<TreeStream> streams;
  std::vector<TreePair> pairs;
  // Inputs before the joins that take them; the last one is the root.
  std::vector<TreeInputs> joins;
  // Per join but the root: its output is kept for itself, the last so many combinations, however old their
  // members are within their freshness ([JAQPOT] 2). Empty: combinations live as long as their members'
  // windows.
  std::vector<std::uint64_t> state_rows;
  // One cycle of the budget.
  Duration cycle = 1'000'000;
  // Allowances not used are kept for so many cycles.
  double carried_cycles = 10;
  // Whether the ages of the rows in results are counted.
  bool track_ages = false;
};

}  // namespace watersmeet
