#include "watersmeet/join/selective_join.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "watersmeet/base/errors.h"
#include "watersmeet/base/hash.h"
#include "watersmeet/join/arrival.h"

namespace watersmeet {
namespace {

constexpr std::uint64_t kFullProbeSalt = 0x9AE16A3B2F90404FULL;
// What the mean cell holds of the best one, roughly: recall is corrected for what this gets wrong.
constexpr double kMeanOfBest = 0.25;
// How full an input buffer should be: demand varies from second to second, and an empty one lets time go by
// unused.
constexpr double kAimedFill = 0.3;
// A period of less than this share of a control period tells nothing.
constexpr double kLeastPeriod = 0.1;
constexpr std::uint64_t kDropSalt = 0xC3A5C85C97CB3127ULL;

[[nodiscard]] std::array<StreamConfig, kSides> without_basic_windows(
    std::array<StreamConfig, kSides> streams) {
  for (StreamConfig& stream : streams) {
    stream.basic_span = 0;
    stream.lazy_expiry = false;
  }
  return streams;
}

[[nodiscard]] double whole_number(std::size_t count) { return static_cast<double>(count); }

[[nodiscard]] std::size_t level_of(double score) {
  const double level = (std::log2(std::max(score, 0x1p-40)) + 40) * static_cast<double>(kLevelsPerOctave);
  return std::min(static_cast<std::size_t>(level), kLevels - 1);
}

}  // namespace

SelectiveJoin::SelectiveJoin(SelectiveConfig config)
    : config_(std::move(config)),
      bounds_(config_.lower, config_.upper),
      terms_(config_.terms),
      rings_{CellRing(config_.basic_span), CellRing(config_.basic_span)} {
  config_.streams = without_basic_windows(config_.streams);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream] = std::make_unique<Side>(config_.streams[stream], terms_, false);
    sides_[stream]->stop_being_dense();
    lanes_[stream] = std::make_unique<Lane>(terms_);
    if (config_.scored) {
      scores_[stream] = std::make_unique<CellScores>(terms_.term(0), sides_[stream]->window, rings_[stream],
                                                     config_.cells[stream]);
    }
    const std::uint32_t cells = config_.cells[1 - stream];
    DirectionPlan& everything = plans_[stream];
    for (std::uint32_t cell = 0; cell < cells; ++cell) everything.order.push_back(cell);
    everything.fractions.assign(config_.types, 1.0);
    everything.full_probe_share = config_.first_full_probe_share;
    rests_[stream].allowance.assign(config_.types, 0.0);
    totals_.tallies[stream] = CellTally(std::size_t{config_.types} * cells);
    period_.directions[stream].tally = CellTally(std::size_t{config_.types} * cells);
    if (config_.scored) period_.directions[stream].level_costs.assign(kLevels, 0.0);
  }
}

// --- a change begins and ends
// ------------------------------------------------------------------------------------

void SelectiveJoin::begin(Turn turn) {
  turn_ = turn;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    side.stage.begin_change();
    lanes_[stream]->begin_change();
    before_[stream] = {side.watermark,
                       side.newest,
                       side.ended,
                       side.counts,
                       side.window.end(),
                       side.stage.end(),
                       scores_[stream] ? scores_[stream]->first() : 0};
  }
  small_before_ = {server_, totals_, period_, plans_, rests_};
  pending_ = {};
  released_ = {};
}

template <class Change>
void SelectiveJoin::change(Turn turn, Change apply) {
  begin(turn);
  try {
    apply();
    for (std::size_t stream = 0; stream < kSides; ++stream) fill_lane(stream);
  } catch (...) {
    roll_back();
    throw;
  }
}

void SelectiveJoin::begin_push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                               std::optional<Timestamp> at, const std::uint8_t* kinds) {
  change(Turn::kInOrder, [&] { take_batch(stream, schema, array, at, nullptr, kinds); });
}

