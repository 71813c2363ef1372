// Which rows of a stream were processed before a turn and are alive at it, as turns go by.
//
// Alive: within the stream's window and freshness, counted back from the turn; a member of a combination that
// is kept for itself (a counted state) only within its freshness. Cost       O(1) amortised per turn, O(log
// n) for the first. Threads    reads the leaf; one caller.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "watersmeet/join/leaf.h"

namespace watersmeet {

inline constexpr Wide kForever = Wide{1} << 70;  // no row is older than that

// How long a row of a stream can be met: its window, or its freshness if that is shorter.
[[nodiscard]] inline Wide span_of(const TreeStream& stream, bool within_window = true) {
  Wide span = within_window && !stream.window_rows.has_value() ? stream.window : kForever;
  if (stream.freshness.has_value()) span = std::min(span, Wide{*stream.freshness});
  return span;
}

class AliveCursor {
 public:
  AliveCursor(const Leaf& leaf, bool within_window)
      : leaf_(leaf),
        times_(leaf.state.window.timestamps.at(leaf.state.window.begin())),
        base_(leaf.state.window.begin()),
        end_(leaf.state.processed - base_),
        most_rows_(within_window ? leaf.config.window_rows.value_or(UINT64_MAX) : UINT64_MAX),
        span_(span_of(leaf.config, within_window)) {}

  // Requires: turns only grow.
  void move_to(const Turn& turn) {
    // The other streams' rows at the same time come before it if their stream does.
    const bool ties = leaf_.state.streams[0] < turn.stream;
    if (!started_) start(turn);
    while (hi_ < end_ && (times_[hi_] < turn.ts || (ties && times_[hi_] == turn.ts))) ++hi_;
    if (base_ + hi_ > most_rows_) {
      lo_ = std::max(lo_, static_cast<std::size_t>(std::max(base_ + hi_ - most_rows_, base_) - base_));
    }
    const Wide oldest = Wide{turn.ts} - span_;
    if (oldest <= kMinTimestamp) return;
    const auto first = static_cast<Timestamp>(oldest);
    while (lo_ < hi_ && times_[lo_] < first) ++lo_;
  }
  [[nodiscard]] Seq lo() const { return base_ + std::min(lo_, hi_); }
  [[nodiscard]] Seq hi() const { return base_ + hi_; }

 private:
  void start(const Turn& turn) {
    started_ = true;
    hi_ = static_cast<std::size_t>(std::lower_bound(times_, times_ + end_, turn.ts) - times_);
    const Wide oldest = Wide{turn.ts} - span_;
    if (oldest <= kMinTimestamp) return;
    lo_ = static_cast<std::size_t>(std::lower_bound(times_, times_ + end_, static_cast<Timestamp>(oldest)) -
                                   times_);
  }

  const Leaf& leaf_;
  const Timestamp* times_;
  Seq base_;
  std::size_t end_;
  std::uint64_t most_rows_;
  Wide span_;
  std::size_t lo_ = 0;
  std::size_t hi_ = 0;
  bool started_ = false;
};

}  // namespace watersmeet
