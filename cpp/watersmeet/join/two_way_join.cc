#include "watersmeet/join/two_way_join.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "watersmeet/base/errors.h"
#include "watersmeet/join/arrival.h"
#include "watersmeet/join/watermarks.h"

namespace watersmeet {
namespace {

constexpr std::size_t kFewestSharedRanges = 8192;  // rows whose ranges several lanes find
constexpr std::size_t kStepBlock = 4096;           // results for which older partners are told together

[[nodiscard]] bool has_null(const ArrowView& view) {
  if (!view.may_have_nulls()) return false;
  for (std::int64_t row = 0; row < view.length(); ++row) {
    if (view.is_null(row)) return true;
  }
  return false;
}

template <class Values>
void append_rows(const Side& side, const UninitializedVector<Seq>& rows, Values& out) {
  const std::size_t before = out.size();
  out.resize(before + rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) out[before + at] = side.row_id(rows[at]);
}

// Adds `rows` to `out`; where there is nothing yet, the two change memory instead.
template <class Rows>
void append(Rows& rows, Rows& out) {
  if (out.empty()) {
    out.swap(rows);
  } else {
    out.insert(out.end(), rows.begin(), rows.end());
  }
}

void append_results(const std::vector<Result>& results, ResultRows& out) {
  const std::size_t before = out.left.size();
  out.left.resize(before + results.size());
  out.right.resize(before + results.size());
  for (std::size_t at = 0; at < results.size(); ++at) {
    out.left[before + at] = results[at].left;
    out.right[before + at] = results[at].right;
  }
}

}  // namespace

TwoWayJoin::TwoWayJoin(JoinConfig config)
    : config_(std::move(config)),
      bounds_(config_.lower, config_.upper),
      terms_(config_.terms),
      synchronised_(config_.has_count_window() || config_.order == Order::kSyncFilter) {
  if (config_.threads > 1) shared_ = std::make_unique<SharedProbes>(config_.threads);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream] = std::make_unique<Side>(config_.streams[stream], terms_, config_.tracks(stream));
  }
}

// --- a change begins -----------------------------------------------------------------------------

void TwoWayJoin::begin() {
  if (shared_ != nullptr) shared_->forget();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    side.stage.begin_change();
    before_[stream] = {side.watermark, side.newest,         side.ended, side.idle,
                       side.counts,    directions_[stream], {}};
    if (measures_ages_) before_[stream].ages = ages_[stream];
    last_due_[stream] = 0;
    Fresh& fresh = fresh_[stream];
    fresh.first = side.window.end();
    fresh.indexed = false;
    fresh.probed = 0;
    fresh.visible.clear();
    fresh.lo.clear();
    fresh.hi.clear();
    matched_[stream].clear();
    in_step_[stream].clear();
  }
  plain_.left.clear();
  plain_.right.clear();
  plain_.late.clear();
  found_.clear();
  bad_.clear();
  phase_ = kSides;
}

template <class Change>
void TwoWayJoin::change(Change apply) {
  begin();
  try {
    move_watermarks();
    apply();
    prepare_probes();
  } catch (...) {
    roll_back();
    throw;
  }
}

void TwoWayJoin::begin_push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array) {
  change([&] { take_batch(stream, schema, array); });
}

void TwoWayJoin::begin_advance(std::size_t stream, Timestamp to) {
  change([&] {
    Side& side = *sides_[stream];
    if (to > side.newest) side.idle = false;
    side.newest = std::max(side.newest, to);
    move_watermarks();
    admit_all();
  });
}

void TwoWayJoin::begin_finish() {
  change([&] {
    for (const auto& side : sides_) side->ended = true;
    admit_all();
  });
}

void TwoWayJoin::begin_end(std::size_t stream) {
  change([&] {
    sides_[stream]->ended = true;
    admit_all();
  });
}

void TwoWayJoin::begin_poll() {
  change([&] { admit_all(); });
}

