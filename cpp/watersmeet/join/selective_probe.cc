// One row looks for partners: what its plan visits, what is sampled of the rest, what is found and counted.

#include <algorithm>
#include <cmath>

#include "watersmeet/join/selective_join.h"

namespace watersmeet {
namespace {

constexpr std::uint64_t kSampleSalt = 0x9AE16A3B2F90404FULL;
// What the mean cell holds of the best one, roughly: recall is corrected for what this gets wrong.
constexpr double kMeanOfBest = 0.25;
// Of what the server can do, where a plan does not speak of samples.
constexpr double kMostForSamples = 0.05;
// Rows of one sample: the fewer, the less do matches come together, and the less is the server kept from its
// work. An index looks its items up for every sample, however small, so there a sample is all of a cell.
constexpr Seq kScannedUnitRows = 128;
constexpr Seq kIndexedUnitRows = Seq{1} << 32;
// Samples are fewer when the input buffer is full, but not by much: what is shed then must be known too, and it
// need not be like the rest.
constexpr double kLeastLeave = 0.25;
constexpr double kShortSample = 0.01;  // of the input buffer

[[nodiscard]] double whole_number(std::size_t count) { return static_cast<double>(count); }

[[nodiscard]] std::size_t level_of(double score) {
  const double level = (std::log2(std::max(score, 0x1p-40)) + 40) * static_cast<double>(kLevelsPerOctave);
  return std::min(static_cast<std::size_t>(level), kLevels - 1);
}

}  // namespace

// The rows of the other window that may be met.
CellRows SelectiveJoin::reach(const Probe& probe) const {
  const std::size_t other = 1 - probe.stream;
  const Window& partners = sides_[other]->window;
  if (counts_rows(other)) {
    const SlidingArray<std::int64_t>& numbers = numbers_[other];
    const std::int64_t* first = numbers.at(numbers.begin());
    const std::int64_t* last = numbers.at(numbers.end());
    const auto rows = static_cast<std::int64_t>(
        std::min<std::uint64_t>(*config_.streams[other].window_rows, std::uint64_t{INT64_MAX}));
    const std::int64_t* oldest = std::lower_bound(first, last, probe.now - rows);
    Seq lo = numbers.begin() + static_cast<Seq>(oldest - first);
    if (const auto& freshness = config_.streams[other].freshness; freshness.has_value()) {
      const Timestamp ts = sides_[probe.stream]->window.timestamps[probe.row];
      lo = std::max(lo, partners.lower_bound(saturating_add(ts, -*freshness)));
    }
    return {lo, std::max(lo, numbers.end())};
  }
  const TimeRange range = bounds_.range(probe.stream, sides_[probe.stream]->window.timestamps[probe.row]);
  if (range.first > range.last) return {};
  return {partners.lower_bound(range.first), partners.upper_bound(range.last)};
}

// Rows that a probe would have met, had there been memory for them.
std::uint64_t SelectiveJoin::lost_to_memory(const Probe& probe) const {
  const std::size_t other = 1 - probe.stream;
  const Side& side = *sides_[other];
  if (side.evicted.empty() && side.thinned.empty()) return 0;
  if (counts_rows(other)) {
    const SlidingArray<std::int64_t>& numbers = numbers_[other];
    const auto rows = static_cast<std::int64_t>(
        std::min<std::uint64_t>(*config_.streams[other].window_rows, std::uint64_t{INT64_MAX}));
    const std::int64_t oldest = std::max<std::int64_t>(0, probe.now - rows);
    const std::int64_t kept = numbers.begin() < numbers.end() ? numbers[numbers.begin()] : probe.now;
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, kept - oldest));
  }
  const TimeRange range = bounds_.range(probe.stream, sides_[probe.stream]->window.timestamps[probe.row]);
  if (range.first > range.last) return 0;
  const double absent =
      side.evicted.count(range.first, range.last) + side.thinned.count(range.first, range.last);
  return static_cast<std::uint64_t>(std::llround(absent));
}

