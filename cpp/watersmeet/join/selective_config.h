// What a join that sheds comparisons is told at its birth, and the plans it is given while it runs.
//
// Paper: [Gedik] IV-V. Streams are numbered 0 and 1; a *direction* is named by the stream whose rows probe. A *cell*
// is a basic window seen from a probe: cell 0 is the newest, still filling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "watersmeet/index/index.h"
#include "watersmeet/join/config.h"

namespace watersmeet {

// What each kind of work costs the server, in units.
struct WorkCosts {
  double comparison = 1;
  double posting = 1;
  double lookup = 1;
  double score = 1;

  [[nodiscard]] double of(const Work& work) const {
    return comparison * static_cast<double>(work.comparisons) + posting * static_cast<double>(work.postings) +
           lookup * static_cast<double>(work.lookups);
  }
};

struct SelectiveConfig {
  std::vector<TermConfig> terms;
  std::array<StreamConfig, kSides> streams;
  // lower <= right timestamp - left timestamp <= upper.
  Wide lower = 0;
  Wide upper = 0;
  double seconds_per_tick = 1e-6;  // of the join's unit of time
  double units_per_second = std::numeric_limits<double>::infinity();
  WorkCosts costs;
  Duration basic_span = 1;
  std::array<std::uint32_t, kSides> cells = {1, 1};  // of each stream's window
  std::uint32_t types = 1;                           // of probing rows
  double input_buffer_s = 1;
  double control_period_s = 1;
  // Rows wait until all streams are known to have come as far as the server; otherwise they are processed as they come.
  bool synchronised = true;
  // Probes shrink before the input buffer overflows.
  bool guarded = true;
  // Cells are chosen per probe, by a score of their content.
  bool scored = false;
  // Of full probes before the first plan: shedding by the guard alone must leave samples too.
  double first_full_probe_share = 0;
  std::uint64_t seed = 0;
};

// How rows of one stream probe the other's window.
struct DirectionPlan {
  std::vector<std::uint32_t> order;  // cells in visiting order; s_i^j, [Gedik] V-A
  std::vector<double> fractions;     // of the window, by type of the probing row; r_{i,z}, [Gedik] V-C
  double full_probe_share = 0;       // probability that a probe visits everything
  double keep_share = 1;             // of this stream's arriving rows; the others are dropped (random drop)
  double threshold = 0;              // expected matches per unit of work below which a scored cell is left out
};

}  // namespace watersmeet
