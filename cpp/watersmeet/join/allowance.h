// How many probes a half-way join may still make: an allowance per cycle of stream time, what is left over is kept
// for a few cycles.
//
// Paper: [JAQPOT] 4.1, the continuous execution model: fractions add up over cycles to whole probes.
// A value: copying it is how a change is undone.
#pragma once

#include <algorithm>
#include <cstdint>

#include "watersmeet/base/types.h"

namespace watersmeet {

class Allowance {
 public:
  // Unlimited until set.
  [[nodiscard]] bool limited() const { return per_cycle_ >= 0; }

  void set(double per_cycle, double carried_cycles) {
    per_cycle_ = per_cycle;
    most_ = std::max(1.0, per_cycle * carried_cycles);
    if (!started_) tokens_ = 0;
    tokens_ = std::min(tokens_, most_);
  }
  void lift() { per_cycle_ = -1; }

  // Takes one probe for a row of the cycle, if there is one. Requires: cycles do not decrease.
  [[nodiscard]] bool take(std::int64_t cycle) {
    if (!limited()) return true;
    if (!started_ || cycle > cycle_) refill(cycle);
    if (tokens_ < 1) return false;
    tokens_ -= 1;
    return true;
  }

 private:
  void refill(std::int64_t cycle) {
    const double cycles = started_ ? static_cast<double>(cycle) - static_cast<double>(cycle_) : 1;
    tokens_ = std::min(tokens_ + cycles * per_cycle_, most_);
    cycle_ = cycle;
    started_ = true;
  }

  double per_cycle_ = -1;
  double most_ = 0;
  double tokens_ = 0;
  std::int64_t cycle_ = 0;
  bool started_ = false;
};

}  // namespace watersmeet
