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
  std::vector<std::uint64_t> full_comparisons;  // the same of samples alone: full probes, or sampled cells
  std::vector<std::uint64_t> full_matches;
};

// Levels of expected matches per unit of work, 32 to an octave, from 2^-40 to 1 and above.
inline constexpr std::size_t kLevelsPerOctave = 32;
inline constexpr std::size_t kLevels = 40 * kLevelsPerOctave;

// What the plans of one direction left out. A probe that leaves something out is *incomplete*. A *unit* is
// what may become a sample: some rows of a cell that a plan leaves out, or an incomplete probe as a whole.
struct SampleCounts {
  std::vector<double> known;   // per sample: what was known of it beforehand
  std::vector<double> missed;  // per sample: matches that would have been missed
  std::vector<double> shares;  // per sample: the probability with which it was chosen
  double others = 0;           // units that were not sampled
  double others_known = 0;     // what was known of these
  double not_asked = 0;        // of the others, those that could not become samples
};

// One direction since the controllers last looked.
struct DirectionPeriod {
  CellTally tally;
  SampleCounts samples;
  std::vector<double> level_costs;  // units that the scored cells would have cost, by level of score
  std::uint64_t probes = 0;
  std::uint64_t arrived = 0;  // rows of the probing stream
  std::uint64_t dropped = 0;
};

struct Period {
  std::array<DirectionPeriod, kSides> directions;
  double begin_s = 0;  // seconds since the first arrival
  double elapsed_s = 0;
  double busy_s = 0;         // of the server
  double units = 0;          // of work
  double score_units = 0;    // of these, for scoring cells
  double planned_units = 0;  // what the scored cells that were visited should have cost
  double used_s = 0;         // of the server's room, at the end: how long the first in the queue has waited
  double stretch = 1;        // that room, in input buffers: more than one where rows are rare
};

}  // namespace watersmeet
