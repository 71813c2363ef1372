// A fixed number of workers that do one task together and then rest: the caller is worker 0, threads are the others.
//
// Rows come in small batches, so what is lost between two tasks counts. The caller works instead of waiting, and
// where every worker can have a core of its own, those that wait look for a while before they sleep.
// Invariants
//   (1) run() returns when task(worker) has returned for every worker, and all they wrote is seen by the caller.
// Threads    run() and rouse() from one thread at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace watersmeet {

class WorkerPool {
 public:
  explicit WorkerPool(std::size_t workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  // Calls task(worker) for every worker, which must not throw. While the caller waits for the others, `poll`, if there
  // is one, is called now and then on its thread; during its own part that is up to the task.
  void run(const std::function<void(std::size_t)>& task, const std::function<void()>& poll);

  // A run follows in a moment: workers that sleep are woken, so that they are there when it begins.
  void rouse();

  // How long a worker may look for what another is about to do.
  [[nodiscard]] std::chrono::nanoseconds patience() const { return patience_; }

 private:
  void work(std::size_t worker);
  [[nodiscard]] bool await_round(std::uint64_t seen);

  const std::chrono::nanoseconds patience_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::atomic<std::uint64_t> round_{0};
  std::atomic<std::size_t> busy_{0};
  std::atomic<bool> closing_{false};
  std::mutex mutex_;
  std::uint64_t calls_ = 0;  // of rouse()
  std::condition_variable begun_;
  std::condition_variable ended_;
  std::vector<std::thread> threads_;
};

}  // namespace watersmeet
