// Vectors from Arrow columns: bytes as they are, numbers as floats, doubles or words.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include "watersmeet/base/clones.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/base/exact_sum.h"
#include "watersmeet/tuple/ingest.h"

namespace watersmeet {
namespace {

constexpr std::int64_t kLargestExact = std::int64_t{1} << 52;

[[noreturn]] void refuse(std::int64_t row, const std::string& why) {
  throw SchemaError("row " + std::to_string(row) + ": " + why);
}

double read_double(const ArrowView& items, std::int64_t item, std::int64_t row) {
  if (items.is_real()) return items.real(item);
  const std::int64_t value = items.integer(item);
  const bool large = items.physical() == Physical::kUInt64 && value < 0;
  if (large || value > kLargestExact || value < -kLargestExact) {
    refuse(row, "vectors of integers may hold values up to 2^52, not " + std::to_string(items.real(item)));
  }
  return static_cast<double>(value);
}

// Writes the elements of one list. Returns: whether all of them are finite.
bool write_elements(const ArrowView& items, std::int64_t first, std::int64_t row, const VectorColumn& column,
                    std::uint8_t* out) {
  bool finite = true;
  for (std::size_t at = 0; at < column.width; ++at) {
    const std::int64_t item = first + static_cast<std::int64_t>(at);
    if (items.is_null(item)) refuse(row, "a vector must not hold a null");
    const auto put = [&](auto value) { std::memcpy(out + at * sizeof(value), &value, sizeof(value)); };
    switch (column.element) {
      case Element::kByte:
        put(static_cast<std::uint8_t>(items.integer(item)));
        break;
      case Element::kFloat:
        put(static_cast<float>(items.real(item)));
        finite &= std::isfinite(items.real(item));
        break;
      case Element::kReal:
        put(read_double(items, item, row));
        finite &= std::isfinite(read_double(items, item, row));
        break;
      case Element::kWord:
        put(items.integer(item));
        break;
    }
  }
  return finite;
}

// Of so few bytes that 32 bits hold the sum.
constexpr std::size_t kChunk = 1024;
WATERSMEET_CLONES std::uint32_t sum_of_squares(const std::uint8_t* data, std::size_t size) {
  std::int32_t sum = 0;
  for (std::size_t at = 0; at < size; ++at) {
    sum += static_cast<std::int16_t>(data[at]) * static_cast<std::int16_t>(data[at]);
  }
  return static_cast<std::uint32_t>(sum);
}

template <class T>
double exact_squares(const std::uint8_t* data, std::size_t width) {
  ExactSum sum;
  for (std::size_t at = 0; at < width; ++at) {
    T value;
    std::memcpy(&value, data + at * sizeof(T), sizeof(T));
    sum.add(static_cast<double>(value) * static_cast<double>(value));
  }
  return sum.value();
}

double squares_of(const VectorColumn& column, const std::uint8_t* data) {
  if (column.element == Element::kFloat) return exact_squares<float>(data, column.width);
  if (column.element == Element::kReal) return exact_squares<double>(data, column.width);
  if (column.element == Element::kWord) return 0;
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < column.width; at += kChunk)
    sum += sum_of_squares(data + at, std::min(kChunk, column.width - at));
  return static_cast<double>(sum);
}

}  // namespace

void append_vectors(const ArrowView& view, VectorColumn& column, std::uint8_t* joinable) {
  const bool bytes = view.physical() == Physical::kFixedBytes;
  if (!bytes && !view.is_list())
    throw SchemaError("distance needs fixed-size binaries or fixed-size lists of numbers");
  for (std::int64_t row = 0; row < view.length(); ++row) {
    if (view.is_null(row)) joinable[row] = 0;
    std::uint8_t* out = column.data.extend(column.row_bytes);
    if (joinable[row] == 0) {
      std::fill_n(out, column.row_bytes, std::uint8_t{0});
      column.squares.push_back(0);
      continue;
    }
    const auto width =
        bytes ? view.bytes(row).size() : static_cast<std::size_t>(view.list_end(row) - view.list_begin(row));
    if (width != column.width || (bytes && column.element != Element::kByte)) {
      refuse(row, "a vector of " + std::to_string(width) + " elements where others have " +
                      std::to_string(column.width));
    }
    if (bytes) {
      std::memcpy(out, view.bytes(row).data(), width);
    } else if (!write_elements(view.child(), view.list_begin(row), row, column, out)) {
      joinable[row] = 0;
      std::fill_n(out, column.row_bytes, std::uint8_t{0});
    }
    column.squares.push_back(squares_of(column, out));
  }
}

}  // namespace watersmeet
