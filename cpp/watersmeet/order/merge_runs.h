// Sorting what is nearly sorted, and merging sorted runs of results straight into columns. For Result, and
// for Combination of 2 to kMostCombined streams.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "watersmeet/order/result.h"

namespace watersmeet {

inline constexpr std::size_t kMostCombined = 8;

// A stretch of sorted results.
template <class AnyResult>
struct ResultSpan {
  const AnyResult* begin = nullptr;
  const AnyResult* end = nullptr;
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};

// Sorts by timestamp, then by rows. O(n) for results whose timestamps are in order already.
template <class AnyResult>
void sort_results(std::vector<AnyResult>& results);

// Merges sorted spans, a pair at a time; keeps its scratch memory for the next merge.
template <class AnyResult>
class RunMerger {
 public:
  // Appends the results of all spans to `out`, in order. Reorders `spans`.
  void merge(std::vector<ResultSpan<AnyResult>>& spans, typename ColumnsOf<AnyResult>::Type& out);

 private:
  std::array<std::vector<AnyResult>, 2> scratch_;
};

}  // namespace watersmeet
