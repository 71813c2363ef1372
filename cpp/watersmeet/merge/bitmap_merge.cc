// Vertical bitmaps: popular lists are added 512 rows at a time, the others bit by bit, strip by strip, so that
// the counters of a strip stay in the first-level cache.

#include <algorithm>
#include <bit>
#include <memory>
#include <vector>

#include "watersmeet/merge/bit_slices.h"
#include "watersmeet/merge/merge.h"

namespace watersmeet {
namespace {

// std::popcount is a call into the compiler's library where a wheel must run on any processor.
[[nodiscard]] constexpr std::size_t bits_in(std::uint64_t word) {
  word -= (word >> 1) & 0x5555555555555555ULL;
  word = (word & 0x3333333333333333ULL) + ((word >> 2) & 0x3333333333333333ULL);
  word = (word + (word >> 4)) & 0x0F0F0F0F0F0F0F0FULL;
  return static_cast<std::size_t>((word * 0x0101010101010101ULL) >> 56);
}
static_assert(bits_in(0) == 0 && bits_in(~0ULL) == 64 && bits_in(0x8000000000000101ULL) == 3);

class BitmapMerge final : public Merge {
 public:
  std::uint64_t run(const MergeInput& input, Candidates& found) override {
    found.clear();
    if (input.rows == 0) return 0;
    split_lists(input);
    strip_.slices = choose_slices(input.lists.size(), input.least);
    strip_.least = input.least;
    strip_.exact = input.exact;
    strip_.preset = !postings_.empty();
    const std::size_t words = (strip_.slices + 1) * kStripWords;
    if (counters_.size() < words + kBlockWords) counters_.resize(words + kBlockWords);
    const auto unaligned = reinterpret_cast<std::uintptr_t>(counters_.data()) % 64;
    strip_.words = counters_.data() + (64 - unaligned) % 64 / sizeof(std::uint64_t);
    return run_strips(input, found);
  }

  [[nodiscard]] std::size_t bytes() const override { return counters_.capacity() * sizeof(std::uint64_t); }

 private:
  void split_lists(const MergeInput& input) {
    bitmaps_.clear();
    postings_.clear();
    for (const PostingView& list : input.lists) {
      if (list.bitmap != nullptr) {
        bitmaps_.push_back(list.bitmap);
      } else if (list.size > 0) {
        postings_.push_back(list);
      }
    }
  }

  std::uint64_t run_strips(const MergeInput& input, Candidates& found) {
    std::uint64_t read = 0;
    const std::uint64_t ring_blocks = std::max<std::uint64_t>(input.ring_rows / kBlockRows, 1);
    const std::uint64_t end_row = input.first_row + input.rows;
    std::uint64_t block = input.first_row / kBlockRows;
    const std::uint64_t end_block = (end_row + kBlockRows - 1) / kBlockRows;
    while (block < end_block) {
      const std::uint64_t ring_block = block & (ring_blocks - 1);
      const std::uint64_t until_wrap = bitmaps_.empty() ? kStripBlocks : ring_blocks - ring_block;
      strip_.blocks = std::min({end_block - block, until_wrap, std::uint64_t{kStripBlocks}});
      if (strip_.preset) {
        start_counters(strip_);
        read += add_postings(input, block * kBlockRows);
      }
      add_bitmaps(strip_, bitmaps_.data(), bitmaps_.size(),
                  static_cast<std::size_t>(ring_block * kBlockWords));
      read += bitmaps_.size() * strip_.blocks * kBlockWords;
      cut_to_range(block * kBlockRows, input.first_row, end_row);
      collect(block * kBlockRows, input, found);
      block += strip_.blocks;
    }
    return read;
  }

