// Payload of fixed width: the rows of one stream as records, and rows gathered back into columns by number.
//
// A result's partner lies anywhere in a large window, so what a gather costs is cache misses. Side by side in
// a record, the values of a row share one miss; in columns each would take its own. The price is one
// transposition per batch, in pieces that stay in the first-level cache. Invariants
//   (1) Records of rows [first of the front chunk, end) are held, in chunks of a power of two of rows; a
//   row's chunk
//       and its place there are bits of its number.
//   (2) Every batch has one column for each width given, of that many bytes per value (0: one bit).
//   (3) Columns of 8 bytes lie side by side in a record and are moved two at a time: two rows of two columns are
//       turned round in registers, which halves what is read and written one by one.
// Cost       append and gather O(rows x columns).
// Threads    one caller at a time.
// Lifetime   values are copied in and out; nothing of a caller's is held.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "watersmeet/base/pages.h"
#include "watersmeet/base/sliding_array.h"
#include "watersmeet/tuple/arrow_abi.h"
#include "watersmeet/tuple/arrow_out.h"

namespace watersmeet {

class Payload {
 public:
  // chunk_bytes: what is taken and given back at a time, a power of two; 0: a huge page.
  Payload(std::vector<std::size_t> widths, std::int64_t first, std::size_t chunk_bytes = 0);

  // Takes the next rows from a struct array, its children the columns. Throws SchemaError if they are others.
  void append(const ArrowArray& batch);
  // The same, and adds the columns of these of the batch's rows, in ascending order, to a batch that has been begun:
  // their values are copied while they are at hand, and need not come back from the records.
  void append_and_gather(const ArrowArray& batch, std::span<const std::int64_t> rows, ArrowOut& out);
  // Forgets rows from `end` on.
  void truncate(std::int64_t end);
  // Rows below this one are not asked for any more.
  void drop_before(std::int64_t row);

  // Gives back chunks kept for reuse.
  void trim() { spare_.clear(); }

  // The number that the next row gets.
  [[nodiscard]] std::int64_t end() const { return end_; }
  [[nodiscard]] std::size_t columns() const { return widths_.size(); }
  [[nodiscard]] std::size_t bytes() const;

  // Adds the columns of these rows to a batch that has been begun. With `may_miss` a negative row is null in
  // every column. Throws SchemaError for a row that is not held.
  void gather(std::span<const std::int64_t> rows, bool may_miss, ArrowOut& out) const;

 private:
  // Gives memory back: `pages` bytes of allocate_pages(), or 0 for memory of malloc().
  struct Free {
    std::size_t pages = 0;
    void operator()(std::byte* memory) const { pages == 0 ? std::free(memory) : free_pages(memory, pages); }
  };
  struct Chunk {
    std::unique_ptr<std::byte, Free> records;
    // A byte per row and column, 0 where it is null; empty where nothing is.
    std::vector<std::uint8_t> valid;
  };
  // The records of a piece of the rows being gathered.
  struct Piece;
  struct PairTarget {
    std::byte* first;
    std::byte* second;
  };
  // A column of 8 bytes on its way from a batch to results.
  struct Words {
    const std::byte* from;
    std::byte* to;
  };
  // Notes where one record is, and asks memory for it.
  class Finder;

  // Two columns of 8 bytes, the second behind the first in a record.
  struct Pair {
    std::size_t first;
    std::size_t second;
  };

  [[nodiscard]] std::int64_t first() const { return first_chunk_ << shift_; }
  [[nodiscard]] Chunk new_chunk();
  void retire(Chunk&& chunk);
  void make_room(const ArrowArray& batch);
  [[nodiscard]] std::size_t stretch_at(const ArrowArray& batch, std::int64_t from) const;
  void append_stretch(const ArrowArray& batch, std::int64_t from, std::size_t count);
  static void copy_words(std::span<const Words> words, std::int64_t first, std::span<const std::int64_t> rows,
                         std::size_t begin);
  void copy_column(const ArrowArray& batch, std::size_t column, std::int64_t first,
                   std::span<const std::int64_t> rows, std::size_t begin, ArrowOut::Column target) const;
  void stream_pairs(const ArrowArray& batch, std::int64_t from, std::size_t count, std::byte* records) const;
  void write_pair(const ArrowArray& batch, std::int64_t from, std::size_t count, const Pair& pair,
                  std::byte* record) const;
  void write_values(const ArrowArray& batch, std::int64_t from, std::size_t count, std::size_t column,
                    std::byte* record) const;
  void write_nulls(const ArrowArray& batch, std::int64_t from, std::size_t count, std::size_t column,
                   Chunk& chunk);
  [[nodiscard]] ArrowOut::Column new_column(std::size_t column, std::size_t rows, bool has_validity,
                                            ArrowOut& out) const;
  void find(std::span<const std::int64_t> rows, Piece& piece) const;
  void gather_words(const Piece& piece, std::size_t begin, std::span<const PairTarget> targets,
                    std::span<const std::int64_t> next_rows, Piece& next) const;
  void gather_values(const Piece& piece, std::size_t column, std::size_t begin, std::byte* values) const;
  void gather_validity(const Piece& piece, std::size_t column, std::size_t begin, std::uint8_t* bits) const;

  std::vector<std::size_t> widths_;
  std::vector<std::size_t> offsets_;  // of each column's value in a record
  std::vector<Pair> pairs_;
  std::vector<std::size_t> singles_;  // columns in no pair
  std::size_t stride_ = 0;            // bytes of a record
  std::size_t chunk_bytes_;           // of an allocation
  int shift_ = 0;                     // a chunk holds 2^shift_ rows
  std::deque<Chunk> chunks_;
  SlidingArray<const std::byte*> bases_;  // of their records, by number of chunk
  std::vector<Chunk> spare_;
  std::int64_t first_chunk_;
  std::int64_t end_;
  bool nullable_ = false;  // whether any value ever was null
};

}  // namespace watersmeet
