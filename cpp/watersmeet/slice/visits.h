// Which rows of the other windows each row of a run looks at, where a join sheds: some cells, by age.
//
// A cell is a stretch of a window as seen from the row that probes it: cell 0 holds the newest rows. What a
// row visits follows from its number, its time and the plans alone, so all slices agree on it without a word,
// whichever of them hold the rows. What a plan leaves out of a cell (a *piece*) is visited all the same with
// a known probability, by a coin that is a function of the rows involved.
// Invariants
//   (1) The cells of a window divide what the row may meet; the visited part of each is one stretch.
// Threads    one writer before the run; any readers during it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "watersmeet/base/types.h"

namespace watersmeet {

struct Found;

// How rows of one stream probe another's window.
struct ProbePlan {
  std::vector<std::uint32_t> order;  // cells in visiting order
  double fraction = 1;               // of the window's rows
  double sample_share = 0;           // probability with which a piece is visited all the same
};

// Rows [lo, hi) of a cell, of which the plan visits [first, last).
struct CellVisit {
  Seq lo = 0;
  Seq hi = 0;
  Seq first = 0;
  Seq last = 0;
  [[nodiscard]] std::uint64_t size() const { return hi - lo; }
  [[nodiscard]] std::uint64_t left_out() const { return size() - (last - first); }
  [[nodiscard]] bool visits(Seq row) const { return first <= row && row < last; }
};

// Pairs of one direction by cell: which the windows ask for, which were decided, how many of those matched;
// and the same of samples.
struct DirectionTally {
  std::vector<std::uint64_t> due, compared, matches, sample_compared, sample_matches;
  std::uint64_t shed = 0;
  std::uint64_t samples = 0;  // pieces visited by chance

  void reset(std::size_t cells);
  void add(const DirectionTally& more);
};

class Visits {
 public:
  // `cells` of each stream's window. With `whole_samples` one coin decides for all pieces of a probe.
  void reset(const std::vector<std::uint32_t>& cells, bool whole_samples, std::uint64_t seed,
             const std::vector<Seq>& row_bases);
  // The next cycle's; all that it may meet is left out until it is said otherwise.
  void add_cycle();
  [[nodiscard]] std::size_t cycles() const { return shares_.size() / streams(); }
  [[nodiscard]] std::size_t streams() const { return starts_.size() - 1; }
  [[nodiscard]] std::size_t cells(std::size_t stream) const { return starts_[stream + 1] - starts_[stream]; }

  // The cells of `other`, newest first, as a cycle sees them.
  [[nodiscard]] std::span<CellVisit> of(std::size_t cycle, std::size_t other) {
    return {visits_.data() + cycle * starts_.back() + starts_[other], cells(other)};
  }
  [[nodiscard]] std::span<const CellVisit> of(std::size_t cycle, std::size_t other) const {
    return {visits_.data() + cycle * starts_.back() + starts_[other], cells(other)};
  }
  [[nodiscard]] double share(std::size_t cycle, std::size_t other) const {
    return shares_[cycle * streams() + other];
  }
  void set_share(std::size_t cycle, std::size_t other, double share) {
    shares_[cycle * streams() + other] = share;
  }

  // The cell that holds a row. Requires: one does.
  [[nodiscard]] std::size_t cell_of(std::size_t cycle, std::size_t other, Seq row) const;
  // Whether `partial` visits the piece of a cell by chance.
  [[nodiscard]] bool samples(const Found& partial, std::size_t other, std::size_t cell) const;
  [[nodiscard]] bool whole_samples() const { return whole_samples_; }

 private:
  std::vector<std::size_t> starts_ = {0};  // of each stream's cells among those of a cycle
  std::vector<CellVisit> visits_;
  std::vector<double> shares_;
  std::vector<Seq> row_bases_;
  bool whole_samples_ = false;
  std::uint64_t seed_ = 0;
};

}  // namespace watersmeet