void TwoWayJoin::take_batch(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array) {
  const std::size_t columns = 1 + terms_.arrow_columns(stream);
  if (schema.n_children != static_cast<std::int64_t>(columns) || array.n_children != schema.n_children) {
    throw SchemaError("a batch of stream '" + config_.streams[stream].name + "' needs " +
                      std::to_string(columns) + " join columns");
  }
  const auto view = [&](std::size_t column) {
    return ArrowView(*schema.children[column], *array.children[column], array.offset, array.length);
  };
  const ArrowView times = view(0);
  std::vector<ArrowView> views;
  views.reserve(columns - 1);
  for (std::size_t column = 1; column < columns; ++column) views.push_back(view(column));
  if (goes_straight(*sides_[stream], times)) {
    if (!sides_[1 - stream]->stage.waiting.empty()) admit_own(1 - stream);
    take_straight(stream, times, views);
    move_watermarks();
  } else {
    take_staged(stream, times, views);
    move_watermarks();
    admit_all();
  }
}

bool TwoWayJoin::goes_straight(const Side& side, const ArrowView& times) const {
  if (synchronised_ || side.config.lateness.has_value() || !side.stage.waiting.empty()) return false;
  // Behind a watermark that followed others a row is late, not an error; an idle stream's rows may become
  // free.
  if (side.watermark > side.newest) return false;
  for (const auto& any : sides_) {
    if (any->idle && !any->stage.waiting.empty()) return false;
  }
  return times.is_integer() && !has_null(times);
}

void TwoWayJoin::take_straight(std::size_t stream, const ArrowView& times,
                               const std::vector<ArrowView>& views) {
  Side& side = *sides_[stream];
  Window& window = side.window;
  const auto rows = static_cast<std::size_t>(times.length());
  const Seq first = window.end();
  const TimeCheck check =
      read_times(times, side.config.time_multiplier, side.watermark, window.timestamps.extend(rows));
  if (check.fault != TimeFault::kNone) refuse_time(side.config, times, check);
  window.joinable.append_copies(1, rows);
  if (window.track_matches) window.matched.append_copies(0, rows);
  terms_.append(stream, views, window.columns, window.joinable.at(first));
  if (!side.dense()) {
    for (std::size_t row = 0; row < rows; ++row) side.add_row_id(side.counts.rows + row);
  }
  side.counts.rows += rows;
  if (rows > 0) {
    side.watermark = side.newest = window.timestamps[window.end() - 1];
    side.idle = false;
  }
}

void TwoWayJoin::take_staged(std::size_t stream, const ArrowView& times,
                             const std::vector<ArrowView>& views) {
  Side& side = *sides_[stream];
  Stage& stage = side.stage;
  const auto rows = static_cast<std::size_t>(times.length());
  const Seq first = stage.end();
  const RowId first_id = side.counts.rows;
  Arrivals arrivals = judge_arrivals(side, times, first, first_id);
  stage.joinable.append_copies(1, rows);
  for (std::size_t row = 0; row < rows; ++row) stage.row_ids.push_back(first_id + row);
  terms_.append(stream, views, stage.columns, stage.joinable.at(first));
  stage.waiting.add(arrivals.in_time);
  if (!arrivals.in_time.empty()) side.idle = false;
  if (!arrivals.late.empty() || !arrivals.bad.empty()) side.stop_being_dense();
  side.counts.rows += rows;
  side.counts.late_rows += arrivals.late.size();
  side.counts.bad_rows += arrivals.bad.size();
  plain_.late = std::move(arrivals.late);
  if (config_.tracks(stream) && config_.how != How::kSemi) bad_ = std::move(arrivals.bad);
  bad_stream_ = stream;
}

void TwoWayJoin::move_watermarks() { watersmeet::move_watermarks(sides_); }

// --- rows enter their windows --------------------------------------------------------------------

void TwoWayJoin::admit_all() {
  if (synchronised_) {
    admit_in_order();
  } else {
    for (std::size_t stream = 0; stream < kSides; ++stream) admit_own(stream);
  }
}

// A row goes once nothing that comes before it, by (timestamp, stream, arrival), can still arrive.
void TwoWayJoin::admit_in_order() {
  for (;;) {
    const ReorderBuffer& left = sides_[0]->stage.waiting;
    const ReorderBuffer& right = sides_[1]->stage.waiting;
    if (left.empty() && right.empty()) return;
    const bool left_first = right.empty() || (!left.empty() && left.front().ts <= right.front().ts);
    const std::size_t stream = left_first ? 0 : 1;
    const Timestamp ts = (left_first ? left : right).front().ts;
    if (!sides_[stream]->complete_to(ts, false) || !sides_[1 - stream]->complete_to(ts, stream == 1)) return;
    admit_next(stream);
  }
}

