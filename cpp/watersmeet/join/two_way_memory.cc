// A two-way join under a memory limit: rows given up, what is owed for them, and memory given back.
#include <algorithm>
#include <cmath>

#include "watersmeet/join/two_way_join.h"

namespace watersmeet {

// --- rows given up -------------------------------------------------------------------------------

// The age at which rows of a window are met last.
Wide TwoWayJoin::age_span(std::size_t window) const {
  const auto& count = config_.streams[window].window_rows;
  return count.has_value() ? Wide{*count} : bounds_.oldest_age(window);
}

// How many rows that are missing from the other window a row at `ts` should have met.
std::uint64_t TwoWayJoin::absent_for(std::size_t stream, Timestamp ts, Seq visible) const {
  const Side& other = *sides_[1 - stream];
  const auto& count = config_.streams[1 - stream].window_rows;
  if (count.has_value()) {
    const Seq full = visible > *count ? visible - *count : 0;
    return other.window.begin() > full ? std::min(other.window.begin() - full, other.counts.evicted_rows) : 0;
  }
  const TimeRange range = bounds_.range(stream, ts);
  const double rows =
      other.evicted.count(range.first, range.last) + other.thinned.count(range.first, range.last);
  return static_cast<std::uint64_t>(std::llround(rows));
}

// The same for all rows of the change.
std::uint64_t TwoWayJoin::absent_for_change(std::size_t stream) const {
  const Side& other = *sides_[1 - stream];
  if (other.evicted.empty() && other.thinned.empty()) return 0;
  const Fresh& fresh = fresh_[stream];
  const Timestamp* times = sides_[stream]->window.timestamps.at(fresh.first);
  std::uint64_t lost = 0;
  for (std::size_t at = 0; at < fresh.lo.size(); ++at) {
    lost += absent_for(stream, times[at], fresh.visible.empty() ? other.window.end() : fresh.visible[at]);
  }
  return lost;
}

void TwoWayJoin::sample_probes(std::size_t stream) {
  const Fresh& fresh = fresh_[stream];
  const Side& other = *sides_[1 - stream];
  const Window& own = sides_[stream]->window;
  const bool by_count = config_.streams[1 - stream].window_rows.has_value();
  const Wide span = age_span(1 - stream);
  const std::size_t step =
      std::max<std::size_t>(1, (fresh.lo.size() + MatchAges::kProbes - 1) / MatchAges::kProbes);
  MatchAges& ages = ages_[stream];
  for (std::size_t at = step / 2; at < fresh.lo.size(); at += step) {
    const auto weight = static_cast<double>(step);
    const Timestamp ts = own.timestamps[fresh.first + at];
    const TimeRange range = bounds_.range(stream, ts);
    const Seq visible = fresh.visible.empty() ? other.window.end() : fresh.visible[at];
    Seq top = fresh.hi[at];
    for (std::size_t cell = 0; cell < MatchAges::kCells && range.first <= range.last; ++cell) {
      const Wide edge = MatchAges::edge(cell, span);  // ages of the cell are below it
      const bool is_last = cell + 1 == MatchAges::kCells || span <= 0;
      Seq first = fresh.lo[at];
      if (!is_last && by_count) {
        first = visible > static_cast<Seq>(edge) ? visible - static_cast<Seq>(edge) : 0;
      } else if (!is_last) {
        const Wide oldest = Wide{ts} - edge;
        first = oldest < kMinTimestamp ? other.window.begin()
                                       : other.window.upper_bound(static_cast<Timestamp>(oldest));
      }
      first = std::clamp(first, std::min(fresh.lo[at], top), top);
      ages.met[cell] += weight * static_cast<double>(top - first);
      top = first;
      if (!by_count && (!other.evicted.empty() || !other.thinned.empty())) {
        const Wide newest_age = cell == 0 ? 0 : MatchAges::edge(cell - 1, span);
        const Wide last_time = cell == 0 ? Wide{range.last} : Wide{ts} - newest_age;
        const Wide first_time = is_last ? Wide{range.first} : Wide{ts} - edge + 1;
        if (first_time <= last_time && last_time >= range.first) {
          const auto from = static_cast<Timestamp>(std::max(first_time, Wide{range.first}));
          const auto to = static_cast<Timestamp>(std::min(last_time, Wide{range.last}));
          ages.absent[cell] += weight * (other.evicted.count(from, to) + other.thinned.count(from, to));
        }
      }
      if (is_last) break;
    }
    if (!by_count) continue;
    // Rows missing from a window of rows are its oldest.
    double missing = static_cast<double>(absent_for(stream, ts, visible));
    for (std::size_t cell = MatchAges::kCells; cell-- > 0 && missing > 0;) {
      const Wide newer = cell == 0 ? 0 : MatchAges::edge(cell - 1, span);
      const double here =
          cell == 0 ? missing : std::min(missing, static_cast<double>(MatchAges::edge(cell, span) - newer));
      ages.absent[cell] += weight * here;
      missing -= here;
    }
  }
}

void TwoWayJoin::sample_results(std::size_t own_stream, const Pairs& found) {
  const Window& own = sides_[own_stream]->window;
  const Window& other = sides_[1 - own_stream]->window;
  const Fresh& fresh = fresh_[own_stream];
  const bool by_count = config_.streams[1 - own_stream].window_rows.has_value();
  const Wide span = age_span(1 - own_stream);
  const std::size_t step = std::max<std::size_t>(1, found.size() / MatchAges::kResults);
  MatchAges& ages = ages_[own_stream];
  for (std::size_t at = step / 2; at < found.size(); at += step) {
    const auto place = static_cast<std::size_t>(found.own[at] - fresh.first);
    const Wide age =
        by_count ? Wide{fresh.visible.empty() ? other.end() : fresh.visible[place]} - found.other[at] - 1
                 : Wide{own.timestamps[found.own[at]]} - other.timestamps[found.other[at]];
    const std::size_t cell = MatchAges::cell(age, span);
    ages.matches[cell] += static_cast<double>(step);
    ages.sampled[cell] += 1;
  }
  const std::size_t looked_at = std::min(found.size(), 4 * MatchAges::kResults);
  for (std::size_t at = 0, next = 0; at < looked_at; at = next) {
    while (next < looked_at && found.own[next] == found.own[at]) ++next;
    const auto results = static_cast<double>(next - at);
    ages.row_results += results;
    ages.row_squares += results * results;
  }
}

void TwoWayJoin::evict(std::size_t stream, std::size_t rows) {
  Side& side = *sides_[stream];
  if (rows >= side.window.size()) return;
  side.evict_before(side.window.end() - rows, terms_);
}

// How many pairs a row between two times is owed on average, with rows of the other window and with those
// missing from it.
double TwoWayJoin::due_between(std::size_t stream, Timestamp first, Timestamp last) const {
  constexpr int kTimes = 16;
  const Window& other = sides_[1 - stream]->window;
  const auto& count = config_.streams[1 - stream].window_rows;
  double pairs = 0;
  for (int at = 0; at < kTimes; ++at) {
    const auto ts = static_cast<Timestamp>(Wide{first} + (Wide{last} - first) * at / (kTimes - 1));
    const TimeRange range = bounds_.range(stream, ts);
    const Seq lo = count.has_value() ? (other.end() > *count ? other.end() - *count : 0)
                                     : other.lower_bound(range.first);
    const Seq hi = count.has_value() ? other.end() : other.upper_bound(range.last);
    const Seq begin = std::max(lo, other.begin());
    pairs += hi > begin ? static_cast<double>(hi - begin) : 0.0;
    pairs += static_cast<double>(absent_for(stream, ts, other.end()));
  }
  return pairs / kTimes;
}

void TwoWayJoin::note_thinned(std::size_t stream, std::uint64_t rows, std::uint64_t kept, Timestamp first,
                              Timestamp last) {
  Side& side = *sides_[stream];
  side.counts.thinned_rows += rows;
  side.thinned.add(first, last, rows);
  // A row that was not taken in owes about as many pairs as one that was.
  const double each = kept > 0 ? static_cast<double>(last_due_[stream]) / static_cast<double>(kept)
                               : due_between(stream, first, last);
  const auto owed = static_cast<std::uint64_t>(std::llround(each * static_cast<double>(rows)));
  directions_[stream].due += owed;
  directions_[stream].lost += owed;
}

void TwoWayJoin::drop_absent(std::size_t stream) {
  Side& side = *sides_[stream];
  if (side.evicted.empty() && side.thinned.empty()) return;
  const Side& other = *sides_[1 - stream];
  const Wide oldest = other.ended && other.stage.waiting.empty() ? Wide{kMaxTimestamp}
                                                                 : bounds_.oldest_met(stream, other.low());
  if (oldest <= kMinTimestamp) return;
  const auto time = static_cast<Timestamp>(std::min(oldest, Wide{kMaxTimestamp}));
  side.evicted.drop_before(time);
  side.thinned.drop_before(time);
}

void TwoWayJoin::forget_unneeded() {
  for (const auto& side : sides_) side->forget_unneeded(terms_);
  for (std::size_t stream = 0; stream < kSides; ++stream) look_for_needed(stream);
}

void TwoWayJoin::trim() {
  for (const auto& side : sides_) side->trim();
  terms_.trim();
  hold_.trim();
  for (Fresh& fresh : fresh_) fresh = {};
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    std::vector<Result>().swap(in_step_[stream]);
    std::vector<Seq>().swap(matched_[stream]);
  }
  std::vector<Result>().swap(found_);
}

std::size_t TwoWayJoin::waiting_bytes() const {
  return held_bytes() + sides_[0]->lasting_bytes() + sides_[1]->lasting_bytes() + scratch_bytes();
}

std::size_t TwoWayJoin::scratch_bytes() const {
  std::size_t total = found_.capacity() * sizeof(Result);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const Fresh& fresh = fresh_[stream];
    total += (fresh.lo.capacity() + fresh.hi.capacity() + fresh.visible.capacity()) * sizeof(Seq);
    total += in_step_[stream].capacity() * sizeof(Result) + matched_[stream].capacity() * sizeof(Seq);
  }
  return total;
}

}  // namespace watersmeet
