#include "watersmeet/window/window.h"

#include <algorithm>

namespace watersmeet {

// Doubling steps from the front: what is asked for mostly lies near it, and a bisection of the whole would wait for
// memory a dozen times.
Seq Window::lower_bound(Timestamp ts) const {
  const Timestamp* times = timestamps.at(begin());
  std::size_t reached = 1;  // all before reached / 2 are older
  while (reached <= size() && times[reached - 1] < ts) reached *= 2;
  const Timestamp* found = std::lower_bound(times + reached / 2, times + std::min(reached, size()), ts);
  return begin() + static_cast<Seq>(found - times);
}

// The same from the back.
Seq Window::upper_bound(Timestamp ts) const {
  const Timestamp* past = timestamps.at(begin()) + size();
  std::size_t reached = 1;
  while (reached <= size() && *(past - reached) > ts) reached *= 2;
  const Timestamp* found = std::upper_bound(past - std::min(reached, size()), past - reached / 2, ts);
  return end() - static_cast<Seq>(past - found);
}

void Window::close_append(Seq first) {
  Seq row = first;
  while (row < end()) {
    const Timestamp ts = timestamps[row];
    if (basic_windows_.empty()) {
      basic_windows_.push_back({row, ts});
    } else if (basic_span_ > 0) {
      const BasicWindow& newest = basic_windows_.back();
      // Unsigned difference: ts >= newest.start always, and the distance may exceed int64.
      const auto age = static_cast<std::uint64_t>(ts) - static_cast<std::uint64_t>(newest.start);
      const auto span = static_cast<std::uint64_t>(basic_span_);
      if (age >= span) {
        const std::uint64_t start = static_cast<std::uint64_t>(newest.start) + age / span * span;
        basic_windows_.push_back({row, static_cast<Timestamp>(start)});
      }
    }
    if (basic_span_ == 0) break;
    // Skip to the first row beyond the newest basic window.
    const Timestamp last_inside = saturating_add(basic_windows_.back().start, basic_span_ - 1);
    const Timestamp* from = timestamps.at(row);
    row += static_cast<Seq>(std::upper_bound(from, from + (end() - row), last_inside) - from);
  }
}

void Window::drop_before(Seq row) {
  timestamps.drop_front_to(row);
  joinable.drop_front_to(row);
  if (track_matches) matched.drop_front_to(row);
  for (Column& column : columns) {
    std::visit([row](auto& values) { values.drop_front_to(row); }, column);
  }
  while (basic_windows_.size() > 1 && basic_windows_[1].first <= row) basic_windows_.pop_front();
  if (size() == 0) {
    basic_windows_.clear();
  } else {
    basic_windows_.front().first = std::max(basic_windows_.front().first, row);
  }
}

void Window::truncate(Seq row) {
  timestamps.truncate_to(row);
  joinable.truncate_to(row);
  if (track_matches) matched.truncate_to(row);
  for (Column& column : columns) {
    std::visit([row](auto& values) { values.truncate_to(row); }, column);
  }
  while (!basic_windows_.empty() && basic_windows_.back().first >= row) basic_windows_.pop_back();
}

void Window::trim() {
  timestamps.trim();
  joinable.trim();
  matched.trim();
  for (Column& column : columns) {
    std::visit([](auto& values) { values.trim(); }, column);
  }
}

void Window::reset(Seq row) {
  timestamps.reset(row);
  joinable.reset(row);
  matched.reset(row);
  for (Column& column : columns) {
    std::visit([row](auto& values) { values.reset(row); }, column);
  }
  basic_windows_.clear();
}

void Window::save_basic_windows(ByteWriter& writer) const {
  const std::vector<BasicWindow> ring(basic_windows_.begin(), basic_windows_.end());
  writer.put_array(ring.data(), ring.size());
}

void Window::load_basic_windows(ByteReader& reader) {
  const std::vector<BasicWindow> ring = reader.get_array<BasicWindow>();
  bool fits = ring.empty() == (size() == 0) && (ring.empty() || ring.front().first == begin());
  for (std::size_t at = 1; at < ring.size() && fits; ++at) {
    fits =
        ring[at - 1].first < ring[at].first && ring[at].first < end() && ring[at - 1].start < ring[at].start;
  }
  if (!fits) throw SnapshotError("snapshot: basic windows do not fit their window");
  basic_windows_.assign(ring.begin(), ring.end());
}

std::size_t Window::bytes() const {
  std::size_t total =
      timestamps.bytes() + joinable.bytes() + matched.bytes() + basic_windows_.size() * sizeof(BasicWindow);
  for (const Column& column : columns) {
    total += std::visit([](const auto& values) { return values.bytes(); }, column);
  }
  return total;
}

}  // namespace watersmeet
