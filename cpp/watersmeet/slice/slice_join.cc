#include "watersmeet/slice/slice_join.h"

#include <algorithm>
#include <string>
#include <utility>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

// Cycles per run: a resize waits for at most so many, and so many Found are held before they become results.
constexpr std::size_t kRunCycles = 2048;
constexpr std::size_t kMostSlices = 1024;

void check_slices(std::size_t slices) {
  if (slices < 1 || slices > kMostSlices) {
    throw ConfigError("slices=" + std::to_string(slices) + ": expected a number from 1 to " +
                      std::to_string(kMostSlices));
  }
}

[[nodiscard]] SliceConfig checked(SliceConfig config) {
  if (config.streams.size() < 2 || config.streams.size() > kMostStreams) {
    throw ConfigError(std::to_string(config.streams.size()) + " streams: expected from 2 to " +
                      std::to_string(kMostStreams));
  }
  check_slices(config.slices);
  if (config.interleave < 1) throw ConfigError("interleave=0: expected a number, at least 1");
  return config;
}

// Which rows are among the last n depends on the order in which they are processed; and so does, at equal
// times, who is in a window that holds no time at all.
[[nodiscard]] bool has_time_windows(const SliceConfig& config) {
  return std::all_of(config.streams.begin(), config.streams.end(), [&config](const SliceStream& stream) {
    return !stream.window_rows.has_value() && (config.inclusive || stream.span > 0);
  });
}

}  // namespace

SliceJoin::SliceJoin(SliceConfig config)
    : config_(checked(std::move(config))),
      store_(config_),
      streams_(config_.streams.size()),
      two_sided_(config_.ordered && has_time_windows(config_)) {
  for (std::size_t own = 0; own < streams_.size(); ++own) {
    orderings_.emplace_back();
    for (std::size_t other = 0; other < streams_.size(); ++other) {
      if (other != own) orderings_.back().push_back(other);
    }
  }
  runner_ = config_.topology == Topology::kRing ? make_ring_runner(config_) : make_split_runner(config_);
}

SliceResults SliceJoin::take(const std::vector<Batch>& batches, const std::vector<Promise>& promises,
                             const Callbacks& callbacks) {
  if (releases(batches)) runner_->rouse();
  return change(callbacks, [&] {
    for (const Batch& batch : batches) {
      Stream& stream = streams_[batch.stream];
      store_.append(batch.stream, *batch.schema, *batch.array, stream.watermark);
      const Window& window = store_.window(batch.stream);
      if (batch.array->length > 0) stream.watermark = window.timestamps[window.end() - 1];
    }
    for (const Promise& promise : promises) keep(promise);
  });
}

// Whether rows that wait, or some of these, will be processed: no stream's absence holds them back.
bool SliceJoin::releases(const std::vector<Batch>& batches) const {
  std::vector<bool> has_come(streams_.size());
  for (std::size_t at = 0; at < streams_.size(); ++at) has_come[at] = streams_[at].ended || waiting(at) > 0;
  for (const Batch& batch : batches) has_come[batch.stream] = true;
  return std::all_of(has_come.begin(), has_come.end(), [](bool has) { return has; });
}

SliceResults SliceJoin::push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                             const Callbacks& callbacks) {
  return take({{stream, &schema, &array}}, {}, callbacks);
}

SliceResults SliceJoin::advance(std::size_t stream, Timestamp to, const Callbacks& callbacks) {
  return take({}, {{stream, to}}, callbacks);
}

void SliceJoin::keep(const Promise& promise) {
  Stream& stream = streams_[promise.stream];
  if (!promise.to.has_value()) stream.ended = true;
  stream.watermark = std::max(stream.watermark, promise.to.value_or(kMinTimestamp));
}

void SliceJoin::set_synchronised(bool synchronised) { synchronised_ = synchronised || !two_sided_; }

SliceResults SliceJoin::finish(const Callbacks& callbacks) {
  return change(callbacks, [&] {
    for (Stream& stream : streams_) stream.ended = true;
  });
}

template <class Change>
SliceResults SliceJoin::change(const Callbacks& callbacks, Change apply) {
  resize_if_asked();
  const std::vector<Stream> before = streams_;
  const std::optional<SliceShedding> shedding = shedding_;
  const auto orderings = orderings_;
  const auto held = runner_->held();
  const std::size_t slices = runner_->slices();
  std::vector<Seq> ends;
  for (std::size_t at = 0; at < streams_.size(); ++at) ends.push_back(store_.window(at).end());
  SliceResults results(streams_.size() + (config_.ordered ? 1 : 0));
  try {
    apply();
    std::vector<Found> found;
    process(callbacks, found, results);
  } catch (...) {
    streams_ = before;
    shedding_ = shedding;
    orderings_ = orderings;
    for (std::size_t at = 0; at < streams_.size(); ++at) store_.take_back(at, ends[at]);
    if (runner_->slices() == slices) {
      runner_->put_back(held);
    } else {
      runner_->place(windows());
    }
    throw;
  }
  for (std::size_t at = 0; at < streams_.size(); ++at) store_.drop_before(at, streams_[at].oldest);
  results_ += results[0].size();
  return results;
}

