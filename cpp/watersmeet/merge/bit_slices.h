// Counters of many rows at once, one bit of every counter per word: the kernel of the bitmap merge.
//
// Design. A strip is kStripWords words of rows. Slice s holds bit s of each row's counter. Counters start at
// 2^slices - least, so a row reaches `least` when its counter runs over; the carry out of the top slice is kept
// in a further, sticky slice. So the width follows `least`, and no comparison is needed at the end.
// Why counts are exact. Once over, a counter stands at (count - least) as long as it has not run over twice, which
// needs lists - least < 2^slices; choose_slices() guarantees it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace watersmeet {

inline constexpr std::size_t kBlockWords = 8;  // 512 rows
inline constexpr std::size_t kBlockRows = kBlockWords * 64;
inline constexpr std::size_t kStripBlocks = 64;
inline constexpr std::size_t kStripWords = kStripBlocks * kBlockWords;
inline constexpr unsigned kMaxSlices = 7;

struct Strip {
  // slices + 1 stretches of kStripWords words each, 64-byte aligned; the last is the sticky carry.
  std::uint64_t* words = nullptr;
  unsigned slices = 1;
  std::size_t least = 1;
  std::size_t blocks = 0;
  bool exact = false;   // write the counters back, not only the carry
  bool preset = false;  // the counters hold a start already; otherwise they start afresh
};

// The fewest slices that serve `least` of `lists` lists with exact counts; more than kMaxSlices if too many.
[[nodiscard]] unsigned choose_slices(std::size_t lists, std::size_t least);

// Sets every counter of the strip to its start.
void start_counters(const Strip& strip);

// Raises the counter of one row by one.
inline void raise_counter(const Strip& strip, std::size_t row) {
  std::uint64_t* word = strip.words + row / 64;
  std::uint64_t carry = 1ULL << (row % 64);
  for (unsigned slice = 0; slice < strip.slices; ++slice, word += kStripWords) {
    const std::uint64_t held = *word;
    *word = held ^ carry;
    carry &= held;
    if (carry == 0) return;
  }
  *word |= carry;
}

// Adds `count` bitmaps, each from its word `from_word` on, to the counters of the strip.
void add_bitmaps(const Strip& strip, const std::uint64_t* const* bitmaps, std::size_t count,
                 std::size_t from_word);

}  // namespace watersmeet
