// Appends pairs through plain addresses, in room made ahead of time.
//
// Lifetime   finish(), or the end of the writer, gives `pairs` its true size; until then only the writer knows it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "watersmeet/base/types.h"
#include "watersmeet/index/index.h"

namespace watersmeet {

class PairWriter {
 public:
  explicit PairWriter(Pairs& pairs) : pairs_(pairs), size_(pairs.size()) { widen(pairs.own.capacity()); }
  PairWriter(const PairWriter&) = delete;
  PairWriter& operator=(const PairWriter&) = delete;
  ~PairWriter() { finish(); }

  [[nodiscard]] std::size_t size() const { return size_; }

  void add(Seq own, Seq other) {
    if (size_ == room_) widen(std::max<std::size_t>(2 * room_, 1024));
    own_[size_] = own;
    other_[size_] = other;
    ++size_;
  }

  // The same if `kept`, without a branch.
  void add_if(Seq own, Seq other, bool kept) {
    if (size_ == room_) widen(std::max<std::size_t>(2 * room_, 1024));
    own_[size_] = own;
    other_[size_] = other;
    size_ += kept ? 1 : 0;
  }

  // Turns round the partners written since the writer had size `from`.
  void reverse_from(std::size_t from) {
    if (size_ - from > 1) std::reverse(other_ + from, other_ + size_);
  }

  void finish() {
    pairs_.own.resize(size_);
    pairs_.other.resize(size_);
  }

 private:
  void widen(std::size_t room) {
    pairs_.own.resize(room);
    pairs_.other.resize(room);
    room_ = room;
    own_ = pairs_.own.data();
    other_ = pairs_.other.data();
  }

  Pairs& pairs_;
  std::size_t size_;
  std::size_t room_ = 0;
  Seq* own_ = nullptr;
  Seq* other_ = nullptr;
};

}  // namespace watersmeet
