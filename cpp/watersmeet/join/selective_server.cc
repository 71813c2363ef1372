// Who is next, and when: rows enter their input buffer and the server takes them up, in stream time.

#include <algorithm>
#include <cmath>

#include "watersmeet/base/hash.h"
#include "watersmeet/join/selective_join.h"

namespace watersmeet {
namespace {

constexpr std::uint64_t kDropSalt = 0xC3A5C85C97CB3127ULL;
// How full an input buffer should be: demand varies from second to second, and an empty one lets time go by
// unused.
constexpr double kAimedFill = 0.3;
// Where the door eases: from this fill on fewer rows are kept, down to a small share when the buffer is
// nearly full.
constexpr double kEasyFill = 0.4;
constexpr double kFullFill = 0.95;
constexpr double kLeastDoorShare = 0.05;
constexpr double kGapMemory = 64;   // arrivals
constexpr double kLongestGap = 16;  // times the usual one: a pause says nothing of the rate
constexpr Seq kFewestRows = 32;  // that a buffer has room for, whose time is made up for, and a period sees

}  // namespace

double SelectiveJoin::seconds_at(Timestamp ts) const {
  return static_cast<double>(Wide{ts} - Wide{server_.base}) * config_.seconds_per_tick;
}

// No row that is not in its lane yet will arrive before this.
Wide SelectiveJoin::clock(std::size_t stream) const {
  if (sides_[stream]->ended) return Wide{kMaxTimestamp} + 1;
  return std::max(sides_[stream]->newest, lanes_[stream]->last_arrival);
}

bool SelectiveJoin::may_enter(std::size_t stream, Timestamp arrival) const {
  // Rows came to their lanes in the order in which they are processed.
  if (!config_.synchronised || config_.in_time_order() || turn_ == Turn::kDrain) return true;
  const std::size_t other = 1 - stream;
  if (lanes_[other]->has_unentered()) return true;  // its next row is known, and comes later
  return stream == 0 ? clock(other) >= Wide{arrival} : clock(other) > Wide{arrival};
}

// Rows that arrive while the server is busy must be known before it goes on.
bool SelectiveJoin::may_start(double at_s) const {
  if (!config_.synchronised || turn_ == Turn::kDrain) return true;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    if (sides_[stream]->ended) continue;
    if (at_s > seconds_at(static_cast<Timestamp>(clock(stream)))) return false;
  }
  return true;
}

