#include "watersmeet/join/selective_join.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "watersmeet/base/errors.h"
#include "watersmeet/join/arrival.h"
#include "watersmeet/join/watermarks.h"

namespace watersmeet {
namespace {

// A period of less than this share of a control period tells nothing.
constexpr double kLeastPeriod = 0.1;
// A lateness that is not known yet is as long as can be; nothing arrives that late.
constexpr Duration kUnknownLateness = Duration{1} << 60;

[[nodiscard]] std::array<StreamConfig, kSides> without_basic_windows(
    std::array<StreamConfig, kSides> streams) {
  for (StreamConfig& stream : streams) {
    stream.basic_span = 0;
    stream.lazy_expiry = false;
  }
  return streams;
}

}  // namespace

SelectiveJoin::SelectiveJoin(SelectiveConfig config)
    : config_(std::move(config)),
      bounds_(config_.lower, config_.upper),
      terms_(config_.terms),
      rings_{CellRing(config_.cell_spans[0]), CellRing(config_.cell_spans[1])} {
  config_.streams = without_basic_windows(config_.streams);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream] = std::make_unique<Side>(config_.streams[stream], terms_, false);
    sides_[stream]->stop_being_dense();
    lanes_[stream] = std::make_unique<Lane>(terms_);
    if (config_.scored) {
      const Window& window = sides_[stream]->window;
      scores_[stream] = std::make_unique<CellScores>(
          terms_.term(0), window, counts_rows(stream) ? numbers_[stream] : window.timestamps, rings_[stream],
          config_.cells[stream]);
    }
    const std::uint32_t cells = config_.cells[1 - stream];
    DirectionPlan& everything = plans_[stream];
    for (std::uint32_t cell = 0; cell < cells; ++cell) everything.order.push_back(cell);
    everything.fractions.assign(config_.types, 1.0);
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
                       scores_[stream] ? scores_[stream]->first() : 0,
                       side.idle};
  }
  last_due_ = {};
  drops_.begin_change();
  found_.clear();
  small_before_ = {server_, totals_, period_, plans_, rests_};
  pending_ = {};
  released_ = {};
}

template <class Change>
void SelectiveJoin::change(Turn turn, Change apply) {
  begin(turn);
  try {
    move_watermarks(sides_);
    apply();
    move_watermarks(sides_);
    follow_others();
    fill_lanes();
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
    if (to > side.newest) side.idle = false;
    side.newest = std::max(side.newest, to);
  });
}

void SelectiveJoin::begin_finish() {
  change(Turn::kInOrder, [&] {
    for (const auto& side : sides_) side->ended = true;
  });
}

void SelectiveJoin::begin_end(std::size_t stream) {
  change(Turn::kInOrder, [&] { sides_[stream]->ended = true; });
}

void SelectiveJoin::begin_poll() {
  change(Turn::kInOrder, [] {});
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
  if (!judged.in_time.empty()) side.idle = false;
  side.counts.rows += rows;
  side.counts.late_rows += judged.late.size();
  side.counts.bad_rows += judged.bad.size();
  released_.late = std::move(judged.late);
}

// An idle stream brings nothing that arrives before what the others are known to bring.
void SelectiveJoin::follow_others() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const Wide others = clock(1 - stream);
    if (!sides_[stream]->idle || others > Wide{kMaxTimestamp}) continue;
    const auto reached = static_cast<Timestamp>(others);
    const Timestamp beyond =
        sides_[1 - stream]->idle && reached > kMinTimestamp ? saturating_add(reached, 1) : reached;
    lanes_[stream]->last_arrival = std::max(lanes_[stream]->last_arrival, beyond);
  }
}

void SelectiveJoin::fill_lanes() {
  if (config_.in_time_order()) return fill_in_time_order();
  for (std::size_t stream = 0; stream < kSides; ++stream) fill_lane(stream);
}

// A row goes on once no older one of its stream can come.
void SelectiveJoin::fill_lane(std::size_t stream) {
  const Side& side = *sides_[stream];
  while (!side.stage.waiting.empty() && side.complete_to(side.stage.waiting.front().ts, false))
    take_waiting(stream);
}

// A row goes on once nothing that comes before it, by (timestamp, stream), can still come; it arrives no
// sooner than those.
void SelectiveJoin::fill_in_time_order() {
  for (;;) {
    const ReorderBuffer& left = sides_[0]->stage.waiting;
    const ReorderBuffer& right = sides_[1]->stage.waiting;
    if (left.empty() && right.empty()) return;
    const bool left_first = right.empty() || (!left.empty() && left.front().ts <= right.front().ts);
    const std::size_t stream = left_first ? 0 : 1;
    const Timestamp ts = (left_first ? left : right).front().ts;
    if (!sides_[stream]->complete_to(ts, false) || !sides_[1 - stream]->complete_to(ts, stream == 1)) return;
    take_waiting(stream);
    const Timestamp arrival = lanes_[stream]->last_arrival;
    lanes_[1 - stream]->last_arrival = std::max(lanes_[1 - stream]->last_arrival, arrival);
  }
}

