// The join columns of a window in the canonical forms the core compares, one value per row.
//
// Ingest (tuple/ingest.h) turns Arrow columns into these; every index and predicate reads only these.
// Invariants
//   (1) All columns of a window hold rows [begin(), end()), the same range as its timestamps.
//   (2) Items of a set are strictly increasing codes; weights stand beside them, finite, in the same order.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/base/types.h"

namespace watersmeet {

// Keys as 64-bit words: equal words if and only if equal keys (strings and composites are interned).
class KeyColumn {
 public:
  SlidingArray<std::uint64_t> words;

  void drop_front_to(Seq row) { words.drop_front_to(row); }
  void truncate_to(Seq row) { words.truncate_to(row); }
  void reset(Seq row) { words.reset(row); }
  void trim() { words.trim(); }
  [[nodiscard]] std::size_t bytes() const { return words.bytes(); }
};

// Numbers of a band predicate: int64 values, or the bits of doubles when the term says `real`.
class NumberColumn {
 public:
  SlidingArray<std::int64_t> words;

  [[nodiscard]] double real(Seq row) const { return std::bit_cast<double>(words[row]); }

  void drop_front_to(Seq row) { words.drop_front_to(row); }
  void truncate_to(Seq row) { words.truncate_to(row); }
  void reset(Seq row) { words.reset(row); }
  void trim() { words.trim(); }
  [[nodiscard]] std::size_t bytes() const { return words.bytes(); }
};

// Sets of item codes, with weights when the predicate is dot or cosine.
class SetColumn {
 public:
  bool weighted = false;
  // Where the items of each row start in `items`.
  SlidingArray<std::uint64_t> starts;
  SlidingArray<Code> items;
  // Parallel to `items`; empty for unweighted predicates.
  SlidingArray<double> weights;
  // Sum of the squared weights of each row; empty for unweighted predicates.
  SlidingArray<double> squares;

  [[nodiscard]] std::uint64_t item_end(Seq row) const {
    return row + 1 < starts.end() ? starts[row + 1] : items.end();
  }
  [[nodiscard]] std::size_t set_size(Seq row) const {
    return static_cast<std::size_t>(item_end(row) - starts[row]);
  }
  [[nodiscard]] std::span<const Code> set(Seq row) const { return {items.at(starts[row]), set_size(row)}; }
  [[nodiscard]] std::span<const double> set_weights(Seq row) const {
    return {weights.at(starts[row]), set_size(row)};
  }

  void drop_front_to(Seq row) {
    if (row <= starts.begin()) return;
    const std::uint64_t first_item = row < starts.end() ? starts[row] : items.end();
    items.drop_front_to(first_item);
    if (weighted) {
      weights.drop_front_to(first_item);
      squares.drop_front_to(row);
    }
    starts.drop_front_to(row);
  }
  void truncate_to(Seq row) {
    if (row >= starts.end()) return;
    const std::uint64_t item = starts[row];
    items.truncate_to(item);
    if (weighted) {
      weights.truncate_to(item);
      squares.truncate_to(row);
    }
    starts.truncate_to(row);
  }
  void reset(Seq row) {
    starts.reset(row);
    items.reset(0);
    weights.reset(0);
    squares.reset(row);
  }
  void trim() {
    starts.trim();
    items.trim();
    weights.trim();
    squares.trim();
  }
  [[nodiscard]] std::size_t bytes() const {
    return starts.bytes() + items.bytes() + weights.bytes() + squares.bytes();
  }
};

// What vectors are made of.
enum class Element : std::uint8_t {
  kByte,   // uint8
  kFloat,  // float
  kReal,   // double
  kWord,   // int64, compared bit by bit
};

[[nodiscard]] constexpr std::size_t element_bytes(Element element) {
  return element == Element::kByte ? 1 : element == Element::kFloat ? 4 : 8;
}

// Vectors of one width, end to end.
class VectorColumn {
 public:
  VectorColumn(Element element_kind, std::size_t elements)
      : element(element_kind), width(elements), row_bytes(elements * element_bytes(element_kind)) {}

  Element element;
  std::size_t width;  // elements of a vector
  std::size_t row_bytes;
  SlidingArray<std::uint8_t> data;  // row r from r * row_bytes on
  SlidingArray<double> squares;     // sum of the squared elements of each row, correctly rounded; 0 for kWord

  [[nodiscard]] const std::uint8_t* at(Seq row) const { return data.at(row * row_bytes); }

  void drop_front_to(Seq row) {
    data.drop_front_to(row * row_bytes);
    squares.drop_front_to(row);
  }
  void truncate_to(Seq row) {
    data.truncate_to(row * row_bytes);
    squares.truncate_to(row);
  }
  void reset(Seq row) {
    data.reset(row * row_bytes);
    squares.reset(row);
  }
  void trim() {
    data.trim();
    squares.trim();
  }
  [[nodiscard]] std::size_t bytes() const { return data.bytes() + squares.bytes(); }
};

}  // namespace watersmeet
