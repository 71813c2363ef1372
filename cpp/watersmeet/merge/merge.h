// Multi-way merge of posting lists: which rows appear in at least so many of them.
//
// One interface, three algorithms. Heap: the paper's, a binary heap of list cursors. Count: one counter per row of
// the range (ScanCount). Bitmap: lists of popular items as vertical bitmaps, added up 512 rows at a time in
// bit-sliced counters; the other lists are added bit by bit to the same counters.
//
// Paper: [Gedik] III-C, Fig. 4 (lists in time order, merged by heap).
// Invariants
//   (1) run() reports each row that is in at least `least` of the lists once, in ascending order, with the
//       exact number of lists if `exact` was asked for (otherwise its counts are at least `least`).
//   (2) Every posting of a view lies in the range, and each view's postings ascend strictly.
// Cost       per posting: heap O(log lists), count O(1); bitmap O(rows / 512) per list that has one.
// Threads    one caller at a time: scratch memory is kept between runs, so a steady run allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace watersmeet {

// The low 32 bits of a sequence number: enough to tell apart the rows of one window.
using Position = std::uint32_t;

// One posting list, cut to the range of the probe.
struct PostingView {
  const Position* positions = nullptr;
  std::size_t size = 0;
  // Ring of words, bit (row mod ring_rows); null if the list has none or reading postings is cheaper.
  // When set, the bitmap merge reads it instead of the positions.
  const std::uint64_t* bitmap = nullptr;
};

struct MergeInput {
  std::span<const PostingView> lists;
  // The range is rows [first_row, first_row + rows); offsets count from first_row.
  std::uint64_t first_row = 0;
  std::uint32_t rows = 0;
  // Requires: 1 <= least.
  std::size_t least = 1;
  bool exact = false;
  // Rows that one turn of the bitmaps holds: a power of two, at least 512.
  std::uint64_t ring_rows = 0;
};

// Rows found, as offsets from the start of the range, with the number of lists that hold them.
struct Candidates {
  std::vector<std::uint32_t> offsets;
  std::vector<std::uint32_t> counts;

  void clear() {
    offsets.clear();
    counts.clear();
  }
};

class Merge {
 public:
  virtual ~Merge() = default;
  // Replaces `found` by the rows in at least input.least lists.
  // Returns: postings read; a bitmap word counts as one.
  virtual std::uint64_t run(const MergeInput& input, Candidates& found) = 0;
  [[nodiscard]] virtual std::size_t bytes() const = 0;
};

std::unique_ptr<Merge> make_heap_merge();
std::unique_ptr<Merge> make_count_merge();
// Requires of each run: `fits_bit_slices` of its number of lists and least.
std::unique_ptr<Merge> make_bitmap_merge();

// True if bit-sliced counters are wide enough to tell `least` of `lists` lists, and exact counts above it.
[[nodiscard]] bool fits_bit_slices(std::size_t lists, std::size_t least);

}  // namespace watersmeet
