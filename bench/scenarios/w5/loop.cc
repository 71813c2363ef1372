// W5: mean absolute difference of byte images as a bare loop: every pair in the window, variants
//
// whole       all bytes summed in 32 bits (the compiler vectorises it; the accumulator's width alone is worth
// 10x). early-exit  a kilobyte at a time, given up as soon as the sum is over the bound.
#include "../loop.h"

namespace {

using loop::Options;
using loop::Output;

constexpr int64_t kStep = 1024;

__attribute__((target_clones("avx2", "default"))) uint32_t difference(const uint8_t* one, const uint8_t* two,
                                                                      int64_t bytes) {
  uint32_t sum = 0;
  for (int64_t at = 0; at < bytes; ++at) {
    const uint8_t least = one[at] < two[at] ? one[at] : two[at];
    const uint8_t most = one[at] < two[at] ? two[at] : one[at];
    sum += static_cast<uint32_t>(most - least);
  }
  return sum;
}

bool near(const uint8_t* one, const uint8_t* two, int64_t bytes, uint32_t bound, int64_t step) {
  uint32_t sum = 0;
  for (int64_t at = 0; at < bytes && sum <= bound; at += step) {
    sum += difference(one + at, two + at, std::min(step, bytes - at));
  }
  return sum <= bound;
}

}  // namespace

int main(int count, char** arguments) {
  const Options options = loop::parse(count, arguments);
  const int64_t bytes = options.domain;
  const auto left = loop::read_npy<uint8_t>(loop::array_path(options, "image", 0), options.rows * bytes);
  const auto right = loop::read_npy<uint8_t>(loop::array_path(options, "image", 1), options.rows * bytes);
  const auto bound = static_cast<uint32_t>(options.threshold * static_cast<double>(bytes));
  const int64_t step = options.variant == "early-exit" ? kStep : bytes;
  return loop::measure(options, 2, [&](Output& output) {
    for (int64_t row = 0; row < options.rows; ++row) {
      const int64_t oldest = std::max<int64_t>(0, row - options.reach());
      output.reserve(2 * options.reach() + 2);
      for (int64_t other = oldest; other < row; ++other) {
        if (near(&left[static_cast<size_t>(row * bytes)], &right[static_cast<size_t>(other * bytes)], bytes,
                 bound, step))
          output.put(row, other);
      }
      for (int64_t other = oldest; other <= row; ++other) {
        if (near(&right[static_cast<size_t>(row * bytes)], &left[static_cast<size_t>(other * bytes)], bytes,
                 bound, step))
          output.put(other, row);
      }
      if (row % options.batch == 0) output.flush();
    }
    output.flush();
  });
}
