// Sets as the C++ loops keep them: items of every row, and for each item the rows that hold it, oldest first.
#pragma once

#include "loop.h"

namespace loop {

// One stream's sets, in memory as drawn.
struct Sets {
  std::vector<int64_t> offsets;
  std::vector<int64_t> items;

  Sets(const Options& options, int stream)
      : offsets(read_npy<int64_t>(array_path(options, "offsets", stream), options.rows + 1)),
        items(read_npy<int64_t>(array_path(options, "items", stream), offsets.back())) {}

  const int64_t* begin(int64_t row) const { return items.data() + offsets[static_cast<size_t>(row)]; }
  const int64_t* end(int64_t row) const { return items.data() + offsets[static_cast<size_t>(row) + 1]; }
};

// Entries of one item, oldest first; those before first() are dead.
template <typename Entry>
class Postings {
 public:
  const Entry* first() const { return entries_.data() + head_; }
  const Entry* last() const { return entries_.data() + entries_.size(); }

  void append(Entry entry) { entries_.push_back(entry); }

  // Lets go of entries of rows before `oldest`; moves the rest down once the dead outnumber them.
  void expire(int32_t oldest) {
    while (head_ < entries_.size() && entries_[head_].row < oldest) ++head_;
    if (2 * head_ < entries_.size()) return;
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(head_));
    head_ = 0;
  }

 private:
  std::vector<Entry> entries_;
  size_t head_ = 0;
};

inline int64_t power_of_two(int64_t at_least) {
  int64_t size = 64;
  while (size < at_least) size *= 2;
  return size;
}

// Runs `join(own, other, begin, end, own_is_left)` on alternating batches of the two sides.
template <typename Side, typename Step>
void alternate(const Options& options, Side& left, Side& right, Output& output, Step&& step) {
  for (int64_t begin = 0; begin < options.rows; begin += options.batch) {
    const int64_t end = std::min(begin + options.batch, options.rows);
    step(left, right, begin, end, true);
    step(right, left, begin, end, false);
    output.flush();
  }
}

}  // namespace loop
