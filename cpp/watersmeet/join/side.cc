#include "watersmeet/join/side.h"

#include <algorithm>
#include <utility>

namespace watersmeet {

std::unique_ptr<Index> make_index(const StreamConfig& config, const Window& window, const TermSet& terms) {
  if (terms.size() == 0) return make_cross_index(window);
  switch (config.index) {
    case IndexKind::kHash:
      return make_hash_index(window, terms.term(0));
    case IndexKind::kInverted:
      return make_inverted_index(window, terms.term(0), config.merge);
    case IndexKind::kInvertedById:
      return make_inverted_by_id_index(window, terms.term(0));
    default:
      return make_scan_index(window, terms.term(0));
  }
}

Side::Side(const StreamConfig& stream, const TermSet& terms, bool track_matches)
    : config(stream),
      window(stream.basic_span),
      stage(terms),
      lateness(stream.lateness.value_or(0)),
      dense_(!stream.lateness.has_value()) {
  window.track_matches = track_matches;
  window.columns = terms.make_columns(0);
  index = make_index(config, window, terms);
}

Wide Side::low() const {
  const Wide to_come = ended ? Wide{kMaxTimestamp} + 1 : Wide{watermark};
  return stage.waiting.empty() ? to_come : std::min(to_come, Wide{stage.waiting.front().ts});
}

void Side::stop_being_dense() {
  if (!dense_) return;
  row_ids_.reset(window.begin());
  for (Seq row = window.begin(); row < window.end(); ++row) row_ids_.push_back(row);
  dense_ = false;
}

void Side::admit_waiting(TermSet& terms) {
  const WaitingRow& row = stage.waiting.front();
  window.timestamps.push_back(row.ts);
  window.joinable.push_back(stage.joinable[row.row]);
  if (window.track_matches) window.matched.push_back(0);
  terms.append_copy(stage.columns, row.row, window.columns);
  add_row_id(stage.row_ids[row.row]);
  stage.waiting.take();
}

void Side::index_from(Seq first) {
  window.close_append(first);
  index->append(first, window.end());
}

void Side::reindex(IndexKind kind, MergeKind merge, const TermSet& terms) {
  StreamConfig changed = config;
  changed.index = kind;
  changed.merge = merge;
  auto fresh = make_index(changed, window, terms);
  fresh->append(window.begin(), window.end());
  index = std::move(fresh);
}

void Side::take_back(Seq row, bool indexed, TermSet& terms) {
  if (indexed) index->truncate(row);
  terms.release(window.columns, row, UINT64_MAX);
  window.truncate(row);
  if (!dense_) row_ids_.truncate_to(std::max(row, row_ids_.begin()));
}

void Side::expire_before(Seq row, TermSet& terms) {
  if (config.lazy_expiry && config.basic_span > 0) {
    Seq start = window.begin();
    for (const BasicWindow& basic_window : window.basic_windows()) {
      if (basic_window.first > row) break;
      start = basic_window.first;
    }
    row = row == window.end() ? row : start;
  }
  if (row <= window.begin()) return;
  counts.expired_rows += row - window.begin();
  forget_before(row, terms);
}

void Side::forget_before(Seq row, TermSet& terms) {
  index->expire_before(row);
  terms.release(window.columns, window.begin(), row);
  window.drop_before(row);
  if (!dense_) row_ids_.drop_front_to(row);
}

void Side::evict_before(Seq row, TermSet& terms) {
  if (row <= window.begin()) return;
  evicted.add(window.timestamps.at(window.begin()), static_cast<std::size_t>(row - window.begin()));
  counts.evicted_rows += row - window.begin();
  forget_before(row, terms);
}

void Side::forget_unneeded(TermSet& terms) {
  stage.forget_unneeded(terms);
  looks_again_ = true;
}

void Side::trim() {
  window.trim();
  index->trim();
  stage.trim();
  row_ids_.trim();
}

// Numbers are in no order once rows were reordered, so the smallest is found by a walk, taken when as many
// rows have gone as it would visit.
RowId Side::first_needed() {
  const bool in_order = !config.lateness.has_value();
  const RowId in_window = window.size() == 0 ? counts.rows : row_id(window.begin());
  if (in_order)
    return stage.begin() < stage.end() ? std::min(in_window, stage.row_ids[stage.begin()]) : in_window;
  const std::size_t visited = window.size() + static_cast<std::size_t>(stage.end() - stage.begin());
  const std::uint64_t gone = counts.expired_rows + counts.evicted_rows;
  if (gone - expired_at_look_ < visited / 2 && !looks_again_) return needed_;
  looks_again_ = false;
  expired_at_look_ = gone;
  needed_ = counts.rows;
  for (Seq row = window.begin(); row < window.end(); ++row) needed_ = std::min(needed_, row_ids_[row]);
  if (stage.begin() < stage.end()) needed_ = std::min(needed_, stage.row_ids[stage.begin()]);
  return needed_;
}

std::size_t Side::bytes() const {
  return window.bytes() + index->bytes() + stage.bytes() + row_ids_.bytes() + evicted.bytes() +
         thinned.bytes();
}

void Side::save(ByteWriter& writer, const TermSet& terms) const {
  writer.put(watermark);
  writer.put(newest);
  writer.put(lateness);
  writer.put<std::uint8_t>(ended ? 1 : 0);
  writer.put<std::uint8_t>(idle ? 1 : 0);
  writer.put<std::uint8_t>(dense_ ? 1 : 0);
  writer.put(settled);
  writer.put(counts);
  evicted.save(writer);
  thinned.save(writer);
  writer.put(needed_);
  writer.put(expired_at_look_);
  writer.put_sliding(window.timestamps);
  writer.put_sliding(window.joinable);
  writer.put_sliding(window.matched);
  writer.put_sliding(row_ids_);
  terms.save_columns(writer, window.columns);
  window.save_basic_windows(writer);
  stage.save(writer, terms);
}

void Side::load(ByteReader& reader, TermSet& terms) {
  watermark = reader.get<Timestamp>();
  newest = reader.get<Timestamp>();
  lateness = reader.get<Duration>();
  ended = reader.get<std::uint8_t>() != 0;
  idle = reader.get<std::uint8_t>() != 0;
  dense_ = reader.get<std::uint8_t>() != 0;
  settled = reader.get<Seq>();
  counts = reader.get<SideCounts>();
  evicted.load(reader);
  thinned.load(reader);
  needed_ = reader.get<RowId>();
  expired_at_look_ = reader.get<std::uint64_t>();
  reader.get_sliding(window.timestamps);
  reader.get_sliding(window.joinable);
  reader.get_sliding(window.matched);
  reader.get_sliding(row_ids_);
  const auto same_rows = [this](const auto& array) {
    return array.begin() == window.begin() && array.size() == window.size();
  };
  if (!same_rows(window.joinable) || (window.track_matches && !same_rows(window.matched)) ||
      (!dense_ && !same_rows(row_ids_)) || settled > window.end()) {
    throw SnapshotError("snapshot: the columns of a window differ in length");
  }
  const Timestamp* times = window.timestamps.at(window.begin());
  if (!std::is_sorted(times, times + window.size())) throw SnapshotError("snapshot: rows are out of order");
  terms.load_columns(reader, window.columns, window.begin(), window.size());
  window.load_basic_windows(reader);
  stage.load(reader, terms);
  index = make_index(config, window, terms);
  index->append(window.begin(), window.end());
}

}  // namespace watersmeet
