#include "watersmeet/merge/bit_slices.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "watersmeet/base/clones.h"

namespace watersmeet {
namespace {

using Block = std::uint64_t __attribute__((vector_size(kBlockWords * 8)));
// The same, for addresses that are only word-aligned or alias plain words.
using LooseBlock = std::uint64_t __attribute__((vector_size(kBlockWords * 8), aligned(8), may_alias));

#define WATERSMEET_INLINE inline __attribute__((always_inline))

// sum = sum + a + b in this slice; carry = what goes to the next.
WATERSMEET_INLINE void full_add(Block& sum, const Block& a, const Block& b, Block& carry) {
  const Block either = a ^ b;
  carry = (a & b) | (either & sum);
  sum ^= either;
}

// Adds `carry` into slices [From, Slices) and the sticky one.
template <unsigned From, unsigned Slices>
WATERSMEET_INLINE void ripple(Block* slice, const Block& added) {
  Block carry = added;  // by reference: passing wide vectors by value is no stable ABI
  for (unsigned at = From; at < Slices; ++at) {
    const Block held = slice[at];
    slice[at] = held ^ carry;
    carry &= held;
  }
  slice[Slices] |= carry;
}

// Four bitmaps at a time go through two adders of the lowest slice and one of the next, so the higher slices
// are touched once per four.
template <unsigned Slices>
WATERSMEET_INLINE void add_block(Block* slice, const std::uint64_t* const* bitmaps, std::size_t count,
                                 std::size_t word) {
  // Into a block of our own: bound to a reference, a loose block would be read as an aligned one.
  const auto load = [ bitmaps, word ](std::size_t list, Block & block) __attribute__((always_inline)) {
    block = *reinterpret_cast<const LooseBlock*>(bitmaps[list] + word);
  };
  std::size_t list = 0;
  for (; list + 4 <= count; list += 4) {
    Block first_carry;
    Block second_carry;
    Block four[4];
    for (std::size_t at = 0; at < 4; ++at) load(list + at, four[at]);
    full_add(slice[0], four[0], four[1], first_carry);
    full_add(slice[0], four[2], four[3], second_carry);
    if constexpr (Slices == 1) {
      slice[1] |= first_carry | second_carry;
    } else {
      Block carry;
      full_add(slice[1], first_carry, second_carry, carry);
      ripple<2, Slices>(slice, carry);
    }
  }
  for (; list < count; ++list) {
    Block one;
    load(list, one);
    ripple<0, Slices>(slice, one);
  }
}

template <unsigned Slices>
WATERSMEET_INLINE void add_strip(const Strip& strip, const std::uint64_t* const* bitmaps, std::size_t count,
                                 std::size_t from_word) {
  const std::uint64_t start = (1ULL << Slices) - strip.least;
  for (std::size_t block = 0; block < strip.blocks; ++block) {
    Block slice[Slices + 1];
    std::uint64_t* words = strip.words + block * kBlockWords;
    if (strip.preset) {
      for (unsigned at = 0; at <= Slices; ++at) {
        slice[at] = *reinterpret_cast<const LooseBlock*>(words + at * kStripWords);
      }
    } else {
      for (unsigned at = 0; at < Slices; ++at) slice[at] = Block{} - ((start >> at) & 1);
      slice[Slices] = Block{};
    }
    add_block<Slices>(slice, bitmaps, count, from_word + block * kBlockWords);
    if (strip.exact) {
      for (unsigned at = 0; at < Slices; ++at) {
        *reinterpret_cast<LooseBlock*>(words + at * kStripWords) = slice[at];
      }
    }
    *reinterpret_cast<LooseBlock*>(words + Slices * kStripWords) = slice[Slices];
  }
}

}  // namespace

unsigned choose_slices(std::size_t lists, std::size_t least) {
  const std::size_t above = lists > least ? lists - least : 0;
  return std::max(1U, static_cast<unsigned>(std::bit_width(std::max(least - 1, above))));
}

void start_counters(const Strip& strip) {
  const std::uint64_t start = (1ULL << strip.slices) - strip.least;
  for (unsigned slice = 0; slice <= strip.slices; ++slice) {
    const int fill = slice < strip.slices && ((start >> slice) & 1) ? 0xFF : 0;
    std::memset(strip.words + slice * kStripWords, fill, strip.blocks * kBlockWords * sizeof(std::uint64_t));
  }
}

WATERSMEET_CLONES void add_bitmaps(const Strip& strip, const std::uint64_t* const* bitmaps, std::size_t count,
                                   std::size_t from_word) {
  switch (strip.slices) {
    case 1:
      return add_strip<1>(strip, bitmaps, count, from_word);
    case 2:
      return add_strip<2>(strip, bitmaps, count, from_word);
    case 3:
      return add_strip<3>(strip, bitmaps, count, from_word);
    case 4:
      return add_strip<4>(strip, bitmaps, count, from_word);
    case 5:
      return add_strip<5>(strip, bitmaps, count, from_word);
    case 6:
      return add_strip<6>(strip, bitmaps, count, from_word);
    default:
      return add_strip<kMaxSlices>(strip, bitmaps, count, from_word);
  }
}

}  // namespace watersmeet
