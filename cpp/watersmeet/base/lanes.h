// Several threads that do one task together: the caller is lane 0, helpers are the others.
//
// A task is short (a batch of probes), so a helper looks for the next one for a while before it sleeps.
// Invariants
//   (1) run() returns when task(lane) has returned on every lane, and all they wrote is seen by the caller.
//   (2) If tasks throw, run() throws what the lowest of their lanes threw, after all have ended.
// Cost       a few microseconds per run() while helpers are awake; some tens to wake them.
// Threads    run() from one thread at a time.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace watersmeet {

class Lanes {
 public:
  // Requires: lanes >= 1. Helpers start with the first run().
  explicit Lanes(std::size_t lanes);
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  [[nodiscard]] std::size_t size() const { return errors_.size(); }

  void run(const std::function<void(std::size_t)>& task);

  // The part of `count` things that a lane takes: they are equal but for one.
  struct Share {
    std::size_t first = 0;
    std::size_t last = 0;
  };
  [[nodiscard]] Share share(std::size_t count, std::size_t lane) const {
    return {count * lane / size(), count * (lane + 1) / size()};
  }

 private:
  void help(std::size_t lane);
  void work(std::size_t lane) noexcept;
  [[nodiscard]] bool await_round(std::uint64_t seen);

  std::vector<std::exception_ptr> errors_;  // one per lane
  std::vector<std::thread> helpers_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> busy_{0};
  std::atomic<bool> closing_{false};
  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
};

}  // namespace watersmeet
