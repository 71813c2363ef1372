// Single Arrow columns made by hand, of any format, for the tests of reading them.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "watersmeet/tuple/arrow_abi.h"
#include "watersmeet/tuple/arrow_view.h"

namespace watersmeet::testing {

class ArrowColumn {
 public:
  // `data`: buffers after the validity bitmap.
  ArrowColumn(std::string format, std::int64_t length, std::vector<std::vector<char>> data = {})
      : format_(std::move(format)), data_(std::move(data)) {
    schema_.format = format_.c_str();
    array_.length = length;
    buffers_.push_back(nullptr);
    for (const auto& buffer : data_) buffers_.push_back(buffer.data());
    array_.n_buffers = static_cast<std::int64_t>(buffers_.size());
    array_.buffers = buffers_.data();
  }
  ArrowColumn(const ArrowColumn&) = delete;
  ArrowColumn& operator=(const ArrowColumn&) = delete;

  ArrowColumn& nulls(const std::vector<std::int64_t>& rows) {
    validity_.assign(static_cast<std::size_t>(array_.length + array_.offset) / 8 + 1, 0xFF);
    for (const std::int64_t row : rows) {
      auto& byte = validity_[static_cast<std::size_t>(row / 8)];
      byte = static_cast<std::uint8_t>(byte & ~(1U << (row % 8)));
    }
    array_.null_count = static_cast<std::int64_t>(rows.size());
    buffers_[0] = validity_.data();
    return *this;
  }
  // Rows [first, first + length) of what was given.
  ArrowColumn& slice(std::int64_t first, std::int64_t length) {
    array_.offset = first;
    array_.length = length;
    return *this;
  }
  ArrowColumn& child(ArrowColumn& column) {
    schemas_.push_back(&column.schema_);
    arrays_.push_back(&column.array_);
    schema_.children = schemas_.data();
    array_.children = arrays_.data();
    schema_.n_children = array_.n_children = static_cast<std::int64_t>(schemas_.size());
    return *this;
  }

  [[nodiscard]] ArrowSchema& schema() { return schema_; }
  [[nodiscard]] ArrowArray& array() { return array_; }
  [[nodiscard]] ArrowView view() const { return {schema_, array_}; }

 private:
  std::string format_;
  std::vector<std::vector<char>> data_;
  std::vector<const void*> buffers_;
  std::vector<std::uint8_t> validity_;
  ArrowSchema schema_{};
  ArrowArray array_{};
  std::vector<ArrowSchema*> schemas_;
  std::vector<ArrowArray*> arrays_;
};

template <class T>
[[nodiscard]] std::vector<char> buffer_of(const std::vector<T>& values) {
  std::vector<char> bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <class T>
[[nodiscard]] std::unique_ptr<ArrowColumn> column_of(const char* format, const std::vector<T>& values) {
  return std::make_unique<ArrowColumn>(format, static_cast<std::int64_t>(values.size()),
                                       std::vector<std::vector<char>>{buffer_of(values)});
}

[[nodiscard]] inline std::unique_ptr<ArrowColumn> strings_of(const std::vector<std::string>& texts) {
  std::vector<std::int32_t> offsets{0};
  std::vector<char> all;
  for (const std::string& text : texts) {
    all.insert(all.end(), text.begin(), text.end());
    offsets.push_back(static_cast<std::int32_t>(all.size()));
  }
  return std::make_unique<ArrowColumn>("u", static_cast<std::int64_t>(texts.size()),
                                       std::vector<std::vector<char>>{buffer_of(offsets), all});
}

// Lists over `items`, cut at the offsets.
[[nodiscard]] inline std::unique_ptr<ArrowColumn> lists_of(const std::vector<std::int32_t>& offsets,
                                                           ArrowColumn& items) {
  auto column = std::make_unique<ArrowColumn>("+l", static_cast<std::int64_t>(offsets.size()) - 1,
                                              std::vector<std::vector<char>>{buffer_of(offsets)});
  column->child(items);
  return column;
}

}  // namespace watersmeet::testing