// Without an `at` a row arrived when it was as old as its stream's lateness.
void SelectiveJoin::take_waiting(std::size_t stream) {
  Side& side = *sides_[stream];
  const WaitingRow row = side.stage.waiting.front();
  const Duration lateness = side.lateness < kUnknownLateness ? side.lateness : 0;
  Timestamp arrival = std::max(saturating_add(row.ts, lateness), stage_arrivals_[stream][row.row]);
  // Held and refilled rows go by a clock that their timestamps say nothing of.
  if (turn_ == Turn::kHold || turn_ == Turn::kRefill) arrival = stage_arrivals_[stream][row.row];
  // A lateness that has moved releases rows that the other stream has not waited for: they arrive only now.
  if (side.lateness != side.config.lateness.value_or(0) || side.lateness >= kUnknownLateness) {
    arrival = std::max(arrival, before_[stream].newest);
  }
  lanes_[stream]->take(side.stage, row.row, row.ts, arrival, stage_kinds_[stream][row.row],
                       static_cast<std::int64_t>(lanes_[1 - stream]->end()), terms_);
  side.stage.waiting.take();
}

// --- a change ends
// -----------------------------------------------------------------------------------------------

// The first row of a window that a row still to be processed may meet.
Seq SelectiveJoin::first_alive(std::size_t stream, Wide other_low) const {
  const Window& window = sides_[stream]->window;
  if (other_low > Wide{kMaxTimestamp}) return window.end();
  const auto& count = config_.streams[stream].window_rows;
  if (!count.has_value()) return bounds_.first_alive(window, stream, other_low);
  const Lane& other = *lanes_[1 - stream];
  const auto met =
      other.head < other.end() ? static_cast<std::uint64_t>(other.met[other.head]) : lanes_[stream]->end();
  if (met <= *count) return window.begin();
  const SlidingArray<std::int64_t>& numbers = numbers_[stream];
  const std::int64_t* first = numbers.at(numbers.begin());
  const std::int64_t* alive =
      std::lower_bound(first, numbers.at(numbers.end()), static_cast<std::int64_t>(met - *count));
  const Seq fresh = config_.streams[stream].freshness.has_value() && other_low > Wide{kMinTimestamp}
                        ? window.lower_bound(saturating_add(static_cast<Timestamp>(other_low),
                                                            -*config_.streams[stream].freshness))
                        : window.begin();
  return std::max(fresh, numbers.begin() + static_cast<Seq>(alive - first));
}

void SelectiveJoin::commit(Released& out) {
  const std::array<Wide, kSides> lows = {low(0), low(1)};
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    const Seq alive = first_alive(stream, lows[1 - stream]);
    if (scores_[stream]) scores_[stream]->forget_before(alive);
    side.expire_before(alive, terms_);
    const Seq begin = side.window.begin();
    rings_[stream].drop_before(begin);
    drops_.drop_before(stream, begin);
    if (counts_rows(stream)) numbers_[stream].drop_front_to(begin);
    lanes_[stream]->commit(terms_);
    side.stage.commit(terms_);
    stage_kinds_[stream].drop_front_to(side.stage.begin());
    stage_arrivals_[stream].drop_front_to(side.stage.begin());
    const Wide other_low = lows[1 - stream];
    const Wide oldest =
        other_low > Wide{kMaxTimestamp} ? Wide{kMaxTimestamp} : bounds_.oldest_met(stream, other_low);
    if (oldest > kMinTimestamp) {
      const auto time = static_cast<Timestamp>(std::min(oldest, Wide{kMaxTimestamp}));
      side.evicted.drop_before(time);
      side.thinned.drop_before(time);
    }
  }
  release(out);
}

// No result still to come has a smaller timestamp than the first row that is still to be processed.
void SelectiveJoin::release(Released& out) {
  out = std::move(released_);
  released_ = {};
  if (!config_.ordered) return;
  hold_.add(found_);
  const Wide bound = std::min(low(0), low(1));
  if (bound <= Wide{kMaxTimestamp}) {
    hold_.release_before(static_cast<Timestamp>(bound), out);
  } else {
    hold_.release_all(out);
  }
}

void SelectiveJoin::evict(std::size_t stream, std::size_t rows) {
  Side& side = *sides_[stream];
  if (rows >= side.window.size()) return;
  const Seq first = side.window.end() - rows;
  if (scores_[stream]) scores_[stream]->forget_before(first);
  side.evict_before(first, terms_);
  rings_[stream].drop_before(side.window.begin());
  drops_.drop_before(stream, side.window.begin());
  if (counts_rows(stream)) numbers_[stream].drop_front_to(side.window.begin());
}

void SelectiveJoin::note_thinned(std::size_t stream, std::uint64_t rows, std::uint64_t kept, Timestamp first,
                                 Timestamp last) {
  Side& side = *sides_[stream];
  side.counts.thinned_rows += rows;
  side.thinned.add(first, last, rows);
  const auto each = kept > 0 ? static_cast<double>(last_due_[stream]) / static_cast<double>(kept)
                             : static_cast<double>(sides_[1 - stream]->window.size());
  const auto owed = static_cast<std::uint64_t>(std::llround(each * static_cast<double>(rows)));
  totals_.directions[stream].due += owed;
  totals_.directions[stream].lost += owed;
}

