// Results kept back until no earlier one can come, released by (timestamp, rows by stream).
//
// Paper: [Hammad] Filter-Order's output heap. Departs from [Hammad]: the min-heap holds sorted runs instead
// of single results, and results that follow a run's last one are appended to it. A stream's new rows come in
// time order, so their results make one run per stream for as long as the join lives, and a release is a
// merge of a few runs instead of a heap operation per result.
// Invariants
//   (1) Each run is sorted and not empty; the heap's top is the run whose first result is the smallest of
//   all. (2) size() counts what was added and not released; bytes() what all runs have reserved.
// Cost       add O(n) if timestamps come in order, else O(n log n); release O(runs touched * log runs + n log
//            of them).
// Threads    one caller at a time.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "watersmeet/order/merge_runs.h"
#include "watersmeet/order/result.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

// For Result, and for Combination of 2 to kMostCombined streams.
template <class AnyResult>
class HoldBufferOf {
 public:
  using Columns = typename ColumnsOf<AnyResult>::Type;

  // Takes the results over, in any order; leaves `results` empty, with memory that may be reused.
  void add(std::vector<AnyResult>& results);
  // Appends to `out`, in order, all results with a timestamp below `bound`.
  void release_before(Timestamp bound, Columns& out) { pass({}, bound, out); }
  // The same for all of them.
  void release_all(Columns& out);
  // As if all of `fresh` were added first, but what leaves at once is not stored.
  void pass(std::span<std::vector<AnyResult>* const> fresh, Timestamp bound, Columns& out);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] std::size_t runs() const { return heap_.size(); }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // The smallest row of a stream in all results held; kNoRow if there is none. O(size).
  [[nodiscard]] RowId first_row(std::size_t stream) const;
  // Whether a result of these rows is held. O(size).
  [[nodiscard]] bool holds(const std::array<RowId, AnyResult::kStreams>& rows) const;

  // Gives back what is reserved beyond the results held.
  void trim();

  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Run {
    std::vector<AnyResult> results;
    std::size_t next = 0;
    [[nodiscard]] const AnyResult& front() const { return results[next]; }
    [[nodiscard]] const AnyResult& back() const { return results.back(); }
  };
  struct Later;
  // A run that ends where these results begin, or before, the nearest of the recent ones; null if none does.
  [[nodiscard]] Run* run_before(const AnyResult& first);
  void append(Run& run, const std::vector<AnyResult>& results);
  void start_run(std::vector<AnyResult>& results);
  void add_sorted(std::vector<AnyResult>& results);
  template <class Stop>
  void take_spans(Stop stop);
  void put_back();
  void retire(std::size_t slot);

  std::vector<Run> runs_;  // slots; those not in heap_ are free and listed in free_
  std::vector<std::size_t> free_;
  std::vector<std::size_t> heap_;    // slots, a binary min-heap by front()
  std::vector<std::size_t> recent_;  // slots to which results were added last, the latest at the back
  std::size_t size_ = 0;
  std::size_t bytes_ = 0;
  // While releasing.
  std::vector<std::size_t> touched_;
  std::vector<ResultSpan<AnyResult>> spans_;
  RunMerger<AnyResult> merger_;
};

using HoldBuffer = HoldBufferOf<Result>;

}  // namespace watersmeet