double SelectiveJoin::probe(const Probe& probe) {
  const std::size_t stream = probe.stream;
  const std::size_t other = 1 - stream;
  DirectionPeriod& period = period_.directions[stream];
  DirectionCounts& total = totals_.directions[stream];
  ++period.probes;
  ++total.work.probes;
  const CellRows rows = reach(probe);
  if (scores_[other]) scores_[other]->forget_before(rows.lo);
  const std::uint64_t lost = lost_to_memory(probe);
  const std::uint64_t due = lost + (rows.lo < rows.hi ? rows.size() : 0);
  total.due += due;
  total.lost += lost;
  last_due_[stream] += due;
  if (rows.lo >= rows.hi) return 0;
  if (sides_[stream]->window.joinable[probe.row] == 0) {
    total.done += rows.size();
    return 0;
  }
  cells_.resize(config_.cells[other]);
  rings_[other].cut(probe.now, rows.lo, rows.hi, cells_);
  const std::size_t base = probe.type * cells_.size();
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    period.tally.due[base + cell] += cells_[cell].size();
    totals_.tallies[stream].due[base + cell] += cells_[cell].size();
  }
  ranges_.clear();
  is_scored_ = false;
  const Leave leave = guard(probe.used_s);
  double units = 0;
  if (leave.share > 0) {
    if (config_.scored && plans_[stream].threshold >= 0) {
      units = plan_by_score(probe, leave);
    } else {
      plan_by_fraction(probe, leave);
    }
  }
  join_ranges();
  std::size_t planned = 0;
  for (const Range& range : ranges_) planned += static_cast<std::size_t>(range.hi - range.lo);
  const bool is_incomplete = planned < rows.size();
  if (is_incomplete) {
    const double share = sample_share(probe, whole_number(rows.size() - planned), leave);
    // Lists that cannot be cut by time are read as a whole for any part: a sample may as well be all of it.
    if (config_.samples_cells && config_.streams[other].index != IndexKind::kInvertedById) {
      sample_pieces(probe, share);
    } else {
      sample_probe(probe, rows, share);
    }
  }
  return units + search(probe, is_incomplete);
}

// [Gedik] Alg. 3 lines 7-15, SPEC G12: a partial cell gives a slice whose start moves on from probe to probe.
void SelectiveJoin::plan_by_fraction(const Probe& probe, Leave leave) {
  const DirectionPlan& plan = plans_[probe.stream];
  Rest& rest = rests_[probe.stream];
  double rows = 0;
  for (const CellRows& cell : cells_) rows += whole_number(cell.size());
  const double wanted = plan.fractions[probe.type] * leave.share * rows + rest.allowance[probe.type];
  if (config_.streams[1 - probe.stream].index == IndexKind::kInvertedById) {
    // Its lists cannot be cut by time, so part of a window costs what the whole does: all or nothing.
    const bool is_due = wanted >= rows;
    rest.allowance[probe.type] = is_due ? std::min(wanted - rows, rows) : wanted;
    if (!is_due) return;
    for (const CellRows& cell : cells_) {
      if (cell.size() > 0) ranges_.push_back({cell.lo, cell.hi, true, 0});
    }
    return;
  }
  const double room = leave.units / std::max(units_per_row(), 1e-9);
  auto left = static_cast<std::uint64_t>(std::min({wanted, rows, room}));
  // What a full window could not take is not owed to the next probe.
  rest.allowance[probe.type] = std::min(wanted - whole_number(left), 1.0);
  for (const std::uint32_t at : plan.order) {
    const CellRows& cell = cells_[at];
    if (left == 0) return;
    if (cell.size() <= left) {
      if (cell.size() > 0) ranges_.push_back({cell.lo, cell.hi, true, 0});
      left -= cell.size();
      continue;
    }
    const Seq from = cell.lo + rest.rotation % cell.size();
    const Seq first_part = std::min<Seq>(left, cell.hi - from);
    ranges_.push_back({from, from + first_part, true, 0});
    if (first_part < left) ranges_.push_back({cell.lo, cell.lo + (left - first_part), true, 0});
    rest.rotation += left;
    return;
  }
}

