// Runs cycles on slices: the part of a join on slices that knows threads.
//
// Two ways to arrange the slices. A ring ([PSP]): every slice holds a stretch of time of every window,
// messages go from slice to slice. Split (SplitJoin's idea, Najafi et al. 2016): every slice is told of every
// cycle, compares it with its own share of the first window, and follows what that leads to. Departs from
// SplitJoin: in one memory a slice can read the rows of the others, so shares are equal parts of what a row
// may meet, cut anew for every row, instead of rows dealt out in turn; and partial results stay where they
// are made instead of being broadcast.
//
// Invariants
//   (1) After execute() the results are those of all cycles, whatever the threads did; after it throws, what
//   the
//       slices hold is as before.
//   (2) The rows that the slices hold are the rows in the windows: each in one slice.
// Errors     the first exception of a check stops all slices and is thrown again by execute().
// Threads    one caller at a time, whose thread is slice 0's while it waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "watersmeet/slice/cycle.h"
#include "watersmeet/slice/node.h"
#include "watersmeet/slice/prober.h"

namespace watersmeet {

// How a ring changes its length: by moving state at once, or by letting rows move as they age.
enum class Relocation : std::uint8_t { kAggressive, kPassive };

struct SliceStatistics {
  std::vector<std::vector<RowRange>> held;  // per slice, per stream (ring only)
  std::vector<std::uint64_t> compared;      // per slice, so far
  std::uint64_t messages = 0;
  // Rows that crossed each boundary, towards the tail, when a ring was last cut anew at once (SPEC P8); where
  // places left, by places of the longer ring.
  std::vector<std::int64_t> flows;
  Prober::Counts steps = {};
};

// The probers of a runner's slices, which outlive runs and resizes, so that their counts go on.
class Probers {
 public:
  [[nodiscard]] Prober& of(std::size_t slice);
  void add_to(SliceStatistics& statistics, std::size_t slices) const;
  // What the first `slices` of them counted in the last run, by direction; none where rows look at all cells.
  [[nodiscard]] std::vector<DirectionTally> tallies(std::size_t slices) const;

 private:
  std::vector<std::unique_ptr<Prober>> probers_;
};

class Runner {
 public:
  virtual ~Runner() = default;

  // Rows come in a moment, and cycles with them.
  virtual void rouse() = 0;
  // Runs all cycles; `poll` is called now and then, on the caller's thread, and may throw to stop. Results are
  // appended to `results`, by cycle and rows.
  virtual void execute(const Run& run, const std::function<void()>& poll, std::vector<Found>& results) = 0;
  virtual void resize(std::size_t slices, Relocation relocation) = 0;
  [[nodiscard]] virtual std::size_t slices() const = 0;

  // Rows [first, last) of every stream are in the windows: cut them where slices end.
  virtual void place(const std::vector<RowRange>& windows) = 0;
  // To undo several execute(): what the slices hold, and back.
  [[nodiscard]] virtual std::vector<std::vector<RowRange>> held() const = 0;
  virtual void put_back(const std::vector<std::vector<RowRange>>& held) = 0;
  virtual void add_to(SliceStatistics& statistics) const = 0;
  // Of the last run, by direction, where rows look at some cells only.
  [[nodiscard]] virtual std::vector<DirectionTally> tallies() const = 0;
};

[[nodiscard]] std::unique_ptr<Runner> make_ring_runner(const SliceConfig& config);
[[nodiscard]] std::unique_ptr<Runner> make_split_runner(const SliceConfig& config);

// Sorts by cycle, then by rows in the order of streams.
void sort_results(std::vector<Found>& results, std::size_t from, std::size_t streams);

}  // namespace watersmeet
