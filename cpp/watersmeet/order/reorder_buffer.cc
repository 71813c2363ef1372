#include "watersmeet/order/reorder_buffer.h"

#include <algorithm>

#include "watersmeet/base/errors.h"

namespace watersmeet {

void ReorderBuffer::begin() {
  next_before_ = next_;
  kept_ = entries_.end();
  moved_.clear();
}

void ReorderBuffer::add(std::span<const WaitingRow> rows) {
  if (rows.empty()) return;
  std::vector<WaitingRow> sorted;
  std::span<const WaitingRow> fresh = rows;
  if (!std::is_sorted(rows.begin(), rows.end())) {
    sorted.assign(rows.begin(), rows.end());
    std::sort(sorted.begin(), sorted.end());
    fresh = sorted;
  }
  const WaitingRow* waiting = entries_.at(next_);
  const WaitingRow* end = entries_.at(entries_.end());
  const auto place = next_ + static_cast<Seq>(std::upper_bound(waiting, end, fresh.front()) - waiting);
  if (place < kept_) {  // an older row moves these: remember them as they were
    moved_.insert(moved_.begin(), entries_.at(place), entries_.at(kept_));
    kept_ = place;
  }
  std::vector<WaitingRow> tail(entries_.at(place), entries_.at(entries_.end()));
  entries_.truncate_to(place);
  std::merge(tail.begin(), tail.end(), fresh.begin(), fresh.end(),
             entries_.extend(tail.size() + fresh.size()));
}

void ReorderBuffer::commit() { entries_.drop_front_to(next_); }

void ReorderBuffer::roll_back() {
  next_ = next_before_;
  entries_.truncate_to(kept_);
  entries_.append(moved_.data(), moved_.size());
}

Seq ReorderBuffer::first_row(Seq otherwise) const {
  Seq first = otherwise;
  for (auto at = next_; at < entries_.end(); ++at) first = std::min(first, entries_[at].row);
  return first;
}

void ReorderBuffer::load(ByteReader& reader, Seq first, Seq last) {
  reader.get_sliding(entries_);
  next_ = entries_.begin();
  for (auto at = next_; at < entries_.end(); ++at) {
    const bool sorted = at == next_ || entries_[at - 1] < entries_[at];
    if (!sorted || entries_[at].row < first || entries_[at].row >= last) {
      throw SnapshotError("snapshot: waiting rows are out of order or out of range");
    }
  }
}

}  // namespace watersmeet
