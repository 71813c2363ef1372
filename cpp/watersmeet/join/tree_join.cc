#include "watersmeet/join/tree_join.h"

#include <algorithm>
#include <utility>

#include "watersmeet/base/check.h"
#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

// Rows of all streams that are processed together: enough to prefetch over, few enough to stay in the cache.
constexpr std::size_t kSliceRows = 4096;
constexpr std::size_t kNoStream = SIZE_MAX;

}  // namespace

TreeJoin::TreeJoin(TreeConfig config) : config_(std::move(config)) {
  if (config_.streams.size() < 2 || config_.streams.size() > kMostStreams) {
    throw ConfigError("a tree of joins takes 2 to " + std::to_string(kMostStreams) + " streams");
  }
  if (config_.joins.size() + 1 != config_.streams.size())
    throw ConfigError("a tree has one join fewer than streams");
  if (!config_.state_rows.empty() && config_.state_rows.size() + 1 != config_.joins.size()) {
    throw ConfigError("state_rows: expected one for every join but the root");
  }
  if (config_.cycle < 1) throw ConfigError("a cycle has to last at least one unit of time");
  for (const TreePair& pair : config_.pairs) pairs_.emplace_back(pair.terms);
  for (std::size_t stream = 0; stream < config_.streams.size(); ++stream) {
    leaves_.push_back(std::make_unique<Leaf>(config_, stream, pairs_));
  }
  found_.resize(config_.streams.size());
  if (config_.track_ages) ages_.resize(config_.streams.size());
  build();
}

TreeState& TreeJoin::state_of(std::size_t input) const {
  const std::size_t streams = leaves_.size();
  return input < streams ? leaves_[input]->state : *joints_[input - streams]->output();
}

void TreeJoin::build() {
  joints_.clear();
  for (std::size_t at = 0; at < config_.joins.size(); ++at) {
    const bool root = at + 1 == config_.joins.size();
    const std::array<TreeState*, kSides> inputs = {&state_of(config_.joins[at][0]),
                                                   &state_of(config_.joins[at][1])};
    auto output = root ? nullptr : std::make_unique<TreeState>();
    if (output != nullptr && !config_.state_rows.empty()) output->window_rows = config_.state_rows[at];
    joints_.push_back(std::make_unique<Joint>(config_, inputs, std::move(output)));
    for (const std::size_t input : config_.joins[at]) {
      const std::size_t pair = joints_[at]->driver();
      if (input < leaves_.size()) {
        leaves_[input]->drive_by(pair, config_);
      } else {
        joints_[input - leaves_.size()]->feed(pair);
      }
    }
  }
}

void TreeJoin::set_tree(std::vector<TreeInputs> joins, const Keep& keep) {
  WATERSMEET_CHECK(leaves_before_.empty());
  std::swap(config_.joins, joins);
  try {
    build();
    replay(keep);
  } catch (...) {
    std::swap(config_.joins, joins);
    build();
    replay(keep);
    throw;
  }
}

// Combinations of living rows are made again; their results came out when they were made first.
void TreeJoin::replay(const Keep& keep) {
  for (auto& leaf : leaves_) leaf->state.slice = leaf->state.window.begin();
  for (auto& joint : joints_) {
    if (joint->output() == nullptr) continue;
    joint->process(leaves_, keep, {found_, found_times_}, nullptr, false);
    joint->halves = {};
  }
}

void TreeJoin::set_allowances(const std::vector<double>& per_cycle, const std::vector<double>& spare,
                              const std::vector<double>& carried) {
  std::size_t at = 0;
  for (auto& joint : joints_) {
    for (HalfJoin& half : joint->halves) {
      if (per_cycle.empty()) {
        half.allowance.lift();
      } else {
        half.allowance.set(per_cycle[at], carried.empty() ? config_.carried_cycles : carried[at]);
        half.spare = spare.empty() ? 0 : spare[at];
        ++at;
      }
    }
  }
}

