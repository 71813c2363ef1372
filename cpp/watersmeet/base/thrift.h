// How arrays grow: generously, which is fast, or little by little, for a join that has a memory limit.
//
// Growing by doubling moves each element once or twice, and may hold three times what is needed while it
// does. A join under a limit would rather move elements more often than give rows up for room that stands
// empty. Arrays lie deep inside windows and indexes, so the choice is not handed down to each: whoever drives
// a join says so for the time of a call. Threads    each has its own choice.
#pragma once

#include <cstddef>

namespace watersmeet {

class Thrift {
 public:
  explicit Thrift(bool on) : before_(is_on_) { is_on_ = on; }
  Thrift(const Thrift&) = delete;
  Thrift& operator=(const Thrift&) = delete;
  ~Thrift() { is_on_ = before_; }

  [[nodiscard]] static bool is_on() { return is_on_; }
  // The room that a thrifty array keeps beyond what it holds.
  [[nodiscard]] static constexpr std::size_t spare(std::size_t elements) { return elements / 8 + 8; }

 private:
  static inline thread_local bool is_on_ = false;
  bool before_;
};

}  // namespace watersmeet
