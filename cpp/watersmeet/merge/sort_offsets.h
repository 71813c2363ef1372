// Sorts distinct offsets below a known bound.
//
// Few are sorted by comparison; where they are dense, marking them in a bitmap and reading it back is linear.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace watersmeet {

class OffsetSorter {
 public:
  // Requires: offsets are distinct and below `bound`.
  void sort(std::vector<std::uint32_t>& offsets, std::size_t bound) {
    const std::size_t words = bound / 64 + 1;
    if (offsets.size() < 16 || offsets.size() * 4 < words) {
      std::sort(offsets.begin(), offsets.end());
      return;
    }
    if (marks_.size() < words) marks_.resize(words);
    for (const std::uint32_t offset : offsets) marks_[offset / 64] |= 1ULL << (offset % 64);
    std::size_t at = 0;
    for (std::size_t word = 0; word < words; ++word) {
      for (std::uint64_t bits = marks_[word]; bits != 0; bits &= bits - 1) {
        offsets[at++] =
            static_cast<std::uint32_t>(word * 64) + static_cast<std::uint32_t>(std::countr_zero(bits));
      }
      marks_[word] = 0;
    }
  }
  [[nodiscard]] std::size_t bytes() const { return marks_.capacity() * sizeof(std::uint64_t); }

 private:
  std::vector<std::uint64_t> marks_;  // all zero between calls
};

}  // namespace watersmeet
