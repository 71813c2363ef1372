#include "watersmeet/join/joint.h"

#include <algorithm>
#include <utility>

#include "watersmeet/join/joint_requests.h"
#include "watersmeet/join/tree_column.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

constexpr std::size_t kMostPairsAtOnce = 1 << 16;

[[nodiscard]] bool has_gone(const TreeState& state, Seq row, const Leaves& leaves) {
  for (std::size_t at = 0; at < state.streams.size(); ++at) {
    if (state.member(at, row) < leaves[state.streams[at]]->state.window.begin()) return true;
  }
  return false;
}

// How well a term drives an index: the smaller the better.
[[nodiscard]] int rank(const TreePair& pair) {
  if (pair.terms.empty()) return 3;
  const TermKind kind = pair.terms[0].term.kind;
  const bool scanned = kind == TermKind::kBand || kind == TermKind::kDistance || kind == TermKind::kCompiled;
  return kind == TermKind::kEqual ? 0 : scanned ? 2 : 1;
}

[[nodiscard]] std::size_t position_of(const TreeState& state, std::size_t stream) {
  return static_cast<std::size_t>(std::find(state.streams.begin(), state.streams.end(), stream) -
                                  state.streams.begin());
}

}  // namespace

Joint::Joint(const TreeConfig& config, std::array<TreeState*, kSides> inputs,
             std::unique_ptr<TreeState> output)
    : config_(config), inputs_(inputs), output_(std::move(output)) {
  for (std::size_t pair = 0; pair < config.pairs.size(); ++pair) {
    const auto& streams = config.pairs[pair].streams;
    for (std::size_t left = 0; left < kSides; ++left) {
      const std::size_t one = position_of(*inputs_[0], streams[left]);
      const std::size_t other = position_of(*inputs_[1], streams[1 - left]);
      if (one == inputs_[0]->streams.size() || other == inputs_[1]->streams.size()) continue;
      crossings_.push_back({pair, {one, other}, left == 0});
    }
  }
  std::stable_sort(crossings_.begin(), crossings_.end(), [&config](const Crossing& a, const Crossing& b) {
    return rank(config.pairs[a.pair]) < rank(config.pairs[b.pair]);
  });
  if (!crossings_.empty() && !config.pairs[crossings_[0].pair].terms.empty()) driver_ = crossings_[0].pair;
  if (output_ == nullptr) return;
  for (const TreeState* input : inputs_) {
    output_->streams.insert(output_->streams.end(), input->streams.begin(), input->streams.end());
  }
  output_->members.resize(output_->streams.size());
}

void Joint::feed(std::size_t pair) {
  feeds_pair_ = pair;
  const Term* term = nullptr;
  if (pair != kNoPair) {
    term = &config_.pairs[pair].terms[0].term;
    for (const std::size_t stream : config_.pairs[pair].streams) {
      const std::size_t at = position_of(*output_, stream);
      if (at < output_->streams.size()) feeds_member_ = at;
    }
    output_->window.columns.push_back(empty_column(*term));
  }
  output_->index = make_tree_index(output_->window, term);
}

void Joint::process(const Leaves& leaves, const Keep& keep, Found results, std::vector<Ages>* ages,
                    bool two_sided) {
  std::array<Pairs, kSides> found;
  for (std::size_t side = 0; side < kSides; ++side) probe(side, leaves, keep, two_sided, found[side]);
  if (output_ != nullptr) output_->slice = output_->processed;
  // Both lists are in the order of the probing rows; together they are put in the order of turns.
  std::array<std::size_t, kSides> next{};
  while (next[0] < found[0].size() || next[1] < found[1].size()) {
    std::size_t side = next[0] < found[0].size() ? 0 : 1;
    if (side == 0 && next[1] < found[1].size() &&
        inputs_[1]->turn(found[1].own[next[1]]).before(inputs_[0]->turn(found[0].own[next[0]]))) {
      side = 1;
    }
    const Seq own = found[side].own[next[side]];
    const Seq other = found[side].other[next[side]++];
    if (output_ != nullptr) {
      add_output(leaves, side, own, other);
      continue;
    }
    const Timestamp newest =
        std::max(inputs_[side]->window.timestamps[own], inputs_[1 - side]->window.timestamps[other]);
    results.times.push_back(newest);
    for (std::size_t input = 0; input < kSides; ++input) {
      const TreeState& state = *inputs_[input];
      const Seq row = input == side ? own : other;
      for (std::size_t at = 0; at < state.streams.size(); ++at) {
        const std::size_t stream = state.streams[at];
        const Seq member = state.member(at, row);
        results.rows[stream].push_back(member);
        if (ages != nullptr) (*ages)[stream].add(newest - leaves[stream]->state.window.timestamps[member]);
      }
    }
  }
  if (output_ != nullptr && output_->window.end() > output_->slice) {
    output_->processed = output_->window.end();
    output_->window.close_append(output_->slice);
    output_->index->append(output_->slice, output_->processed);
  }
}

void Joint::add_output(const Leaves& leaves, std::size_t side, Seq own, Seq other) {
  TreeState& out = *output_;
  const std::array<Seq, kSides> rows =
      side == 0 ? std::array<Seq, kSides>{own, other} : std::array<Seq, kSides>{other, own};
  const Turn one = inputs_[side]->turn(own);
  const Turn two = inputs_[1 - side]->turn(other);
  const Turn& newest = one.before(two) ? two : one;
  out.window.timestamps.push_back(newest.ts);
  out.window.joinable.push_back(1);
  out.newest.push_back(static_cast<std::uint8_t>(newest.stream));
  std::size_t to = 0;
  for (std::size_t input = 0; input < kSides; ++input) {
    for (std::size_t at = 0; at < inputs_[input]->streams.size(); ++at, ++to) {
      out.members[to].push_back(inputs_[input]->member(at, rows[input]));
    }
  }
  copy_driver(leaves, out.window.end() - 1, true);
}

