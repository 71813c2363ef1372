// Which rows of the other window a row may meet, as a range of sequence numbers, by time or by count.
//
// The definition (DESIGN.md section 2): lower <= right timestamp - left timestamp <= upper, both inclusive, in
// arithmetic that cannot overflow. A window of n rows holds the last n rows processed before the probing row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "watersmeet/join/config.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

// Timestamps [first, last] that may meet; empty if first > last.
struct TimeRange {
  Timestamp first = 0;
  Timestamp last = -1;
};

class Bounds {
 public:
  Bounds(Wide lower, Wide upper) : lower_(lower), upper_(upper) {}

  // The other stream's timestamps that a row of `stream` at `ts` may meet.
  [[nodiscard]] TimeRange range(std::size_t stream, Timestamp ts) const {
    const Wide first = stream == 0 ? ts + lower_ : ts - upper_;
    const Wide last = stream == 0 ? ts + upper_ : ts - lower_;
    if (first > kMaxTimestamp || last < kMinTimestamp) return {0, -1};
    return {first < kMinTimestamp ? kMinTimestamp : static_cast<Timestamp>(first),
            last > kMaxTimestamp ? kMaxTimestamp : static_cast<Timestamp>(last)};
  }

  // The same as distances from `ts`, for every `ts` in [first, last]; none if one of them would leave 64 bits.
  [[nodiscard]] std::optional<TimeRange> distances(std::size_t stream, Timestamp first,
                                                   Timestamp last) const {
    const Wide nearest = stream == 0 ? lower_ : -upper_;
    const Wide furthest = stream == 0 ? upper_ : -lower_;
    if (nearest > furthest || first + nearest < kMinTimestamp || last + furthest > kMaxTimestamp)
      return std::nullopt;
    if (nearest > kMaxTimestamp || furthest < kMinTimestamp) return std::nullopt;
    return TimeRange{static_cast<Timestamp>(nearest), static_cast<Timestamp>(furthest)};
  }

  // The first row of `window`, the window of `stream`, that a row of the other stream at `low` or later may meet.
  [[nodiscard]] Seq first_alive(const Window& window, std::size_t stream, Wide low) const {
    const Wide oldest = oldest_met(stream, low);
    if (oldest <= kMinTimestamp) return window.begin();
    return oldest > kMaxTimestamp ? window.end() : window.lower_bound(static_cast<Timestamp>(oldest));
  }

  // The oldest timestamp in the window of `stream` that a row of the other stream at `low` or later may meet.
  [[nodiscard]] Wide oldest_met(std::size_t stream, Wide low) const {
    return stream == 0 ? low - upper_ : low + lower_;
  }
  // By how much a row in the window of `stream` may be older than the row that meets it; 0 if it never is.
  [[nodiscard]] Wide oldest_age(std::size_t stream) const {
    return std::max(Wide{0}, stream == 0 ? upper_ : -lower_);
  }

 private:
  Wide lower_;
  Wide upper_;
};

// The rows [lo, hi) of `other` that each of `count` rows of `stream`, at times that do not descend, may meet by time.
inline void find_ranges_by_time(const Bounds& bounds, std::size_t stream, const Window& other,
                                const Timestamp* times, std::size_t count, Seq* lo, Seq* hi) {
  if (count == 0) return;
  const Timestamp* others = other.timestamps.at(other.begin());
  const Seq begin = other.begin();
  const std::size_t size = other.size();
  std::size_t low = 0;
  std::size_t high = 0;
  const auto start = [&](const TimeRange& range) {
    low = static_cast<std::size_t>(other.lower_bound(range.first) - begin);
    high = static_cast<std::size_t>(other.upper_bound(range.last) - begin);
  };
  const auto write = [&](std::size_t at, const TimeRange& range) {
    while (low < size && others[low] < range.first) ++low;
    while (high < size && others[high] <= range.last) ++high;
    lo[at] = begin + low;
    hi[at] = begin + std::max(low, high);
  };
  if (const auto away = bounds.distances(stream, times[0], times[count - 1])) {
    start({times[0] + away->first, times[0] + away->last});
    for (std::size_t at = 0; at < count; ++at) write(at, {times[at] + away->first, times[at] + away->last});
    return;
  }
  bool started = false;
  for (std::size_t at = 0; at < count; ++at) {
    const TimeRange range = bounds.range(stream, times[at]);
    if (range.first > range.last) {
      lo[at] = hi[at] = begin;
      continue;
    }
    if (!std::exchange(started, true)) start(range);
    write(at, range);
  }
}

}  // namespace watersmeet
