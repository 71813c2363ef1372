// What a join that sheds comparisons is told at its birth, and the plans it is given while it runs.
//
// Paper: [Gedik] IV-V. Streams are numbered 0 and 1; a *direction* is named by the stream whose rows probe. A
// *cell* is a basic window seen from a probe: cell 0 is the newest, still filling.
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
  // A cell of each stream's window: a stretch of time, or so many rows where the window counts rows.
  std::array<Duration, kSides> cell_spans = {1, 1};
  std::array<std::uint32_t, kSides> cells = {1, 1};  // of each stream's window
  std::uint32_t types = 1;                           // of probing rows
  double input_buffer_s = 1;
  double control_period_s = 1;
  // Rows wait until all streams are known to have come as far as the server; otherwise they are processed as
  // they come.
  bool synchronised = true;
  // Results leave by (timestamp, left row, right row), once no earlier one can come.
  bool ordered = false;
  // Probes shrink before the input buffer overflows.
  bool guarded = true;
  // Fewer rows are kept as the input buffer fills, so that chance drops them before an overflow does.
  bool eases_door = false;
  // Cells are chosen per probe, by a score of their content.
  bool scored = false;
  // Samples of what is shed are cells, each for itself; otherwise whole probes, as [Gedik] has it.
  bool samples_cells = true;
  // Of samples where the plan has none: shedding by the guard alone must leave samples too.
  double least_sample_share = 0;
  std::uint64_t seed = 0;

  // Rows are processed in (timestamp, stream) order, since a row-count window is defined by it.
  [[nodiscard]] bool in_time_order() const {
    return streams[0].window_rows.has_value() || streams[1].window_rows.has_value();
  }
};

// How rows of one stream probe the other's window.
struct DirectionPlan {
  std::vector<std::uint32_t> order;  // cells in visiting order; s_i^j, [Gedik] V-A
  std::vector<double> fractions;     // of the window, by type of the probing row; r_{i,z}, [Gedik] V-C
  double sample_share = 0;           // probability that what the plan leaves out is visited all the same
  double keep_share = 1;             // of this stream's arriving rows; the others are dropped (random drop)
  double threshold = 0;  // expected matches per unit of work below which a scored cell is left out
};

}  // namespace watersmeet