  // Raises the counters of the postings that lie in the strip, and moves each list past them.
  std::uint64_t add_postings(const MergeInput& input, std::uint64_t strip_row) {
    std::uint64_t read = 0;
    const auto base = static_cast<Position>(input.first_row);
    const std::uint64_t strip_end = strip_row + strip_.blocks * kBlockRows - input.first_row;
    // The first strip may start before the range.
    const auto shift = static_cast<std::int64_t>(input.first_row - strip_row);
    for (PostingView& list : postings_) {
      const Position* next = list.positions;
      const Position* end = next + list.size;
      for (; next != end; ++next) {
        const std::uint32_t offset = *next - base;
        if (offset >= strip_end) break;
        raise_counter(strip_, static_cast<std::size_t>(static_cast<std::int64_t>(offset) + shift));
      }
      read += static_cast<std::uint64_t>(next - list.positions);
      list.size = static_cast<std::size_t>(end - next);
      list.positions = next;
    }
    return read;
  }

  // Clears the carries of rows outside [first_row, end_row).
  void cut_to_range(std::uint64_t strip_row, std::uint64_t first_row, std::uint64_t end_row) {
    std::uint64_t* over = strip_.words + strip_.slices * kStripWords;
    if (strip_row < first_row) {
      const auto skipped = static_cast<std::size_t>(first_row - strip_row);
      std::fill_n(over, skipped / 64, 0);
      over[skipped / 64] &= ~0ULL << (skipped % 64);
    }
    const std::uint64_t strip_rows = strip_.blocks * kBlockRows;
    if (strip_row + strip_rows > end_row) {
      const auto kept = static_cast<std::size_t>(end_row - strip_row);
      if (kept % 64 != 0) over[kept / 64] &= ~(~0ULL << (kept % 64));
      std::fill(over + (kept + 63) / 64, over + strip_.blocks * kBlockWords, 0);
    }
  }

  // Finds the words with a carry first, without a branch per word, then the rows in them.
  void collect(std::uint64_t strip_row, const MergeInput& input, Candidates& found) {
    const std::uint64_t* over = strip_.words + strip_.slices * kStripWords;
    std::size_t filled = 0;
    for (std::uint32_t word = 0; word < strip_.blocks * kBlockWords; ++word) {
      filled_[filled] = word;
      filled += over[word] != 0;
    }
    std::size_t rows = 0;
    for (std::size_t at = 0; at < filled; ++at) rows += bits_in(over[filled_[at]]);
    const std::size_t before = found.offsets.size();
    found.offsets.resize(before + rows);
    std::uint32_t* offset = found.offsets.data() + before;
    // Modulo 2^32: the first strip may start before the range.
    const auto shift = static_cast<std::uint32_t>(strip_row - input.first_row);
    for (std::size_t at = 0; at < filled; ++at) {
      const std::uint32_t word_row = filled_[at] * 64 + shift;
      std::uint64_t bits = over[filled_[at]];
      do {
        *offset++ = word_row + static_cast<std::uint32_t>(std::countr_zero(bits));
        bits &= bits - 1;
      } while (bits != 0);
    }
    found.counts.resize(before + rows, static_cast<std::uint32_t>(input.least));
    if (!input.exact) return;
    for (std::size_t at = before; at < found.offsets.size(); ++at) {
      found.counts[at] += value_at(found.offsets[at] - shift);
    }
  }

  [[nodiscard]] std::uint32_t value_at(std::uint32_t row) const {
    std::uint32_t value = 0;
    for (unsigned slice = 0; slice < strip_.slices; ++slice) {
      const std::uint64_t word = strip_.words[slice * kStripWords + row / 64];
      value |= static_cast<std::uint32_t>((word >> (row % 64)) & 1) << slice;
    }
    return value;
  }

  Strip strip_;
  std::vector<std::uint64_t> counters_;
  std::vector<const std::uint64_t*> bitmaps_;
  std::vector<PostingView> postings_;
  std::uint32_t filled_[kStripWords + 1] = {};
};

}  // namespace

bool fits_bit_slices(std::size_t lists, std::size_t least) {
  return choose_slices(lists, least) <= kMaxSlices;
}

std::unique_ptr<Merge> make_bitmap_merge() { return std::make_unique<BitmapMerge>(); }

}  // namespace watersmeet