void TreeJoin::set_cells(const std::vector<CellPlan>& plans) {
  std::size_t at = 0;
  for (auto& joint : joints_) {
    for (HalfJoin& half : joint->halves) half.plan.change_to(plans.empty() ? CellPlan() : plans[at++]);
  }
}

void TreeJoin::begin() {
  leaves_before_.clear();
  joints_before_.clear();
  for (const auto& leaf : leaves_) {
    leaves_before_.push_back({leaf->state.window.end(), leaf->state.processed, leaf->watermark, leaf->ended});
  }
  for (const auto& joint : joints_) {
    const Seq end = joint->output() == nullptr ? 0 : joint->output()->processed;
    joints_before_.push_back({end, joint->halves});
  }
  ages_before_ = ages_;
  cycle_before_ = cycle_;
  unsettled_before_ = unsettled_;
  newest_processed_before_ = newest_processed_;
}

void TreeJoin::push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array) {
  Leaf& leaf = *leaves_[stream];
  if (leaf.ended) throw OrderError("stream '" + leaf.config.name + "': nothing may be pushed after finish()");
  leaf.append(schema, array);
}

void TreeJoin::promise(std::size_t stream, Timestamp to) {
  leaves_[stream]->watermark = std::max(leaves_[stream]->watermark, to);
}

void TreeJoin::end(std::size_t stream) { leaves_[stream]->ended = true; }

void TreeJoin::set_synchronised(bool synchronised) {
  const bool counts = std::any_of(leaves_.begin(), leaves_.end(),
                                  [](const auto& leaf) { return leaf->config.window_rows.has_value(); });
  const bool rationed = std::any_of(joints_.begin(), joints_.end(), [](const auto& joint) {
    return joint->halves[0].allowance.limited() || joint->halves[1].allowance.limited();
  });
  synchronised_ = synchronised || counts || rationed || !config_.state_rows.empty();
}

Wide TreeJoin::lowest() const {
  Wide low = Wide{kMaxTimestamp} + 1;
  for (const auto& leaf : leaves_) low = std::min(low, leaf->low());
  return low;
}

std::optional<Timestamp> TreeJoin::low() const {
  const Wide low = lowest();
  return low > kMaxTimestamp ? std::nullopt : std::optional<Timestamp>(static_cast<Timestamp>(low));
}

void TreeJoin::finish() {
  for (auto& leaf : leaves_) leaf->ended = true;
}

bool TreeJoin::is_due(std::size_t stream) const {
  const Timestamp ts = leaves_[stream]->next_ts();
  for (std::size_t other = 0; other < leaves_.size(); ++other) {
    const Leaf& leaf = *leaves_[other];
    if (other == stream || leaf.ended) continue;
    // Ties go by stream: rows of earlier streams at this very time would come first.
    if (other < stream ? leaf.watermark <= ts : leaf.watermark < ts) return false;
  }
  return true;
}

std::size_t TreeJoin::next_stream(std::optional<Timestamp> until) const {
  std::size_t next = kNoStream;
  for (std::size_t stream = 0; stream < leaves_.size(); ++stream) {
    const Leaf& leaf = *leaves_[stream];
    if (leaf.has_waiting() && (next == kNoStream || leaf.next_ts() < leaves_[next]->next_ts())) next = stream;
  }
  if (next == kNoStream || (until.has_value() && leaves_[next]->next_ts() >= *until)) return kNoStream;
  return !synchronised_ || is_due(next) ? next : kNoStream;
}

std::optional<Timestamp> TreeJoin::next_due() const {
  const std::size_t next = next_stream(std::nullopt);
  return next == kNoStream ? std::nullopt : std::optional<Timestamp>(leaves_[next]->next_ts());
}

bool TreeJoin::take_slice(std::optional<Timestamp> until) {
  for (auto& leaf : leaves_) leaf->state.slice = leaf->state.processed;
  if (synchronised_ && unsettled_ && newest_processed_ < lowest()) unsettled_ = false;
  unsettled_ = unsettled_ || !synchronised_;
  const std::size_t taken = unsettled_ ? take_one_stream(until) : take_in_order(until);
  for (auto& leaf : leaves_) {
    TreeState& state = leaf->state;
    if (state.processed == state.slice) continue;
    state.index->append(state.slice, state.processed);
    newest_processed_ = std::max(newest_processed_, state.window.timestamps[state.processed - 1]);
  }
  return taken > 0;
}

