#include "watersmeet/slice/boundaries.h"

#include <algorithm>
#include <cmath>

namespace watersmeet {
namespace {

[[nodiscard]] std::vector<double> even_ends(std::size_t places, std::size_t length) {
  std::vector<double> ends(places, 1);
  for (std::size_t place = 0; place + 1 < std::min(places, length); ++place)
    ends[place] = static_cast<double>(place + 1) / static_cast<double>(length);
  return ends;
}

// The ends of a shorter ring by the places of the longer: a place that it lacks is an empty slice.
[[nodiscard]] std::vector<double> spread(const std::vector<double>& ends, const std::vector<bool>& lacks) {
  std::vector<double> all;
  all.reserve(lacks.size());
  auto next = ends.begin();
  for (const bool lacking : lacks) all.push_back(lacking ? all.back() : *next++);
  return all;
}

}  // namespace

// Departs from [PSP]: a place is added after the first node k with (M / N) k >= j; with the printed > the last
// one would have no place.
std::vector<bool> places_changed(std::size_t before, std::size_t after) {
  const std::size_t shorter = std::min(before, after);
  const std::size_t extra = std::max(before, after) - shorter;
  std::vector<bool> changed;
  std::size_t added = 0;
  for (std::size_t node = 1; node <= shorter; ++node) {
    changed.push_back(false);
    for (; added < extra && extra * node >= (added + 1) * shorter; ++added) changed.push_back(true);
  }
  return changed;
}

Boundaries::Boundaries(std::size_t places, const std::vector<std::size_t>& lengths) {
  for (const std::size_t length : lengths) ends_.push_back(even_ends(places, length == 0 ? places : length));
}

std::uint64_t Boundaries::rows_to_end(std::size_t place, std::size_t stream, std::uint64_t rows) const {
  const double share = ends_[stream][place];
  if (share >= 1) return rows;
  return std::min(rows, static_cast<std::uint64_t>(std::llround(share * static_cast<double>(rows))));
}

RowSet Boundaries::bounds(std::size_t place, const RowSet& window_rows) const {
  RowSet bounds = {};
  for (std::size_t stream = 0; stream < ends_.size(); ++stream) {
    bounds[stream] = kUnbounded;
    if (ends_[stream][place] >= 1) continue;
    const std::uint64_t before = place == 0 ? 0 : rows_to_end(place - 1, stream, window_rows[stream]);
    // The head keeps at least the row that has just come.
    bounds[stream] =
        std::max<Seq>(place == 0 ? 1 : 0, rows_to_end(place, stream, window_rows[stream]) - before);
  }
  return bounds;
}

void Boundaries::cut_evenly(std::size_t places) {
  settle();
  for (auto& ends : ends_) ends = even_ends(places, places);
}

void Boundaries::move_towards(std::size_t places) {
  settle();
  const std::size_t before = this->places();
  const std::vector<bool> changed = places_changed(before, places);
  for (auto& ends : ends_) {
    const std::vector<double> even = even_ends(places, places);
    if (places > before) ends = spread(ends, changed);
    target_.push_back(places > before ? even : spread(even, changed));
  }
  start_ = ends_;
  leaving_.assign(changed.size(), false);
  if (places < before) leaving_ = changed;
  begun_ = false;
}

bool Boundaries::advance(const RowSet& newest, const RowSet& window_rows) {
  if (!begun_) begun_at_ = newest;
  begun_ = true;
  bool arrived = true;
  for (std::size_t stream = 0; stream < ends_.size(); ++stream) {
    const auto come = static_cast<double>(newest[stream] - std::min(newest[stream], begun_at_[stream]));
    const auto rows = static_cast<double>(window_rows[stream]);
    const double done = come >= rows ? 1 : come / rows;
    arrived = arrived && done == 1;
    for (std::size_t place = 0; place < places(); ++place) {
      const double start = start_[stream][place];
      const double end = target_[stream][place];
      ends_[stream][place] = done == 1 ? end : start + (end - start) * done;
    }
  }
  return arrived;
}

void Boundaries::settle() {
  for (auto& ends : ends_) {
    std::vector<double> kept;
    for (std::size_t place = 0; place < ends.size(); ++place)
      if (leaving_.empty() || !leaving_[place]) kept.push_back(ends[place]);
    kept.back() = 1;
    ends = std::move(kept);
  }
  start_.clear();
  target_.clear();
  leaving_.clear();
}

}  // namespace watersmeet
