// A first-in, first-out link between two threads: one pushes, one pops, neither locks.
//
// The queue grows by blocks, so pushing never waits: a ring of bounded links could fill up and stand still.
// Invariants
//   (1) Items leave in the order they came; each leaves once.
//   (2) published_ counts pushes; an item is written before it is counted.
// Cost       push and pop O(1); a block of memory per kBlock items, reused by the same queue.
// Threads    one producer, one consumer; wake() from any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "watersmeet/base/patience.h"

namespace watersmeet {

template <class T>
class SpscQueue {
 public:
  SpscQueue() : head_(new Block), tail_(head_) {}
  ~SpscQueue() {
    while (head_ != nullptr) {
      Block* next = head_->next.load(std::memory_order_relaxed);
      delete head_;
      head_ = next;
    }
    delete spare_.load(std::memory_order_relaxed);
  }
  SpscQueue(const SpscQueue&) = delete;
  SpscQueue& operator=(const SpscQueue&) = delete;

  // Producer: adds an item, and wakes the consumer if it sleeps.
  void push(const T& item) {
    if (tail_at_ == kBlock) extend();
    tail_->items[tail_at_++] = item;
    published_.store(++written_, std::memory_order_seq_cst);
    if (sleeping_.load(std::memory_order_seq_cst)) wake();
  }

  // Consumer: takes the next item, if there is one.
  [[nodiscard]] bool pop(T& item) {
    if (empty()) return false;
    if (head_at_ == kBlock) advance();
    item = head_->items[head_at_++];
    ++taken_;
    return true;
  }
  [[nodiscard]] bool empty() const { return taken_ == published_.load(std::memory_order_seq_cst); }

  // Consumer: looks for `patience`, then sleeps, until there is an item or `ready` holds or kLongestSleep has passed.
  // Whoever makes `ready` hold calls wake().
  template <class Ready>
  void wait(std::chrono::nanoseconds patience, Ready ready) {
    const auto over = [&] { return !empty() || ready(); };
    if (look_for(patience, over)) return;
    std::unique_lock lock(mutex_);
    // Either the producer sees this, or the items that it has published are seen here.
    sleeping_.store(true, std::memory_order_seq_cst);
    woken_.wait_for(lock, kLongestSleep, over);
    sleeping_.store(false, std::memory_order_seq_cst);
  }

  // Ends the consumer's sleep, so that it looks again.
  void wake() {
    { const std::lock_guard lock(mutex_); }  // it is not between a look and its sleep
    woken_.notify_all();
  }

  static constexpr std::chrono::milliseconds kLongestSleep{50};

 private:
  static constexpr std::size_t kBlock = 128;

  struct Block {
    std::array<T, kBlock> items;
    std::atomic<Block*> next{nullptr};
  };

  void extend() {
    Block* block = spare_.exchange(nullptr, std::memory_order_acq_rel);
    if (block == nullptr) block = new Block;
    tail_->next.store(block, std::memory_order_release);
    tail_ = block;
    tail_at_ = 0;
  }

  void advance() {
    Block* done = head_;
    head_ = done->next.load(std::memory_order_acquire);
    head_at_ = 0;
    done->next.store(nullptr, std::memory_order_relaxed);
    delete spare_.exchange(done, std::memory_order_acq_rel);
  }

  // Consumer's.
  Block* head_;
  std::size_t head_at_ = 0;
  std::uint64_t taken_ = 0;
  // Producer's.
  alignas(64) Block* tail_;
  std::size_t tail_at_ = 0;
  std::uint64_t written_ = 0;
  // Shared.
  alignas(64) std::atomic<std::uint64_t> published_{0};
  std::atomic<Block*> spare_{nullptr};
  alignas(64) std::atomic<bool> sleeping_{false};
  std::mutex mutex_;
  std::condition_variable woken_;
};

}  // namespace watersmeet
