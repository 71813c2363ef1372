#include "watersmeet/join/absent.h"

#include <algorithm>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

constexpr std::size_t kStretchesPerAdd = 64;

}  // namespace

void Absent::add(const Timestamp* times, std::size_t rows) {
  const std::size_t step = std::max<std::size_t>(1, (rows + kStretchesPerAdd - 1) / kStretchesPerAdd);
  for (std::size_t from = 0; from < rows; from += step) {
    const std::size_t to = std::min(rows, from + step);
    add(times[from], times[to - 1], to - from);
  }
}

void Absent::add(Timestamp first, Timestamp last, std::uint64_t rows) {
  if (rows == 0) return;
  if (stretches_.size() >= kMost) merge_neighbours();
  const std::uint64_t before = stretches_.empty() ? 0 : stretches_.back().before + stretches_.back().rows;
  if (!stretches_.empty()) first = std::max(first, stretches_.back().first);
  stretches_.push_back({first, std::max(first, last), rows, before});
}

void Absent::merge_neighbours() {
  std::size_t kept = 0;
  for (std::size_t at = head_; at < stretches_.size(); at += 2) {
    Stretch merged = stretches_[at];
    if (at + 1 < stretches_.size()) {
      merged.last = std::max(merged.last, stretches_[at + 1].last);
      merged.rows += stretches_[at + 1].rows;
    }
    stretches_[kept++] = merged;
  }
  stretches_.resize(kept);
  head_ = 0;
}

void Absent::drop_before(Timestamp time) {
  while (head_ < stretches_.size() && stretches_[head_].last < time) ++head_;
  if (head_ < stretches_.size() / 2 || head_ == 0) return;
  stretches_.erase(stretches_.begin(), stretches_.begin() + static_cast<std::ptrdiff_t>(head_));
  head_ = 0;
}

double Absent::count(Timestamp first, Timestamp last) const {
  return first > last || empty() ? 0.0 : std::max(0.0, rows_until(last, true) - rows_until(first, false));
}

double Absent::rows_until(Timestamp time, bool inclusive) const {
  const auto from = stretches_.begin() + static_cast<std::ptrdiff_t>(head_);
  // Stretches before this one begin at or before `time`; the last of them may reach beyond it.
  const auto next = std::partition_point(from, stretches_.end(), [&](const Stretch& stretch) {
    return inclusive ? stretch.first <= time : stretch.first < time;
  });
  if (next == from) return static_cast<double>(from->before);
  const Stretch& stretch = *(next - 1);
  const auto base = static_cast<double>(stretch.before);
  const auto rows = static_cast<double>(stretch.rows);
  if (inclusive ? stretch.last <= time : stretch.last < time) return base + rows;
  const double span = static_cast<double>(stretch.last) - static_cast<double>(stretch.first);
  const double part =
      span <= 0 ? 0.0 : (static_cast<double>(time) - static_cast<double>(stretch.first)) / span;
  return base + rows * std::min(1.0, part);
}

void Absent::save(ByteWriter& writer) const {
  writer.put_array(stretches_.data() + head_, stretches_.size() - head_);
}

void Absent::load(ByteReader& reader) {
  stretches_ = reader.get_array<Stretch>();
  head_ = 0;
  for (std::size_t at = 0; at < stretches_.size(); ++at) {
    const bool follows = at == 0 || stretches_[at - 1].first <= stretches_[at].first;
    if (!follows || stretches_[at].first > stretches_[at].last) {
      throw SnapshotError("snapshot: absent rows are out of order");
    }
  }
}

}  // namespace watersmeet
