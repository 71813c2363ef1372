#include "watersmeet/join/selective_scores.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace watersmeet {
namespace {

constexpr std::size_t kSteps = 16;  // of the coarse scale on which products are summed

// Sums of fixed-point numbers do not depend on the order in which rows came and went.
constexpr double kFixedPoint = 1 << 20;
[[nodiscard]] double fixed(double value) {
  return std::nearbyint(std::clamp(value, -1e9, 1e9) * kFixedPoint);
}

}  // namespace

CellScores::CellScores(const Term& term, const Window& window, const SlidingArray<std::int64_t>& places,
                       const CellRing& ring, std::size_t cells)
    : term_(term),
      window_(window),
      places_(places),
      ring_(ring),
      slots_(std::bit_ceil(cells + 2)),
      rows_(slots_),
      norms_(slots_),
      cells_(cells) {}

// --- rows come and go
// --------------------------------------------------------------------------------------------

void CellScores::forget_before(Seq row) {
  for (; first_ < std::min(row, window_.end()); ++first_) add(first_, -1);
}

void CellScores::take_back(Seq row, Seq first) {
  for (Seq gone = std::max(row, first_); gone < window_.end(); ++gone) add(gone, -1);
  for (Seq back = first; back < std::min(first_, row); ++back) add(back, 1);
  first_ = first;
  peak_cells_.clear();
}

void CellScores::reset(Seq first) {
  counts_.clear();
  peak_cells_.clear();
  weights_.clear();
  rows_.assign(slots_, 0);
  norms_.assign(slots_, 0);
  all_rows_ = all_items_ = 0;
  key_places_.clear();
  key_rows_.clear();
  free_places_.clear();
  first_ = first;
  for (Seq row = first; row < window_.end(); ++row) add(row, 1);
}

void CellScores::trim() {
  reset(first_);
  for (std::vector<double>* values : {&counts_, &weights_, &peaks_}) values->shrink_to_fit();
  key_rows_.shrink_to_fit();
  free_places_.shrink_to_fit();
  key_places_.rehash(0);
}

// Cells that still hold rows must not share a slot: the ring of slots doubles until they do not.
void CellScores::make_room(std::int64_t index) {
  newest_ = std::max(newest_, index);
  if (first_ >= window_.end()) return;
  const std::int64_t oldest = ring_.index_of(places_[first_]);
  const auto reach = static_cast<std::uint64_t>(newest_ - oldest) + 1;
  if (reach <= slots_) return;
  const std::size_t before = slots_;
  slots_ = std::bit_ceil(static_cast<std::size_t>(reach) + 1);
  const auto spread = [&](std::vector<double>& values) {
    std::vector<double> wider(values.size() / before * slots_);
    for (std::size_t base = 0; base < values.size() / before; ++base) {
      for (std::int64_t cell = oldest; cell < oldest + static_cast<std::int64_t>(before); ++cell) {
        wider[base * slots_ + slot(cell)] =
            values[base * before + (static_cast<std::uint64_t>(cell) & (before - 1))];
      }
    }
    values = std::move(wider);
  };
  spread(counts_);
  spread(weights_);
  spread(rows_);
  spread(norms_);
}

void CellScores::add(Seq row, std::int64_t sign) {
  if (window_.joinable[row] == 0) return;
  const std::int64_t index = ring_.index_of(places_[row]);
  if (sign > 0) make_room(index);
  const std::size_t at = slot(index);
  const auto step = static_cast<double>(sign);
  rows_[at] += step;
  all_rows_ += step;
  if (const auto* keys = std::get_if<KeyColumn>(&window_.columns[0])) {
    count_item(keys->words[row], at, sign, 0);
    return;
  }
  const auto& sets = std::get<SetColumn>(window_.columns[0]);
  const auto items = sets.set(row);
  all_items_ += step * static_cast<double>(items.size());
  for (std::size_t place = 0; place < items.size(); ++place) {
    count_item(items[place], at, sign, sets.weighted ? sets.set_weights(row)[place] : 0);
  }
  if (sets.weighted) norms_[at] += step * fixed(std::sqrt(sets.squares[row]));
}

void CellScores::count_item(std::uint64_t item, std::size_t at, std::int64_t sign, double weight) {
  double* counters = counters_for(item, sign);
  const auto step = static_cast<double>(sign);
  counters[at] += step;
  if (term_.is_weighted())
    weights_[static_cast<std::size_t>(counters - counts_.data()) + at] += step * fixed(weight);
}

