#include "watersmeet/join/stage.h"

#include <variant>

namespace watersmeet {

void Stage::roll_back(TermSet& terms) {
  terms.release(columns, end_before_, UINT64_MAX);
  for (Column& column : columns) {
    std::visit([this](auto& values) { values.truncate_to(end_before_); }, column);
  }
  joinable.truncate_to(end_before_);
  row_ids.truncate_to(end_before_);
  waiting.roll_back();
}

void Stage::commit(TermSet& terms) {
  waiting.commit();
  // Looking for the first row still needed walks those waiting: worth it once they are outnumbered.
  const std::size_t held = static_cast<std::size_t>(end() - begin());
  if (held == 0 || held < 2 * waiting.size()) return;
  drop_before(waiting.first_row(end()), terms);
}

void Stage::trim() {
  for (Column& column : columns) {
    std::visit([](auto& values) { values.trim(); }, column);
  }
  joinable.trim();
  row_ids.trim();
  waiting.trim();
}

void Stage::drop_before(Seq first, TermSet& terms) {
  terms.release(columns, begin(), first);
  for (Column& column : columns) {
    std::visit([first](auto& values) { values.drop_front_to(first); }, column);
  }
  joinable.drop_front_to(first);
  row_ids.drop_front_to(first);
}

std::size_t Stage::bytes() const {
  std::size_t total = joinable.bytes() + row_ids.bytes() + waiting.bytes();
  for (const Column& column : columns) {
    total += std::visit([](const auto& values) { return values.bytes(); }, column);
  }
  return total;
}

void Stage::save(ByteWriter& writer, const TermSet& terms) const {
  writer.put_sliding(joinable);
  writer.put_sliding(row_ids);
  terms.save_columns(writer, columns);
  waiting.save(writer);
}

void Stage::load(ByteReader& reader, TermSet& terms) {
  reader.get_sliding(joinable);
  reader.get_sliding(row_ids);
  if (row_ids.begin() != joinable.begin() || row_ids.size() != joinable.size()) {
    throw SnapshotError("snapshot: waiting rows and their numbers differ");
  }
  terms.load_columns(reader, columns, begin(), joinable.size());
  waiting.load(reader, begin(), end());
}

}  // namespace watersmeet
