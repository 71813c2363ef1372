// Calls a function from a loop, but not more often than worth it.
#pragma once

#include <chrono>
#include <functional>

namespace watersmeet {

class Regularly {
 public:
  // `function` may be none; it outlives this.
  explicit Regularly(const std::function<void()>& function) : function_(function) {}

  // Calls the function if it was last called, or this was made, a while ago. Throws what it throws.
  void call() {
    if (!function_ || std::chrono::steady_clock::now() < next_) return;
    function_();
    next_ = std::chrono::steady_clock::now() + kEvery;
  }

 private:
  static constexpr std::chrono::milliseconds kEvery{50};

  const std::function<void()>& function_;
  std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + kEvery;
};

}  // namespace watersmeet
