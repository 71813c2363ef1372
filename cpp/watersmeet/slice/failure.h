// The first exception of several threads, kept until one thread can throw it.
#pragma once

#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

namespace watersmeet {

class Failure {
 public:
  [[nodiscard]] bool happened() const { return happened_.load(std::memory_order_seq_cst); }
  // Keeps the exception if it is the first.
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
    happened_.store(true, std::memory_order_seq_cst);
  }
  // Throws it, if there is one, and forgets it.
  void rethrow() {
    std::exception_ptr error;
    {
      const std::lock_guard lock(mutex_);
      error = std::exchange(error_, nullptr);
      happened_.store(false, std::memory_order_seq_cst);
    }
    if (error != nullptr) std::rethrow_exception(error);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  std::atomic<bool> happened_{false};
};

}  // namespace watersmeet