void SelectiveJoin::begin_hold(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                               const Timestamp* arrivals, const std::uint8_t* kinds) {
  change(Turn::kHold, [&] { take_batch(stream, schema, array, std::nullopt, arrivals, kinds); });
}

void SelectiveJoin::begin_drain() {
  change(Turn::kDrain, [] {});
}

void SelectiveJoin::begin_refill(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                                 const std::uint8_t* kinds) {
  change(Turn::kRefill, [&] { take_batch(stream, schema, array, std::nullopt, nullptr, kinds); });
}

void SelectiveJoin::begin_advance(std::size_t stream, Timestamp to) {
  change(Turn::kInOrder, [&] {
    Side& side = *sides_[stream];
    side.newest = std::max(side.newest, to);
    side.watermark = std::max(side.watermark, saturating_add(side.newest, -side.config.lateness.value_or(0)));
  });
}

void SelectiveJoin::begin_finish() {
  change(Turn::kInOrder, [&] {
    for (const auto& side : sides_) side->ended = true;
  });
}

void SelectiveJoin::take_batch(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                               std::optional<Timestamp> at, const Timestamp* arrivals,
                               const std::uint8_t* kinds) {
  Side& side = *sides_[stream];
  const std::size_t columns = 1 + terms_.arrow_columns(stream);
  if (schema.n_children != static_cast<std::int64_t>(columns) || array.n_children != schema.n_children) {
    throw SchemaError("a batch of stream '" + side.config.name + "' needs " + std::to_string(columns) +
                      " join columns");
  }
  std::vector<ArrowView> views;
  views.reserve(columns);
  for (std::size_t column = 0; column < columns; ++column) {
    views.emplace_back(*schema.children[column], *array.children[column], array.offset, array.length);
  }
  const ArrowView times = views.front();
  views.erase(views.begin());
  const auto rows = static_cast<std::size_t>(times.length());
  Stage& stage = side.stage;
  const Seq first = stage.end();
  const RowId first_id = side.counts.rows;
  Arrivals judged = judge_arrivals(side, times, first, first_id);
  stage.joinable.append_copies(1, rows);
  for (std::size_t row = 0; row < rows; ++row) stage.row_ids.push_back(first_id + row);
  if (arrivals != nullptr) {
    stage_arrivals_[stream].append(arrivals, rows);
  } else {
    stage_arrivals_[stream].append_copies(at.value_or(kMinTimestamp), rows);
  }
  if (kinds != nullptr) {
    stage_kinds_[stream].append(kinds, rows);
  } else {
    stage_kinds_[stream].append_copies(0, rows);
  }
  terms_.append(stream, views, stage.columns, stage.joinable.at(first));
  stage.waiting.add(judged.in_time);
  side.counts.rows += rows;
  side.counts.late_rows += judged.late.size();
  side.counts.bad_rows += judged.bad.size();
  released_.late = std::move(judged.late);
}

// A row goes on once no older one of its stream can come. Without an `at` it arrived when it was that old.
void SelectiveJoin::fill_lane(std::size_t stream) {
  Side& side = *sides_[stream];
  ReorderBuffer& waiting = side.stage.waiting;
  while (!waiting.empty() && side.complete_to(waiting.front().ts, false)) {
    const WaitingRow row = waiting.front();
    const Timestamp released = saturating_add(row.ts, side.config.lateness.value_or(0));
    const Timestamp given = stage_arrivals_[stream][row.row];
    // Held and refilled rows go by a clock that their timestamps say nothing of.
    const bool has_own_clock = turn_ == Turn::kHold || turn_ == Turn::kRefill;
    const Timestamp arrival = has_own_clock ? given : std::max(released, given);
    lanes_[stream]->take(side.stage, row.row, row.ts, arrival, stage_kinds_[stream][row.row], terms_);
    waiting.take();
  }
}

