// How many rows are missing from a window, and when they were: evicted or never taken in, for want of memory.
//
// A join that gives rows up must still say how many pairs it owes for them. Keeping all their timestamps
// would take a good part of the memory that eviction is to free, so a bounded number of stretches of time is
// kept, with the rows in each; inside a stretch, rows are taken to be evenly spread. Invariants
//   (1) Stretches are in time order, do not overlap but at their ends, and are at most kMost in number, with the
//   dropped ones that are still stored.
// Cost       add O(stretches added) amortised; count O(log kMost).
// Threads    one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet {

class Absent {
 public:
  static constexpr std::size_t kMost = 512;

  // These rows went, their times in order and none before those of the last call.
  void add(const Timestamp* times, std::size_t rows);
  // Rows that were spread over [first, last]. Requires: first is not before the last stretch's first.
  void add(Timestamp first, Timestamp last, std::uint64_t rows);
  // Rows before this time are asked for no more.
  void drop_before(Timestamp time);

  [[nodiscard]] bool empty() const { return stretches_.size() == head_; }
  // About how many of the rows lie in [first, last].
  [[nodiscard]] double count(Timestamp first, Timestamp last) const;

  [[nodiscard]] std::size_t bytes() const { return stretches_.capacity() * sizeof(Stretch); }
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);

 private:
  struct Stretch {
    Timestamp first = 0;
    Timestamp last = 0;
    std::uint64_t rows = 0;
    std::uint64_t before = 0;  // rows of all stretches before this one, ever
  };

  // Rows before `time`, or, with `inclusive`, up to it; of all stretches ever.
  [[nodiscard]] double rows_until(Timestamp time, bool inclusive) const;
  void merge_neighbours();

  std::vector<Stretch> stretches_;
  std::size_t head_ = 0;  // stretches before it are dropped
};

}  // namespace watersmeet
