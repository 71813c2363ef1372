// Arrow batches made by hand, for tests and fuzz targets: no Arrow library is linked.
//
// Lifetime   an ArrowBatch owns every buffer that its structures point at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet::testing {

class ArrowBatch {
 public:
  explicit ArrowBatch(std::size_t rows) {
    root_schema_.format = "+s";
    root_array_.length = static_cast<std::int64_t>(rows);
    root_array_.n_buffers = 1;
    root_array_.buffers = none_;
  }
  ArrowBatch(const ArrowBatch&) = delete;
  ArrowBatch& operator=(const ArrowBatch&) = delete;

  // A column of int64; rows without a value are null.
  ArrowBatch& add(const std::vector<std::optional<std::int64_t>>& values) {
    Node& node = add_node("l", values.size(), 2);
    auto& data = node.words.emplace_back();
    std::vector<bool> valid;
    for (const auto& value : values) {
      data.push_back(value.value_or(0));
      valid.push_back(value.has_value());
    }
    node.buffers[1] = data.data();
    set_validity(node, valid);
    return *this;
  }

  // A column of lists of int64.
  ArrowBatch& add_lists(const std::vector<std::vector<std::int64_t>>& lists) {
    Node& node = add_node("+l", lists.size(), 2);
    auto& offsets = node.offsets.emplace_back();
    auto& items = node.words.emplace_back();
    offsets.push_back(0);
    for (const auto& list : lists) {
      items.insert(items.end(), list.begin(), list.end());
      offsets.push_back(static_cast<std::int32_t>(items.size()));
    }
    node.buffers[1] = offsets.data();
    Node& child = make_node("l", items.size(), 2);
    if (items.empty()) items.reserve(1);
    child.buffers[1] = items.data();
    node.child_schemas.push_back(&child.schema);
    node.child_arrays.push_back(&child.array);
    node.schema.children = node.child_schemas.data();
    node.array.children = node.child_arrays.data();
    node.schema.n_children = node.array.n_children = 1;
    return *this;
  }

  // A column of strings.
  ArrowBatch& add_strings(const std::vector<std::string>& texts) {
    Node& node = add_node("u", texts.size(), 3);
    auto& offsets = node.offsets.emplace_back();
    offsets.push_back(0);
    for (const std::string& text : texts) {
      node.text += text;
      offsets.push_back(static_cast<std::int32_t>(node.text.size()));
    }
    node.buffers[1] = offsets.data();
    node.buffers[2] = node.text.data();
    return *this;
  }

  [[nodiscard]] const ArrowSchema& schema() {
    root_schema_.children = schemas_.data();
    root_schema_.n_children = static_cast<std::int64_t>(schemas_.size());
    return root_schema_;
  }
  [[nodiscard]] const ArrowArray& array() {
    root_array_.children = arrays_.data();
    root_array_.n_children = static_cast<std::int64_t>(arrays_.size());
    return root_array_;
  }

 private:
  struct Node {
    ArrowSchema schema{};
    ArrowArray array{};
    const void* buffers[3] = {};
    std::deque<std::vector<std::int64_t>> words;
    std::deque<std::vector<std::int32_t>> offsets;
    std::vector<std::uint8_t> validity;
    std::string text;
    std::vector<ArrowSchema*> child_schemas;
    std::vector<ArrowArray*> child_arrays;
  };

  Node& make_node(const char* format, std::size_t rows, std::int64_t buffers) {
    nodes_.push_back(std::make_unique<Node>());
    Node& node = *nodes_.back();
    node.schema.format = format;
    node.array.length = static_cast<std::int64_t>(rows);
    node.array.n_buffers = buffers;
    node.array.buffers = node.buffers;
    return node;
  }
  Node& add_node(const char* format, std::size_t rows, std::int64_t buffers) {
    Node& node = make_node(format, rows, buffers);
    schemas_.push_back(&node.schema);
    arrays_.push_back(&node.array);
    return node;
  }
  static void set_validity(Node& node, const std::vector<bool>& valid) {
    node.validity.assign(valid.size() / 8 + 1, 0);
    for (std::size_t row = 0; row < valid.size(); ++row) {
      if (valid[row]) {
        node.validity[row / 8] = static_cast<std::uint8_t>(node.validity[row / 8] | (1U << (row % 8)));
      } else {
        ++node.array.null_count;
      }
    }
    if (node.array.null_count > 0) node.buffers[0] = node.validity.data();
  }

  ArrowSchema root_schema_{};
  ArrowArray root_array_{};
  const void* none_[1] = {nullptr};
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<ArrowSchema*> schemas_;
  std::vector<ArrowArray*> arrays_;
};

}  // namespace watersmeet::testing
