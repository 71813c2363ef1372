// A read-only view of one Arrow array: its physical type, its buffers, and rows [0, length).
//
// Only the physical layouts that join columns can have are understood; everything else is a SchemaError.
// Offsets of strings and lists are checked when a view is made, so that reading a view stays inside its buffers
// as far as the producer told their sizes truly (the C interface does not carry buffer sizes).
// Lifetime   a view ends with the arrays it looks at.
#pragma once

#include <cstdint>
#include <string_view>

#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet {

enum class Physical : std::uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat,
  kDouble,
  kBool,
  kBytes32,     // string, binary: 32-bit offsets
  kBytes64,     // large_string, large_binary
  kFixedBytes,  // fixed_size_binary, decimal
  kList32,      // list, map
  kList64,      // large_list
  kFixedList,   // fixed_size_list
  kStruct,
  kNull,  // a column of nulls
};

class ArrowView {
 public:
  // Requires: schema and array describe the same column. Throws SchemaError for a layout not listed above.
  ArrowView(const ArrowSchema& schema, const ArrowArray& array);
  // The same, for rows [first, first + length) of the array.
  ArrowView(const ArrowSchema& schema, const ArrowArray& array, std::int64_t first, std::int64_t length);

  [[nodiscard]] Physical physical() const { return physical_; }
  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] bool may_have_nulls() const { return validity_ != nullptr || physical_ == Physical::kNull; }
  [[nodiscard]] bool is_null(std::int64_t row) const {
    if (physical_ == Physical::kNull) return true;
    if (validity_ == nullptr) return false;
    const std::int64_t bit = offset_ + row;
    return ((validity_[bit >> 3] >> (bit & 7)) & 1) == 0;
  }

  [[nodiscard]] bool is_integer() const { return physical_ <= Physical::kUInt64; }
  [[nodiscard]] bool is_real() const {
    return physical_ == Physical::kFloat || physical_ == Physical::kDouble;
  }
  [[nodiscard]] bool is_bytes() const {
    return physical_ >= Physical::kBytes32 && physical_ <= Physical::kFixedBytes;
  }
  [[nodiscard]] bool is_list() const {
    return physical_ >= Physical::kList32 && physical_ <= Physical::kFixedList;
  }

  // Values of fixed width, from row 0 on. Requires: T is the physical type.
  template <class T>
  [[nodiscard]] const T* values() const {
    return static_cast<const T*>(values_) + offset_;
  }
  // An integer, bool, date or timestamp as 64 bits (sign-extended if signed).
  [[nodiscard]] std::int64_t integer(std::int64_t row) const;
  [[nodiscard]] double real(std::int64_t row) const;
  [[nodiscard]] std::string_view bytes(std::int64_t row) const;
  // Where the items of list `row` start and end in child().
  [[nodiscard]] std::int64_t list_begin(std::int64_t row) const { return list_edge(row); }
  [[nodiscard]] std::int64_t list_end(std::int64_t row) const { return list_edge(row + 1); }
  // The values of a list (addressed by list_begin and list_end), or field `index` of a struct (row for row).
  [[nodiscard]] ArrowView child(std::int64_t index = 0) const;

 private:
  [[nodiscard]] std::int64_t list_edge(std::int64_t row) const;
  void check_offsets() const;

  const ArrowSchema* schema_;
  const ArrowArray* array_;
  Physical physical_;
  std::int64_t length_;
  std::int64_t offset_;
  std::int64_t width_ = 0;  // bytes of a fixed-size binary, items of a fixed-size list
  const std::uint8_t* validity_ = nullptr;
  const void* values_ = nullptr;   // fixed-width values, or the bytes of strings
  const void* offsets_ = nullptr;  // of strings and lists
};

}  // namespace watersmeet
