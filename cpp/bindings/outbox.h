// A batch on its way out: columns are added to it, then pyarrow takes it over by its address.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

#include "prelude.h"
#include "watersmeet/tuple/arrow_out.h"

namespace watersmeet::bindings {

using RowArray = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

[[nodiscard]] inline std::span<const std::int64_t> view(const RowArray& rows) {
  return {rows.data(), static_cast<std::size_t>(rows.size())};
}

class Outbox {
 public:
  void begin(std::size_t rows, std::size_t columns) { out_.begin(rows, columns); }

  // A column of row numbers; a negative one is null.
  void add_rows(std::span<const std::int64_t> numbers) {
    const bool missing = std::ranges::any_of(numbers, [](std::int64_t row) { return row < 0; });
    const ArrowOut::Column target = out_.add(numbers.size_bytes(), missing);
    if (!numbers.empty()) std::memcpy(target.values, numbers.data(), numbers.size_bytes());
    for (std::size_t row = 0; missing && row < numbers.size(); ++row) {
      if (numbers[row] >= 0) target.validity[row >> 3] |= static_cast<std::uint8_t>(1U << (row & 7));
    }
  }

  // Room for two columns of so many row numbers, the batch complete.
  struct PairColumns {
    std::byte* left;
    std::byte* right;
  };
  [[nodiscard]] PairColumns room_for_pairs(std::size_t rows) {
    begin(rows, 2);
    std::byte* left = out_.add(rows * sizeof(std::int64_t), false).values;
    return {left, out_.add(rows * sizeof(std::int64_t), false).values};
  }

  // Two columns of row numbers, the batch complete; gives its address. Requires: as many of both.
  [[nodiscard]] std::uintptr_t pairs(std::span<const std::int64_t> left,
                                     std::span<const std::int64_t> right) {
    begin(left.size(), 2);
    add_rows(left);
    add_rows(right);
    return address();
  }

  [[nodiscard]] std::uintptr_t address() { return reinterpret_cast<std::uintptr_t>(out_.slot()); }
  [[nodiscard]] ArrowOut& out() { return out_; }

 private:
  ArrowOut out_;
};

}  // namespace watersmeet::bindings
