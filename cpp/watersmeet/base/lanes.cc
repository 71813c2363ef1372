#include "watersmeet/base/lanes.h"

#include <utility>

#include "watersmeet/base/patience.h"

namespace watersmeet {

Lanes::Lanes(std::size_t lanes) : errors_(lanes) {}

Lanes::~Lanes() {
  {
    const std::lock_guard lock(mutex_);
    closing_.store(true);
  }
  begun_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void Lanes::run(const std::function<void(std::size_t)>& task) {
  while (helpers_.size() + 1 < size()) {
    helpers_.emplace_back([this, lane = helpers_.size() + 1] { help(lane); });
  }
  for (std::exception_ptr& error : errors_) error = nullptr;
  task_ = &task;
  busy_.store(helpers_.size());
  {
    const std::lock_guard lock(mutex_);
    round_.fetch_add(1);
  }
  begun_.notify_all();
  work(0);
  const auto done = [this] { return busy_.load() == 0; };
  if (!look_for(kPatience, done)) {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, done);
  }
  for (const std::exception_ptr& error : errors_) {
    if (error != nullptr) std::rethrow_exception(error);
  }
}

void Lanes::work(std::size_t lane) noexcept {
  try {
    (*task_)(lane);
  } catch (...) {
    errors_[lane] = std::current_exception();
  }
}

bool Lanes::await_round(std::uint64_t seen) {
  const auto begun = [this, seen] { return closing_.load() || round_.load() != seen; };
  if (!look_for(kPatience, begun)) {
    std::unique_lock lock(mutex_);
    begun_.wait(lock, begun);
  }
  return !closing_.load();
}

void Lanes::help(std::size_t lane) {
  // The round that made this helper has not been worked on by it.
  for (std::uint64_t seen = 0; await_round(seen); ++seen) {
    work(lane);
    if (busy_.fetch_sub(1) == 1) {
      const std::lock_guard lock(mutex_);
      ended_.notify_one();
    }
  }
}

}  // namespace watersmeet