void SliceJoin::process(const Callbacks& callbacks, std::vector<Found>& found, SliceResults& results) {
  for (;;) {
    if (shedding_.has_value()) control(callbacks);
    Run run;
    run.config = &config_;
    run.store = &store_;
    run.check = &callbacks.check;
    run.orderings = orderings_;
    run.two_sided = two_sided_;
    if (shedding_.has_value()) run.visits = &shedding_->begin_run();
    collect(run);
    if (run.cycles.empty()) return;
    found.clear();
    std::vector<std::vector<Seq>> probing(streams_.size());
    for (const Cycle& cycle : run.cycles) probing[cycle.stream].push_back(cycle.row);
    store_.prepare(probing, runner_->slices());
    runner_->execute(run, callbacks.poll, found);
    if (shedding_.has_value()) shedding_->end_run(run, runner_->tallies(), found);
    for (const Found& result : found) {
      for (std::size_t at = 0; at < streams_.size(); ++at) {
        results[at].push_back(static_cast<std::int64_t>(result.rows[at]));
      }
      if (!config_.ordered) continue;
      Timestamp newest = kMinTimestamp;
      for (std::size_t at = 0; at < streams_.size(); ++at)
        newest = std::max(newest, store_.time(at, result.rows[at]));
      results.back().push_back(newest);
    }
    resize_if_asked();
  }
}

// Before the next row: ends the control period, or the tick, that it is not in.
void SliceJoin::control(const Callbacks& callbacks) {
  const std::optional<std::size_t> next = next_stream();
  if (!next.has_value()) return;
  const Timestamp ts = store_.time(*next, streams_[*next].processed);
  if (shedding_->ends_period(ts)) {
    const SliceShedding::Period period = shedding_->end_period(ts);
    if (callbacks.control) callbacks.control(period);
  }
  shedding_->begin_tick(ts);
}

// Takes rows off the waiting ones, in order, and notes which rows of the other windows each may meet.
void SliceJoin::collect(Run& run) {
  RowSet sums = {};
  while (run.cycles.size() < kRunCycles) {
    const std::optional<std::size_t> next = next_stream();
    if (!next.has_value()) break;
    Stream& own = streams_[*next];
    const Timestamp ts = store_.time(*next, own.processed);
    if (shedding_.has_value() && !run.cycles.empty() && shedding_->ends_tick(ts)) break;
    Cycle cycle;
    cycle.stream = *next;
    cycle.row = own.processed;
    for (std::size_t at = 0; at < streams_.size(); ++at) cycle.newest[at] = streams_[at].processed;
    // By time, everything still to come is at least as new as this row; else it may be older.
    expire(synchronised_ ? ts : low().value_or(kMaxTimestamp));
    for (std::size_t at = 0; at < streams_.size(); ++at) {
      cycle.oldest[at] = streams_[at].oldest;
      sums[at] += cycle.newest[at] - cycle.oldest[at];
    }
    ++own.processed;
    run.cycles.push_back(cycle);
    if (shedding_.has_value()) shedding_->plan(cycle, ts, store_, run.orderings);
  }
  for (std::size_t at = 0; at < streams_.size() && !run.cycles.empty(); ++at) {
    run.window_rows[at] = sums[at] / run.cycles.size() + 1;
  }
}

// Moves the far edges of the windows to where a row processed now, at `now`, finds them.
void SliceJoin::expire(Timestamp now) {
  for (std::size_t at = 0; at < streams_.size(); ++at) {
    Stream& stream = streams_[at];
    const SliceStream& config = config_.streams[at];
    if (config.window_rows.has_value()) {
      if (stream.processed > *config.window_rows) {
        stream.oldest = std::max(stream.oldest, stream.processed - *config.window_rows);
      }
      continue;
    }
    Timestamp edge = saturating_add(now, saturating_negate(config.span));
    if (!config_.inclusive && edge < kMaxTimestamp) ++edge;
    while (stream.oldest < stream.processed && store_.time(at, stream.oldest) < edge) ++stream.oldest;
  }
}