void SelectiveJoin::commit(Released& out) {
  const std::array<Wide, kSides> lows = {low(0), low(1)};
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    const bool none_to_come = lows[1 - stream] > Wide{kMaxTimestamp};
    const Seq alive =
        none_to_come ? side.window.end() : bounds_.first_alive(side.window, stream, lows[1 - stream]);
    if (scores_[stream]) scores_[stream]->forget_before(alive);
    side.expire_before(alive, terms_);
    rings_[stream].drop_before(side.window.begin());
    lanes_[stream]->commit(terms_);
    side.stage.commit(terms_);
    stage_kinds_[stream].drop_front_to(side.stage.begin());
    stage_arrivals_[stream].drop_front_to(side.stage.begin());
  }
  out = std::move(released_);
  released_ = {};
}

void SelectiveJoin::roll_back() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    const Before& before = before_[stream];
    if (scores_[stream]) scores_[stream]->take_back(before.window_end, before.scores_first);
    side.take_back(before.window_end, true, terms_);
    rings_[stream].truncate(before.window_end);
    lanes_[stream]->roll_back(terms_);
    side.stage.roll_back(terms_);
    stage_kinds_[stream].truncate_to(before.stage_end);
    stage_arrivals_[stream].truncate_to(before.stage_end);
    side.watermark = before.watermark;
    side.newest = before.newest;
    side.ended = before.ended;
    side.counts = before.counts;
  }
  server_ = small_before_.server;
  totals_ = small_before_.totals;
  period_ = small_before_.period;
  plans_ = small_before_.plans;
  rests_ = small_before_.rests;
  pending_ = {};
  released_ = {};
}

// --- the server
// --------------------------------------------------------------------------------------------------

double SelectiveJoin::seconds_at(Timestamp ts) const {
  return static_cast<double>(Wide{ts} - Wide{server_.base}) * config_.seconds_per_tick;
}

// No row that is not in its lane yet will arrive before this.
Wide SelectiveJoin::clock(std::size_t stream) const {
  if (sides_[stream]->ended) return Wide{kMaxTimestamp} + 1;
  return std::max(sides_[stream]->newest, lanes_[stream]->last_arrival);
}

bool SelectiveJoin::may_enter(std::size_t stream, Timestamp arrival) const {
  if (!config_.synchronised || turn_ == Turn::kDrain) return true;
  const std::size_t other = 1 - stream;
  if (lanes_[other]->has_unentered()) return true;  // its next row is known, and comes later
  return stream == 0 ? clock(other) >= Wide{arrival} : clock(other) > Wide{arrival};
}

// Rows that arrive while the server is busy must be known before it goes on.
bool SelectiveJoin::may_start(double at_s) const {
  if (!config_.synchronised || turn_ == Turn::kDrain) return true;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    if (sides_[stream]->ended) continue;
    if (at_s > seconds_at(std::max(sides_[stream]->newest, lanes_[stream]->last_arrival))) return false;
  }
  return true;
}

// The stream whose waiting (or else not yet entered) row is the first by arrival.
std::optional<std::size_t> SelectiveJoin::first_of(bool waiting) const {
  std::optional<std::size_t> first;
  Timestamp arrival = 0;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const Lane& lane = *lanes_[stream];
    if (waiting ? !lane.has_waiting() : !lane.has_unentered()) continue;
    const Timestamp own = lane.arrivals[waiting ? lane.head : lane.entered];
    if (!first.has_value() || own < arrival) {
      first = stream;
      arrival = own;
    }
  }
  return first;
}

