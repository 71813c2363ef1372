#include "watersmeet/predicate/distance.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "watersmeet/base/clones.h"
#include "watersmeet/base/exact_sum.h"

namespace watersmeet {
namespace {

constexpr std::size_t kChunk = 1024;  // elements between two looks at the sum

// --- integers ---

WATERSMEET_CLONES std::uint32_t sum_of_differences(const std::uint8_t* own, const std::uint8_t* other,
                                                   std::size_t size) {
  std::int32_t sum = 0;
  for (std::size_t at = 0; at < size; ++at)
    sum += std::abs(own[at] - other[at]);  // compiled to one instruction
  return static_cast<std::uint32_t>(sum);
}

WATERSMEET_CLONES std::uint32_t sum_of_square_differences(const std::uint8_t* own, const std::uint8_t* other,
                                                          std::size_t size) {
  std::int32_t sum = 0;
  for (std::size_t at = 0; at < size; ++at) {
    const auto difference = static_cast<std::int16_t>(own[at] - other[at]);
    sum += difference * difference;
  }
  return static_cast<std::uint32_t>(sum);
}

WATERSMEET_CLONES std::uint32_t sum_of_products(const std::uint8_t* own, const std::uint8_t* other,
                                                std::size_t size) {
  std::int32_t sum = 0;
  for (std::size_t at = 0; at < size; ++at) {
    sum += static_cast<std::int16_t>(own[at]) * static_cast<std::int16_t>(other[at]);
  }
  return static_cast<std::uint32_t>(sum);
}

WATERSMEET_CLONES std::uint32_t differing_bits(const std::uint8_t* own, const std::uint8_t* other,
                                               std::size_t size) {
  int bits = 0;
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t one = 0;
    std::uint64_t two = 0;
    std::memcpy(&one, own + at, 8);
    std::memcpy(&two, other + at, 8);
    bits += std::popcount(one ^ two);
  }
  for (; at < size; ++at) bits += std::popcount(static_cast<std::uint8_t>(own[at] ^ other[at]));
  return static_cast<std::uint32_t>(bits);
}

// The bits of the magnitude of a ^ b, as Python counts them.
std::uint64_t differing_word_bits(const std::int64_t* own, const std::int64_t* other, std::size_t size) {
  std::uint64_t bits = 0;
  for (std::size_t at = 0; at < size; ++at) {
    const std::int64_t differing = own[at] ^ other[at];
    const auto magnitude = static_cast<std::uint64_t>(differing);
    bits += static_cast<std::uint64_t>(std::popcount(differing < 0 ? ~magnitude + 1 : magnitude));
  }
  return bits;
}

using ByteSum = std::uint32_t (*)(const std::uint8_t*, const std::uint8_t*, std::size_t);

ByteSum byte_sum(Metric metric) {
  switch (metric) {
    case Metric::kMeanAbs:
      return &sum_of_differences;
    case Metric::kL2:
      return &sum_of_square_differences;
    case Metric::kCosine:
      return &sum_of_products;
    default:
      return &differing_bits;
  }
}

// --- numbers ---

// One product or difference of the metric, in doubles.
template <Metric kMetric>
double piece(double own, double other) {
  if constexpr (kMetric == Metric::kCosine) return own * other;
  const double difference = own - other;
  return kMetric == Metric::kMeanAbs ? std::abs(difference) : difference * difference;
}

constexpr std::size_t kLanes = 16;

// A plain sum of at most kChunk pieces, in lanes of the number's own precision.
template <class Number, Metric kMetric>
inline __attribute__((always_inline)) double plain_sum(const Number* own, const Number* other,
                                                       std::size_t size) {
  Number lanes[kLanes] = {};
  std::size_t at = 0;
  for (; at + kLanes <= size; at += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const Number one = own[at + lane];
      const Number two = other[at + lane];
      if constexpr (kMetric == Metric::kCosine) {
        lanes[lane] += one * two;
      } else if constexpr (kMetric == Metric::kL2) {
        lanes[lane] += (one - two) * (one - two);
      } else {
        lanes[lane] += std::abs(one - two);
      }
    }
  }
  double sum = 0;
  for (const Number lane : lanes) sum += static_cast<double>(lane);
  for (; at < size; ++at) sum += piece<kMetric>(static_cast<double>(own[at]), static_cast<double>(other[at]));
  return sum;
}

#define WATERSMEET_PLAIN_SUM(name, Number, metric)                                          \
  WATERSMEET_CLONES double name(const Number* own, const Number* other, std::size_t size) { \
    return plain_sum<Number, metric>(own, other, size);                                     \
  }
WATERSMEET_PLAIN_SUM(float_differences, float, Metric::kMeanAbs)
WATERSMEET_PLAIN_SUM(float_square_differences, float, Metric::kL2)
WATERSMEET_PLAIN_SUM(float_products, float, Metric::kCosine)
WATERSMEET_PLAIN_SUM(double_differences, double, Metric::kMeanAbs)
WATERSMEET_PLAIN_SUM(double_square_differences, double, Metric::kL2)
WATERSMEET_PLAIN_SUM(double_products, double, Metric::kCosine)
#undef WATERSMEET_PLAIN_SUM

double sum_chunk(Metric metric, const float* own, const float* other, std::size_t size) {
  if (metric == Metric::kMeanAbs) return float_differences(own, other, size);
  return metric == Metric::kL2 ? float_square_differences(own, other, size)
                               : float_products(own, other, size);
}
double sum_chunk(Metric metric, const double* own, const double* other, std::size_t size) {
  if (metric == Metric::kMeanAbs) return double_differences(own, other, size);
  return metric == Metric::kL2 ? double_square_differences(own, other, size)
                               : double_products(own, other, size);
}

