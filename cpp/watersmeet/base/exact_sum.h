// The sum of doubles as if added without rounding, then rounded once.
//
// Design (Shewchuk): the sum so far is kept as a list of doubles of ascending magnitude that do not overlap; adding
// one more leaves what each addition rounds off in the list. For decisions that must not depend on the order of
// additions; about twenty times as slow as a plain sum.
#pragma once

#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace watersmeet {

class ExactSum {
 public:
  void clear() { parts_.clear(); }

  // Requires: value is finite.
  void add(double value) {
    std::size_t kept = 0;
    for (double part : parts_) {
      if (std::abs(value) < std::abs(part)) std::swap(value, part);
      const double sum = value + part;
      const double lost = part - (sum - value);
      if (lost != 0) parts_[kept++] = lost;
      value = sum;
    }
    parts_.resize(kept);
    parts_.push_back(value);
  }

  [[nodiscard]] double value() const {
    if (parts_.empty()) return 0;
    std::size_t at = parts_.size() - 1;
    double sum = parts_[at];
    double lost = 0;
    while (at > 0 && lost == 0) {
      const double part = parts_[--at];
      const double next = sum + part;
      lost = part - (next - sum);
      sum = next;
    }
    // Half way between two doubles, what is left decides to which side.
    if (at > 0 && ((lost < 0 && parts_[at - 1] < 0) || (lost > 0 && parts_[at - 1] > 0))) {
      const double twice = lost * 2;
      const double next = sum + twice;
      if (twice == next - sum) sum = next;
    }
    return sum;
  }

 private:
  std::vector<double> parts_;
};

}  // namespace watersmeet