double SelectiveJoin::cell_cost(std::size_t other, std::size_t cell, double expected) const {
  const WorkCosts& costs = config_.costs;
  switch (config_.streams[other].index) {
    case IndexKind::kScan:
      return whole_number(cells_[cell].size()) * costs.comparison;
    case IndexKind::kHash:
      return costs.lookup + expected * costs.comparison;
    default:
      return costs.lookup + cell_scores_[cell].postings * costs.posting + expected * costs.comparison;
  }
}

// Returns: the units that scoring cost. A row that cannot pass in any cell is found out by one score.
double SelectiveJoin::plan_by_score(const Probe& probe, Leave leave) {
  const std::size_t other = 1 - probe.stream;
  const Window& own = sides_[probe.stream]->window;
  DirectionPeriod& period = period_.directions[probe.stream];
  const double threshold = plans_[probe.stream].threshold * leave.price;
  const bool is_scan = config_.streams[other].index == IndexKind::kScan;
  double units = 0;
  is_scored_ = true;
  if (is_scan && threshold > 0) {
    const double share = scores_[other]->best_share(own, probe.row, probe.stream == 0, probe.now);
    const double best = share / config_.costs.comparison;
    units += config_.costs.score;
    if (best < threshold) {
      double rows = 0;
      for (const CellRows& cell : cells_) rows += whole_number(cell.size());
      period.level_costs[level_of(best)] += rows * config_.costs.comparison;
      predicted_.assign(cells_.size(), share * kMeanOfBest);
      period_.score_units += units;
      return units;
    }
  }
  cell_scores_.resize(cells_.size());
  predicted_.resize(cells_.size());
  scores_[other]->score(own, probe.row, probe.stream == 0, probe.now, cell_scores_);
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    if (cells_[cell].size() == 0) continue;
    units += config_.costs.score;
    predicted_[cell] = cell_scores_[cell].share;
    const double expected = cell_scores_[cell].share * whole_number(cells_[cell].size());
    const double cost = std::max(cell_cost(other, cell, expected), 1e-9);
    const double score = expected / cost;
    period.level_costs[level_of(score)] += cost;
    if (score < threshold || cost > leave.units) continue;
    leave.units -= cost;
    ranges_.push_back({cells_[cell].lo, cells_[cell].hi, true, 0});
    period_.planned_units += cost;
  }
  period_.score_units += units;
  return units;
}

// Ranges side by side become one, since an index looks its items up once per range.
void SelectiveJoin::join_ranges() {
  std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.lo < b.lo; });
  std::size_t kept = 0;
  for (const Range& range : ranges_) {
    if (kept > 0 && ranges_[kept - 1].hi == range.lo) {
      ranges_[kept - 1].hi = range.hi;
    } else {
      ranges_[kept++] = range;
    }
  }
  ranges_.resize(kept);
}

// --- samples
// -----------------------------------------------------------------------------------------------------

// The probability with which what a probe leaves out, so many rows, is visited all the same. Where the plan
// says nothing, samples may take a small part of what the server can do between two arrivals. Whole probes
// are held back by may_be_full() instead.
double SelectiveJoin::sample_share(const Probe& probe, double rows, Leave leave) const {
  if (config_.guarded && probe.used_s + lag_s_ >= room_s() && !has_short_samples(probe, rows)) return 0;
  double share = plans_[probe.stream].sample_share;
  if (share <= 0) {
    const double affordable = kMostForSamples * config_.units_per_second * server_.gap_s;
    share = std::min(config_.least_sample_share, affordable / std::max(rows * units_per_row(), 1e-9));
  }
  return config_.samples_cells ? share * std::max(leave.share, kLeastLeave) : share;
}

