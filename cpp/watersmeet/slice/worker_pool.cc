#include "watersmeet/slice/worker_pool.h"

#include "watersmeet/base/patience.h"

namespace watersmeet {
namespace {

constexpr auto kPollEvery = std::chrono::milliseconds(50);

// Who was roused waits while a batch is read, which takes longer than a word from another core.
constexpr auto kRoused = std::chrono::milliseconds(1);

}  // namespace

WorkerPool::WorkerPool(std::size_t workers)
    : patience_(workers <= usable_cores() ? std::chrono::nanoseconds(kPatience)
                                          : std::chrono::nanoseconds(0)) {
  for (std::size_t worker = 1; worker < workers; ++worker) {
    threads_.emplace_back([this, worker] { work(worker); });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard lock(mutex_);
    closing_.store(true);
  }
  begun_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void WorkerPool::run(const std::function<void(std::size_t)>& task, const std::function<void()>& poll) {
  task_ = &task;
  busy_.store(threads_.size());
  {
    const std::lock_guard lock(mutex_);
    round_.fetch_add(1);
  }
  begun_.notify_all();
  task(0);
  const auto done = [this] { return busy_.load() == 0; };
  if (look_for(patience_, done)) return;
  std::unique_lock lock(mutex_);
  while (!ended_.wait_for(lock, kPollEvery, done)) {
    if (!poll) continue;
    lock.unlock();
    poll();
    lock.lock();
  }
}

void WorkerPool::rouse() {
  if (patience_.count() == 0) return;
  {
    const std::lock_guard lock(mutex_);
    ++calls_;
  }
  begun_.notify_all();
}

// Returns: whether there is a task, rather than an end.
bool WorkerPool::await_round(std::uint64_t seen) {
  const auto ready = [this, seen] { return closing_.load() || round_.load() != seen; };
  auto patience = patience_;
  while (!look_for(patience, ready)) {
    std::unique_lock lock(mutex_);
    const std::uint64_t calls = calls_;
    begun_.wait(lock, [&] { return ready() || calls_ != calls; });
    patience = kRoused;
  }
  return !closing_.load();
}

void WorkerPool::work(std::size_t worker) {
  for (std::uint64_t seen = 0; await_round(seen); ++seen) {
    (*task_)(worker);
    if (busy_.fetch_sub(1) != 1) continue;
    const std::lock_guard lock(mutex_);
    ended_.notify_one();
  }
}

}  // namespace watersmeet
