// How many probes a half-way join may still make: an allowance per cycle of stream time, what is left over is
// kept for a few cycles.
//
// Paper: [JAQPOT] 4.1, the continuous execution model: fractions add up over cycles to whole probes.
// A value: copying it is how a change is undone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "watersmeet/base/types.h"

namespace watersmeet {

// The cycle that a time belongs to.
[[nodiscard]] constexpr std::int64_t cycle_of(Timestamp ts, Duration cycle) {
  const std::int64_t whole = ts / cycle;
  return ts % cycle < 0 ? whole - 1 : whole;
}

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
  [[nodiscard]] double per_cycle() const { return per_cycle_; }
  // Whether so much is kept that some of it will soon be too old.
  [[nodiscard]] bool is_plentiful() const { return limited() && tokens_ >= kPlenty * most_; }

  // Takes one probe for a row of the cycle, if there is one. Requires: cycles do not decrease.
  [[nodiscard]] bool take(std::int64_t cycle) { return take_parts(cycle, 1, 1) == 1; }

  // Takes `wanted` parts of a probe that has so many, or as many as there are. Returns: how many.
  [[nodiscard]] std::size_t take_parts(std::int64_t cycle, std::size_t wanted, std::size_t parts) {
    if (!limited()) return wanted;
    (void)move_to(cycle);
    const double each = 1.0 / static_cast<double>(parts);
    // A sum of fractions may miss the whole number that it stands for by a little.
    const double there = std::min(static_cast<double>(wanted), tokens_ / each + 1e-9);
    const auto taken = static_cast<std::size_t>(std::max(0.0, there));
    tokens_ -= static_cast<double>(taken) * each;
    return taken;
  }

  // Begins a cycle. Returns: what was left over and is too old to be kept.
  double move_to(std::int64_t cycle) {
    if (started_ && cycle <= cycle_) return 0;
    const double cycles = started_ ? static_cast<double>(cycle) - static_cast<double>(cycle_) : 1;
    const double all = tokens_ + cycles * per_cycle_;
    tokens_ = std::min(all, most_);
    cycle_ = cycle;
    started_ = true;
    return all - tokens_;
  }
  // Gives more, for this cycle and those that it is kept for.
  void add(double probes) { tokens_ += probes; }

  template <class Writer>
  void save(Writer& writer) const {
    writer.put(per_cycle_);
    writer.put(most_);
    writer.put(tokens_);
    writer.put(cycle_);
    writer.put(std::uint8_t{started_});
  }
  template <class Reader>
  void load(Reader& reader) {
    per_cycle_ = reader.template get<double>();
    most_ = reader.template get<double>();
    tokens_ = reader.template get<double>();
    cycle_ = reader.template get<std::int64_t>();
    started_ = reader.template get<std::uint8_t>() != 0;
  }

 private:
  static constexpr double kPlenty = 0.75;

  double per_cycle_ = -1;
  double most_ = 0;
  double tokens_ = 0;
  std::int64_t cycle_ = 0;
  bool started_ = false;
};

}  // namespace watersmeet