void TwoWayJoin::admit_own(std::size_t stream) {
  const Side& side = *sides_[stream];
  while (!side.stage.waiting.empty() && side.complete_to(side.stage.waiting.front().ts, false))
    admit_next(stream);
}

void TwoWayJoin::admit_next(std::size_t stream) {
  fresh_[stream].visible.push_back(sides_[1 - stream]->window.end());
  sides_[stream]->admit_waiting(terms_);
}

void TwoWayJoin::prepare_probes() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    if (side.window.end() == fresh_[stream].first) continue;
    fresh_[stream].indexed = true;
    side.index_from(fresh_[stream].first, shared_ == nullptr ? nullptr : &shared_->lanes());
  }
  for (std::size_t stream = 0; stream < kSides; ++stream) find_ranges(stream);
  phase_ = 0;
  if (fresh_[0].lo.empty()) next_phase();
}

void TwoWayJoin::find_ranges(std::size_t stream) {
  Fresh& fresh = fresh_[stream];
  const auto rows = static_cast<std::size_t>(sides_[stream]->window.end() - fresh.first);
  if (rows == 0) return;
  fresh.lo.resize(rows);
  fresh.hi.resize(rows);
  if (shared_ == nullptr || (rows < kFewestSharedRanges && !config_.share_all)) {
    fresh.due = find_ranges(stream, 0, rows);
  } else {
    std::atomic<std::uint64_t> due{0};
    shared_->lanes().run([&](std::size_t lane) {
      const auto [first, last] = shared_->lanes().share(rows, lane);
      due += find_ranges(stream, first, last);
    });
    fresh.due = due;
  }
  const std::uint64_t lost = absent_for_change(stream);
  directions_[stream].due += fresh.due + lost;
  directions_[stream].done += fresh.due;
  directions_[stream].lost += lost;
  last_due_[stream] = fresh.due + lost;
  if (measures_ages_) sample_probes(stream);
}

// The same for the rows from number `from` of the change on, up to `to`. Returns: how many pairs they may
// meet.
std::uint64_t TwoWayJoin::find_ranges(std::size_t stream, std::size_t from, std::size_t to) {
  Fresh& fresh = fresh_[stream];
  const Window& other = sides_[1 - stream]->window;
  const auto& count = config_.streams[1 - stream].window_rows;
  const auto& freshness = config_.streams[1 - stream].freshness;
  const Timestamp* times = sides_[stream]->window.timestamps.at(fresh.first);
  const auto visible = [&](std::size_t at) {
    return fresh.visible.empty() ? other.end() : fresh.visible[at];
  };
  if (!count.has_value()) {
    find_ranges_by_time(bounds_, stream, other, times + from, to - from, fresh.lo.data() + from,
                        fresh.hi.data() + from);
    if (!fresh.visible.empty()) {  // only some may have been processed before the row
      for (std::size_t at = from; at < to; ++at) fresh.hi[at] = std::min(fresh.hi[at], visible(at));
    }
  } else {
    for (std::size_t at = from; at < to; ++at) {
      const Seq end = visible(at);
      Seq lo = std::max(other.begin(), end > *count ? end - *count : 0);
      if (freshness.has_value()) lo = std::max(lo, other.lower_bound(saturating_add(times[at], -*freshness)));
      fresh.lo[at] = lo;
      fresh.hi[at] = end;
    }
  }
  std::uint64_t due = 0;
  for (std::size_t at = from; at < to; ++at)
    due += fresh.hi[at] > fresh.lo[at] ? fresh.hi[at] - fresh.lo[at] : 0;
  return due;
}

void TwoWayJoin::next_phase() {
  do {
    ++phase_;
  } while (phase_ < kSides && fresh_[phase_].lo.empty());
}

// --- rows look for partners ----------------------------------------------------------------------

