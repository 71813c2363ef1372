// Which rows of the other window a row may meet, as a range of sequence numbers, by time or by count.
//
// The definition (DESIGN.md section 2): lower <= right timestamp - left timestamp <= upper, both inclusive, in
// arithmetic that cannot overflow. A window of n rows holds the last n rows processed before the probing row.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>

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

// Ranges of rows whose timestamps only grow, in a window that does not change meanwhile.
class RangeFinder {
 public:
  RangeFinder(const Bounds& bounds, std::size_t stream, const Window& other)
      : bounds_(bounds), stream_(stream), times_(other.timestamps.at(other.begin())), begin_(other.begin()),
        size_(other.size()) {}

  // The rows [lo, hi) that a row at `ts` may meet by time.
  void find(Timestamp ts, Seq& lo, Seq& hi) {
    const TimeRange range = bounds_.range(stream_, ts);
    if (range.first > range.last) {
      lo = hi = begin_;
      return;
    }
    if (!started_) start(range);
    while (lo_ < size_ && times_[lo_] < range.first) ++lo_;
    while (hi_ < size_ && times_[hi_] <= range.last) ++hi_;
    lo = begin_ + lo_;
    hi = begin_ + std::max(lo_, hi_);
  }

 private:
  void start(const TimeRange& range) {
    started_ = true;
    lo_ = static_cast<std::size_t>(std::lower_bound(times_, times_ + size_, range.first) - times_);
    hi_ = static_cast<std::size_t>(std::upper_bound(times_, times_ + size_, range.last) - times_);
  }

  const Bounds& bounds_;
  std::size_t stream_;
  const Timestamp* times_;
  Seq begin_;
  std::size_t size_;
  std::size_t lo_ = 0;
  std::size_t hi_ = 0;
  bool started_ = false;
};

}  // namespace watersmeet
