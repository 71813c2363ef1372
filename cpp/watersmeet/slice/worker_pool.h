// A fixed number of threads that do one task together and then rest.
//
// Threads    run() from one thread at a time.
#pragma once

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

  // Calls task(worker) on every worker, which must not throw, and returns when all calls have. Meanwhile
  // `poll`, if there is one, is called now and then on the calling thread.
  void run(const std::function<void(std::size_t)>& task, const std::function<void()>& poll);

 private:
  void work(std::size_t worker);

  std::mutex mutex_;
  std::condition_variable begun_;
  std::condition_variable ended_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t busy_ = 0;
  bool closing_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace watersmeet