std::optional<SelectiveJoin::Event> SelectiveJoin::next_event() {
  const std::optional<std::size_t> arriving = first_of(false);
  const std::optional<std::size_t> waiting = first_of(true);
  Timestamp arrival = 0;
  if (arriving.has_value()) {
    arrival = lanes_[*arriving]->arrivals[lanes_[*arriving]->entered];
    if (!server_.has_begun && may_enter(*arriving, arrival)) {
      server_.has_begun = true;
      server_.base = arrival;
      server_.control_s = config_.control_period_s;
    }
  }
  if (waiting.has_value()) {
    const Lane& lane = *lanes_[*waiting];
    const double at_s = std::max(server_.free_s, seconds_at(lane.arrivals[lane.head]));
    if (!arriving.has_value() || at_s <= seconds_at(arrival)) {
      if (!may_start(at_s)) return std::nullopt;
      return Event{*waiting, at_s, true};
    }
  }
  if (!arriving.has_value() || !may_enter(*arriving, arrival)) return std::nullopt;
  return Event{*arriving, seconds_at(arrival), false};
}

SelectiveJoin::Stop SelectiveJoin::run(std::size_t max_pairs, double max_units) {
  if (turn_ == Turn::kHold) return Stop::kDone;
  if (turn_ == Turn::kRefill) {
    admit_all();
    return Stop::kDone;
  }
  const double until = totals_.units + max_units;
  for (;;) {
    if (pending_.tags.size() >= max_pairs || totals_.units >= until) return Stop::kPause;
    const std::optional<Event> event = next_event();
    if (!event.has_value()) return Stop::kDone;
    if (event->at_s >= server_.control_s) return Stop::kControl;
    server_.now_s = std::max(server_.now_s, event->at_s);
    if (event->is_start) {
      start(*event);
    } else {
      enter(*event);
    }
  }
}

bool SelectiveJoin::coin(std::size_t stream, RowId row, std::uint64_t salt, double probability) const {
  if (probability <= 0) return false;
  if (probability >= 1) return true;
  const RowId number = rows_before_[stream] + row;
  const std::uint64_t mixed = hash_word(hash_word(config_.seed ^ salt) + hash_word(number * kSides + stream));
  return static_cast<double>(hash_word(mixed ^ (mixed << 17)) >> 11) * 0x1p-53 < probability;
}

void SelectiveJoin::enter(const Event& event) {
  Lane& lane = *lanes_[event.stream];
  const RowId row = lane.row_ids[lane.entered];
  // A micro-batch is its own buffer: where the guard makes probes free in time, nothing need be lost.
  const bool is_bounded = turn_ != Turn::kDrain || !config_.guarded;
  const bool overflows = is_bounded && lane.has_waiting() &&
                         event.at_s - seconds_at(lane.arrivals[lane.head]) > config_.input_buffer_s;
  const bool is_kept = !overflows && coin(event.stream, row, kDropSalt, plans_[event.stream].keep_share);
  ++period_.directions[event.stream].arrived;
  if (!is_kept) {
    ++period_.directions[event.stream].dropped;
    ++totals_.dropped[event.stream];
  }
  lane.enter(is_kept);
}

// All of its plan while the buffer is half empty, nothing when it is nearly full, and never more than half
// the room.
SelectiveJoin::Leave SelectiveJoin::guard(double waited_s) const {
  if (!config_.guarded) return {1, HUGE_VAL, 1};
  const double left_s = std::max(0.0, 0.9 * config_.input_buffer_s - waited_s - lag_s_);
  const double share = std::min(1.0, left_s / (0.4 * config_.input_buffer_s));
  const double fill = (waited_s + lag_s_) / config_.input_buffer_s;
  return {share, left_s / 2 * config_.units_per_second,
          share > 0 ? std::exp2(2 * (fill - kAimedFill)) / share : HUGE_VAL};
}

// An index has costs that few rows do not save; it is not held to cost more than looking at every row.
double SelectiveJoin::units_per_row() const {
  std::uint64_t decided = 0;
  for (const DirectionCounts& direction : totals_.directions) decided += direction.done;
  if (decided == 0) return config_.costs.comparison;
  return std::min(totals_.units / whole_number(decided), config_.costs.comparison);
}

