// Which merge serves one probe best, by estimated cost.
//
// Design. A row must stand in `least` of the probe's lists. Whatever `skipped` lists are left out, it must stand in at
// least `least - skipped` of the others: so the longest lists, up to least - 1 of them, need not be read, and the few
// rows that the short ones propose are verified on the sets themselves. Leaving out more lists saves postings and
// costs verifications; the best number is found by trying them all. Where items are popular, bit-sliced bitmaps beat
// both. Estimates follow from the window's content and the request alone, never from what happened before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace watersmeet {

struct MergeChoice {
  bool bitmaps = false;
  // Otherwise: count rows over all lists but this many of the longest.
  std::size_t skipped = 0;
};

// What a probe looks like before any list was cut to its range.
struct MergeEstimate {
  // Expected postings in the range, longest list first.
  std::span<const double> postings;
  double rows = 0;  // of the range
  std::size_t least = 1;
  // The lists popular enough for a bitmap come first; 0 where bit-sliced counters cannot serve.
  std::size_t popular = 0;
  bool bitmaps_allowed = false;
  bool may_skip = false;
};

[[nodiscard]] MergeChoice choose_merge(const MergeEstimate& estimate);

}  // namespace watersmeet
