// What a selective join counts: for its user since the beginning, for its controllers since their last look.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "watersmeet/join/config.h"

namespace watersmeet {

// Pairs by type of the probing row and cell of the probed window, row by row of a types x cells table.
struct CellTally {
  CellTally() = default;
  explicit CellTally(std::size_t size)
      : due(size), comparisons(size), matches(size), full_comparisons(size), full_matches(size) {}

  std::vector<std::uint64_t> due;          // asked for by the full answer
  std::vector<std::uint64_t> comparisons;  // decided
  std::vector<std::uint64_t> matches;
  std::vector<std::uint64_t> full_comparisons;  // the same of full probes alone
  std::vector<std::uint64_t> full_matches;
};

// Levels of expected matches per unit of work, 32 to an octave, from 2^-40 to 1 and above.
inline constexpr std::size_t kLevelsPerOctave = 32;
inline constexpr std::size_t kLevels = 40 * kLevelsPerOctave;

// One direction since the controllers last looked.
struct DirectionPeriod {
  CellTally tally;
  std::vector<double> missed;        // per full probe: matches that its plan would have missed
  std::vector<double> planned;       // per full probe: matches that its plan would have found
  std::vector<double> predicted;     // per full probe: the same as the scores had it; 0 without scores
  double predicted_missed = 0;       // by all other probes, as the scores have it
  std::vector<double> level_costs;   // units that the scored cells would have cost, by level of score
  std::uint64_t probes = 0;
  std::uint64_t tossed = 0;   // of these, probes that could have become full ones
  std::uint64_t arrived = 0;  // rows of the probing stream
  std::uint64_t dropped = 0;
};

struct Period {
  std::array<DirectionPeriod, kSides> directions;
  double begin_s = 0;   // seconds since the first arrival
  double elapsed_s = 0;
  double busy_s = 0;    // of the server
  double units = 0;     // of work
  double score_units = 0;    // of these, for scoring cells
  double planned_units = 0;  // what the scored cells that were visited should have cost
  double waited_s = 0;  // how long the row at the head of the queue has waited
};

}  // namespace watersmeet