// A full probe must end before the buffer overflows with what arrives meanwhile.
bool SelectiveJoin::may_be_full(std::size_t rows, double waited_s) const {
  const double takes_s = whole_number(rows) * units_per_row() / config_.units_per_second;
  return !config_.guarded || waited_s + lag_s_ + takes_s <= config_.input_buffer_s;
}

// The row at the head of a lane enters its window.
Seq SelectiveJoin::admit(std::size_t stream) {
  Side& side = *sides_[stream];
  Lane& lane = *lanes_[stream];
  Window& window = side.window;
  const Seq from = lane.head;
  const Seq row = window.end();
  const Timestamp ts = lane.timestamps[from];
  window.timestamps.push_back(ts);
  window.joinable.push_back(lane.joinable[from]);
  terms_.append_copy(lane.columns, from, window.columns);
  side.add_row_id(lane.row_ids[from]);
  side.index_from(row);
  rings_[stream].append(ts, row);
  if (scores_[stream]) scores_[stream]->append(row);
  lane.leave();
  return row;
}

void SelectiveJoin::admit_all() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Lane& lane = *lanes_[stream];
    while (lane.has_unentered()) lane.enter(true);
    while (lane.has_waiting()) admit(stream);
  }
}

void SelectiveJoin::start(const Event& event) {
  const std::size_t stream = event.stream;
  const Lane& lane = *lanes_[stream];
  const double waited_s = event.at_s - seconds_at(lane.arrivals[lane.head]);
  const std::uint8_t type = lane.kinds[lane.head];
  const double units = probe(stream, admit(stream), type, waited_s);
  const double busy_s = units / config_.units_per_second;
  server_.free_s = event.at_s + busy_s;
  period_.busy_s += busy_s;
  period_.units += units;
  totals_.units += units;
}

// --- one probe
// ---------------------------------------------------------------------------------------------------

double SelectiveJoin::probe(std::size_t stream, Seq own_row, std::uint8_t type, double waited_s) {
  const std::size_t other = 1 - stream;
  const Window& own = sides_[stream]->window;
  const Window& partners = sides_[other]->window;
  DirectionPeriod& period = period_.directions[stream];
  DirectionCounts& total = totals_.directions[stream];
  const Timestamp ts = own.timestamps[own_row];
  ++period.probes;
  ++total.work.probes;
  const TimeRange range = bounds_.range(stream, ts);
  if (range.first > range.last) return 0;
  const Seq lo = partners.lower_bound(range.first);
  const Seq hi = partners.upper_bound(range.last);
  if (scores_[other]) scores_[other]->forget_before(lo);
  if (lo >= hi) return 0;
  total.due += hi - lo;
  if (own.joinable[own_row] == 0) {
    total.done += hi - lo;
    return 0;
  }
  cells_.resize(config_.cells[other]);
  rings_[other].cut(ts, lo, hi, cells_);
  const std::size_t base = type * cells_.size();
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    period.tally.due[base + cell] += cells_[cell].size();
    totals_.tallies[stream].due[base + cell] += cells_[cell].size();
  }
  const bool is_tossed = may_be_full(static_cast<std::size_t>(hi - lo), waited_s);
  period.tossed += is_tossed ? 1 : 0;
  const bool is_full = is_tossed && coin(stream, sides_[stream]->row_id(own_row), kFullProbeSalt,
                                         plans_[stream].full_probe_share);
  if (is_full) {
    period.missed.push_back(0);
    period.planned.push_back(0);
    period.predicted.push_back(0);
  }
  ranges_.clear();
  const Leave leave = guard(waited_s);
  double units = 0;
  if (leave.share <= 0) {
    if (!is_full) return 0;
  } else if (config_.scored && plans_[stream].threshold >= 0) {
    units = plan_by_score(stream, own_row, leave, is_full);
  } else {
    plan_by_fraction(stream, type, leave);
  }
  join_ranges();
  if (is_full) add_rest_of_window(lo, hi);
  return units + search(stream, own_row, type, is_full);
}

