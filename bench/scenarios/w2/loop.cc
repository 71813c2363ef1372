// W2, W2b: set overlap as a bare loop, in two variants.
//
// scan-count  every item's rows are walked and counted in one byte per row of the window; a row comes out
// when its count
//             reaches the threshold.
// bit-sliced  the most frequent items have a bitmap over the window. A probe adds its items' bitmaps in
// counters that
//             lie across the words: bit plane p of a word holds bit p of 64 rows' counts. Counts start at
//             2^planes - threshold, so a carry out of the top plane means "threshold reached". Rows of rarer
//             items are added one by one from their postings first. 1,024 items have a bitmap, which is all
//             of W2's.
#include <immintrin.h>

#include "../postings.h"

namespace {

using loop::Options;
using loop::Output;
using loop::Sets;

struct Entry {
  int32_t row;
};

// ----------------------------------------------------------------------------------------------------
// scan-count

struct CountSide {
  const Sets sets;
  std::vector<loop::Postings<Entry>> postings;
  int64_t entered = 0;

  CountSide(const Options& options, int stream)
      : sets(options, stream), postings(static_cast<size_t>(options.domain) + 1) {}
};

int scan_count(const Options& options) {
  CountSide left(options, 0);
  CountSide right(options, 1);
  const int64_t reach = options.reach();
  const int64_t mask = loop::power_of_two(2 * reach + options.batch + 1) - 1;
  const auto threshold = static_cast<uint8_t>(options.threshold);
  std::vector<uint8_t> counts(static_cast<size_t>(mask + 1));
  return loop::measure(options, 2, [&](Output& output) {
    const auto step = [&](CountSide& own, CountSide& other, int64_t begin, int64_t end, bool own_is_left) {
      for (int64_t row = begin; row < end; ++row) {
        output.reserve(2 * reach + 1);
        for (const int64_t* item = own.sets.begin(row); item != own.sets.end(row); ++item) {
          auto& postings = other.postings[static_cast<size_t>(*item)];
          postings.expire(static_cast<int32_t>(row - reach));
          for (const Entry* found = postings.first(); found != postings.last(); ++found) {
            if (found->row - row > reach) break;
            if (++counts[static_cast<size_t>(found->row & mask)] == threshold) {
              own_is_left ? output.put(row, found->row) : output.put(found->row, row);
            }
          }
        }
        const int64_t oldest = std::max<int64_t>(0, row - reach);
        const int64_t start = oldest & mask;
        const int64_t length = std::min(other.entered, row + reach + 1) - oldest;
        if (length <= 0) continue;
        const int64_t straight = std::min(length, mask + 1 - start);
        std::memset(counts.data() + start, 0, static_cast<size_t>(straight));
        std::memset(counts.data(), 0, static_cast<size_t>(length - straight));
      }
      for (int64_t row = begin; row < end; ++row) {
        for (const int64_t* item = own.sets.begin(row); item != own.sets.end(row); ++item) {
          own.postings[static_cast<size_t>(*item)].append({static_cast<int32_t>(row)});
        }
      }
      own.entered = end;
    };
    loop::alternate(options, left, right, output, step);
  });
}

// ----------------------------------------------------------------------------------------------------
// bit-sliced

constexpr int64_t kBitmapItems = 1024;  // items 1..1024 are the most frequent: the draw ranks them so
constexpr int64_t kBlock = 4;           // words added together

struct BitSide {
  const Sets sets;
  int64_t words;
  std::vector<uint64_t> bitmaps;  // item-major
  std::vector<loop::Postings<Entry>> postings;
  int64_t entered = 0;

  BitSide(const Options& options, int stream)
      : sets(options, stream),
        words(loop::power_of_two(options.reach() + options.batch + 1 + 64 * kBlock) / 64),
        bitmaps(static_cast<size_t>(words * (std::min(kBitmapItems, options.domain) + 1))),
        postings(static_cast<size_t>(options.domain) + 1) {}

  int64_t slots() const { return words * 64; }
  uint64_t* bitmap(int64_t item) { return bitmaps.data() + item * words; }

  void enter(int64_t row) {
    const int64_t slot = row & (slots() - 1);
    const uint64_t bit = uint64_t{1} << (slot & 63);
    if (const int64_t gone = row - slots(); gone >= 0) {
      for (const int64_t* item = sets.begin(gone); item != sets.end(gone); ++item) {
        if (*item <= kBitmapItems) bitmap(*item)[slot >> 6] &= ~bit;
      }
    }
    for (const int64_t* item = sets.begin(row); item != sets.end(row); ++item) {
      if (*item <= kBitmapItems) {
        bitmap(*item)[slot >> 6] |= bit;
      } else {
        postings[static_cast<size_t>(*item)].append({static_cast<int32_t>(row)});
      }
    }
  }
};

// Counters of rows that rare items added to. Layout: planes, then the carry-out, per word.
template <int kPlanes>
struct Planes {
  std::vector<uint64_t> word[kPlanes + 1];
  uint64_t start[kPlanes + 1];

  Planes(int64_t words, int threshold) {
    const int bias = (1 << kPlanes) - threshold;
    for (int plane = 0; plane <= kPlanes; ++plane) {
      start[plane] = plane < kPlanes && ((bias >> plane) & 1) ? ~uint64_t{0} : 0;
      word[plane].assign(static_cast<size_t>(words), start[plane]);
    }
  }