std::size_t TreeJoin::take_in_order(std::optional<Timestamp> until) {
  std::size_t taken = 0;
  for (; taken < kSliceRows; ++taken) {
    const std::size_t next = next_stream(until);
    if (next == kNoStream) break;
    ++leaves_[next]->state.processed;
  }
  return taken;
}

// Rows of one stream meet only rows that were processed before them, however their times compare.
std::size_t TreeJoin::take_one_stream(std::optional<Timestamp> until) {
  const std::size_t stream = next_stream(until);
  if (stream == kNoStream) return 0;
  TreeState& state = leaves_[stream]->state;
  if (!synchronised_) {
    const Seq most = std::min(state.window.end(), state.processed + kSliceRows);
    const Seq due = until.has_value() ? std::min(most, state.window.lower_bound(*until)) : most;
    state.processed = std::max(due, state.processed + 1);
    return static_cast<std::size_t>(state.processed - state.slice);
  }
  std::size_t taken = 0;
  do {
    ++state.processed;
    ++taken;
  } while (taken < kSliceRows && next_stream(until) == stream);
  return taken;
}

// What half-way joins left over goes to those whose rows, made and paid for below, could not probe in the
// last cycle; what is left of that, to where the plan can use more. Cycles begin for all half-way joins at once, so that batches make no difference.
void TreeJoin::begin_cycle(std::int64_t cycle) {
  if (cycle_ == cycle) return;
  cycle_ = cycle;
  double left = 0;
  double denied = 0;
  double budget = 0;
  for (auto& joint : joints_) {
    for (std::size_t side = 0; side < kSides; ++side) {
      HalfJoin& half = joint->halves[side];
      if (!half.allowance.limited()) return;
      left += half.allowance.move_to(cycle);
      budget += half.allowance.per_cycle();
      if (joint->input(side).is_stream()) half.denied = 0;
      denied += half.denied;
    }
  }
  // After a silence, or where everything is probed anyhow, no more than a cycle's worth goes round.
  left = std::min(left, budget);
  const double share = denied > 0 && config_.shares_spare ? std::min(1.0, left / denied) : 0;
  for (auto& joint : joints_) {
    for (HalfJoin& half : joint->halves) {
      half.allowance.add(share * half.denied + (left - share * denied) * half.spare);
      half.denied = 0;
    }
  }
}

bool TreeJoin::process_slice(std::optional<Timestamp> until, const Keep& keep) {
  if (joints_[0]->halves[0].allowance.limited()) {
    const std::optional<Timestamp> due = next_due();
    if (!due.has_value() || (until.has_value() && *due >= *until)) return false;
    const std::int64_t cycle = cycle_of(*due, config_.cycle);
    begin_cycle(cycle);
    const Wide end = (Wide{cycle} + 1) * config_.cycle;
    if (end <= kMaxTimestamp) until = std::min(static_cast<Timestamp>(end), until.value_or(kMaxTimestamp));
  }
  if (!take_slice(until)) return false;
  for (auto& joint : joints_) {
    joint->process(leaves_, keep, {found_, found_times_}, config_.track_ages ? &ages_ : nullptr, unsettled_);
  }
  return true;
}

TreeJoin::Combinations TreeJoin::commit() {
  expire();
  results_ += found_times_.size();
  leaves_before_.clear();
  joints_before_.clear();
  Combinations out;
  out.rows.resize(found_.size());
  out.rows.swap(found_);
  out.times.swap(found_times_);
  return out;
}

