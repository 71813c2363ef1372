#include "watersmeet/join/selective_lane.h"

#include <algorithm>
#include <variant>

#include "watersmeet/base/errors.h"

namespace watersmeet {

template <class Apply>
void Lane::for_each_array(Apply apply) {
  apply(timestamps);
  apply(arrivals);
  apply(joinable);
  apply(kinds);
  apply(row_ids);
  apply(met);
  apply(weights);
  for (Column& column : columns) std::visit(apply, column);
}

void Lane::take(const Stage& stage, Seq row, Timestamp ts, Timestamp arrival, std::uint8_t kind,
                std::int64_t before, TermSet& terms) {
  last_arrival = std::max(last_arrival, arrival);
  timestamps.push_back(ts);
  arrivals.push_back(last_arrival);
  joinable.push_back(stage.joinable[row]);
  kinds.push_back(kind);
  row_ids.push_back(stage.row_ids[row]);
  met.push_back(before);
  weights.push_back(1);
  terms.append_copy(stage.columns, row, columns);
}

void Lane::enter(double weight) {
  weights[entered] = weight;
  ++entered;
  skip_dropped();
}

void Lane::begin_change() { before_ = {head, entered, end(), last_arrival}; }

void Lane::commit(TermSet& terms) {
  if (head == begin()) return;
  terms.release(columns, begin(), head);
  for_each_array([this](auto& values) { values.drop_front_to(head); });
}

void Lane::roll_back(TermSet& terms) {
  terms.release(columns, before_.end, UINT64_MAX);
  for_each_array([this](auto& values) { values.truncate_to(before_.end); });
  head = before_.head;
  entered = before_.entered;
  last_arrival = before_.last_arrival;
  for (Seq row = entered; row < end(); ++row) weights[row] = 1;
}

void Lane::trim() {
  for_each_array([](auto& values) { values.trim(); });
}

RowId Lane::first_row(RowId otherwise) const {
  for (Seq row = head; row < end(); ++row) otherwise = std::min(otherwise, row_ids[row]);
  return otherwise;
}

std::size_t Lane::bytes() const {
  std::size_t total = timestamps.bytes() + arrivals.bytes() + joinable.bytes() + kinds.bytes() +
                      row_ids.bytes() + met.bytes() + weights.bytes();
  for (const Column& column : columns) {
    total += std::visit([](const auto& values) { return values.bytes(); }, column);
  }
  return total;
}

void Lane::save(ByteWriter& writer, const TermSet& terms) const {
  writer.put(head);
  writer.put(entered);
  writer.put(last_arrival);
  writer.put_sliding(timestamps);
  writer.put_sliding(arrivals);
  writer.put_sliding(joinable);
  writer.put_sliding(kinds);
  writer.put_sliding(row_ids);
  writer.put_sliding(met);
  writer.put_sliding(weights);
  terms.save_columns(writer, columns);
}

void Lane::load(ByteReader& reader, TermSet& terms) {
  head = reader.get<Seq>();
  entered = reader.get<Seq>();
  last_arrival = reader.get<Timestamp>();
  reader.get_sliding(timestamps);
  reader.get_sliding(arrivals);
  reader.get_sliding(joinable);
  reader.get_sliding(kinds);
  reader.get_sliding(row_ids);
  reader.get_sliding(met);
  reader.get_sliding(weights);
  const auto same = [this](const auto& array) {
    return array.begin() == begin() && array.size() == timestamps.size();
  };
  if (!same(arrivals) || !same(joinable) || !same(kinds) || !same(row_ids) || !same(met) || !same(weights) ||
      head < begin() || entered < head || entered > end()) {
    throw SnapshotError("snapshot: the columns of a queue differ in length");
  }
  terms.load_columns(reader, columns, begin(), timestamps.size());
}

}  // namespace watersmeet
