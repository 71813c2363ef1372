// An array addressed by an ever-growing position: appended at the back, dropped at the front.
//
// Invariants
//   (1) begin() <= end(); elements [begin(), end()) are alive and contiguous in memory.
//   (2) A position keeps its element until the element is dropped or truncated away.
// Cost       append O(1) amortised: live elements move at most once per capacity's worth of appends, and
//            the dead front is reused before more memory is taken. drop_front_to and truncate_to O(1).
// Memory     at most twice the live size at the last growth; given back when an eighth would do.
// Threads    one writer; const calls only while it rests.
// Lifetime   pointers end at the next append.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>

#include "watersmeet/base/check.h"

namespace watersmeet {

template <class T>
class SlidingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  using Position = std::uint64_t;

  [[nodiscard]] Position begin() const { return begin_; }
  [[nodiscard]] Position end() const { return end_; }
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(end_ - begin_); }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::size_t bytes() const { return capacity_ * sizeof(T); }

  [[nodiscard]] const T& operator[](Position position) const {
    WATERSMEET_CHECK(position >= begin_ && position < end_);
    return data_[position - base_];
  }
  [[nodiscard]] T& operator[](Position position) {
    WATERSMEET_CHECK(position >= begin_ && position < end_);
    return data_[position - base_];
  }
  // The address of `position`, which may be end(); elements up to end() follow it.
  [[nodiscard]] const T* at(Position position) const {
    WATERSMEET_CHECK(position >= begin_ && position <= end_);
    return data_.get() + (position - base_);
  }
  [[nodiscard]] T* at(Position position) {
    WATERSMEET_CHECK(position >= begin_ && position <= end_);
    return data_.get() + (position - base_);
  }

  void push_back(T value) {
    if (end_ - base_ == capacity_) make_room(1);
    data_[end_ - base_] = value;
    ++end_;
  }

  // Adds `count` elements whose values the caller writes through the returned address.
  [[nodiscard]] T* extend(std::size_t count) {
    if (end_ - base_ + count > capacity_) make_room(count);
    T* added = data_.get() + (end_ - base_);
    end_ += count;
    return added;
  }

  void append(const T* values, std::size_t count) {
    if (count > 0) std::memcpy(extend(count), values, count * sizeof(T));
  }

  void append_copies(T value, std::size_t count) { std::fill_n(extend(count), count, value); }

  // Forgets everything before `position`. Requires: position <= end().
  void drop_front_to(Position position) {
    WATERSMEET_CHECK(position <= end_);
    begin_ = std::max(begin_, position);
  }

  // Forgets everything from `position` on. Requires: begin() <= position.
  void truncate_to(Position position) {
    WATERSMEET_CHECK(position >= begin_);
    end_ = std::min(end_, position);
  }

  // Empties the array; the next element appended gets `position`.
  void reset(Position position) {
    begin_ = end_ = base_ = position;
    data_.reset();
    capacity_ = 0;
  }

 private:
  void make_room(std::size_t count) {
    const std::size_t live = size();
    const std::size_t need = live + count;
    if (need <= capacity_ / 2 && need > capacity_ / 8) {
      std::memmove(data_.get(), data_.get() + (begin_ - base_), live * sizeof(T));
    } else {
      const std::size_t capacity = std::max<std::size_t>(need * 2, 64 / sizeof(T) + 1);
      std::unique_ptr<T[]> grown(new T[capacity]);
      if (live > 0) std::memcpy(grown.get(), data_.get() + (begin_ - base_), live * sizeof(T));
      data_ = std::move(grown);
      capacity_ = capacity;
    }
    base_ = begin_;
  }

  std::unique_ptr<T[]> data_;
  std::size_t capacity_ = 0;
  Position base_ = 0;   // position of data_[0]
  Position begin_ = 0;
  Position end_ = 0;
};

}  // namespace watersmeet
