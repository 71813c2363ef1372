// How the new rows of a change look for partners: the range of the other window that each may meet, then the index.
#include <algorithm>
#include <atomic>
#include <string>

#include "watersmeet/base/errors.h"
#include "watersmeet/join/two_way_join.h"

namespace watersmeet {
namespace {

constexpr std::size_t kFewestSharedRanges = 8192;  // rows whose ranges several lanes find
// With more lanes than this one that enters rows in a hash index would still be at it when the others have probed:
// there each lane enters a share.
constexpr std::size_t kMostLanesBeside = 3;

}  // namespace

void TwoWayJoin::prepare_probes() {
  const auto brings = [this](std::size_t stream) {
    return sides_[stream]->window.end() != fresh_[stream].first;
  };
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    if (!brings(stream)) continue;
    Side& side = *sides_[stream];
    side.window.close_append(fresh_[stream].first);
    // Rows of one stream alone do not look into the index that they enter: both can go on at once.
    const bool shares =
        shared_ != nullptr && shared_->lanes().size() > kMostLanesBeside && side.index->looks_up();
    if (shared_ != nullptr && !shares && !brings(1 - stream)) {
      unindexed_ = stream;
      continue;
    }
    fresh_[stream].indexed = true;
    if (shared_ != nullptr) {
      side.index->append_on(shared_->lanes(), fresh_[stream].first, side.window.end());
    } else {
      side.index->append(fresh_[stream].first, side.window.end());
    }
  }
  for (std::size_t stream = 0; stream < kSides; ++stream) find_ranges(stream);
  phase_ = 0;
  if (fresh_[0].lo.empty()) next_phase();
}

// Enters the rows of the change in their index, where that was put off.
void TwoWayJoin::index_now() {
  if (unindexed_ == kSides) return;
  const std::size_t stream = unindexed_;
  unindexed_ = kSides;
  fresh_[stream].indexed = true;
  sides_[stream]->index->append(fresh_[stream].first, sides_[stream]->window.end());
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
    SharedProbes::Beside beside;
    if (unindexed_ != kSides) beside = [this] { index_now(); };
    return shared_->serve(
        index, run, [this, stream](Pairs& pairs, Work& done) { verify(stream, pairs, done); }, beside, found,
        work);
  }
  index_now();
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

}  // namespace watersmeet
