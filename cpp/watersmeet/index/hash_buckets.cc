#include "watersmeet/index/hash_buckets.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "watersmeet/base/check.h"

namespace watersmeet {
namespace {

constexpr std::size_t kSmallest = 128;      // buckets
constexpr std::size_t kLinksPerBucket = 8;  // live rows that a table can hold, per bucket
constexpr std::size_t kBlock = 1024;        // rows appended between two looks at the table's size
constexpr std::size_t kCaughtUpPerRow = 8;  // so that the next table is ready long before this one is full
constexpr std::size_t kAhead = 28;          // rows between the prefetch and the use
constexpr std::size_t kFewestShared = 4096;  // rows of a batch that several lanes enter
constexpr Seq kMostPlaces = UINT32_MAX - 1;

// At 4.5 rows per bucket one row in forty is in a chain.
bool is_full(std::size_t rows, std::size_t buckets) { return 2 * rows > 9 * buckets; }
bool is_too_large(std::size_t rows, std::size_t buckets) { return buckets > kSmallest && 2 * rows < buckets; }

std::size_t size_for(std::size_t rows) {
  return std::bit_ceil(std::max<std::size_t>(kSmallest, (2 * rows + 8) / 9));
}

}  // namespace

HashBuckets::Table::Table(std::size_t size)
    : buckets(PageArray<Bucket>::zeroed(size)),
      links(PageArray<Place>::uninitialized(size * kLinksPerBucket)),
      shift(64 - static_cast<unsigned>(std::countr_zero(size))) {}

HashBuckets::HashBuckets(const Window& window) : window_(window), table_(kSmallest) {}

const std::uint64_t* HashBuckets::keys_at(Seq row) const {
  return std::get<KeyColumn>(window_.columns[0]).words.at(row);
}

void HashBuckets::begin_append(Seq first, Seq last) {
  if (first != end_) {
    begin_ = end_ = floor_ = first;
    wide_end_ = 0;
    rebuild(0);
  }
  drop_front_to(window_.begin());
  note_wide_keys(first, last);
}

void HashBuckets::append(Seq first, Seq last) {
  begin_append(first, last);
  while (first < last) {
    const std::size_t block = std::min<std::size_t>(last - first, kBlock);
    make_room(block, last - first);
    enter(table_, first, first + block);
    first += block;
    end_ = first;
  }
}

// Buckets do not know of one another, and a row's link is written by the lane of its bucket: the table becomes what
// one lane would have made of it. While the table grows, or has no room for the batch, one lane does it all.
void HashBuckets::append_on(Lanes& lanes, Seq first, Seq last) {
  const std::size_t rows = last - first;
  begin_append(first, last);
  if (rows > 0 && rows >= kFewestShared) make_room(rows, rows);
  const bool has_room = end_ - begin_ + rows <= table_.links.size();
  if (rows < kFewestShared || next_.size() > 0 || !has_room) return append(first, last);
  lanes.run([&](std::size_t lane) {
    const auto [from, to] = lanes.share(table_.size(), lane);
    for (Seq block = first; block < last; block += kBlock) {
      enter_share(table_, block, std::min<Seq>(block + kBlock, last), from, to);
    }
  });
  end_ = last;
}

void HashBuckets::enter_share(Table& table, Seq first, Seq last, std::size_t from, std::size_t to) const {
  const std::uint64_t* keys = keys_at(first);
  const std::uint8_t* joinable = window_.joinable.at(first);
  const auto count = static_cast<std::size_t>(last - first);
  const Place oldest = place(begin_);
  std::uint32_t mine[kBlock];
  std::size_t size = 0;
  for (std::size_t at = 0; at < count; ++at) {
    mine[size] = static_cast<std::uint32_t>(at);
    size += ((table.index(keys[at]) - from < to - from) & (joinable[at] != 0)) ? 1 : 0;
  }
  for (std::size_t at = 0; at < size; ++at) {
    if (at + kAhead < size) __builtin_prefetch(&table.buckets[table.index(keys[mine[at + kAhead]])], 1);
    enter_row(table, first + mine[at], keys[mine[at]], oldest);
  }
}

void HashBuckets::note_wide_keys(Seq first, Seq last) {
  if (first == last) return;
  const std::uint64_t* keys = keys_at(first);
  std::uint64_t any = 0;
  for (Seq row = first; row < last; ++row) any |= keys[row - first];
  if (any >> 32 != 0) wide_end_ = last;
}

void HashBuckets::make_room(std::size_t block, std::size_t batch) {
  const std::size_t rows = end_ - begin_;
  if (end_ + block - floor_ >= kMostPlaces) {
    // Once in 2^32 rows: entering the live rows again is simpler than lowering every place.
    floor_ = begin_;
    rebuild(rows + block);
  }
  if (next_.size() > 0) catch_up(kCaughtUpPerRow * block);
  if (!is_full(rows + block, table_.size())) return;
  // Entering the live rows again is no stall where the batch is as large as they are.
  if (rows <= batch || rows + block > table_.links.size()) {
    rebuild(rows + batch);
  } else if (next_.size() == 0) {
    next_ = Table(table_.size() * 2);
    caught_up_ = begin_;
  }
}

void HashBuckets::enter(Table& table, Seq first, Seq last) const {
  if (first == last) return;
  const std::uint64_t* keys = keys_at(first);
  const std::uint8_t* joinable = window_.joinable.at(first);
  const auto count = static_cast<std::size_t>(last - first);
  const Place oldest = place(begin_);
  for (std::size_t at = 0; at < count; ++at) {
    if (at + kAhead < count) __builtin_prefetch(&table.buckets[table.index(keys[at + kAhead])], 1);
    if (!joinable[at]) continue;
    enter_row(table, first + at, keys[at], oldest);
  }
}

inline void HashBuckets::enter_row(Table& table, Seq row, std::uint64_t key, Place oldest) const {
  Bucket& bucket = table.buckets[table.index(key)];
  const std::uint32_t slot = bucket.next;
  const Place leaving = bucket.places[slot];
  if (leaving >= oldest) {
    table.links[table.slot(leaving)] = bucket.chain;
    bucket.chain = leaving;
  }
  bucket.tags[slot] = tag(key);
  bucket.places[slot] = place(row);
  bucket.next = slot + 1 < kSlots ? slot + 1 : 0;
}

// The newest row of its bucket stands before the slot to be taken next. Its slot goes back to the row that left it.
void HashBuckets::undo(Table& table, Seq first, Seq last) const {
  const Place oldest = place(begin_);
  while (last-- > first) {
    if (!window_.joinable[last]) continue;
    Bucket& bucket = table.buckets[table.index(*keys_at(last))];
    const std::uint32_t slot = bucket.next > 0 ? bucket.next - 1 : kSlots - 1;
    WATERSMEET_CHECK(bucket.places[slot] == place(last));
    bucket.next = slot;
    bucket.places[slot] = 0;
    if (bucket.chain < oldest) continue;
    bucket.tags[slot] = tag(*keys_at(row(bucket.chain)));
    bucket.places[slot] = bucket.chain;
    bucket.chain = table.links[table.slot(bucket.chain)];
  }
}

void HashBuckets::drop_front_to(Seq row) {
  begin_ = std::clamp(std::max(row, window_.begin()), begin_, end_);
  if (is_too_large(end_ - begin_, std::max(table_.size(), next_.size()))) rebuild(end_ - begin_);
}

void HashBuckets::truncate_to(Seq row) {
  drop_front_to(window_.begin());
  row = std::max(row, begin_);
  if (row >= end_) return;
  undo(table_, row, end_);
  if (next_.size() > 0 && caught_up_ > row) {
    undo(next_, row, caught_up_);
    caught_up_ = row;
  }
  end_ = row;
}

void HashBuckets::rebuild(std::size_t rows) {
  next_ = {};
  table_ = {};
  table_ = Table(size_for(rows));
  enter(table_, begin_, end_);
}

void HashBuckets::catch_up(std::size_t rows) {
  caught_up_ = std::max(caught_up_, begin_);
  const Seq until = caught_up_ + std::min<std::size_t>(rows, end_ - caught_up_);
  enter(next_, caught_up_, until);
  caught_up_ = until;
  if (until < end_) return;
  table_ = std::move(next_);
  next_ = {};
}

}  // namespace watersmeet
