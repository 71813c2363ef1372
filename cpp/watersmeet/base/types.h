// The integers everything is counted in, and arithmetic on them that cannot overflow.
#pragma once

#include <cstdint>
#include <limits>

namespace watersmeet {

// A point of stream time, in the join's own unit (one unit for all streams of a join).
using Timestamp = std::int64_t;
// A length of stream time, in the same unit.
using Duration = std::int64_t;
// The position of a row in its stream, in timestamp order, from 0; never reused.
using Seq = std::uint64_t;
// A set item or string after interning: small, dense, reused once no window holds it.
using Code = std::uint32_t;

inline constexpr Timestamp kMinTimestamp = std::numeric_limits<Timestamp>::min();
inline constexpr Timestamp kMaxTimestamp = std::numeric_limits<Timestamp>::max();

// a + b, held at the ends of the range instead of wrapping.
[[nodiscard]] constexpr std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b < 0 ? kMinTimestamp : kMaxTimestamp;
}

// -a, held at the end of the range.
[[nodiscard]] constexpr std::int64_t saturating_negate(std::int64_t a) {
  return a == kMinTimestamp ? kMaxTimestamp : -a;
}

}  // namespace watersmeet