// Whether a sample takes so little time that rows which have waited long enough need not notice. A longer one
// would have them wait for two probes.
bool SelectiveJoin::has_short_samples(const Probe& probe, double rows) const {
  const bool is_scan = config_.streams[1 - probe.stream].index == IndexKind::kScan;
  const double most =
      is_scan ? std::min(rows, whole_number(kScannedUnitRows)) : rows / whole_number(cells_.size());
  const double takes_s = most * units_per_row() / config_.units_per_second;
  return config_.samples_cells && takes_s <= kShortSample * config_.input_buffer_s;
}

// [Gedik] Alg. 3 line 2: some probes visit everything.
void SelectiveJoin::sample_probe(const Probe& probe, CellRows rows, double share) {
  SampleCounts& samples = period_.directions[probe.stream].samples;
  const bool may_be = may_be_full(rows.size(), probe.used_s);
  const RowId id = rows_before_[probe.stream] + sides_[probe.stream]->row_id(probe.row);
  if (!may_be || chance(probe.stream, id, kSampleSalt) >= share) {
    samples.others += 1;
    if (!may_be) samples.not_asked += 1;
    return;
  }
  samples.known.push_back(0);
  samples.missed.push_back(0);
  samples.shares.push_back(share);
  const auto number = static_cast<std::uint32_t>(samples.known.size());
  find_pieces();
  for (Range& range : ranges_) range.sample = number;
  for (const Piece& piece : pieces_) ranges_.push_back({piece.lo, piece.hi, false, number});
}

// Departs from [Gedik]: a full probe's matches come together, so a few full probes say little; single cells
// of many probes cost the same and scatter far less. Instead of a coin per piece, one exponential number is
// drawn per sample; every piece takes -log(1 - share) off it.
void SelectiveJoin::sample_pieces(const Probe& probe, double share) {
  SampleCounts& samples = period_.directions[probe.stream].samples;
  Rest& rest = rests_[probe.stream];
  const double step = share >= 1 ? HUGE_VAL : -std::log1p(-share);
  const bool is_scan = config_.streams[1 - probe.stream].index == IndexKind::kScan;
  const Seq unit_rows = is_scan ? kScannedUnitRows : kIndexedUnitRows;
  find_pieces();
  for (const Piece& piece : pieces_) {
    const double each = is_scored_ ? predicted_[piece.cell] : 1.0;  // known of a row
    for (Seq at = piece.lo; at < piece.hi;) {
      if (rest.hazard < 0) rest.hazard = -std::log1p(-chance(probe.stream, rest.samples++, kSampleSalt));
      const Seq units = (piece.hi - at + unit_rows - 1) / unit_rows;
      const double passed = std::min(whole_number(units), std::floor(rest.hazard / step));
      const Seq sampled = at + static_cast<Seq>(passed) * unit_rows;
      samples.others += passed;
      if (share <= 0) samples.not_asked += passed;
      samples.others_known += whole_number(std::min(sampled, piece.hi) - at) * each;
      rest.hazard -= passed * step;
      if (sampled >= piece.hi) break;
      rest.hazard = -1;
      at = std::min(sampled + unit_rows, piece.hi);
      samples.known.push_back(whole_number(at - sampled) * each);
      samples.missed.push_back(0);
      samples.shares.push_back(share);
      ranges_.push_back({sampled, at, false, static_cast<std::uint32_t>(samples.known.size())});
    }
  }
}

// What the ranges, which are in order, leave out of every cell.
void SelectiveJoin::find_pieces() {
  pieces_.clear();
  auto range = ranges_.begin();
  for (std::size_t cell = cells_.size(); cell-- > 0;) {
    for (Seq at = cells_[cell].lo; at < cells_[cell].hi;) {
      while (range != ranges_.end() && range->hi <= at) ++range;
      if (range != ranges_.end() && range->lo <= at) {
        at = std::min(range->hi, cells_[cell].hi);
        continue;
      }
      const Seq end = range == ranges_.end() ? cells_[cell].hi : std::min(range->lo, cells_[cell].hi);
      pieces_.push_back({at, end, static_cast<std::uint32_t>(cell)});
      at = end;
    }
  }
}