void SelectiveJoin::forget_unneeded() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream]->forget_unneeded(terms_);
    stage_kinds_[stream].drop_front_to(sides_[stream]->stage.begin());
    stage_arrivals_[stream].drop_front_to(sides_[stream]->stage.begin());
  }
}

void SelectiveJoin::trim() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream]->trim();
    lanes_[stream]->trim();
    if (scores_[stream]) scores_[stream]->trim();
    stage_kinds_[stream].trim();
    stage_arrivals_[stream].trim();
  }
  terms_.trim();
  hold_.trim();
}

std::size_t SelectiveJoin::waiting_bytes() const {
  std::size_t total = hold_.bytes();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    total += sides_[stream]->lasting_bytes() + lanes_[stream]->bytes() + stage_kinds_[stream].bytes() +
             stage_arrivals_[stream].bytes();
  }
  return total;
}

void SelectiveJoin::roll_back() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    const Before& before = before_[stream];
    if (scores_[stream]) scores_[stream]->take_back(before.window_end, before.scores_first);
    side.take_back(before.window_end, true, terms_);
    rings_[stream].truncate(before.window_end);
    if (counts_rows(stream)) numbers_[stream].truncate_to(before.window_end);
    lanes_[stream]->roll_back(terms_);
    side.stage.roll_back(terms_);
    stage_kinds_[stream].truncate_to(before.stage_end);
    stage_arrivals_[stream].truncate_to(before.stage_end);
    side.watermark = before.watermark;
    side.newest = before.newest;
    side.ended = before.ended;
    side.idle = before.idle;
    side.counts = before.counts;
  }
  drops_.roll_back({before_[0].window_end, before_[1].window_end});
  server_ = small_before_.server;
  totals_ = small_before_.totals;
  period_ = small_before_.period;
  plans_ = small_before_.plans;
  rests_ = small_before_.rests;
  pending_ = {};
  released_ = {};
  found_.clear();
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
    if (tag.sample != 0) {
      ++period.tally.full_matches[place];
      ++total.full_matches[place];
      (tag.is_planned ? period.samples.known : period.samples.missed)[tag.sample - 1] += 1;
    } else if (tag.is_incomplete && !config_.samples_cells) {
      period.samples.others_known += 1;
    }
    drops_.add_result(tag.stream, tag.own_row, tag.other_row);
    ++totals_.results;
    if (config_.ordered) {
      const Timestamp ts = std::max(sides_[tag.stream]->window.timestamps[tag.own_row],
                                    sides_[1 - tag.stream]->window.timestamps[tag.other_row]);
      found_.push_back({ts, pending_.left[at], pending_.right[at]});
    } else {
      released_.left.push_back(pending_.left[at]);
      released_.right.push_back(pending_.right[at]);
    }
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
  done.used_s = used_s(control_s, waiting.has_value() ? waited(*lanes_[*waiting], control_s) : 0);
  return done;
}

std::optional<Period> SelectiveJoin::end_period() {
  if (!server_.has_begun) return std::nullopt;
  const double end_s = seconds_at(std::max(lanes_[0]->last_arrival, lanes_[1]->last_arrival));
  if (end_s - period_.begin_s < kLeastPeriod * config_.control_period_s) return std::nullopt;
  Period done = next_period(end_s);
  done.used_s = used_s(end_s, std::max(0.0, server_.free_s - end_s));
  return done;
}

Period SelectiveJoin::next_period(double control_s) {
  Period done = std::move(period_);
  done.elapsed_s = control_s - done.begin_s;
  done.stretch = room_s() / config_.input_buffer_s;
  server_.control_s = next_control_s(control_s);
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
  std::size_t total = terms_.bytes() + drops_.bytes() + hold_.bytes();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    total += sides_[stream]->bytes() + lanes_[stream]->bytes() + numbers_[stream].bytes() +
             stage_kinds_[stream].bytes() + stage_arrivals_[stream].bytes();
    if (scores_[stream]) total += scores_[stream]->bytes();
  }
  return total;
}

RowId SelectiveJoin::first_needed(std::size_t stream) {
  if (hold_.empty()) return lanes_[stream]->first_row(sides_[stream]->first_needed());
  if (results() - results_at_look_[stream] >= hold_.size() / 2) look_for_needed(stream);
  return needed_[stream];
}

// Held results name rows that may have left their window. A walk over them all is taken when as many have
// been released; results found in between are made of rows that are in their windows now or come later.
void SelectiveJoin::look_for_needed(std::size_t stream) {
  results_at_look_[stream] = results();
  const RowId row = lanes_[stream]->first_row(sides_[stream]->first_needed());
  needed_[stream] = std::min(row, hold_.first_row(stream));
}

}  // namespace watersmeet