void Joint::copy_driver(const Leaves& leaves, Seq row, bool alive) {
  if (feeds_pair_ == kNoPair) return;
  TreeState& out = *output_;
  if (!alive) {
    append_nothing(out.window.columns[0]);
    return;
  }
  const Leaf& leaf = *leaves[out.streams[feeds_member_]];
  append_value(leaf.columns(feeds_pair_)[0], out.members[feeds_member_][row], out.window.columns[0]);
}

void Joint::probe(std::size_t side, const Leaves& leaves, const Keep& keep, bool two_sided, Pairs& found) {
  Requests requests;
  if (two_sided) {
    find_two_sided(side, leaves, requests);
  } else {
    find_ranges(side, leaves, requests);
  }
  const TreeState& own = *inputs_[side];
  TreeState& other = *inputs_[1 - side];
  HalfJoin& half = halves[side];
  std::size_t served = 0;
  std::size_t request = 0;
  while (served < requests.rows.size()) {
    ProbeRun run;
    run.own = &own.window;
    const bool first_is_left = crossings_.empty() || crossings_[0].first_is_left;
    run.own_is_left = (side == 0) == first_is_left;
    run.rows = requests.rows.data() + served;
    run.lo = requests.lo.data() + served;
    run.hi = requests.hi.data() + served;
    run.requests = requests.rows.size() - served;
    run.max_pairs = kMostPairsAtOnce;
    const std::size_t first = found.size();
    const std::size_t first_request = served;
    served += other.index->probe(run, found, half.counts.work);
    filter(side, leaves, requests, first, request, found);
    filter_opaque(side, keep, first, found);
    if (!requests.reach_lo.empty()) count_matches(half, requests, first, first_request, found);
  }
  half.counts.made += found.size();
}

void Joint::filter(std::size_t side, const Leaves& leaves, const Requests& requests, std::size_t first,
                   std::size_t& request, Pairs& found) const {
  const TreeState& other = *inputs_[1 - side];
  const bool combinations = !other.is_stream();
  const bool more = crossings_.size() > 1 || (driver_ != kNoPair && config_.pairs[driver_].terms.size() > 1);
  if (!combinations && !more) return;
  const std::size_t streams = other.streams.size();
  std::size_t kept = first;
  for (std::size_t at = first; at < found.size(); ++at) {
    const Seq own_row = found.own[at];
    const Seq other_row = found.other[at];
    if (combinations) {
      while (requests.rows[request] != own_row) ++request;
      if (!requests.reach.empty()) {
        if (has_gone(other, other_row, leaves)) continue;
        if (other.window.timestamps[other_row] > requests.reach[request]) continue;
        if (inputs_[side]->window.timestamps[own_row] > reach(other, other_row, leaves)) continue;
      } else {
        bool alive = true;
        for (std::size_t member = 0; member < streams && alive; ++member) {
          alive = other.members[member][other_row] >= requests.alive[request * streams + member];
        }
        if (!alive) continue;
      }
    }
    if (more && !satisfies_rest(side, leaves, own_row, other_row)) continue;
    found.own[kept] = own_row;
    found.other[kept++] = other_row;
  }
  found.own.resize(kept);
  found.other.resize(kept);
}

bool Joint::satisfies_rest(std::size_t side, const Leaves& leaves, Seq own, Seq other) const {
  const TreeState& own_state = *inputs_[side];
  const TreeState& other_state = *inputs_[1 - side];
  for (const Crossing& crossing : crossings_) {
    const auto& terms = config_.pairs[crossing.pair].terms;
    const std::size_t own_at = crossing.at[side];
    const std::size_t other_at = crossing.at[1 - side];
    const auto& own_columns = leaves[own_state.streams[own_at]]->columns(crossing.pair);
    const auto& other_columns = leaves[other_state.streams[other_at]]->columns(crossing.pair);
    const bool own_is_left = (side == 0) == crossing.first_is_left;
    for (std::size_t at = crossing.pair == driver_ ? 1 : 0; at < terms.size(); ++at) {
      if (!satisfies(terms[at].term, own_columns[at], own_state.member(own_at, own), other_columns[at],
                     other_state.member(other_at, other), own_is_left)) {
        return false;
      }
    }
  }
  return true;
}

void Joint::filter_opaque(std::size_t side, const Keep& keep, std::size_t first, Pairs& found) const {
  for (const Crossing& crossing : crossings_) {
    if (!config_.pairs[crossing.pair].opaque || found.size() == first) continue;
    std::array<std::vector<Seq>, kSides> rows;
    const std::size_t own_side = (side == 0) == crossing.first_is_left ? 0 : 1;
    for (std::size_t at = first; at < found.size(); ++at) {
      rows[own_side].push_back(inputs_[side]->member(crossing.at[side], found.own[at]));
      rows[1 - own_side].push_back(inputs_[1 - side]->member(crossing.at[1 - side], found.other[at]));
    }
    std::vector<std::uint8_t> kept_flags(found.size() - first, 1);
    keep(crossing.pair, rows[0], rows[1], kept_flags);
    std::size_t kept = first;
    for (std::size_t at = first; at < found.size(); ++at) {
      if (kept_flags[at - first] == 0) continue;
      found.own[kept] = found.own[at];
      found.other[kept++] = found.other[at];
    }
    found.own.resize(kept);
    found.other.resize(kept);
  }
}

}  // namespace watersmeet
