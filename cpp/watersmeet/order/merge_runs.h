// Sorting what is nearly sorted, and merging sorted runs of results straight into columns.
#pragma once

#include <cstddef>
#include <vector>

#include "watersmeet/order/result.h"

namespace watersmeet {

// A stretch of sorted results.
struct ResultSpan {
  const Result* begin = nullptr;
  const Result* end = nullptr;
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

// Sorts by (timestamp, left row, right row). O(n) for results whose timestamps are in order already.
void sort_results(std::vector<Result>& results);

// Merges sorted spans, a pair at a time; keeps its scratch memory for the next merge.
class RunMerger {
 public:
  // Appends the results of all spans to `out`, in order. Reorders `spans`.
  void merge(std::vector<ResultSpan>& spans, ResultRows& out);

 private:
  std::vector<Result> scratch_[2];
};

}  // namespace watersmeet