  void add(int64_t slot) {
    uint64_t carry = uint64_t{1} << (slot & 63);
    const auto at = static_cast<size_t>(slot >> 6);
    for (int plane = 0; plane < kPlanes; ++plane) {
      const uint64_t old = word[plane][at];
      word[plane][at] = old ^ carry;
      carry &= old;
    }
    word[kPlanes][at] |= carry;
  }
};

// Adds `count` bitmaps to the counters of the words [begin, end) and leaves the reached rows in `hits`.
// Requires: room for a whole block after `end` in every array. Counters are put back to their start.
template <int kPlanes>
__attribute__((target("avx2"))) void add_bitmaps(Planes<kPlanes>& planes, const uint64_t* const* bitmaps,
                                                 int count, bool rare, int64_t begin, int64_t end,
                                                 uint64_t* hits) {
  __m256i start[kPlanes + 1];
  for (int plane = 0; plane <= kPlanes; ++plane) {
    start[plane] = _mm256_set1_epi64x(static_cast<long long>(planes.start[plane]));
  }
  for (int64_t at = begin; at < end; at += kBlock) {
    __m256i counter[kPlanes + 1];
    for (int plane = 0; plane <= kPlanes; ++plane) {
      auto* kept = reinterpret_cast<__m256i*>(planes.word[plane].data() + at);
      counter[plane] = rare ? _mm256_loadu_si256(kept) : start[plane];
      if (rare) _mm256_storeu_si256(kept, start[plane]);
    }
    int which = 0;
    for (; which + 1 < count; which += 2) {  // two bitmaps and the lowest plane make one sum and one carry
      const __m256i one = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bitmaps[which] + at));
      const __m256i two = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bitmaps[which + 1] + at));
      const __m256i half = _mm256_xor_si256(one, two);
      __m256i carry = _mm256_or_si256(_mm256_and_si256(one, two), _mm256_and_si256(half, counter[0]));
      counter[0] = _mm256_xor_si256(half, counter[0]);
      for (int plane = 1; plane < kPlanes; ++plane) {
        const __m256i old = counter[plane];
        counter[plane] = _mm256_xor_si256(old, carry);
        carry = _mm256_and_si256(old, carry);
      }
      counter[kPlanes] = _mm256_or_si256(counter[kPlanes], carry);
    }
    if (which < count) {
      __m256i carry = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bitmaps[which] + at));
      for (int plane = 0; plane < kPlanes; ++plane) {
        const __m256i old = counter[plane];
        counter[plane] = _mm256_xor_si256(old, carry);
        carry = _mm256_and_si256(old, carry);
      }
      counter[kPlanes] = _mm256_or_si256(counter[kPlanes], carry);
    }
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(hits + at), counter[kPlanes]);
  }
}

template <int kPlanes>
int bit_sliced(const Options& options) {
  BitSide left(options, 0);
  BitSide right(options, 1);
  const int64_t reach = options.reach();
  Planes<kPlanes> planes(left.words, static_cast<int>(options.threshold));
  std::vector<uint64_t> hits(static_cast<size_t>(left.words));

  return loop::measure(options, 2, [&](Output& output) {
    const auto probe = [&](BitSide& own, BitSide& other, int64_t row, bool own_is_left) {
      const int64_t oldest = std::max<int64_t>(0, row - reach);
      const int64_t newest = std::min(other.entered, row + reach + 1);
      if (oldest >= newest) return;
      const uint64_t* bitmaps[64];
      int count = 0;
      bool rare = false;
      for (const int64_t* item = own.sets.begin(row); item != own.sets.end(row); ++item) {
        if (*item <= kBitmapItems) {
          bitmaps[count++] = other.bitmap(*item);
          continue;
        }
        auto& postings = other.postings[static_cast<size_t>(*item)];
        postings.expire(static_cast<int32_t>(oldest));
        for (const Entry* found = postings.first(); found != postings.last() && found->row < newest;
             ++found) {
          planes.add(found->row & (other.slots() - 1));
          rare = true;
        }
      }
      const auto emit = [&](int64_t first, int64_t last) {  // rows [first, last) lie straight in the ring
        const int64_t base = first & ~(other.slots() - 1);
        const int64_t begin = (first - base) >> 6 & ~(kBlock - 1);
        const int64_t end = (last - 1 - base) / 64 + 1;
        add_bitmaps<kPlanes>(planes, bitmaps, count, rare, begin, end, hits.data());
        for (int64_t at = (first - base) >> 6; at < end; ++at) {
          uint64_t bits = hits[static_cast<size_t>(at)];
          const int64_t word_row = base + at * 64;
          if (word_row < first) bits &= ~uint64_t{0} << (first - word_row);
          if (word_row + 64 > last) bits &= ~uint64_t{0} >> (word_row + 64 - last);
          for (; bits != 0; bits &= bits - 1) {
            const int64_t found = word_row + __builtin_ctzll(bits);
            own_is_left ? output.put(row, found) : output.put(found, row);
          }
        }
      };
      output.reserve(2 * reach + 1);
      const int64_t turn = (oldest | (other.slots() - 1)) + 1;
      emit(oldest, std::min(turn, newest));
      if (turn < newest) emit(turn, newest);
    };
    const auto step = [&](BitSide& own, BitSide& other, int64_t begin, int64_t end, bool own_is_left) {
      for (int64_t row = begin; row < end; ++row) probe(own, other, row, own_is_left);
      for (int64_t row = begin; row < end; ++row) own.enter(row);
      own.entered = end;
    };
    loop::alternate(options, left, right, output, step);
  });
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = loop::parse(count, arguments);
  if (options.variant == "scan-count") return scan_count(options);
  if (!__builtin_cpu_supports("avx2")) {
    std::fprintf(stderr, "the bit-sliced loop needs AVX2\n");
    return 3;
  }
  return options.threshold <= 4 ? bit_sliced<2>(options) : bit_sliced<3>(options);
}
