// Streams of whole numbers as Arrow batches, and the join of several streams by its definition.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "watersmeet/slice/slice_join.h"
#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet {

struct TestRow {
  std::int64_t ts = 0;
  std::int64_t key = 0;
};
using TestStream = std::vector<TestRow>;

// A struct array of int64 columns: the time, then `keys` copies of the key.
class TestBatch {
 public:
  TestBatch(const TestStream& rows, std::size_t first, std::size_t last, std::size_t keys)
      : values_(keys + 1), schemas_(keys + 1), arrays_(keys + 1), buffers_(keys + 1) {
    const auto length = static_cast<std::int64_t>(last - first);
    for (std::size_t at = 0; at < values_.size(); ++at) {
      for (std::size_t row = first; row < last; ++row)
        values_[at].push_back(at == 0 ? rows[row].ts : rows[row].key);
      values_[at].push_back(0);  // never without an address
      buffers_[at] = {nullptr, values_[at].data()};
      schemas_[at] = {"l", "", nullptr, 0, 0, nullptr, nullptr, nullptr, nullptr};
      arrays_[at] = {length, 0, 0, 2, 0, buffers_[at].data(), nullptr, nullptr, nullptr, nullptr};
      schema_children_.push_back(&schemas_[at]);
      array_children_.push_back(&arrays_[at]);
    }
    const auto children = static_cast<std::int64_t>(values_.size());
    schema = {"+s", "", nullptr, 0, children, schema_children_.data(), nullptr, nullptr, nullptr};
    array = {length, 0, 0, 1, children, &no_buffer_, array_children_.data(), nullptr, nullptr, nullptr};
  }
  TestBatch(const TestBatch&) = delete;
  TestBatch& operator=(const TestBatch&) = delete;

  ArrowSchema schema;
  ArrowArray array;

 private:
  std::vector<std::vector<std::int64_t>> values_;
  std::vector<ArrowSchema> schemas_;
  std::vector<ArrowArray> arrays_;
  std::vector<std::array<const void*, 2>> buffers_;
  std::vector<ArrowSchema*> schema_children_;
  std::vector<ArrowArray*> array_children_;
  const void* no_buffer_ = nullptr;
};

using TestResult = std::vector<std::int64_t>;

// All combinations by definition: every row of the merged streams meets the rows in the windows at its time.
class NestedLoop {
 public:
  NestedLoop(const SliceConfig& config, const std::vector<TestStream>& streams,
             std::function<bool(const TestResult&, std::size_t, std::size_t)> pair)
      : config_(config), streams_(streams), pair_(std::move(pair)) {}

  std::vector<TestResult> all() {
    std::vector<std::pair<std::int64_t, std::pair<std::size_t, std::size_t>>> order;
    for (std::size_t stream = 0; stream < streams_.size(); ++stream) {
      for (std::size_t row = 0; row < streams_[stream].size(); ++row) {
        order.push_back({streams_[stream][row].ts, {stream, row}});
      }
    }
    std::sort(order.begin(), order.end());
    std::vector<std::size_t> seen(streams_.size(), 0);
    for (const auto& [ts, place] : order) {
      TestResult members(streams_.size(), -1);
      members[place.first] = static_cast<std::int64_t>(place.second);
      extend(members, 0, place.first, ts, seen);
      ++seen[place.first];
    }
    return results_;
  }

 private:
  void extend(TestResult& members, std::size_t stream, std::size_t own, std::int64_t now,
              const std::vector<std::size_t>& seen) {
    if (stream == streams_.size()) {
      results_.push_back(members);
      return;
    }
    if (stream == own) return extend(members, stream + 1, own, now, seen);
    const SliceStream& window = config_.streams[stream];
    for (std::size_t row = 0; row < seen[stream]; ++row) {
      const std::int64_t age = now - streams_[stream][row].ts;
      const bool in = window.window_rows.has_value()
                          ? row + *window.window_rows >= seen[stream]
                          : age < window.span || (config_.inclusive && age == window.span);
      if (!in) continue;
      members[stream] = static_cast<std::int64_t>(row);
      bool holds = true;
      for (std::size_t other = 0; other < streams_.size() && holds; ++other) {
        if (other == stream || members[other] < 0 || (other > stream && other != own)) continue;
        holds = pair_(members, std::min(stream, other), std::max(stream, other));
      }
      if (holds) extend(members, stream + 1, own, now, seen);
      members[stream] = -1;
    }
  }

  const SliceConfig& config_;
  const std::vector<TestStream>& streams_;
  std::function<bool(const TestResult&, std::size_t, std::size_t)> pair_;
  std::vector<TestResult> results_;
};

}  // namespace watersmeet
