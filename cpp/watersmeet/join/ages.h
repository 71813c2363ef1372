// How old the rows in results were: a histogram with eight steps per doubling.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "watersmeet/base/types.h"

namespace watersmeet {

class Ages {
 public:
  static constexpr std::size_t kSteps = 8;
  static constexpr std::size_t kBuckets = (64 - 3 + 1) * kSteps;

  void add(Duration age) {
    const auto value = static_cast<std::uint64_t>(age < 0 ? 0 : age);
    ++counts_[bucket(value)];
    largest_ = value > largest_ ? value : largest_;
    ++total_;
  }

  [[nodiscard]] std::uint64_t total() const { return total_; }
  [[nodiscard]] std::uint64_t largest() const { return largest_; }
  // An age that `share` of the rows did not exceed, up to an eighth too large.
  [[nodiscard]] std::uint64_t quantile(double share) const {
    const double wanted = share * static_cast<double>(total_);
    std::uint64_t seen = 0;
    for (std::size_t at = 0; at < kBuckets; ++at) {
      seen += counts_[at];
      if (counts_[at] > 0 && static_cast<double>(seen) >= wanted) {
        const std::uint64_t top = last_of(at);
        return top < largest_ ? top : largest_;
      }
    }
    return largest_;
  }

 private:
  [[nodiscard]] static std::size_t bucket(std::uint64_t value) {
    if (value < kSteps) return static_cast<std::size_t>(value);
    const auto shift = static_cast<std::size_t>(std::bit_width(value)) - 4;
    return (shift + 1) * kSteps + static_cast<std::size_t>((value >> shift) & (kSteps - 1));
  }
  [[nodiscard]] static std::uint64_t last_of(std::size_t at) {
    if (at < kSteps) return at;
    const std::size_t shift = at / kSteps - 1;
    return ((std::uint64_t{kSteps} + at % kSteps) << shift) + ((std::uint64_t{1} << shift) - 1);
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
  std::uint64_t largest_ = 0;
};

}  // namespace watersmeet