// [Gedik] Alg. 3 lines 7-15, SPEC G12: a partial cell gives a slice whose start moves on from probe to probe.
void SelectiveJoin::plan_by_fraction(std::size_t stream, std::uint8_t type, Leave leave) {
  const DirectionPlan& plan = plans_[stream];
  Rest& rest = rests_[stream];
  double rows = 0;
  for (const CellRows& cell : cells_) rows += whole_number(cell.size());
  const double wanted = plan.fractions[type] * leave.share * rows + rest.allowance[type];
  const double room = leave.units / std::max(units_per_row(), 1e-9);
  auto left = static_cast<std::uint64_t>(std::min({wanted, rows, room}));
  // What a full window could not take is not owed to the next probe.
  rest.allowance[type] = std::min(wanted - whole_number(left), 1.0);
  for (const std::uint32_t at : plan.order) {
    const CellRows& cell = cells_[at];
    if (left == 0) return;
    if (cell.size() <= left) {
      if (cell.size() > 0) ranges_.push_back({cell.lo, cell.hi, true});
      left -= cell.size();
      continue;
    }
    const Seq from = cell.lo + rest.rotation % cell.size();
    const Seq first_part = std::min<Seq>(left, cell.hi - from);
    ranges_.push_back({from, from + first_part, true});
    if (first_part < left) ranges_.push_back({cell.lo, cell.lo + (left - first_part), true});
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
double SelectiveJoin::plan_by_score(std::size_t stream, Seq own_row, Leave leave, bool is_full) {
  const std::size_t other = 1 - stream;
  const Window& own = sides_[stream]->window;
  const Timestamp ts = own.timestamps[own_row];
  DirectionPeriod& period = period_.directions[stream];
  const double threshold = plans_[stream].threshold * leave.price;
  const bool is_scan = config_.streams[other].index == IndexKind::kScan;
  double& predicted = is_full ? period.predicted.back() : period.predicted_missed;
  double units = 0;
  if (is_scan && threshold > 0) {
    const double best = scores_[other]->best_share(own, own_row, stream == 0, ts) / config_.costs.comparison;
    units += config_.costs.score;
    if (best < threshold) {
      double rows = 0;
      for (const CellRows& cell : cells_) rows += whole_number(cell.size());
      period.level_costs[level_of(best)] += rows * config_.costs.comparison;
      predicted += rows * best * kMeanOfBest;
      period_.score_units += units;
      return units;
    }
  }
  cell_scores_.resize(cells_.size());
  scores_[other]->score(own, own_row, stream == 0, ts, cell_scores_);
  for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
    if (cells_[cell].size() == 0) continue;
    units += config_.costs.score;
    const double expected = cell_scores_[cell].share * whole_number(cells_[cell].size());
    const double cost = std::max(cell_cost(other, cell, expected), 1e-9);
    const double score = expected / cost;
    period.level_costs[level_of(score)] += cost;
    if (score >= threshold && cost <= leave.units) {
      leave.units -= cost;
      ranges_.push_back({cells_[cell].lo, cells_[cell].hi, true});
      period_.planned_units += cost;
    } else {
      predicted += expected;
    }
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

void SelectiveJoin::add_rest_of_window(Seq lo, Seq hi) {
  const std::size_t planned = ranges_.size();
  for (std::size_t at = 0; at <= planned; ++at) {
    const Seq from = at == 0 ? lo : ranges_[at - 1].hi;
    const Seq to = at == planned ? hi : ranges_[at].lo;
    if (from < to) ranges_.push_back({from, to, false});
  }
}

void SelectiveJoin::tally_ranges(std::size_t stream, std::uint8_t type, bool is_full) {
  CellTally& period = period_.directions[stream].tally;
  CellTally& total = totals_.tallies[stream];
  const std::size_t base = type * cells_.size();
  for (const Range& range : ranges_) {
    totals_.directions[stream].done += range.hi - range.lo;
    for (std::size_t cell = 0; cell < cells_.size(); ++cell) {
      const Seq lo = std::max(range.lo, cells_[cell].lo);
      const Seq hi = std::min(range.hi, cells_[cell].hi);
      if (lo >= hi) continue;
      period.comparisons[base + cell] += hi - lo;
      total.comparisons[base + cell] += hi - lo;
      if (!is_full) continue;
      period.full_comparisons[base + cell] += hi - lo;
      total.full_comparisons[base + cell] += hi - lo;
    }
  }
}

double SelectiveJoin::search(std::size_t stream, Seq own_row, std::uint8_t type, bool is_full) {
  if (ranges_.empty()) return 0;
  const std::size_t other = 1 - stream;
  const Window& own = sides_[stream]->window;
  tally_ranges(stream, type, is_full);
  request_rows_.assign(ranges_.size(), own_row);
  request_lo_.clear();
  request_hi_.clear();
  request_found_.assign(ranges_.size(), 0);
  for (const Range& range : ranges_) {
    request_lo_.push_back(range.lo);
    request_hi_.push_back(range.hi);
  }
  found_.own.clear();
  found_.other.clear();
  ProbeRun run;
  run.own = &own;
  run.own_is_left = stream == 0;
  run.rows = request_rows_.data();
  run.requests = ranges_.size();
  run.lo = request_lo_.data();
  run.hi = request_hi_.data();
  run.found = request_found_.data();
  Work work;
  sides_[other]->index->probe(run, found_, work);
  if (terms_.size() > 1) work.comparisons += found_.size();
  Work& total = totals_.directions[stream].work;
  total.comparisons += work.comparisons;
  total.postings += work.postings;
  total.lookups += work.lookups;
  keep_candidates(stream, type, is_full);
  return config_.costs.of(work);
}

void SelectiveJoin::keep_candidates(std::size_t stream, std::uint8_t type, bool is_full) {
  const std::size_t other = 1 - stream;
  const Window& own = sides_[stream]->window;
  const Window& partners = sides_[other]->window;
  const auto full_probe =
      static_cast<std::uint32_t>(is_full ? period_.directions[stream].missed.size() - 1 : 0);
  std::size_t at = 0;
  for (std::size_t request = 0; request < ranges_.size(); ++request) {
    for (std::uint32_t count = 0; count < request_found_[request]; ++count, ++at) {
      const Seq row = found_.other[at];
      if (terms_.size() > 1 && !terms_.satisfies_from(1, own, found_.own[at], partners, row, stream == 0))
        continue;
      // Cells run from the newest rows to the oldest.
      const auto cell = std::partition_point(cells_.begin(), cells_.end(),
                                             [row](const CellRows& rows) { return rows.lo > row; });
      const RowId own_id = sides_[stream]->row_id(found_.own[at]);
      const RowId other_id = sides_[other]->row_id(row);
      pending_.left.push_back(stream == 0 ? own_id : other_id);
      pending_.right.push_back(stream == 0 ? other_id : own_id);
      pending_.tags.push_back({static_cast<std::uint32_t>(cell - cells_.begin()),
                               static_cast<std::uint8_t>(stream), type, static_cast<std::uint8_t>(is_full),
                               static_cast<std::uint8_t>(!ranges_[request].is_planned), full_probe});
    }
  }
}

// --- candidates, periods, plans
// ----------------------------------------------------------------------------------

void SelectiveJoin::accept(const bool* kept) {
  for (std::size_t at = 0; at < pending_.tags.size(); ++at) {
    if (kept != nullptr && !kept[at]) continue;
    const Pending::Tag& tag = pending_.tags[at];
    DirectionPeriod& period = period_.directions[tag.stream];
    CellTally& total = totals_.tallies[tag.stream];
    const std::size_t place = tag.type * std::size_t{config_.cells[1 - tag.stream]} + tag.cell;
    ++period.tally.matches[place];
    ++total.matches[place];
    if (tag.is_full != 0) {
      ++period.tally.full_matches[place];
      ++total.full_matches[place];
      (tag.is_missed != 0 ? period.missed : period.planned)[tag.full_probe] += 1;
    }
    released_.left.push_back(pending_.left[at]);
    released_.right.push_back(pending_.right[at]);
    ++totals_.results;
  }
  pending_.left.clear();
  pending_.right.clear();
  pending_.tags.clear();
}

Period SelectiveJoin::take_period() {
  const double period_s = config_.control_period_s;
  // A silence may have passed several control times: they count as one.
  const std::optional<Event> event = next_event();
  const double now_s = event.has_value() ? event->at_s : server_.control_s;
  const double control_s = std::max(server_.control_s, std::floor(now_s / period_s) * period_s);
  Period done = next_period(control_s);
  const std::optional<std::size_t> waiting = first_of(true);
  if (waiting.has_value()) {
    done.waited_s = std::max(0.0, control_s - seconds_at(lanes_[*waiting]->arrivals[lanes_[*waiting]->head]));
  }
  return done;
}

std::optional<Period> SelectiveJoin::end_period() {
  if (!server_.has_begun) return std::nullopt;
  const double end_s = seconds_at(std::max(lanes_[0]->last_arrival, lanes_[1]->last_arrival));
  if (end_s - period_.begin_s < kLeastPeriod * config_.control_period_s) return std::nullopt;
  Period done = next_period(end_s);
  done.waited_s = std::max(0.0, server_.free_s - end_s);
  return done;
}

Period SelectiveJoin::next_period(double control_s) {
  Period done = std::move(period_);
  done.elapsed_s = control_s - done.begin_s;
  server_.control_s = control_s + config_.control_period_s;
  period_ = {};
  period_.begin_s = control_s;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    period_.directions[stream].tally = CellTally(std::size_t{config_.types} * config_.cells[1 - stream]);
    if (config_.scored) period_.directions[stream].level_costs.assign(kLevels, 0.0);
  }
  return done;
}

void SelectiveJoin::set_plan(std::size_t stream, DirectionPlan plan) {
  std::vector<std::uint32_t> sorted = plan.order;
  std::sort(sorted.begin(), sorted.end());
  bool fits = sorted.size() == config_.cells[1 - stream] && plan.fractions.size() == config_.types;
  for (std::size_t cell = 0; cell < sorted.size() && fits; ++cell) fits = sorted[cell] == cell;
  for (const double fraction : plan.fractions) fits = fits && fraction >= 0 && fraction <= 1;
  if (!fits) throw ConfigError("plan: expected every cell once and a fraction from 0 to 1 per type");
  plans_[stream] = std::move(plan);
}

// --- state
// -------------------------------------------------------------------------------------------------------

// No row of this stream that the server has still to start is older than this.
Wide SelectiveJoin::low(std::size_t stream) const {
  const Lane& lane = *lanes_[stream];
  const Wide to_come = sides_[stream]->low();
  return lane.head < lane.end() ? std::min(to_come, Wide{lane.timestamps[lane.head]}) : to_come;
}

std::size_t SelectiveJoin::waiting(std::size_t stream) const {
  return static_cast<std::size_t>(lanes_[stream]->end() - lanes_[stream]->head) +
         sides_[stream]->stage.waiting.size();
}

std::size_t SelectiveJoin::bytes() const {
  std::size_t total = terms_.bytes();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    total += sides_[stream]->bytes() + lanes_[stream]->bytes();
    if (scores_[stream]) total += scores_[stream]->bytes();
  }
  return total;
}

RowId SelectiveJoin::first_needed(std::size_t stream) {
  return lanes_[stream]->first_row(sides_[stream]->first_needed());
}

}  // namespace watersmeet