void TwoWayJoin::probe(std::size_t max_pairs, std::uint64_t max_work, Pairs& found) {
  found.own.clear();
  found.other.clear();
  const std::size_t stream = phase_;
  Fresh& fresh = fresh_[stream];
  ProbeRun run;
  run.own = &sides_[stream]->window;
  run.own_is_left = stream == 0;
  run.first = fresh.first + fresh.probed;
  run.requests = fresh.lo.size() - fresh.probed;
  run.lo = fresh.lo.data() + fresh.probed;
  run.hi = fresh.hi.data() + fresh.probed;
  run.max_pairs = max_pairs;
  run.max_work = max_work;
  try {
    fresh.probed += serve(run, found);
  } catch (const PairError& error) {
    explain(stream, error);
  }
  if (fresh.probed == fresh.lo.size()) next_phase();
}

// Says which rows it was, by the numbers under which they were pushed.
void TwoWayJoin::explain(std::size_t stream, const PairError& error) const {
  const auto row = [this](std::size_t of, Seq number) {
    return "row " + std::to_string(sides_[of]->row_id(number)) + " of '" + config_.streams[of].name + "'";
  };
  const Seq left = stream == 0 ? error.own : error.other;
  const Seq right = stream == 0 ? error.other : error.own;
  throw Error(std::string("where: ") + error.what() + " (for " + row(0, left) + ", " + row(1, right) + ")");
}

// Returns: how many requests were served, as Index::probe() does.
std::size_t TwoWayJoin::serve(const ProbeRun& run, Pairs& found) {
  const std::size_t stream = phase_;
  Index& index = *sides_[1 - stream]->index;
  Work& work = directions_[stream].work;
  if (shared_ != nullptr &&
      (shared_->has_kept() || config_.share_all || shared_->pays(index, run.requests, fresh_[stream].due))) {
    return shared_->serve(
        index, run, [this, stream](Pairs& pairs, Work& done) { verify(stream, pairs, done); }, found, work);
  }
  const std::size_t served = index.probe(run, found, work);
  verify(stream, found, work);
  return served;
}

// Drops candidates that fail another term than the first, which the index has seen to.
void TwoWayJoin::verify(std::size_t stream, Pairs& found, Work& work) const {
  if (terms_.size() < 2) return;
  const Window& own = sides_[stream]->window;
  const Window& other = sides_[1 - stream]->window;
  std::size_t kept = 0;
  for (std::size_t at = 0; at < found.size(); ++at) {
    if (!terms_.satisfies_from(1, own, found.own[at], other, found.other[at], stream == 0)) continue;
    found.own[kept] = found.own[at];
    found.other[kept++] = found.other[at];
  }
  work.comparisons += found.size();
  found.own.resize(kept);
  found.other.resize(kept);
}

void TwoWayJoin::row_ids(std::size_t stream, const UninitializedVector<Seq>& rows, RowId* out) const {
  for (std::size_t at = 0; at < rows.size(); ++at) out[at] = sides_[stream]->row_id(rows[at]);
}

void TwoWayJoin::accept(std::size_t own_stream, Pairs& found) {
  if (measures_ages_) sample_results(own_stream, found);
  if (plain()) return accept_plain(own_stream, found);
  const Side& own = *sides_[own_stream];
  const Side& other = *sides_[1 - own_stream];
  const bool own_is_left = own_stream == 0;
  for (const std::size_t stream : {std::size_t{0}, std::size_t{1}}) {
    if (!config_.tracks(stream)) continue;
    const auto& rows = stream == own_stream ? found.own : found.other;
    matched_[stream].insert(matched_[stream].end(), rows.begin(), rows.end());
  }
  if (config_.how == How::kSemi || config_.how == How::kAnti) return;
  if (config_.order != Order::kNone) return accept_in_step(own_stream, found);
  found_.reserve(found_.size() + found.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    const RowId own_id = own.row_id(found.own[at]);
    const RowId other_id = other.row_id(found.other[at]);
    const Timestamp ts =
        std::max(own.window.timestamps[found.own[at]], other.window.timestamps[found.other[at]]);
    found_.push_back({ts, own_is_left ? own_id : other_id, own_is_left ? other_id : own_id});
  }
}

