// A join on slices under a budget: plans, the pace they must keep, what they leave out and what that cost.
//
// Time is the stream's. A budget of so many pairs per second is that of a virtual server: what is compared
// faster than it could is its *lag*. Plans change at the ends of control periods, when the caller's policy
// has looked at what was counted; between them, at the ends of *ticks*, the lag is known anew and bounds what
// the rows of the next tick may compare, so that a surprise does not cost more than some seconds of budget.
// Both lie on a grid of stream time, so nothing depends on batches, slices or threads.
//
// What comes out is counted, what is missed is estimated: a result that a chance visit led to stands for one
// over the product of the probabilities on its way (Horvitz and Thompson), and the variance of their sum is
// estimated stage by stage (Raj 1966): a piece chosen with probability p, whose own estimate is y with
// variance v, adds (1 - p) / p^2 y^2 + v / p. Pieces of different rows are chosen independently.
//
// Invariants
//   (1) due = compared + shed, for every direction.
// Threads    one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "watersmeet/slice/cycle.h"
#include "watersmeet/slice/visits.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

struct SliceSheddingConfig {
  // A cell of each stream's window: a stretch of time, or so many rows where the window counts rows.
  std::vector<std::int64_t> cell_spans;
  std::vector<std::uint32_t> cells;  // of each stream's window
  double units_per_second = std::numeric_limits<double>::infinity();
  double seconds_per_unit = 1e-6;  // of the join's unit of time
  Duration control_span = 1;
  Duration tick_span = 1;
  double room_s = 1;  // how far behind the server may fall before rows look at nothing but samples
  double least_sample_share = 0;
  bool whole_samples = false;
  std::uint64_t seed = 0;
  std::vector<Seq> row_bases;  // numbers that the first rows would have had in a join that saw all rows
};

class SliceShedding {
 public:
  // By direction: own * streams + other.
  using Tallies = std::vector<DirectionTally>;

  // What was counted since the last control time.
  struct Period {
    double begin_s = 0;
    double elapsed_s = 0;
    double lag_s = 0;
    std::uint64_t compared = 0;
    Tallies tallies;
    std::vector<std::uint64_t> results;  // by stream of the row that completed them
    std::vector<std::uint64_t> rows;     // that were processed
  };

  struct Recall {
    double results = 0;
    double missed = 0;
    double variance = 0;
    double variance_squared = 0;  // the squares of what each row added: few that are large say little
    std::uint64_t samples = 0;
    double heaviest = 0;  // what one unseen miss may stand for
    bool shed = false;
  };

  SliceShedding(SliceSheddingConfig config, const SliceConfig& join);

  // Before a row of time `ts`: whether the period ends first, and what it was. The caller then sets plans.
  [[nodiscard]] bool ends_period(Timestamp ts) const { return ts >= period_end_; }
  [[nodiscard]] Period end_period(Timestamp ts);
  void set_plans(std::vector<ProbePlan> plans);  // by direction
  // Whether rows from `ts` on must wait for the results of those before.
  [[nodiscard]] bool ends_tick(Timestamp ts) const { return ts >= tick_end_; }
  void begin_tick(Timestamp ts);

  // Of a run of cycles: which rows they look at, in the order in which they come.
  [[nodiscard]] Visits& begin_run();
  void plan(const Cycle& cycle, Timestamp ts, const SliceStore& store,
            const std::vector<std::vector<std::size_t>>& orderings);
  // After it: what slices counted, and results by cycle and rows.
  void end_run(const Run& run, const Tallies& counted, const std::vector<Found>& results);

  [[nodiscard]] const Tallies& totals() const { return totals_; }
  [[nodiscard]] const Recall& recall() const { return recall_; }
  [[nodiscard]] double lag_s() const { return lag_s_; }
  [[nodiscard]] const std::vector<ProbePlan>& plans() const { return plans_; }

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Share {
    double total = 0;
    double variance = 0;
  };

  [[nodiscard]] std::size_t direction(std::size_t own, std::size_t other) const {
    return own * streams_ + other;
  }
  [[nodiscard]] Tallies nothing() const;
  [[nodiscard]] static Timestamp end_of(Timestamp ts, Duration span);
  void cut(const Cycle& cycle, std::size_t other, Timestamp ts, const SliceStore& store);
  // Has the last cycle visit up to `rows` rows of `other`; returns how many it does.
  std::uint64_t choose(const Cycle& cycle, std::size_t other, double rows);
  void estimate(const Run& run, std::uint32_t cycle, std::vector<const Found*>& results);
  [[nodiscard]] Share estimate_from(const Run& run, std::size_t step, const Found* const* first,
                                    const Found* const* last) const;

  SliceSheddingConfig config_;
  const SliceConfig* join_;
  std::size_t streams_;
  std::vector<ProbePlan> plans_;
  Visits visits_;

  bool started_ = false;  // by the first row that could complete a result
  Timestamp origin_ = 0;
  Timestamp period_begin_ = 0;
  Timestamp period_end_ = kMaxTimestamp;
  Timestamp tick_begin_ = 0;
  Timestamp tick_end_ = kMaxTimestamp;
  double lag_s_ = 0;
  std::uint64_t tick_compared_ = 0;
  double tick_planned_ = 0;
  std::vector<double> further_;        // by stream: pairs that a pair of the first step led to, lately
  std::vector<std::size_t> first_of_;  // by stream: the window that its rows probed first

  Tallies totals_;
  Tallies period_;
  std::vector<std::uint64_t> period_results_;
  std::vector<std::uint64_t> period_rows_;
  Recall recall_;
};

}  // namespace watersmeet
