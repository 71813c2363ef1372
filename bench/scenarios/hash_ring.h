// The window of an equi-join loop: a ring of (key, previous row in the same bucket) and a table of bucket
// heads. A chain runs from the newest row to older ones, so expiry is a comparison of row numbers and costs
// nothing.
#pragma once

#include "loop.h"

namespace loop {

struct Link {
  int64_t key;
  int64_t previous;
};

class HashRing {
 public:
  // Requires: no chain is followed to rows more than `rows` behind the newest.
  explicit HashRing(int64_t rows) {
    int64_t size = 1;
    while (size < rows) size *= 2;
    mask_ = size - 1;
    shift_ = 63 - __builtin_ctzll(static_cast<uint64_t>(size));  // twice as many buckets as rows
    links_.assign(static_cast<size_t>(size), Link{-1, -1});
    heads_.assign(static_cast<size_t>(2 * size), -1);
  }

  int64_t head(int64_t key) const { return heads_[bucket(key)]; }
  const Link& link(int64_t row) const { return links_[static_cast<size_t>(row & mask_)]; }
  void prefetch_head(int64_t key) const { __builtin_prefetch(&heads_[bucket(key)]); }
  void prefetch_link(int64_t row) const { __builtin_prefetch(&link(row)); }

  void append(int64_t row, int64_t key) {
    int64_t& head = heads_[bucket(key)];
    links_[static_cast<size_t>(row & mask_)] = {key, head};
    head = row;
  }

 private:
  size_t bucket(int64_t key) const { return (static_cast<uint64_t>(key) * 0x9E3779B97F4A7C15u) >> shift_; }

  int64_t mask_;
  int shift_;
  std::vector<Link> links_;
  std::vector<int64_t> heads_;
};

}  // namespace loop