// Where row numbers are the windows' own, the first block of results becomes the answer as it is.
void TwoWayJoin::accept_plain(std::size_t own_stream, Pairs& found) {
  auto& own_ids = own_stream == 0 ? plain_.left : plain_.right;
  auto& other_ids = own_stream == 0 ? plain_.right : plain_.left;
  if (own_ids.empty() && sides_[0]->dense() && sides_[1]->dense()) {
    own_ids.swap(found.own);
    other_ids.swap(found.other);
    return;
  }
  append_rows(*sides_[own_stream], found.own, own_ids);
  append_rows(*sides_[1 - own_stream], found.other, other_ids);
}

// Rows probe in time order, so results at the own row's time come in order; those of newer partners do not.
// Partners that come before all that is newer than a block's first row are told by their place, which spares
// most results a look at the partner's time.
void TwoWayJoin::accept_in_step(std::size_t own_stream, const Pairs& found) {
  if (found.size() == 0) return;
  const Window& own = sides_[own_stream]->window;
  const Window& other = sides_[1 - own_stream]->window;
  const Timestamp* own_times = own.timestamps.at(own.begin());
  const Timestamp* other_times = other.timestamps.at(other.begin());
  const bool dense = sides_[0]->dense() && sides_[1]->dense();
  const auto result = [&](Timestamp ts, Seq row, Seq partner) {
    const RowId own_id = dense ? row : sides_[own_stream]->row_id(row);
    const RowId other_id = dense ? partner : sides_[1 - own_stream]->row_id(partner);
    return own_stream == 0 ? Result{ts, own_id, other_id} : Result{ts, other_id, own_id};
  };
  std::vector<Result>& in_step = in_step_[own_stream];
  const std::size_t before = in_step.size();
  in_step.resize(before + found.size());
  Result* next = in_step.data() + before;
  for (std::size_t begin = 0; begin < found.size(); begin += kStepBlock) {
    const std::size_t end = std::min(begin + kStepBlock, found.size());
    const Seq older = other.lower_bound(own_times[found.own[begin] - own.begin()]);
    for (std::size_t at = begin; at < end; ++at) {
      const Seq row = found.own[at];
      const Seq partner = found.other[at];
      const Timestamp ts = own_times[row - own.begin()];
      if (partner >= older) [[unlikely]] {
        const Timestamp other_ts = other_times[partner - other.begin()];
        if (other_ts > ts) {
          found_.push_back(result(other_ts, row, partner));
          continue;
        }
      }
      *next++ = result(ts, row, partner);
    }
  }
  in_step.resize(static_cast<std::size_t>(next - in_step.data()));
}

// --- a change ends -------------------------------------------------------------------------------

void TwoWayJoin::commit(Released& out) {
  mark_matches();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    if (config_.tracks(stream)) settle(stream);
  }
  emit_bad_rows();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream]->expire_before(first_alive(stream), terms_);
    sides_[stream]->stage.commit(terms_);
    drop_absent(stream);
  }
  const std::size_t before = out.left.size();
  release(out);
  results_ += out.left.size() - before;
}

void TwoWayJoin::roll_back() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    side.take_back(fresh_[stream].first, fresh_[stream].indexed, terms_);
    side.stage.roll_back(terms_);
    const Before& before = before_[stream];
    side.watermark = before.watermark;
    side.newest = before.newest;
    side.ended = before.ended;
    side.idle = before.idle;
    side.counts = before.counts;
    directions_[stream] = before.direction;
    if (measures_ages_) ages_[stream] = before.ages;
  }
  phase_ = kSides;
}

void TwoWayJoin::mark_matches() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    for (const Seq row : matched_[stream]) {
      if (config_.how == How::kSemi && side.window.matched[row] == 0) {
        found_.push_back({side.window.timestamps[row], side.row_id(row), kNoRow});
      }
      side.window.matched[row] = 1;
    }
  }
}

// The first row of a window that a row still to be processed may meet.
Seq TwoWayJoin::first_alive(std::size_t stream) const {
  const Window& window = sides_[stream]->window;
  const Side& other = *sides_[1 - stream];
  if (other.ended && other.stage.waiting.empty()) return window.end();
  const auto& count = config_.streams[stream].window_rows;
  if (!count.has_value()) return bounds_.first_alive(window, stream, other.low());
  return std::max(window.begin(), window.end() > *count ? window.end() - *count : 0);
}

