#include "watersmeet/slice/shedding.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "watersmeet/base/hash.h"

namespace watersmeet {
namespace {

// Of the room left, what one row may take.
constexpr double kOneRow = 0.5;

[[nodiscard]] std::uint64_t sum_of(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

void save_counts(ByteWriter& writer, const std::vector<std::uint64_t>& counts) {
  writer.put_array(counts.data(), counts.size());
}

void load_counts(ByteReader& reader, std::vector<std::uint64_t>& counts) {
  auto read = reader.get_array<std::uint64_t>();
  if (read.size() != counts.size()) throw SnapshotError("snapshot: counts of other cells than the join has");
  counts = std::move(read);
}

}  // namespace

SliceShedding::SliceShedding(SliceSheddingConfig config, const SliceConfig& join)
    : config_(std::move(config)),
      join_(&join),
      streams_(join.streams.size()),
      further_(streams_, 0),
      period_results_(streams_, 0),
      period_rows_(streams_, 0) {
  const auto bad = [](const std::string& what) { throw ConfigError("shedding: " + what); };
  if (config_.cells.size() != streams_ || config_.cell_spans.size() != streams_)
    bad("expected cells of each stream");
  for (const std::uint32_t cells : config_.cells)
    if (cells < 1) bad("expected at least one cell");
  for (const std::int64_t span : config_.cell_spans)
    if (span < 1) bad("expected cells of some length");
  if (config_.control_span < 1 || config_.tick_span < 1) bad("expected periods of some length");
  config_.row_bases.resize(streams_, 0);
  plans_.resize(streams_ * streams_);
  for (std::size_t at = 0; at < plans_.size(); ++at) {
    plans_[at].order.resize(config_.cells[at % streams_]);
    std::iota(plans_[at].order.begin(), plans_[at].order.end(), 0U);
  }
  totals_ = period_ = nothing();
}

SliceShedding::Tallies SliceShedding::nothing() const {
  Tallies tallies(streams_ * streams_);
  for (std::size_t at = 0; at < tallies.size(); ++at) tallies[at].reset(config_.cells[at % streams_]);
  return tallies;
}

// The end of the stretch of a grid that holds `ts`.
Timestamp SliceShedding::end_of(Timestamp ts, Duration span) {
  const Timestamp place = ts / span - (ts % span < 0 ? 1 : 0);
  Timestamp end = 0;
  return __builtin_mul_overflow(place + 1, span, &end) ? kMaxTimestamp : end;
}

SliceShedding::Period SliceShedding::end_period(Timestamp ts) {
  begin_tick(ts);
  Period period;
  const Timestamp end = end_of(ts, config_.control_span) - config_.control_span;
  period.begin_s = static_cast<double>(period_begin_ - origin_) * config_.seconds_per_unit;
  period.elapsed_s = static_cast<double>(end - period_begin_) * config_.seconds_per_unit;
  period.lag_s = lag_s_;
  period.tallies = std::exchange(period_, nothing());
  period.results = period_results_;
  period.rows = period_rows_;
  for (std::size_t own = 0; own < streams_; ++own) {
    period_results_[own] = period_rows_[own] = 0;
    for (std::size_t other = 0; other < streams_; ++other)
      period.compared += sum_of(period.tallies[direction(own, other)].compared);
  }
  period_begin_ = end;
  period_end_ = end_of(ts, config_.control_span);
  return period;
}

void SliceShedding::set_plans(std::vector<ProbePlan> plans) {
  if (plans.size() != plans_.size()) throw ConfigError("plans: expected one for each direction");
  for (std::size_t at = 0; at < plans.size(); ++at) {
    std::vector<std::uint32_t> sorted = plans[at].order;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t cell = 0; cell < sorted.size(); ++cell)
      if (sorted[cell] != cell) throw ConfigError("plans: expected every cell once");
    if (sorted.size() != config_.cells[at % streams_]) throw ConfigError("plans: expected every cell once");
  }
  plans_ = std::move(plans);
}

void SliceShedding::begin_tick(Timestamp ts) {
  if (!started_ || ts < tick_end_) return;
  const Timestamp begin = end_of(ts, config_.tick_span) - config_.tick_span;
  const double passed_s = static_cast<double>(begin - tick_begin_) * config_.seconds_per_unit;
  const double spent_s = static_cast<double>(tick_compared_) / config_.units_per_second;
  lag_s_ = std::max(0.0, lag_s_ + spent_s - passed_s);
  for (std::size_t own = 0; own < first_of_.size(); ++own) {
    double all = 0;
    for (std::size_t other = 0; other < streams_; ++other)
      all += static_cast<double>(sum_of(period_[direction(own, other)].compared));
    const auto first = static_cast<double>(sum_of(period_[direction(own, first_of_[own])].compared));
    if (first > 0) further_[own] = (all - first) / first;
  }
  tick_compared_ = 0;
  tick_planned_ = 0;
  tick_begin_ = begin;
  tick_end_ = end_of(ts, config_.tick_span);
}

Visits& SliceShedding::begin_run() {
  visits_.reset(config_.cells, config_.whole_samples, config_.seed, config_.row_bases);
  return visits_;
}

void SliceShedding::plan(const Cycle& cycle, Timestamp ts, const SliceStore& store,
                         const std::vector<std::vector<std::size_t>>& orderings) {
  visits_.add_cycle();
  ++period_rows_[cycle.stream];
  // Where one of the windows is empty there is no result to be had, and nothing is due.
  for (const std::size_t other : orderings[cycle.stream])
    if (cycle.oldest[other] >= cycle.newest[other]) return;
  if (!started_) {
    started_ = true;
    period_end_ = end_of(ts, config_.control_span);
    tick_end_ = end_of(ts, config_.tick_span);
    origin_ = period_begin_ = period_end_ - config_.control_span;
    tick_begin_ = tick_end_ - config_.tick_span;
  }
  const double further = 1 + further_[cycle.stream];
  double heaviest = 1;
  bool first = true;
  for (const std::size_t other : orderings[cycle.stream]) {
    cut(cycle, other, ts, store);
    const ProbePlan& plan = plans_[direction(cycle.stream, other)];
    const auto window = static_cast<double>(cycle.newest[other] - cycle.oldest[other]);
    double rows = plan.fraction * window;
    if (first && std::isfinite(config_.units_per_second)) {
      const double room = (config_.room_s - lag_s_) * config_.units_per_second - tick_planned_;
      rows = std::min(rows, std::max(0.0, kOneRow * room / further));
    }
    const std::uint64_t visited = choose(cycle, other, rows);
    if (first) tick_planned_ += static_cast<double>(visited) * further;
    if (static_cast<double>(visited) < window) {
      const double share = plan.sample_share > 0 ? plan.sample_share : config_.least_sample_share;
      visits_.set_share(visits_.cycles() - 1, other, share);
      heaviest /= share;
    }
    first = false;
  }
  if (heaviest > 1) recall_.heaviest = std::max(recall_.heaviest, heaviest - 1);
}

void SliceShedding::cut(const Cycle& cycle, std::size_t other, Timestamp ts, const SliceStore& store) {
  const auto cells = visits_.of(visits_.cycles() - 1, other);
  const std::int64_t span = config_.cell_spans[other];
  const bool counts_rows = join_->streams[other].window_rows.has_value();
  const Seq oldest = cycle.oldest[other];
  Seq hi = cycle.newest[other];
  for (std::size_t cell = 0; cell < cells.size(); ++cell) {
    Seq lo = oldest;
    if (cell + 1 < cells.size()) {
      std::int64_t age = 0;
      if (__builtin_mul_overflow(span, static_cast<std::int64_t>(cell + 1), &age)) age = kMaxTimestamp;
      if (counts_rows) {
        const Seq newest = cycle.newest[other];
        lo = newest - std::min<Seq>(newest - oldest, static_cast<Seq>(age));
      } else {
        // Rows of an age below `age` are newer than this cell's end.
        lo = store.window(other).upper_bound(saturating_add(ts, -age));
      }
      lo = std::clamp(lo, oldest, hi);
    }
    cells[cell] = {lo, hi, lo, lo};
    hi = lo;
  }
}

std::uint64_t SliceShedding::choose(const Cycle& cycle, std::size_t other, double rows) {
  const auto cells = visits_.of(visits_.cycles() - 1, other);
  const ProbePlan& plan = plans_[direction(cycle.stream, other)];
  auto left = static_cast<std::uint64_t>(std::llround(rows));
  std::uint64_t visited = 0;
  for (const std::uint32_t place : plan.order) {
    if (left == 0) break;
    CellVisit& cell = cells[place];
    const std::uint64_t taken = std::min(left, cell.size());
    // Of a cell that is visited in part, every row is now and then.
    const Seq row = cycle.row + config_.row_bases[cycle.stream];
    const Seq skipped = hash_word(row + config_.seed) % (cell.size() - taken + 1);
    cell.first = cell.lo + skipped;
    cell.last = cell.first + taken;
    left -= taken;
    visited += taken;
  }
  return visited;
}

void SliceShedding::end_run(const Run& run, const Tallies& counted, const std::vector<Found>& results) {
  for (std::size_t own = 0; own < streams_; ++own) {
    for (std::size_t other = 0; other < streams_; ++other) {
      const std::size_t at = direction(own, other);
      totals_[at].add(counted[at]);
      period_[at].add(counted[at]);
      tick_compared_ += sum_of(counted[at].compared);
      recall_.samples += counted[at].samples;
      recall_.shed = recall_.shed || counted[at].shed > 0;
    }
  }
  std::vector<const Found*> of_cycle;
  for (std::size_t at = 0; at < results.size();) {
    const std::uint32_t cycle = results[at].cycle;
    of_cycle.clear();
    for (; at < results.size() && results[at].cycle == cycle; ++at) of_cycle.push_back(&results[at]);
    period_results_[run.cycles[cycle].stream] += of_cycle.size();
    estimate(run, cycle, of_cycle);
  }
  first_of_.clear();
  for (const auto& ordering : run.orderings) first_of_.push_back(ordering.front());
  (void)begin_run();  // what was planned is done
}

void SliceShedding::estimate(const Run& run, std::uint32_t cycle, std::vector<const Found*>& results) {
  const auto& ordering = run.orderings[run.cycles[cycle].stream];
  std::sort(results.begin(), results.end(), [&ordering](const Found* one, const Found* two) {
    for (const std::size_t other : ordering)
      if (one->rows[other] != two->rows[other]) return one->rows[other] < two->rows[other];
    return false;
  });
  const Share share = estimate_from(run, 0, results.data(), results.data() + results.size());
  const auto count = static_cast<double>(results.size());
  recall_.results += count;
  recall_.missed += std::max(0.0, share.total - count);
  recall_.variance += share.variance;
  recall_.variance_squared += share.variance * share.variance;
}

// Of results [first, last), which have the same rows up to this step: what they stand for.
SliceShedding::Share SliceShedding::estimate_from(const Run& run, std::size_t step, const Found* const* first,
                                                  const Found* const* last) const {
  const std::uint32_t cycle = (*first)->cycle;
  const auto& ordering = run.orderings[run.cycles[cycle].stream];
  if (step == ordering.size()) return {1, 0};
  const std::size_t other = ordering[step];
  const double chance = visits_.share(cycle, other);
  Share all;
  std::vector<Share> pieces(visits_.cells(other));
  while (first != last) {
    const Seq row = (*first)->rows[other];
    const Found* const* next = first;
    while (next != last && (*next)->rows[other] == row) ++next;
    const Share below = estimate_from(run, step + 1, first, next);
    const std::size_t cell = visits_.cell_of(cycle, other, row);
    const bool planned = visits_.of(cycle, other)[cell].visits(row);
    Share& sum = planned ? all : pieces[visits_.whole_samples() ? 0 : cell];
    sum.total += below.total;
    sum.variance += below.variance;
    first = next;
  }
  for (const Share& piece : pieces) {
    if (piece.total == 0) continue;
    all.total += piece.total / chance;
    all.variance += (1 - chance) / (chance * chance) * piece.total * piece.total + piece.variance / chance;
  }
  return all;
}

void SliceShedding::save(ByteWriter& writer) const {
  writer.put(started_);
  for (const Timestamp ts : {origin_, period_begin_, period_end_, tick_begin_, tick_end_}) writer.put(ts);
  writer.put(lag_s_);
  writer.put(tick_compared_);
  writer.put(tick_planned_);
  writer.put_array(further_.data(), further_.size());
  writer.put_array(first_of_.data(), first_of_.size());
  writer.put_array(config_.row_bases.data(), config_.row_bases.size());
  for (const ProbePlan& plan : plans_) {
    writer.put_array(plan.order.data(), plan.order.size());
    writer.put(plan.fraction);
    writer.put(plan.sample_share);
  }
  for (const Tallies* tallies : {&totals_, &period_}) {
    for (const DirectionTally& tally : *tallies) {
      for (const auto* counts :
           {&tally.due, &tally.compared, &tally.matches, &tally.sample_compared, &tally.sample_matches})
        save_counts(writer, *counts);
      writer.put(tally.shed);
      writer.put(tally.samples);
    }
  }
  save_counts(writer, period_results_);
  save_counts(writer, period_rows_);
  writer.put(recall_);
}

void SliceShedding::load(ByteReader& reader) {
  started_ = reader.get<bool>();
  for (Timestamp* ts : {&origin_, &period_begin_, &period_end_, &tick_begin_, &tick_end_})
    *ts = reader.get<Timestamp>();
  lag_s_ = reader.get<double>();
  tick_compared_ = reader.get<std::uint64_t>();
  tick_planned_ = reader.get<double>();
  further_ = reader.get_array<double>();
  first_of_ = reader.get_array<std::size_t>();
  for (const std::size_t first : first_of_)
    if (first >= streams_) throw SnapshotError("snapshot: plans for other streams than the join has");
  config_.row_bases = reader.get_array<Seq>();
  if (further_.size() != streams_ || first_of_.size() > streams_ || config_.row_bases.size() != streams_)
    throw SnapshotError("snapshot: plans for other streams than the join has");
  std::vector<ProbePlan> plans(plans_.size());
  for (ProbePlan& plan : plans) {
    plan.order = reader.get_array<std::uint32_t>();
    plan.fraction = reader.get<double>();
    plan.sample_share = reader.get<double>();
  }
  set_plans(std::move(plans));
  for (Tallies* tallies : {&totals_, &period_}) {
    for (DirectionTally& tally : *tallies) {
      for (auto* counts :
           {&tally.due, &tally.compared, &tally.matches, &tally.sample_compared, &tally.sample_matches})
        load_counts(reader, *counts);
      tally.shed = reader.get<std::uint64_t>();
      tally.samples = reader.get<std::uint64_t>();
    }
  }
  load_counts(reader, period_results_);
  load_counts(reader, period_rows_);
  recall_ = reader.get<Recall>();
}

}  // namespace watersmeet
