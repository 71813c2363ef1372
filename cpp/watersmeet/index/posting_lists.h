// The inverted lists of one window: per item the rows that hold it, in time order, and for popular items a bitmap.
//
// Paper: [Gedik] III-C, Fig. 4: rows are added at a list's end and expire at its front, and a range of the window is
// a contiguous piece of every list, found by searching it.
// Departs from [Gedik]: expiry is lazy. Dead entries are skipped by the search; their memory is taken again when their
// list is full, or by a sweep over all lists each time the window has turned over.
// Bitmaps are a cache: whether a list has one never changes an answer or a count of work. They are made when a merge
// asks for one, kept up with appends, and dropped by the sweep where the item is popular no more.
//
// Invariants
//   (1) A list holds every joinable row of [window begin, end) with its item; older ones are at least floor.
//   (2) end - floor < 2^32, so that positions relative to floor ascend.
//   (3) A bitmap is a ring of ring_rows() bits; those of live rows are right, and those of rows to come are 0 once
//       their block of 512 begins.
// Threads    one writer; find() and bitmap() write, too.
// Lifetime   pointers end at the next append, expiry or truncation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "watersmeet/base/pages.h"
#include "watersmeet/base/sliding_array.h"
#include "watersmeet/base/types.h"
#include "watersmeet/index/posting_list.h"
#include "watersmeet/index/row_output.h"
#include "watersmeet/merge/merge.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

// True if the length of a weighted set with this sum of squares is well inside the range of floats.
[[nodiscard]] inline bool has_float_length(double squares) { return squares >= 1e-60 && squares <= 1e60; }

class PostingLists {
 public:
  struct List {
    PostingList postings;
    PageArray<std::uint64_t> bitmap;  // empty if there is none
  };

  // The piece of a list that lies in a range.
  struct Piece {
    const Position* positions = nullptr;
    const float* weights = nullptr;  // divided by the length of their row
    std::size_t size = 0;
  };

  PostingLists(const Window& window, bool weighted) : window_(window), weighted_(weighted) {}

  void append(Seq first, Seq last);
  void expire_before(Seq row);
  void truncate(Seq row);

  // The list of an item, with its dead entries dropped; null if no live row holds the item.
  [[nodiscard]] List* find(Code item);
  [[nodiscard]] Piece cut(const List& list, LiveRange range) const;
  // The list's bitmap, made if need be.
  [[nodiscard]] const std::uint64_t* bitmap(List& list);
  [[nodiscard]] std::uint64_t ring_rows() const { return ring_rows_; }
  // The joinable rows of the range whose sets are empty, oldest first, and how many.
  [[nodiscard]] std::pair<const Seq*, std::size_t> empty_sets(LiveRange range) const;

  // Gives back what dead entries and unpopular bitmaps take.
  void trim();
  [[nodiscard]] std::size_t bytes() const;

 private:
  [[nodiscard]] const SetColumn& sets() const { return std::get<SetColumn>(window_.columns[0]); }
  [[nodiscard]] std::uint32_t offset(Position position) const {
    return position - static_cast<Position>(floor_);
  }
  [[nodiscard]] Seq oldest() const { return begin_ > window_.begin() ? begin_ : window_.begin(); }
  // The first entry of the list that is not before `row`.
  [[nodiscard]] const Position* lower_bound(const PostingList& list, Seq row) const;
  void drop_dead(PostingList& list) const;
  void append_row(Seq row);
  void advance_to(Seq row);
  void sweep();
  void make_ring(std::size_t rows);
  void drop_bitmaps();
  void clear_block(Seq row);

  const Window& window_;
  const bool weighted_;
  std::vector<List> lists_;  // by item
  SlidingArray<Seq> empty_;  // rows with empty sets
  Seq begin_ = 0;
  Seq end_ = 0;
  Seq floor_ = 0;
  std::uint64_t ring_rows_ = 512;
  std::vector<Code> with_bitmap_;
};

}  // namespace watersmeet