void TwoWayJoin::settle(std::size_t stream) {
  Side& side = *sides_[stream];
  const Seq alive = first_alive(stream);
  for (; side.settled < alive; ++side.settled) {
    const Seq row = side.settled;
    if (config_.how == How::kSemi || side.window.matched[row] != 0) continue;
    emit_alone(stream, side.window.timestamps[row], side.row_id(row));
  }
}

void TwoWayJoin::emit_alone(std::size_t stream, Timestamp ts, RowId id) {
  found_.push_back({ts, stream == 0 ? id : kNoRow, stream == 0 ? kNoRow : id});
}

// A row without a time has no place in the order of results: where there is one, it comes last.
void TwoWayJoin::emit_bad_rows() {
  for (const RowId id : bad_) {
    emit_alone(bad_stream_, kMinTimestamp, id);
    if (config_.order == Order::kNone) continue;
    timeless_.push_back(found_.back());
    found_.pop_back();
  }
}

// No result still to come has a smaller timestamp than this.
Wide TwoWayJoin::release_bound() const {
  Wide bound = std::min(sides_[0]->low(), sides_[1]->low());
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const Side& side = *sides_[stream];
    if (!config_.tracks(stream) || side.settled == side.window.end()) continue;
    bound = std::min(bound, Wide{side.window.timestamps[side.settled]});
  }
  return bound;
}

void TwoWayJoin::release(Released& out) {
  append(plain_.late, out.late);
  if (plain()) {
    append(plain_.left, out.left);
    append(plain_.right, out.right);
    return;
  }
  if (config_.order == Order::kNone) {
    append_results(found_, out);
    return;
  }
  const std::array fresh = {in_step_.data(), in_step_.data() + 1, &found_};
  const Wide bound = release_bound();
  if (bound <= kMaxTimestamp) {
    hold_.pass(fresh, static_cast<Timestamp>(bound), out);
    return;
  }
  for (std::vector<Result>* results : fresh) hold_.add(*results);
  hold_.release_all(out);
  std::sort(timeless_.begin(), timeless_.end());
  append_results(timeless_, out);
  timeless_.clear();
}

// --- state ---------------------------------------------------------------------------------------

std::size_t TwoWayJoin::bytes() const {
  return sides_[0]->bytes() + sides_[1]->bytes() + terms_.bytes() + hold_.bytes() +
         timeless_.capacity() * sizeof(Result) + scratch_bytes() +
         (shared_ == nullptr ? 0 : shared_->bytes());
}

RowId TwoWayJoin::first_needed(std::size_t stream) {
  if (held() == 0) return sides_[stream]->first_needed();
  if (results_ - results_at_look_[stream] >= held() / 2) look_for_needed(stream);
  return needed_[stream];
}

// Held results name rows that may have left their window. A walk over them all is taken when as many have
// been released; results found in between are made of rows that are in their windows now or come later.
void TwoWayJoin::look_for_needed(std::size_t stream) {
  results_at_look_[stream] = results_;
  needed_[stream] = std::min(sides_[stream]->first_needed(), hold_.first_row(stream));
  for (const Result& result : timeless_) {
    needed_[stream] = std::min(needed_[stream], stream == 0 ? result.left : result.right);
  }
}

void TwoWayJoin::save(ByteWriter& writer) const {
  writer.put(results_);
  writer.put<std::uint8_t>(synchronised_ ? 1 : 0);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    writer.put(directions_[stream]);
    writer.put(needed_[stream]);
    writer.put(results_at_look_[stream]);
    writer.put(ages_[stream]);
  }
  terms_.save(writer);
  for (const auto& side : sides_) side->save(writer, terms_);
  hold_.save(writer);
  writer.put_array(timeless_.data(), timeless_.size());
}

void TwoWayJoin::load(ByteReader& reader) {
  results_ = reader.get<std::uint64_t>();
  synchronised_ = reader.get<std::uint8_t>() != 0;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    directions_[stream] = reader.get<DirectionCounts>();
    needed_[stream] = reader.get<RowId>();
    results_at_look_[stream] = reader.get<std::uint64_t>();
    ages_[stream] = reader.get<MatchAges>();
  }
  terms_.load(reader);
  for (const auto& side : sides_) side->load(reader, terms_);
  hold_.load(reader);
  timeless_ = reader.get_array<Result>();
  terms_.finish_load();
  reader.expect_end();
}

}  // namespace watersmeet
