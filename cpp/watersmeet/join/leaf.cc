#include "watersmeet/join/leaf.h"

#include <algorithm>
#include <string>
#include <utility>

#include "watersmeet/base/errors.h"

namespace watersmeet {

std::unique_ptr<Index> make_tree_index(const Window& window, const Term* term) {
  if (term == nullptr) return make_cross_index(window);
  if (term->is_set()) return make_inverted_index(window, *term, MergeKind::kAuto);
  return make_hash_index(window, *term);
}

Leaf::Leaf(const TreeConfig& tree, std::size_t stream, std::vector<TermSet>& pairs)
    : config(tree.streams[stream]), pairs_(&pairs), sides_(pairs.size(), kSides), others_(pairs.size()) {
  state.streams = {stream};
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) {
    for (std::size_t side = 0; side < kSides; ++side) {
      if (tree.pairs[pair].streams[side] == stream) sides_[pair] = side;
    }
    if (belongs(pair)) others_[pair] = pairs[pair].make_columns(0);
  }
  state.index = make_cross_index(state.window);
}

void Leaf::drive_by(std::size_t pair, const TreeConfig& tree) {
  if (driver_ != kNoPair) others_[driver_] = std::move(state.window.columns);
  state.window.columns.clear();
  driver_ = pair;
  if (pair != kNoPair) state.window.columns = std::move(others_[pair]);
  const bool native = pair != kNoPair && !tree.pairs[pair].terms.empty();
  state.index = make_tree_index(state.window, native ? &tree.pairs[pair].terms[0].term : nullptr);
  if (state.processed > state.window.begin()) state.index->append(state.window.begin(), state.processed);
}

void Leaf::append(const ArrowSchema& schema, const ArrowArray& array) {
  Window& window = state.window;
  const auto rows = static_cast<std::size_t>(array.length);
  const Seq first = window.end();
  if (rows == 0) return;
  const ArrowView times(*schema.children[0], *array.children[0], array.offset, array.length);
  const TimeCheck check =
      read_times(times, config.time_multiplier, watermark, window.timestamps.extend(rows));
  if (check.fault == TimeFault::kDisorder) {
    throw OrderError("stream '" + config.name + "', column '" + config.time_column + "', row " +
                     std::to_string(check.row) + " of the batch: timestamp " + std::to_string(check.value) +
                     " is before " + std::to_string(check.previous) + ", up to which the stream had come");
  }
  if (check.fault != TimeFault::kNone) {
    throw SchemaError("stream '" + config.name + "', column '" + config.time_column + "', row " +
                      std::to_string(check.row) + " of the batch: expected a timestamp that fits 64 bits");
  }
  window.joinable.append_copies(1, rows);
  std::int64_t next = 1;
  for (std::size_t pair = 0; pair < pairs_->size(); ++pair) {
    if (!belongs(pair)) continue;
    std::vector<ArrowView> views;
    const std::size_t count = (*pairs_)[pair].arrow_columns(sides_[pair]);
    for (std::size_t at = 0; at < count; ++at, ++next) {
      views.emplace_back(*schema.children[next], *array.children[next], array.offset, array.length);
    }
    (*pairs_)[pair].append(sides_[pair], views, columns_of(pair), window.joinable.at(first));
  }
  window.close_append(first);
  watermark = window.timestamps[window.end() - 1];
}

void Leaf::take_back(Seq end, Seq processed) {
  if (state.processed > processed) {
    state.index->truncate(processed);
    state.processed = processed;
  }
  for (std::size_t pair = 0; pair < pairs_->size(); ++pair) {
    if (!belongs(pair)) continue;
    (*pairs_)[pair].release(columns_of(pair), end, UINT64_MAX);
    for (Column& column : columns_of(pair)) {
      std::visit([end](auto& values) { values.truncate_to(end); }, column);
    }
  }
  state.window.truncate(end);
}

void Leaf::drop_before(Seq row) {
  if (row <= state.window.begin()) return;
  for (std::size_t pair = 0; pair < pairs_->size(); ++pair) {
    if (belongs(pair)) (*pairs_)[pair].release(columns_of(pair), state.window.begin(), row);
  }
  state.drop_before(row);
  for (std::size_t pair = 0; pair < pairs_->size(); ++pair) {
    if (!belongs(pair) || pair == driver_) continue;
    for (Column& column : others_[pair]) {
      std::visit([row](auto& values) { values.drop_front_to(row); }, column);
    }
  }
}

std::size_t Leaf::bytes() const {
  std::size_t total = state.bytes();
  for (const auto& columns : others_) {
    for (const Column& column : columns)
      total += std::visit([](const auto& values) { return values.bytes(); }, column);
  }
  return total;
}

}  // namespace watersmeet
