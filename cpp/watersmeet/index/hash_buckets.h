// Rows by the hash of their key, newest first: the structure under the hash index.
//
// Design. A bucket is one cache line: the seven newest rows that fell into it, each with a 32-bit tag of its key, as a
// ring, and the head of a chain of the older ones. So that both an append and a look-up touch one line, mostly. A row
// that leaves the ring enters the chain, and is newer than any row in it: bucket and chain together descend, and the
// first row that is too old ends a walk. Expiry costs nothing.
// Places. A row is kept as its place, 32 bits: row - floor + 1, where 0 is none; before places run out, floor moves up
// to the oldest live row.
// Tags. tag(key) tells apart all keys below 2^32, so between those equal tags mean equal keys, and no key is read.
// Otherwise keys are compared, in the window's own column: they are not copied.
// Growth. A table of twice the size is made beside the old one and, with every append, a few of the live rows are
// entered in it, oldest first. Once it has caught up it takes over: no append waits for a whole window.
//
// Invariants
//   (1) A bucket's rows, ring before chain, newest first, are its joinable rows in strictly descending order,
//       followed by dead ones or none.
//   (2) The live rows fit the table's ring of links, and number less than 2^32 - 2.
// Cost       append O(1) amortised; memory 21 to 43 bytes per row.
// Threads    one writer; const calls only while it rests.
// Lifetime   the window must outlive it; keys of live rows must be readable in every call.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watersmeet/base/lanes.h"
#include "watersmeet/base/pages.h"
#include "watersmeet/base/types.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

class HashBuckets {
 public:
  using Place = std::uint32_t;

  static constexpr std::uint32_t kSlots = 7;

  struct alignas(64) Bucket {
    std::uint32_t tags[kSlots];
    std::uint32_t next;  // the slot of the oldest row, which the next one takes
    Place places[kSlots];
    Place chain;  // the newest row that left the slots
  };

  explicit HashBuckets(const Window& window);

  // Takes in the window's rows [first, last).
  void append(Seq first, Seq last);
  // The same, on several lanes: each enters the rows of its own share of the buckets.
  void append_on(Lanes& lanes, Seq first, Seq last);
  // Forgets rows before `row`, and gives memory back.
  void drop_front_to(Seq row);
  // Takes rows from `row` on out again.
  void truncate_to(Seq row);

  [[nodiscard]] std::size_t bytes() const { return table_.bytes() + next_.bytes(); }

  [[nodiscard]] Place place(Seq row) const { return static_cast<Place>(row - floor_ + 1); }
  [[nodiscard]] Seq row(Place place) const { return floor_ + place - 1; }
  [[nodiscard]] const Bucket& bucket(std::uint64_t key) const { return table_.buckets[table_.index(key)]; }
  // The place before this one in its chain. Requires: row(place) is live and in a chain.
  [[nodiscard]] const Place& previous(Place place) const { return table_.links[table_.slot(place)]; }

  [[nodiscard]] static std::uint32_t tag(std::uint64_t key) {
    return static_cast<std::uint32_t>(key) ^ static_cast<std::uint32_t>(key >> 32) * 0x9E3779B1U;
  }
  // True if a live row may have a key of 2^32 or more: then equal tags do not mean equal keys.
  [[nodiscard]] bool has_wide_keys() const { return wide_end_ > begin_; }

 private:
  struct Table {
    PageArray<Bucket> buckets;
    PageArray<Place> links;
    unsigned shift = 63;

    Table() = default;
    explicit Table(std::size_t size);
    // The top of a product: every bit of the key has a say in it.
    [[nodiscard]] std::size_t index(std::uint64_t key) const {
      return static_cast<std::size_t>(((key ^ (key >> 32)) * 0x9E3779B97F4A7C15ULL) >> shift);
    }
    [[nodiscard]] std::size_t slot(Place place) const { return place & (links.size() - 1); }
    [[nodiscard]] std::size_t size() const { return buckets.size(); }
    [[nodiscard]] std::size_t bytes() const { return buckets.bytes() + links.bytes(); }
  };

  [[nodiscard]] const std::uint64_t* keys_at(Seq row) const;
  void make_room(std::size_t block, std::size_t batch);
  // A new table, large enough for `rows` rows, with the live ones entered again.
  void rebuild(std::size_t rows);
  // Enters up to `rows` more of the live rows in the next table, which takes over when it has them all.
  void catch_up(std::size_t rows);
  void enter(Table& table, Seq first, Seq last) const;
  void enter_row(Table& table, Seq row, std::uint64_t key, Place oldest) const;
  // Enters those of the rows whose bucket lies in [from, to).
  void enter_share(Table& table, Seq first, Seq last, std::size_t from, std::size_t to) const;
  void begin_append(Seq first, Seq last);
  void undo(Table& table, Seq first, Seq last) const;
  void note_wide_keys(Seq first, Seq last);

  const Window& window_;
  Table table_;
  // Rows of table_: the live ones, and dead ones not yet noticed.
  Seq begin_ = 0;
  Seq end_ = 0;
  Seq floor_ = 0;
  Seq wide_end_ = 0;  // behind the newest row with a wide key
  // While growing: the table to come, which has the live rows before caught_up_.
  Table next_;
  Seq caught_up_ = 0;
};

}  // namespace watersmeet