Seq TreeJoin::first_alive(const Leaf& leaf, Wide low, bool within_window) const {
  const TreeStream& stream = leaf.config;
  const Seq processed = leaf.state.processed;
  Seq first = leaf.state.window.begin();
  Wide oldest = kMinTimestamp;
  if (within_window && stream.window_rows.has_value()) {
    if (processed > *stream.window_rows) first = std::max(first, processed - *stream.window_rows);
  } else if (within_window) {
    oldest = low - stream.window;
  }
  if (stream.freshness.has_value()) oldest = std::max(oldest, low - *stream.freshness);
  if (oldest > kMaxTimestamp) {
    first = processed;
  } else if (oldest > kMinTimestamp) {
    first = std::max(first, leaf.state.window.lower_bound(static_cast<Timestamp>(oldest)));
  }
  return std::min(first, processed);
}

void TreeJoin::expire() {
  const Wide low = lowest();
  const bool counted = !config_.state_rows.empty();
  std::vector<Seq> alive;
  for (const auto& leaf : leaves_) alive.push_back(first_alive(*leaf, low, !counted));
  for (auto& joint : joints_) {
    if (joint->output() != nullptr) drop_combinations(*joint->output(), alive);
  }
  std::vector<Seq> needed = alive;
  if (counted) {
    // Rows that left their window are kept for the combinations that hold them.
    for (std::size_t at = 0; at < leaves_.size(); ++at) needed[at] = first_alive(*leaves_[at], low, true);
    for (const auto& joint : joints_) {
      const TreeState* state = joint->output();
      if (state == nullptr || state->window.size() == 0) continue;
      for (std::size_t at = 0; at < state->streams.size(); ++at) {
        const Seq* members = state->members[at].at(state->members[at].begin());
        Seq& first = needed[state->streams[at]];
        first = std::min(first, *std::min_element(members, members + state->members[at].size()));
      }
    }
    for (std::size_t at = 0; at < leaves_.size(); ++at) needed[at] = std::max(needed[at], alive[at]);
  }
  for (std::size_t at = 0; at < leaves_.size(); ++at) leaves_[at]->drop_before(needed[at]);
}

void TreeJoin::drop_combinations(TreeState& state, const std::vector<Seq>& alive) {
  Seq first = state.window.begin();
  if (state.window_rows.has_value() && state.processed - first > *state.window_rows) {
    first = state.processed - *state.window_rows;
  }
  const auto dead = [&](Seq row) {
    for (std::size_t at = 0; at < state.streams.size(); ++at) {
      if (state.members[at][row] < alive[state.streams[at]]) return true;
    }
    return false;
  };
  while (first < state.processed && dead(first)) ++first;
  if (first > state.window.begin()) state.drop_before(first);
}

void TreeJoin::roll_back() {
  for (std::size_t at = joints_.size(); at-- > 0;) {
    TreeState* state = joints_[at]->output();
    const Seq end = joints_before_[at].end;
    if (state != nullptr && state->window.end() > end) {
      if (state->index != nullptr) state->index->truncate(end);
      state->window.truncate(end);
      state->processed = end;
      state->newest.truncate_to(end);
      for (auto& each : state->members) each.truncate_to(end);
    }
    joints_[at]->halves = joints_before_[at].halves;
  }
  for (std::size_t at = 0; at < leaves_.size(); ++at) {
    const LeafBefore& before = leaves_before_[at];
    leaves_[at]->take_back(before.end, before.processed);
    leaves_[at]->watermark = before.watermark;
    leaves_[at]->ended = before.ended;
  }
  for (auto& column : found_) column.clear();
  found_times_.clear();
  ages_ = ages_before_;
  cycle_ = cycle_before_;
  unsettled_ = unsettled_before_;
  newest_processed_ = newest_processed_before_;
  leaves_before_.clear();
  joints_before_.clear();
}

std::size_t TreeJoin::bytes() const {
  std::size_t total = 0;
  for (const auto& leaf : leaves_) total += leaf->bytes();
  for (const auto& joint : joints_) total += joint->output() == nullptr ? 0 : joint->output()->bytes();
  for (const TermSet& pair : pairs_) total += pair.bytes();
  return total;
}

}  // namespace watersmeet