// The stream whose first waiting row comes next in the order of all rows; none while an earlier one may still
// come.
std::optional<std::size_t> SliceJoin::next_stream() const {
  std::optional<std::size_t> chosen;
  Timestamp earliest = 0;
  for (std::size_t at = 0; at < streams_.size(); ++at) {
    if (streams_[at].processed == store_.window(at).end()) continue;
    const Timestamp ts = store_.time(at, streams_[at].processed);
    if (!chosen.has_value() || ts < earliest) {
      chosen = at;
      earliest = ts;
    }
  }
  if (!chosen.has_value() || !synchronised_) return chosen;
  for (std::size_t other = 0; other < streams_.size(); ++other) {
    if (other != *chosen && may_precede(other, *chosen, earliest)) return std::nullopt;
  }
  return chosen;
}

Timestamp SliceJoin::low_of(std::size_t stream) const {
  const Stream& state = streams_[stream];
  if (state.processed < store_.window(stream).end()) return store_.time(stream, state.processed);
  return state.ended ? kMaxTimestamp : state.watermark;
}

std::optional<Timestamp> SliceJoin::low() const {
  Timestamp low = kMaxTimestamp;
  bool over = true;
  for (std::size_t at = 0; at < streams_.size(); ++at) {
    low = std::min(low, low_of(at));
    over = over && streams_[at].ended && waiting(at) == 0;
  }
  return over ? std::nullopt : std::optional<Timestamp>(low);
}

bool SliceJoin::may_precede(std::size_t other, std::size_t stream, Timestamp ts) const {
  const Stream& state = streams_[other];
  if (state.ended || state.processed < store_.window(other).end()) return false;
  return state.watermark < ts || (state.watermark == ts && other < stream);
}

void SliceJoin::request_resize(std::size_t slices, Relocation relocation) {
  check_slices(slices);
  const std::lock_guard lock(asked_mutex_);
  asked_ = {slices, relocation};
}

void SliceJoin::resize_if_asked() {
  std::optional<std::pair<std::size_t, Relocation>> asked;
  {
    const std::lock_guard lock(asked_mutex_);
    asked.swap(asked_);
  }
  if (asked.has_value()) runner_->resize(asked->first, asked->second);
}

void SliceJoin::set_orderings(std::vector<std::vector<std::size_t>> orderings) {
  if (orderings.size() != streams_.size()) {
    throw ConfigError("orderings: expected one for each of " + std::to_string(streams_.size()) + " streams");
  }
  for (std::size_t own = 0; own < orderings.size(); ++own) {
    std::vector<std::size_t> sorted = orderings[own];
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::size_t> others;
    for (std::size_t other = 0; other < streams_.size(); ++other) {
      if (other != own) others.push_back(other);
    }
    if (sorted != others) throw ConfigError("orderings: expected every other stream once");
  }
  orderings_ = std::move(orderings);
}

void SliceJoin::shed(SliceSheddingConfig config) {
  if (!synchronised_) throw ConfigError("shedding: rows must be processed by time");
  shedding_.emplace(std::move(config), config_);
}

std::string SliceJoin::shedding_state() const {
  ByteWriter writer;
  shedding_.value().save(writer);
  return writer.bytes();
}

void SliceJoin::load_shedding_state(std::string_view state) {
  ByteReader reader(state);
  shedding_.value().load(reader);
  reader.expect_end();
}

void SliceJoin::restore(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                        const Restored& state) {
  const Seq end = state.first + static_cast<Seq>(array.length);
  if (state.oldest < state.first || state.processed < state.oldest || state.processed > end) {
    throw SnapshotError("snapshot: the rows of stream '" + config_.streams[stream].name +
                        "' do not fit its counts");
  }
  store_.start_at(stream, state.first);
  store_.append(stream, schema, array, kMinTimestamp);
  streams_[stream] = {state.processed, state.oldest, state.watermark, state.ended};
  runner_->place(windows());
}

SliceJoin::Restored SliceJoin::state_of(std::size_t stream) const {
  const Stream& state = streams_[stream];
  return {store_.window(stream).begin(), state.oldest, state.processed, state.watermark, state.ended};
}

std::vector<RowRange> SliceJoin::windows() const {
  std::vector<RowRange> ranges;
  for (const Stream& stream : streams_) ranges.push_back({stream.oldest, stream.processed});
  return ranges;
}

std::size_t SliceJoin::waiting(std::size_t stream) const {
  return static_cast<std::size_t>(store_.window(stream).end() - streams_[stream].processed);
}

SliceStatistics SliceJoin::statistics() const {
  SliceStatistics statistics;
  runner_->add_to(statistics);
  return statistics;
}

}  // namespace watersmeet
