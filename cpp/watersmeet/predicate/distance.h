// Whether two vectors are at most so far apart: exact, fast where the answer is clear.
//
// Sums of bytes and of bits are integers, so their decision is a comparison of integers. Sums of floats and doubles
// are first taken in the plain way, whose error is bounded; only where that comes closer to the threshold than the
// bound are they taken again without rounding (exact_sum.h). So a decision is that of the definition, evaluated in
// doubles with correctly rounded sums, whatever the width of vector instructions and the order of additions.
// Sums that only grow are given up as soon as they are beyond the threshold.
// Cost       O(width) or less; bytes 64 at a time.
// Threads    const; scratch memory is per thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watersmeet/base/types.h"
#include "watersmeet/predicate/term.h"
#include "watersmeet/tuple/column.h"

namespace watersmeet {

class DistanceTest {
 public:
  // Requires: term.kind is kDistance.
  explicit DistanceTest(const Term& term);

  // True if the two rows are at most term.at_most apart. Requires: columns of the term's element and width.
  [[nodiscard]] bool operator()(const VectorColumn& own, Seq own_row, const VectorColumn& other,
                                Seq other_row) const;

 private:
  [[nodiscard]] bool are_near_bytes(const std::uint8_t* own, const std::uint8_t* other, double squares) const;
  template <class Number>
  [[nodiscard]] bool are_near_numbers(const Number* own, const Number* other, double squares) const;
  template <class Number>
  [[nodiscard]] bool decide_exactly(const Number* own, const Number* other, double squares) const;
  // The definition, given the metric's sum.
  [[nodiscard]] bool accepts(double sum, double squares) const;
  void find_largest_sum();

  Metric metric_;
  Element element_;
  std::size_t width_;
  double at_most_;
  // Bytes and words: the largest sum that is near enough; none if `nothing_`.
  std::uint64_t largest_ = 0;
  bool nothing_ = false;
  // Numbers: sums below `surely_` are near, sums above `hardly_` are not; for cosine, of the cosine itself.
  double surely_ = 0;
  double hardly_ = 0;
};

}  // namespace watersmeet
