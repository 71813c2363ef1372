// An array addressed by an ever-growing position: appended at the back, dropped at the front.
//
// Invariants
//   (1) begin() <= end(); elements [begin(), end()) are alive and contiguous in memory.
//   (2) A position keeps its element until the element is dropped or truncated away.
// Cost       append O(1) amortised: live elements move at most once per three eighths of the capacity's worth of
//            appends, and the dead front is reused before more memory is taken. drop_front_to and truncate_to O(1).
// Memory     at most 3.2 times the live size at the last growth, 1.125 times with Thrift; given back when an eighth
//            would do, or by trim().
// Threads    one writer; const calls only while it rests.
// Lifetime   pointers end at the next append.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "watersmeet/base/check.h"
#include "watersmeet/base/pages.h"
#include "watersmeet/base/thrift.h"

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
  [[nodiscard]] std::size_t bytes() const { return data_.bytes(); }

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
    return data_.data() + (position - base_);
  }
  [[nodiscard]] T* at(Position position) {
    WATERSMEET_CHECK(position >= begin_ && position <= end_);
    return data_.data() + (position - base_);
  }

  void push_back(T value) {
    if (end_ - base_ == data_.size()) make_room(1);
    data_[end_ - base_] = value;
    ++end_;
  }

  // Adds `count` elements whose values the caller writes through the returned address.
  [[nodiscard]] T* extend(std::size_t count) {
    if (end_ - base_ + count > data_.size()) make_room(count);
    T* added = data_.data() + (end_ - base_);
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

  // Gives back memory beyond what a thrifty array keeps.
  void trim() {
    const std::size_t capacity = empty() ? 0 : size() + Thrift::spare(size());
    if (capacity * sizeof(T) + kWorthwhile > data_.bytes()) return;
    resize(capacity);
  }

  // Empties the array; the next element appended gets `position`.
  void reset(Position position) {
    begin_ = end_ = base_ = position;
    data_ = {};
  }

 private:
  void make_room(std::size_t count) {
    const std::size_t live = size();
    const std::size_t need = live + count;
    if (Thrift::is_on()) return make_little_room(need);
    if (need <= data_.size() / 8 * 5 && need > data_.size() / 8) {
      std::memmove(data_.data(), data_.data() + (begin_ - base_), live * sizeof(T));
    } else {
      // Powers of two, so that what one array lets go another can use.
      resize(std::bit_ceil(std::max<std::size_t>(need / 5 * 8 + 8, 64 / sizeof(T))));
    }
    base_ = begin_;
  }

  void make_little_room(std::size_t need) {
    if (need + Thrift::spare(need) / 2 <= data_.size()) {
      std::memmove(data_.data(), data_.data() + (begin_ - base_), size() * sizeof(T));
      base_ = begin_;
    } else {
      resize(need + Thrift::spare(need));
    }
  }

  void resize(std::size_t capacity) {
    auto resized = PageArray<T>::uninitialized(capacity);
    if (!empty()) std::memcpy(resized.data(), data_.data() + (begin_ - base_), size() * sizeof(T));
    data_ = std::move(resized);
    base_ = begin_;
  }

  static constexpr std::size_t kWorthwhile = 256;  // bytes

  PageArray<T> data_;
  Position base_ = 0;  // position of data_[0]
  Position begin_ = 0;
  Position end_ = 0;
};

}  // namespace watersmeet