double* CellScores::counters_for(std::uint64_t item, std::int64_t sign) {
  std::size_t place = static_cast<std::size_t>(item);
  if (term_.kind == TermKind::kEqual) {
    const auto found = key_places_.find(item);
    if (found != key_places_.end()) {
      place = found->second;
    } else if (!free_places_.empty()) {
      place = free_places_.back();
      free_places_.pop_back();
      key_places_.emplace(item, static_cast<std::uint32_t>(place));
    } else {
      place = key_rows_.size();
      key_rows_.push_back(0);
      key_places_.emplace(item, static_cast<std::uint32_t>(place));
    }
    key_rows_[place] += static_cast<std::uint64_t>(sign);
    if (key_rows_[place] == 0) {
      key_places_.erase(item);
      free_places_.push_back(static_cast<std::uint32_t>(place));
    }
  }
  if ((place + 1) * slots_ > counts_.size()) {
    const std::size_t size = std::bit_ceil(place + 1) * slots_;
    counts_.resize(size);
    if (term_.is_weighted()) weights_.resize(size);
  }
  return counts_.data() + place * slots_;
}

// --- scores
// ------------------------------------------------------------------------------------------------------

const double* CellScores::counters(std::uint64_t item, const std::vector<double>& values) const {
  std::size_t place = static_cast<std::size_t>(item);
  if (term_.kind == TermKind::kEqual) {
    const auto found = key_places_.find(item);
    if (found == key_places_.end()) return nullptr;
    place = found->second;
  }
  return (place + 1) * slots_ <= values.size() ? values.data() + place * slots_ : nullptr;
}

// How many items must be shared; where that depends on the partner's size, a partner of mean size is meant.
std::size_t CellScores::needed(std::size_t own_size, bool own_is_left) const {
  const double mean = all_rows_ > 0 ? all_items_ / all_rows_ : 0;
  const bool holds_partner =
      (term_.kind == TermKind::kSuperset && own_is_left) || (term_.kind == TermKind::kSubset && !own_is_left);
  double need = static_cast<double>(least_overlap(term_, own_size, own_is_left));
  if (holds_partner) need = std::min(mean, static_cast<double>(own_size));
  if (term_.kind == TermKind::kJaccard) {
    need = term_.at_least / (1 + term_.at_least) * (static_cast<double>(own_size) + mean);
  }
  return static_cast<std::size_t>(std::ceil(need - 1e-9));
}

double CellScores::peak(Code item, std::int64_t now) {
  if (item >= peak_cells_.size()) {
    peak_cells_.resize(std::bit_ceil(std::size_t{item} + 1), INT64_MIN);
    peaks_.resize(peak_cells_.size());
  }
  if (peak_cells_[item] == now) return peaks_[item];
  peak_cells_[item] = now;
  peaks_[item] = 0;
  const double* counts = counters(item, counts_);
  for (std::size_t cell = 1; counts != nullptr && cell + 1 < cells_; ++cell) {
    const std::size_t at = slot(now - static_cast<std::int64_t>(cell));
    if (rows_[at] > 0) peaks_[item] = std::max(peaks_[item], counts[at] / rows_[at]);
  }
  return peaks_[item];
}

double CellScores::best_share(const Window& own, Seq own_row, bool own_is_left, std::int64_t now) {
  if (term_.kind == TermKind::kEqual || term_.is_weighted() || cells_ < 4) return 1;
  const auto items = std::get<SetColumn>(own.columns[0]).set(own_row);
  const std::size_t need = needed(items.size(), own_is_left);
  if (need > items.size()) return 0;
  const std::int64_t newest = ring_.index_of(now);
  scratch_.assign(need + 1, 0);
  scratch_[0] = 1;
  peaks_of_probe_.clear();
  for (const Code item : items) peaks_of_probe_.push_back(peak(item, newest));
  std::sort(peaks_of_probe_.begin(), peaks_of_probe_.end());
  for (const double present : peaks_of_probe_) {
    for (std::size_t shared = need; shared > 0; --shared) {
      scratch_[shared] += (scratch_[shared - 1] - (shared == need ? 0 : scratch_[shared])) * present;
    }
    if (need > 0) scratch_[0] *= 1 - present;
  }
  return scratch_[need];
}

void CellScores::score(const Window& own, Seq own_row, bool own_is_left, std::int64_t now,
                       std::span<CellScore> out) {
  std::fill(out.begin(), out.end(), CellScore{});
  const std::int64_t newest = ring_.index_of(now);
  if (const auto* keys = std::get_if<KeyColumn>(&own.columns[0]))
    return score_keys(keys->words[own_row], newest, out);
  const auto& sets = std::get<SetColumn>(own.columns[0]);
  if (term_.is_weighted()) return score_weights(sets, own_row, newest, out);
  const auto items = sets.set(own_row);
  score_sets(items, needed(items.size(), own_is_left), newest, out);
}

