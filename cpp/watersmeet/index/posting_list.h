// The rows that hold one item, oldest first, as 32-bit positions; with the item's weight in each where asked for.
//
// Compact, since there may be millions of them: 24 bytes and one block of memory, or none while empty.
// Invariants
//   (1) Positions ascend in the order of the rows they stand for.
// Cost       push_back O(1) amortised; dropped entries are reused before more memory is taken.
// Lifetime   pointers end at the next push_back or trim.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "watersmeet/base/thrift.h"
#include "watersmeet/merge/merge.h"

namespace watersmeet {

class PostingList {
 public:
  PostingList() = default;
  PostingList(PostingList&& from) noexcept { swap(from); }
  PostingList& operator=(PostingList&& from) noexcept {
    swap(from);
    return *this;
  }
  PostingList(const PostingList&) = delete;
  PostingList& operator=(const PostingList&) = delete;
  ~PostingList() { std::free(data_); }

  [[nodiscard]] std::size_t size() const { return end_ - begin_; }
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] bool full() const { return end_ == capacity_; }
  [[nodiscard]] const Position* begin() const { return data_ + begin_; }
  [[nodiscard]] const Position* end() const { return data_ + end_; }
  // Parallel to the positions. Requires: a weighted list.
  [[nodiscard]] const float* weights() const { return weights_of(data_, capacity_) + begin_; }
  [[nodiscard]] std::size_t bytes(bool weighted) const { return capacity_ * entry_bytes(weighted); }

  void push_back(Position position) {
    if (full()) make_room(false);
    data_[end_++] = position;
  }
  void push_back(Position position, float weight) {
    if (full()) make_room(true);
    weights_of(data_, capacity_)[end_] = weight;
    data_[end_++] = position;
  }
  void drop_front(std::size_t count) { begin_ += static_cast<std::uint32_t>(count); }
  void drop_back(std::size_t count) { end_ -= static_cast<std::uint32_t>(count); }

  // Gives back memory that is more than four times what is needed; with Thrift, all that is much more.
  void trim(bool weighted) {
    const std::size_t enough =
        Thrift::is_on() ? size() + Thrift::spare(size()) / 2 : std::size_t{capacity_} / 4;
    if (capacity_ <= kSmallest ? !empty() : Thrift::is_on() ? capacity_ <= enough : size() > enough) return;
    const std::size_t capacity = Thrift::is_on() ? enough : 2 * size();
    resize(empty() ? 0 : std::max<std::size_t>(kSmallest, capacity), weighted);
  }

 private:
  static constexpr std::uint32_t kSmallest = 4;

  static std::size_t entry_bytes(bool weighted) { return sizeof(Position) + (weighted ? sizeof(float) : 0); }
  // Weights stand behind all positions of the block.
  static float* weights_of(Position* data, std::size_t capacity) {
    return reinterpret_cast<float*>(data + capacity);
  }

  void swap(PostingList& other) {
    std::swap(data_, other.data_);
    std::swap(begin_, other.begin_);
    std::swap(end_, other.end_);
    std::swap(capacity_, other.capacity_);
  }

  void make_room(bool weighted) {
    // Sliding down costs a copy of the live entries: worth it where it frees a quarter of the block.
    if (begin_ >= capacity_ / 4 && begin_ > 0) {
      std::memmove(data_, data_ + begin_, size() * sizeof(Position));
      if (weighted) {
        float* weights = weights_of(data_, capacity_);
        std::memmove(weights, weights + begin_, size() * sizeof(float));
      }
      end_ -= begin_;
      begin_ = 0;
    } else {
      const std::size_t more = Thrift::is_on() ? std::max<std::size_t>(kSmallest, size() / 4) : size();
      resize(std::max<std::size_t>(kSmallest, size() + more), weighted);
    }
  }

  void resize(std::size_t capacity, bool weighted) {
    Position* data = nullptr;
    if (capacity > 0) {
      data = static_cast<Position*>(std::malloc(capacity * entry_bytes(weighted)));
      if (data == nullptr) throw std::bad_alloc();
      if (!empty()) std::memcpy(data, data_ + begin_, size() * sizeof(Position));
      if (weighted && !empty()) {
        std::memcpy(weights_of(data, capacity), weights_of(data_, capacity_) + begin_,
                    size() * sizeof(float));
      }
    }
    std::free(std::exchange(data_, data));
    end_ -= begin_;
    begin_ = 0;
    capacity_ = static_cast<std::uint32_t>(capacity);
  }

  Position* data_ = nullptr;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
  std::uint32_t capacity_ = 0;
};

}  // namespace watersmeet