// The stream whose waiting (or else not yet entered) row is the first by arrival.
std::optional<std::size_t> SelectiveJoin::first_of(bool waiting) const {
  std::optional<std::size_t> first;
  std::pair<Timestamp, Timestamp> soonest;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const Lane& lane = *lanes_[stream];
    if (waiting ? !lane.has_waiting() : !lane.has_unentered()) continue;
    const Seq row = waiting ? lane.head : lane.entered;
    const std::pair own = {lane.arrivals[row], config_.in_time_order() ? lane.timestamps[row] : 0};
    if (!first.has_value() || own < soonest) {
      first = stream;
      soonest = own;
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

// A number from 0 to 1 that only the seed, the stream and a number decide.
double SelectiveJoin::chance(std::size_t stream, std::uint64_t number, std::uint64_t salt) const {
  const std::uint64_t mixed = hash_word(hash_word(config_.seed ^ salt) + hash_word(number * kSides + stream));
  return static_cast<double>(hash_word(mixed ^ (mixed << 17)) >> 11) * 0x1p-53;
}

// A period without rows teaches nothing: where rows are rare it grows with the room, as far as it is shorter.
double SelectiveJoin::next_control_s(double control_s) const {
  const double period_s = config_.control_period_s;
  return control_s + period_s * std::max(1.0, room_s() / std::max(period_s, config_.input_buffer_s));
}

void SelectiveJoin::enter(const Event& event) {
  const std::size_t stream = event.stream;
  Lane& lane = *lanes_[stream];
  const double waited_s = lane.has_waiting() ? waited(lane, event.at_s) : 0;
  // A micro-batch is its own buffer: where the guard makes probes free in time, nothing need be lost.
  const bool is_bounded = turn_ != Turn::kDrain || !config_.guarded;
  // One probe of rare rows may take longer than the buffer; a guard makes the next ones short.
  const bool has_few = config_.guarded && lane.entered - lane.head < kFewestRows;
  const bool has_room = !is_bounded || has_few || waited_s <= config_.input_buffer_s;
  const double room = rests_[stream].door.offer(has_room);
  const double share = door_share(stream, used_s(event.at_s, waited_s));
  const bool is_kept =
      has_room &&
      (share >= 1 || chance(stream, rows_before_[stream] + lane.row_ids[lane.entered], kDropSalt) < share);
  const double gap_s = event.at_s - server_.entered_s;
  server_.gap_s +=
      ((server_.gap_s > 0 ? std::min(gap_s, kLongestGap * server_.gap_s) : gap_s) - server_.gap_s) /
      kGapMemory;
  server_.entered_s = event.at_s;
  ++period_.directions[stream].arrived;
  if (!is_kept) {
    ++period_.directions[stream].dropped;
    ++totals_.dropped[stream];
  }
  lane.enter(is_kept ? 1 / (share * room) : 0);
}

// How long the row at the head of a lane has waited for the server. Against the clock nobody waits in stream
// time: what has come is processed at once, however much of it comes at once, and the caller tells the lag.
double SelectiveJoin::waited(const Lane& lane, double now_s) const {
  if (std::isinf(config_.units_per_second)) return 0;
  return std::max(0.0, now_s - seconds_at(lane.arrivals[lane.head]));
}

// Where rows are rare a second holds none, and a server that must be done with a row before the next second
// has time left over that no row may use. There it makes up for time that went by unused while a few rows
// came: a row that comes when all is idle is done in no time, so it need not wait longer than any other.
double SelectiveJoin::credit_s() const {
  if (std::isinf(config_.units_per_second)) return 0;  // wall time that has gone by is gone
  return std::max(0.0, static_cast<double>(kFewestRows) * server_.gap_s - config_.input_buffer_s);
}

// How far the server may be from having nothing to do to turning rows away.
double SelectiveJoin::room_s() const { return config_.input_buffer_s + credit_s(); }

// How far it is: credit that is spent, and what has waited since.
double SelectiveJoin::used_s(double now_s, double waited_s) const {
  const double unused_s = std::max(0.0, now_s - server_.free_s);
  return waited_s + std::max(0.0, credit_s() - unused_s);
}

// The probability with which an arriving row is kept.
double SelectiveJoin::door_share(std::size_t stream, double used_s) const {
  const double share = plans_[stream].keep_share;
  if (!config_.eases_door) return share;
  const double fill = (used_s + lag_s_) / room_s();
  return share * std::clamp((kFullFill - fill) / (kFullFill - kEasyFill), kLeastDoorShare, 1.0);
}

// All of its plan while the buffer is half empty, nothing when it is nearly full, and never more than half
// the room.
SelectiveJoin::Leave SelectiveJoin::guard(double used_s) const {
  if (!config_.guarded) return {1, HUGE_VAL, 1};
  const double fill = (used_s + lag_s_) / room_s();
  const double left_s = std::max(0.0, 0.9 - fill) * room_s();
  const double share = std::min(1.0, left_s / (0.4 * room_s()));
  return {share, left_s / 2 * config_.units_per_second,
          share > 0 ? std::exp2(2 * (fill - kAimedFill)) / share : HUGE_VAL};
}

// An index has costs that few rows do not save; it is not held to cost more than looking at every row.
double SelectiveJoin::units_per_row() const {
  std::uint64_t decided = 0;
  for (const DirectionCounts& direction : totals_.directions) decided += direction.done;
  if (decided == 0) return config_.costs.comparison;
  return std::min(totals_.units / static_cast<double>(decided), config_.costs.comparison);
}

// A full probe must end before the buffer overflows with what arrives meanwhile.
bool SelectiveJoin::may_be_full(std::size_t rows, double used_s) const {
  const double takes_s = static_cast<double>(rows) * units_per_row() / config_.units_per_second;
  return !config_.guarded || used_s + lag_s_ + takes_s <= room_s();
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
  const std::int64_t place = counts_rows(stream) ? static_cast<std::int64_t>(from) : ts;
  if (counts_rows(stream)) numbers_[stream].push_back(place);
  rings_[stream].append(place, row);
  drops_.append(stream, lane.weights[from]);
  if (scores_[stream]) scores_[stream]->append(row);
  lane.leave();
  return row;
}

// Rows come back as what they stand for under the plan in force.
void SelectiveJoin::admit_all() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Lane& lane = *lanes_[stream];
    while (lane.has_unentered()) lane.enter(1 / std::max(plans_[stream].keep_share, 1e-6));
    while (lane.has_waiting()) admit(stream);
  }
}

void SelectiveJoin::start(const Event& event) {
  const std::size_t stream = event.stream;
  const Lane& lane = *lanes_[stream];
  const Seq from = lane.head;
  const double waited_s = waited(lane, event.at_s);
  const std::int64_t now = counts_rows(1 - stream) ? lane.met[from] : lane.timestamps[from];
  const std::uint8_t type = lane.kinds[from];
  const double units = probe({stream, admit(stream), type, now, used_s(event.at_s, waited_s)});
  const double busy_s = units / config_.units_per_second;
  server_.free_s = std::max(server_.free_s, event.at_s - credit_s()) + busy_s;
  period_.busy_s += busy_s;
  period_.units += units;
  totals_.units += units;
}

}  // namespace watersmeet
