// A tree of joins as bytes, and back.
//
// Combinations are written as their members' row numbers; what they hold of the members' columns is copied
// again from the streams' rows. A combination whose members are gone is dead and comes back as a row that
// matches nothing; it stays in its place, so that everything that is counted by rows goes on as it was.
#include <algorithm>
#include <string>

#include "watersmeet/base/errors.h"
#include "watersmeet/join/tree_column.h"
#include "watersmeet/join/tree_join.h"

namespace watersmeet {
namespace {

void expect(bool holds, const char* what) {
  if (!holds) throw SnapshotError(std::string("snapshot: ") + what);
}

void save_half(ByteWriter& writer, const HalfJoin& half) {
  writer.put(half.counts);
  writer.put(half.by_cell);
  half.allowance.save(writer);
  half.plan.save(writer);
  writer.put(half.denied);
  writer.put(half.spare);
}

void load_half(ByteReader& reader, HalfJoin& half) {
  half.counts = reader.get<HalfJoinCounts>();
  half.by_cell = reader.get<CellCounts>();
  half.allowance.load(reader);
  expect(half.plan.load(reader), "a plan of cells out of range");
  half.denied = reader.get<double>();
  half.spare = reader.get<double>();
}

void load_times(ByteReader& reader, Window& window) {
  reader.get_sliding(window.timestamps);
  const Timestamp* times = window.timestamps.at(window.begin());
  expect(std::is_sorted(times, times + window.size()), "rows are out of order");
}

}  // namespace

void Leaf::save(ByteWriter& writer) const {
  writer.put(watermark);
  writer.put<std::uint8_t>(ended ? 1 : 0);
  writer.put(state.processed);
  writer.put_sliding(state.window.timestamps);
  writer.put_sliding(state.window.joinable);
  for (std::size_t pair = 0; pair < pairs_->size(); ++pair) {
    if (belongs(pair)) (*pairs_)[pair].save_columns(writer, columns(pair));
  }
}

void Leaf::load(ByteReader& reader) {
  watermark = reader.get<Timestamp>();
  ended = reader.get<std::uint8_t>() != 0;
  state.processed = reader.get<Seq>();
  Window& window = state.window;
  load_times(reader, window);
  reader.get_sliding(window.joinable);
  expect(window.joinable.begin() == window.begin() && window.joinable.size() == window.size(),
         "the columns of a window differ in length");
  expect(window.begin() <= state.processed && state.processed <= window.end(), "processed rows out of range");
  for (std::size_t pair = 0; pair < pairs_->size(); ++pair) {
    if (belongs(pair)) (*pairs_)[pair].load_columns(reader, columns_of(pair), window.begin(), window.size());
  }
  window.close_append(window.begin());
  if (state.processed > window.begin()) state.index->append(window.begin(), state.processed);
}

void TreeJoin::save(ByteWriter& writer) const {
  writer.put<std::uint64_t>(config_.joins.size());
  for (const TreeInputs& inputs : config_.joins) {
    for (const std::size_t input : inputs) writer.put<std::uint64_t>(input);
  }
  writer.put(results_);
  writer.put<std::uint8_t>(cycle_.has_value() ? 1 : 0);
  writer.put(cycle_.value_or(0));
  writer.put<std::uint8_t>(synchronised_ ? 1 : 0);
  writer.put<std::uint8_t>(unsettled_ ? 1 : 0);
  writer.put(newest_processed_);
  for (const Ages& ages : ages_) writer.put(ages);
  for (const TermSet& pair : pairs_) pair.save(writer);
  for (const auto& leaf : leaves_) leaf->save(writer);
  for (const auto& joint : joints_) {
    for (const HalfJoin& half : joint->halves) save_half(writer, half);
    const TreeState* state = joint->output();
    if (state == nullptr) continue;
    writer.put_sliding(state->window.timestamps);
    writer.put_sliding(state->newest);
    for (const auto& members : state->members) writer.put_sliding(members);
  }
}

void TreeJoin::load(ByteReader& reader) {
  expect(reader.get<std::uint64_t>() == config_.joins.size(), "another tree");
  for (const TreeInputs& inputs : config_.joins) {
    for (const std::size_t input : inputs) expect(reader.get<std::uint64_t>() == input, "another tree");
  }
  results_ = reader.get<std::uint64_t>();
  const bool rationed = reader.get<std::uint8_t>() != 0;
  const auto cycle = reader.get<std::int64_t>();
  if (rationed) cycle_ = cycle;
  synchronised_ = reader.get<std::uint8_t>() != 0;
  unsettled_ = reader.get<std::uint8_t>() != 0;
  newest_processed_ = reader.get<Timestamp>();
  for (Ages& ages : ages_) ages = reader.get<Ages>();
  for (TermSet& pair : pairs_) pair.load(reader);
  for (const auto& leaf : leaves_) leaf->load(reader);
  for (const auto& joint : joints_) {
    for (HalfJoin& half : joint->halves) load_half(reader, half);
    if (joint->output() != nullptr) load_state(reader, *joint);
  }
  for (TermSet& pair : pairs_) pair.finish_load();
  reader.expect_end();
}

void TreeJoin::load_state(ByteReader& reader, Joint& joint) {
  TreeState& state = *joint.output();
  Window& window = state.window;
  // Rows that are processed as they come make combinations in any order of time.
  reader.get_sliding(window.timestamps);
  reader.get_sliding(state.newest);
  const Seq first = window.begin();
  const auto same_rows = [&window](const auto& array) {
    return array.begin() == window.begin() && array.size() == window.size();
  };
  expect(same_rows(state.newest), "the columns of a state differ in length");
  for (std::size_t at = 0; at < state.streams.size(); ++at) {
    reader.get_sliding(state.members[at]);
    expect(same_rows(state.members[at]), "the columns of a state differ in length");
    const Seq end = leaves_[state.streams[at]]->state.processed;
    for (Seq row = first; row < window.end(); ++row)
      expect(state.members[at][row] < end, "a member that never came");
  }
  window.joinable.reset(first);
  for (Column& column : window.columns) std::visit([first](auto& values) { values.reset(first); }, column);
  for (Seq row = first; row < window.end(); ++row) {
    expect(state.newest[row] < leaves_.size(), "a stream out of range");
    bool alive = true;
    for (std::size_t at = 0; at < state.streams.size(); ++at) {
      if (state.members[at][row] < leaves_[state.streams[at]]->state.window.begin()) alive = false;
    }
    window.joinable.push_back(alive ? 1 : 0);
    joint.copy_driver(leaves_, row, alive);
  }
  state.processed = window.end();
  window.close_append(first);
  if (state.processed > first) state.index->append(first, state.processed);
}

}  // namespace watersmeet