template <Metric kMetric, class Number>
double exact_sum(const Number* own, const Number* other, std::size_t size) {
  static thread_local ExactSum sum;
  sum.clear();
  for (std::size_t at = 0; at < size; ++at) {
    const double one = piece<kMetric>(static_cast<double>(own[at]), static_cast<double>(other[at]));
    if (!std::isfinite(one)) return std::numeric_limits<double>::quiet_NaN();
    sum.add(one);
  }
  return sum.value();
}

// How far a plain sum may be off, as a share of the sum of the magnitudes of its pieces: each is rounded three times,
// a lane takes a 16th of a chunk, and chunks and lanes are added in doubles.
double relative_error(Element element, std::size_t width) {
  constexpr std::size_t kPerLane = kChunk / kLanes;
  const double unit = element == Element::kFloat ? 0x1p-24 : 0x1p-53;
  return 4 * (static_cast<double>(kPerLane + 8) * unit + static_cast<double>(width) * 0x1p-53);
}

}  // namespace

DistanceTest::DistanceTest(const Term& term)
    : metric_(term.metric), element_(term.element), width_(term.width), at_most_(term.at_most) {
  if (element_ == Element::kByte || element_ == Element::kWord) {
    if (metric_ != Metric::kCosine) find_largest_sum();
    return;
  }
  const double error = relative_error(element_, width_);
  if (metric_ == Metric::kCosine) {
    surely_ = 1 - at_most_ + error + 0x1p-50;
    hardly_ = 1 - at_most_ - error - 0x1p-50;
    return;
  }
  // A sum of what a float or double cannot tell from 0 may be off by that much per element.
  const double tiny = static_cast<double>(width_) * (element_ == Element::kFloat ? 0x1p-120 : 0x1p-1000);
  const double limit =
      metric_ == Metric::kMeanAbs ? at_most_ * static_cast<double>(width_) : at_most_ * at_most_;
  surely_ = limit * (1 - error - 0x1p-50) - tiny;
  hardly_ = limit * (1 + error + 0x1p-50) + tiny;
}

bool DistanceTest::accepts(double sum, double squares) const {
  switch (metric_) {
    case Metric::kMeanAbs:
      return sum / static_cast<double>(width_) <= at_most_;
    case Metric::kL2:
      return std::sqrt(sum) <= at_most_;
    case Metric::kCosine:
      return squares != 0 && 1 - sum / std::sqrt(squares) <= at_most_;
    default:
      return sum <= at_most_;
  }
}

// accepts() falls from true to false somewhere as the sum grows: halving finds where.
void DistanceTest::find_largest_sum() {
  nothing_ = !accepts(0, 0);
  std::uint64_t high = std::uint64_t{1} << 53;  // every sum is below it
  while (largest_ < high) {
    const std::uint64_t middle = largest_ + (high - largest_ + 1) / 2;
    if (accepts(static_cast<double>(middle), 0)) {
      largest_ = middle;
    } else {
      high = middle - 1;
    }
  }
}

bool DistanceTest::are_near_bytes(const std::uint8_t* own, const std::uint8_t* other, double squares) const {
  const ByteSum add = byte_sum(metric_);
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < width_; at += kChunk) {
    sum += add(own + at, other + at, std::min(kChunk, width_ - at));
    if (metric_ != Metric::kCosine && sum > largest_) return false;
  }
  return metric_ == Metric::kCosine ? accepts(static_cast<double>(sum), squares) : !nothing_;
}

template <class Number>
bool DistanceTest::are_near_numbers(const Number* own, const Number* other, double squares) const {
  double sum = 0;
  for (std::size_t at = 0; at < width_; at += kChunk) {
    sum += sum_chunk(metric_, own + at, other + at, std::min(kChunk, width_ - at));
    // Not if it ran over: in floats that says nothing.
    if (metric_ != Metric::kCosine && sum > hardly_ && std::isfinite(sum)) return false;
  }
  if (metric_ == Metric::kCosine) {
    const double cosine = sum / std::sqrt(squares);
    if (squares == 0) return false;
    // Lengths far from 1 make products that floats cannot hold.
    const bool trusted = squares > 0x1p-60 && squares < 0x1p60;
    if (trusted && cosine > surely_) return true;
    if (trusted && cosine < hardly_) return false;
  } else if (sum < surely_) {
    return true;
  }
  return decide_exactly(own, other, squares);
}

template <class Number>
bool DistanceTest::decide_exactly(const Number* own, const Number* other, double squares) const {
  switch (metric_) {
    case Metric::kMeanAbs:
      return accepts(exact_sum<Metric::kMeanAbs>(own, other, width_), squares);
    case Metric::kL2:
      return accepts(exact_sum<Metric::kL2>(own, other, width_), squares);
    default:
      return accepts(exact_sum<Metric::kCosine>(own, other, width_), squares);
  }
}

bool DistanceTest::operator()(const VectorColumn& own, Seq own_row, const VectorColumn& other,
                              Seq other_row) const {
  const std::uint8_t* one = own.at(own_row);
  const std::uint8_t* two = other.at(other_row);
  const double squares = own.squares[own_row] * other.squares[other_row];
  switch (element_) {
    case Element::kByte:
      return are_near_bytes(one, two, squares);
    case Element::kFloat:
      return are_near_numbers(reinterpret_cast<const float*>(one), reinterpret_cast<const float*>(two),
                              squares);
    case Element::kReal:
      return are_near_numbers(reinterpret_cast<const double*>(one), reinterpret_cast<const double*>(two),
                              squares);
    default:
      return !nothing_ && differing_word_bits(reinterpret_cast<const std::int64_t*>(one),
                                              reinterpret_cast<const std::int64_t*>(two), width_) <= largest_;
  }
}

}  // namespace watersmeet
