#include "watersmeet/slice/worker_pool.h"

#include <chrono>

namespace watersmeet {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(50);

}  // namespace

WorkerPool::WorkerPool(std::size_t workers) {
  for (std::size_t worker = 0; worker < workers; ++worker) {
    threads_.emplace_back([this, worker] { work(worker); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(const std::function<void(std::size_t)>& task, const std::function<void()>& poll) {
  std::unique_lock lock(mutex_);
  task_ = &task;
  busy_ = threads_.size();
  ++round_;
  begun_.notify_all();
  while (busy_ > 0) {
    if (ended_.wait_for(lock, kPollEvery, [this] { return busy_ == 0; })) break;
    if (!poll) continue;
    lock.unlock();
    poll();
    lock.lock();
  }
  task_ = nullptr;
}

void WorkerPool::work(std::size_t worker) {
  std::uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    begun_.wait(lock, [this, seen] { return closing_ || round_ != seen; });
    if (closing_) return;
    seen = round_;
    const auto& task = *task_;
    lock.unlock();
    task(worker);
    lock.lock();
    if (--busy_ == 0) ended_.notify_one();
  }
}

}  // namespace watersmeet
