#include "watersmeet/index/posting_lists.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "watersmeet/merge/bit_slices.h"

namespace watersmeet {
namespace {

constexpr Seq kMostRows = (Seq{1} << 32) - 1;
constexpr Seq kFewestRows = 1024;  // windows smaller than this are not swept more often

// An item's share of live rows below which its bitmap is dropped.
constexpr std::size_t kUnpopular = 512;

// The first of `size` ascending values that is at least `wanted`; fast where it is near the front or at the end.
template <class Value>
std::size_t gallop(std::size_t size, std::uint32_t wanted, Value value) {
  if (size == 0 || value(size - 1) < wanted) return size;
  std::size_t low = 0;  // everything before it is smaller
  std::size_t step = 1;
  for (; low + step <= size && value(low + step - 1) < wanted; step *= 2) low += step;
  for (std::size_t high = std::min(low + step, size); low < high;) {
    const std::size_t middle = low + (high - low) / 2;
    if (value(middle) < wanted) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

const Position* PostingLists::lower_bound(const PostingList& list, Seq row) const {
  const Position* positions = list.begin();
  if (row <= floor_) return positions;
  if (row - floor_ > UINT32_MAX) return list.end();
  const auto wanted = static_cast<std::uint32_t>(row - floor_);
  return positions + gallop(list.size(), wanted, [&](std::size_t at) { return offset(positions[at]); });
}

void PostingLists::drop_dead(PostingList& list) const {
  const Seq oldest_row = oldest();
  if (list.empty() || floor_ + offset(*list.begin()) >= oldest_row) return;
  list.drop_front(static_cast<std::size_t>(lower_bound(list, oldest_row) - list.begin()));
}

void PostingLists::append(Seq first, Seq last) {
  if (begin_ == end_) {
    // Nothing is alive, so no list has anything to keep.
    if (first != end_ || first - floor_ > kMostRows / 2) {
      lists_.clear();
      drop_bitmaps();
      empty_.reset(0);
      floor_ = first;
    }
    begin_ = end_ = first;
  }
  advance_to(window_.begin());
  if (last - floor_ > kMostRows) sweep();
  if (last - begin_ + kBlockRows > ring_rows_) make_ring(last - begin_ + kBlockRows);
  for (Seq row = first; row < last; ++row) append_row(row);
  end_ = last;
}

void PostingLists::append_row(Seq row) {
  if (row % kBlockRows == 0) clear_block(row);
  if (!window_.joinable[row]) return;
  const auto items = sets().set(row);
  if (items.empty()) {
    empty_.push_back(row);
    return;
  }
  if (items.back() >= lists_.size()) lists_.resize(items.back() + std::size_t{1});
  const auto position = static_cast<Position>(row);
  const std::uint64_t slot = row & (ring_rows_ - 1);
  const double* weights = weighted_ ? sets().set_weights(row).data() : nullptr;
  // A row whose length a float cannot hold adds nothing to sums: the index keeps it apart.
  const double share =
      weighted_ && has_float_length(sets().squares[row]) ? 1 / std::sqrt(sets().squares[row]) : 0;
  for (std::size_t at = 0; at < items.size(); ++at) {
    List& list = lists_[items[at]];
    if (list.postings.full()) drop_dead(list.postings);
    if (weighted_) {
      list.postings.push_back(position, static_cast<float>(weights[at] * share));
    } else {
      list.postings.push_back(position);
    }
    if (list.bitmap.size() > 0) list.bitmap[slot / 64] |= 1ULL << (slot % 64);
  }
}

void PostingLists::clear_block(Seq row) {
  const std::size_t word = (row & (ring_rows_ - 1)) / 64;
  for (const Code item : with_bitmap_) std::fill_n(lists_[item].bitmap.data() + word, kBlockWords, 0);
}

void PostingLists::expire_before(Seq row) { advance_to(std::max(row, window_.begin())); }

void PostingLists::advance_to(Seq row) {
  begin_ = std::clamp(row, begin_, end_);
  if (begin_ - floor_ > std::max(end_ - begin_, kFewestRows)) sweep();
}

void PostingLists::truncate(Seq row) {
  begin_ = std::min(oldest(), end_);
  row = std::max(row, begin_);
  if (row >= end_) return;
  while (!empty_.empty() && empty_[empty_.end() - 1] >= row) empty_.truncate_to(empty_.end() - 1);
  while (end_ > row) {
    --end_;
    if (!window_.joinable[end_]) continue;
    const std::uint64_t slot = end_ & (ring_rows_ - 1);
    for (const Code item : sets().set(end_)) {
      lists_[item].postings.drop_back(1);
      if (lists_[item].bitmap.size() > 0) lists_[item].bitmap[slot / 64] &= ~(1ULL << (slot % 64));
    }
  }
}

void PostingLists::sweep() {
  const std::size_t live = end_ - begin_;
  if (8 * (live + kBlockRows) < ring_rows_) make_ring(live + kBlockRows);
  std::size_t kept = 0;
  with_bitmap_.clear();
  for (std::size_t item = 0; item < lists_.size(); ++item) {
    List& list = lists_[item];
    drop_dead(list.postings);
    list.postings.trim(weighted_);
    if (!list.postings.empty()) kept = item + 1;
    if (list.bitmap.size() == 0) continue;
    if (list.postings.size() < live / kUnpopular + 1) {
      list.bitmap = {};
    } else {
      with_bitmap_.push_back(static_cast<Code>(item));
    }
  }
  lists_.resize(kept);
  if (kept < lists_.capacity() / 4) lists_.shrink_to_fit();
  while (!empty_.empty() && empty_[empty_.begin()] < begin_) empty_.drop_front_to(empty_.begin() + 1);
  floor_ = begin_;
}

void PostingLists::trim() {
  const std::size_t needed = end_ - begin_ + kBlockRows;
  if (std::bit_ceil(needed) < ring_rows_) make_ring(needed);
  sweep();
  lists_.shrink_to_fit();
  empty_.trim();
}

// Bits move when the ring changes: bitmaps are made again when they are asked for.
void PostingLists::make_ring(std::size_t rows) {
  drop_bitmaps();
  ring_rows_ = std::bit_ceil(std::max<std::uint64_t>(rows, kBlockRows));
}

void PostingLists::drop_bitmaps() {
  for (const Code item : with_bitmap_) {
    if (item < lists_.size()) lists_[item].bitmap = {};
  }
  with_bitmap_.clear();
}

PostingLists::List* PostingLists::find(Code item) {
  if (item >= lists_.size()) return nullptr;
  List& list = lists_[item];
  drop_dead(list.postings);
  return list.postings.empty() ? nullptr : &list;
}

PostingLists::Piece PostingLists::cut(const List& list, LiveRange range) const {
  const Position* from = lower_bound(list.postings, range.lo);
  const Position* to = lower_bound(list.postings, range.hi);
  return {from, weighted_ ? list.postings.weights() + (from - list.postings.begin()) : nullptr,
          static_cast<std::size_t>(to - from)};
}

const std::uint64_t* PostingLists::bitmap(List& list) {
  if (list.bitmap.size() == 0) {
    list.bitmap = PageArray<std::uint64_t>::zeroed(ring_rows_ / 64);
    for (const Position position : list.postings) {
      const std::uint64_t slot = position & (ring_rows_ - 1);
      list.bitmap[slot / 64] |= 1ULL << (slot % 64);
    }
    with_bitmap_.push_back(static_cast<Code>(&list - lists_.data()));
  }
  return list.bitmap.data();
}

std::pair<const Seq*, std::size_t> PostingLists::empty_sets(LiveRange range) const {
  const Seq* first = empty_.at(empty_.begin());
  const Seq* from = std::lower_bound(first, first + empty_.size(), range.lo);
  const Seq* to = std::lower_bound(from, first + empty_.size(), range.hi);
  return {from, static_cast<std::size_t>(to - from)};
}

std::size_t PostingLists::bytes() const {
  std::size_t total =
      lists_.capacity() * sizeof(List) + empty_.bytes() + with_bitmap_.capacity() * sizeof(Code);
  for (const List& list : lists_) total += list.postings.bytes(weighted_) + list.bitmap.bytes();
  return total;
}

}  // namespace watersmeet