void CellScores::score_keys(std::uint64_t word, std::int64_t now, std::span<CellScore> out) {
  const double* counts = counters(word, counts_);
  for (std::size_t cell = 0; cell < out.size(); ++cell) {
    const std::size_t at = slot(now - static_cast<std::int64_t>(cell));
    if (counts == nullptr || rows_[at] <= 0) continue;
    out[cell] = {counts[at] / rows_[at], counts[at]};
  }
}

// Codes are given to items in the order in which they come, so the order of a set's items depends on
// batching, and with it how sums are rounded. The order of what the window holds of them does not.
void CellScores::find_items(std::span<const Code> items, std::span<const double> weights, std::int64_t now,
                            std::size_t cells) {
  items_.clear();
  for (std::size_t place = 0; place < items.size(); ++place) {
    const double* counts = counters(items[place], counts_);
    if (counts != nullptr) items_.push_back({counts, weights.empty() ? 0.0 : weights[place]});
  }
  std::sort(items_.begin(), items_.end(), [&](const HeldItem& a, const HeldItem& b) {
    if (a.weight != b.weight) return a.weight < b.weight;
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const std::size_t at = slot(now - static_cast<std::int64_t>(cell));
      if (a.counts[at] != b.counts[at]) return a.counts[at] < b.counts[at];
      if (!term_.is_weighted()) continue;
      const double own = weights_[static_cast<std::size_t>(a.counts - counts_.data()) + at];
      const double other = weights_[static_cast<std::size_t>(b.counts - counts_.data()) + at];
      if (own != other) return own < other;
    }
    return false;
  });
}

// The recurrence P(t of the first k items) = P(t of k - 1) (1 - p) + P(t - 1 of k - 1) p, tail kept at
// `need`.
void CellScores::score_sets(std::span<const Code> items, std::size_t need, std::int64_t now,
                            std::span<CellScore> out) {
  const std::size_t cells = out.size();
  if (need > items.size()) return;
  scratch_.assign((need + 2) * cells, 0);
  double* present = scratch_.data() + (need + 1) * cells;
  std::fill_n(scratch_.data(), cells, 1.0);
  find_items(items, {}, now, cells);
  for (const auto& [counts, weight] : items_) {
    for (std::size_t cell = 0; cell < cells; ++cell) {
      const std::size_t at = slot(now - static_cast<std::int64_t>(cell));
      present[cell] = rows_[at] > 0 ? counts[at] / rows_[at] : 0;
      out[cell].postings += counts[at];
    }
    for (std::size_t shared = need; shared > 0; --shared) {
      double* own = scratch_.data() + shared * cells;
      const double* fewer = own - cells;
      // What has reached the need stays there.
      const double stays = shared == need ? 0.0 : 1.0;
      for (std::size_t cell = 0; cell < cells; ++cell) {
        own[cell] += (fewer[cell] - stays * own[cell]) * present[cell];
      }
    }
    if (need == 0) continue;
    for (std::size_t cell = 0; cell < cells; ++cell) scratch_[cell] *= 1 - present[cell];
  }
  for (std::size_t cell = 0; cell < cells; ++cell) out[cell].share = scratch_[need * cells + cell];
}

void CellScores::score_weights(const SetColumn& own, Seq own_row, std::int64_t now,
                               std::span<CellScore> out) {
  find_items(own.set(own_row), own.set_weights(own_row), now, out.size());
  for (std::size_t cell = 0; cell < out.size(); ++cell) {
    const std::size_t at = slot(now - static_cast<std::int64_t>(cell));
    if (rows_[at] <= 0) continue;
    double goal = term_.at_least;
    if (term_.kind == TermKind::kCosine)
      goal *= std::sqrt(own.squares[own_row]) * norms_[at] / kFixedPoint / rows_[at];
    std::array<double, kSteps + 1> sums = {1.0};
    for (const auto& [counts, weight] : items_) {
      if (counts[at] <= 0) continue;
      out[cell].postings += counts[at];
      const double sum = weights_[static_cast<std::size_t>(counts - counts_.data()) + at] / kFixedPoint;
      const double product = weight * sum / counts[at];
      const double steps =
          goal > 0 ? std::clamp(product / goal * kSteps, 0.0, double{kSteps}) : double{kSteps};
      const auto step = static_cast<std::size_t>(std::lround(steps));
      if (step == 0) continue;
      const double present = counts[at] / rows_[at];
      for (std::size_t from = kSteps; from-- > 0;) {
        const double moved = sums[from] * present;
        sums[from] -= moved;
        sums[std::min(from + step, kSteps)] += moved;
      }
    }
    out[cell].share = goal > 0 ? sums[kSteps] : 1.0;
  }
}

std::size_t CellScores::bytes() const {
  return (counts_.capacity() + weights_.capacity() + rows_.capacity() + norms_.capacity()) * sizeof(double) +
         key_places_.size() * 48 + key_rows_.capacity() * sizeof(std::uint64_t);
}

}  // namespace watersmeet