// --- what is found
// -----------------------------------------------------------------------------------------------

void SelectiveJoin::tally_ranges(const Probe& probe) {
  CellTally& period = period_.directions[probe.stream].tally;
  CellTally& total = totals_.tallies[probe.stream];
  const std::size_t base = probe.type * cells_.size();
  for (const Range& range : ranges_) {
    totals_.directions[probe.stream].done += range.hi - range.lo;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      const Seq lo = std::max(range.lo, cells_[cell].lo);
      const Seq hi = std::min(range.hi, cells_[cell].hi);
      if (lo >= hi) continue;
      period.comparisons[base + cell] += hi - lo;
      total.comparisons[base + cell] += hi - lo;
      if (range.sample == 0) continue;
      period.full_comparisons[base + cell] += hi - lo;
      total.full_comparisons[base + cell] += hi - lo;
    }
  }
}

double SelectiveJoin::search(const Probe& probe, bool is_incomplete) {
  if (ranges_.empty()) return 0;
  const std::size_t other = 1 - probe.stream;
  tally_ranges(probe);
  request_rows_.assign(ranges_.size(), probe.row);
  request_lo_.clear();
  request_hi_.clear();
  request_found_.assign(ranges_.size(), 0);
  for (const Range& range : ranges_) {
    request_lo_.push_back(range.lo);
    request_hi_.push_back(range.hi);
  }
  pairs_.own.clear();
  pairs_.other.clear();
  ProbeRun run;
  run.own = &sides_[probe.stream]->window;
  run.own_is_left = probe.stream == 0;
  run.rows = request_rows_.data();
  run.requests = ranges_.size();
  run.lo = request_lo_.data();
  run.hi = request_hi_.data();
  run.found = request_found_.data();
  run.is_metered = true;
  Work work;
  sides_[other]->index->probe(run, pairs_, work);
  if (terms_.size() > 1) work.comparisons += pairs_.size();
  Work& total = totals_.directions[probe.stream].work;
  total.comparisons += work.comparisons;
  total.postings += work.postings;
  total.lookups += work.lookups;
  keep_candidates(probe, is_incomplete);
  return config_.costs.of(work);
}

void SelectiveJoin::keep_candidates(const Probe& probe, bool is_incomplete) {
  const std::size_t stream = probe.stream;
  const Side& own = *sides_[stream];
  const Side& partners = *sides_[1 - stream];
  const RowId own_id = own.row_id(probe.row);
  std::size_t at = 0;
  for (std::size_t request = 0; request < ranges_.size(); ++request) {
    const Range& range = ranges_[request];
    for (std::uint32_t count = 0; count < request_found_[request]; ++count, ++at) {
      const Seq row = pairs_.other[at];
      if (terms_.size() > 1 &&
          !terms_.satisfies_from(1, own.window, probe.row, partners.window, row, stream == 0))
        continue;
      // Cells run from the newest rows to the oldest.
      const auto cell = std::partition_point(cells_.begin(), cells_.end(),
                                             [row](const CellRows& rows) { return rows.lo > row; });
      const RowId other_id = partners.row_id(row);
      pending_.left.push_back(stream == 0 ? own_id : other_id);
      pending_.right.push_back(stream == 0 ? other_id : own_id);
      pending_.tags.push_back({probe.row, row, static_cast<std::uint32_t>(cell - cells_.begin()),
                               range.sample, static_cast<std::uint8_t>(stream), probe.type, range.is_planned,
                               is_incomplete});
    }
  }
}

}  // namespace watersmeet
