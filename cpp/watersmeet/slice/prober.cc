#include "watersmeet/slice/prober.h"

#include <algorithm>
#include <string>
#include <utility>

namespace watersmeet {
namespace {

[[nodiscard]] bool has(std::uint32_t members, std::size_t stream) { return (members >> stream & 1) != 0; }

// Which term should find the partners: the lower the better; none at all from kNoDriver on.
constexpr int kNoDriver = 100;

[[nodiscard]] int rank(const Term& term, bool prepared) {
  if (term.kind == TermKind::kEqual) return 0;
  if (term.is_set()) return prepared ? 1 : kNoDriver;
  if (term.kind == TermKind::kBand) return 2;
  return 3;
}

}  // namespace

void Prober::begin(const Run& run) {
  run_ = &run;
  clear();
  if (run.visits == nullptr) return;
  tallies_.resize(run.streams() * run.streams());
  for (std::size_t at = 0; at < tallies_.size(); ++at)
    tallies_[at].reset(run.visits->cells(at % run.streams()));
}

void Prober::clear() {
  requests_.clear();
  due_ = 0;
}

void Prober::ask(const Found& partial, std::size_t other, Seq first, Seq last) {
  if (run_->two_sided) narrow(partial, other, first, last);
  if (first >= last) return;
  if (run_->visits == nullptr) {
    add_request(partial, other, first, last);
  } else {
    ask_selectively(partial, other, first, last);
  }
}

void Prober::add_request(const Found& partial, std::size_t other, Seq first, Seq last) {
  requests_.push_back({partial, static_cast<std::uint8_t>(other), first, last});
  due_ += last - first;
}

void Prober::ask_selectively(const Found& partial, std::size_t other, Seq first, Seq last) {
  const Visits& visits = *run_->visits;
  DirectionTally& tally = tallies_[run_->cycles[partial.cycle].stream * run_->streams() + other];
  const auto cells = visits.of(partial.cycle, other);
  const bool whole = visits.whole_samples() && visits.samples(partial, other, 0);
  // Stretches of neighbouring cells become one request.
  Seq lo = 0;
  Seq hi = 0;
  const auto visit = [&](Seq from, Seq to) {
    if (from >= to) return;
    if (from != hi) {
      if (lo < hi) add_request(partial, other, lo, hi);
      lo = from;
    }
    hi = to;
  };
  for (std::size_t cell = cells.size(); cell-- > 0;) {
    const Seq from = std::max(first, cells[cell].lo);
    const Seq to = std::min(last, cells[cell].hi);
    if (from >= to) continue;
    const Seq planned_from = std::clamp(cells[cell].first, from, to);
    const Seq planned_to = std::clamp(cells[cell].last, from, to);
    const std::uint64_t rest = (to - from) - (planned_to - planned_from);
    const bool sampled =
        cells[cell].left_out() > 0 && (visits.whole_samples() ? whole : visits.samples(partial, other, cell));
    const std::uint64_t made = sampled ? to - from : planned_to - planned_from;
    tally.due[cell] += to - from;
    tally.compared[cell] += made;
    if (!sampled) tally.shed += rest;
    if (whole) tally.sample_compared[cell] += made;
    if (sampled && !whole) tally.sample_compared[cell] += rest;
    // What is sampled may lie in several slices: the one that has its first row counts it.
    if (sampled && from == (whole ? cells.back().lo : cells[cell].lo)) ++tally.samples;
    if (sampled) {
      visit(from, to);
    } else {
      visit(planned_from, planned_to);
    }
  }
  if (lo < hi) add_request(partial, other, lo, hi);
}

void Prober::tally_matches(const Step& step) {
  const Visits& visits = *run_->visits;
  DirectionTally& tally = tallies_[step.stream * run_->streams() + step.other];
  for (const Found& found : found_) {
    const Seq row = found.rows[step.other];
    const std::size_t cell = visits.cell_of(found.cycle, step.other, row);
    ++tally.matches[cell];
    bool sampled = !visits.of(found.cycle, step.other)[cell].visits(row);
    if (visits.whole_samples() && !sampled) {
      Found partial = found;
      partial.members = step.members;
      sampled = visits.samples(partial, step.other, 0);
    }
    if (sampled) ++tally.sample_matches[cell];
  }
}

void Prober::narrow(const Found& partial, std::size_t other, Seq& first, Seq& last) const {
  const SliceConfig& config = *run_->config;
  Timestamp oldest = kMinTimestamp;
  Timestamp newest = kMaxTimestamp;
  for (std::size_t own = 0; own < run_->streams(); ++own) {
    if (!has(partial.members, own)) continue;
    const Timestamp ts = run_->store->time(own, partial.rows[own]);
    const Duration edge = config.inclusive ? 0 : 1;
    oldest = std::max(oldest, saturating_add(ts, saturating_negate(config.streams[other].span - edge)));
    newest = std::min(newest, saturating_add(ts, config.streams[own].span - edge));
  }
  const Window& window = run_->store->window(other);
  first = std::max(first, window.lower_bound(oldest));
  last = std::min(last, window.upper_bound(newest));
}

Prober::Step Prober::step_of(const Request& request) const {
  return {run_->cycles[request.partial.cycle].stream, request.partial.members, request.other};
}

// An index of sets is prepared for the rows of cycles only: those of other members are compared one by one.
Prober::Driver Prober::driver_of(const Step& step) const {
  Driver best;
  int least = kNoDriver;
  for (std::size_t own = 0; own < run_->streams(); ++own) {
    if (!has(step.members, own)) continue;
    for (const SliceStore::TermLink& link : run_->store->links(own, step.other)) {
      const int cost = rank(run_->store->term(link), own == step.stream);
      if (cost >= least) continue;
      least = cost;
      best = {own, &link};
    }
  }
  return best;
}

void Prober::settle(const Emit& emit) {
  std::vector<Request> waiting;
  waiting.swap(requests_);
  due_ = 0;
  // Requests of one step are served together; steps in order of first appearance.
  std::vector<Request> group;
  while (!waiting.empty()) {
    const Step step = step_of(waiting.front());
    group.clear();
    std::size_t left = 0;
    for (const Request& request : waiting) {
      if (step_of(request) == step) {
        group.push_back(request);
      } else {
        waiting[left++] = request;
      }
    }
    waiting.resize(left);
    serve(step, group, emit);
  }
}

void Prober::serve(const Step& step, const std::vector<Request>& group, const Emit& emit) {
  StepCount& count = (*counts_)[step.members][step.other];
  for (const Request& request : group) count.due += request.last - request.first;
  found_.clear();
  const Driver driver = driver_of(step);
  if (driver.link == nullptr) {
    serve_by_scan(step, group, emit);
  } else {
    serve_by_index(step, driver, group, emit);
  }
  check_and_emit(step, emit);
}

void Prober::serve_by_scan(const Step& step, const std::vector<Request>& group, const Emit& emit) {
  StepCount& count = (*counts_)[step.members][step.other];
  for (const Request& request : group) {
    Found found = request.partial;
    found.members |= std::uint32_t{1} << step.other;
    for (Seq row = request.first; row < request.last; ++row) {
      if (!run_->store->joinable(step.other, row)) continue;
      if (!matches(request.partial, {}, step.other, row, count)) continue;
      found.rows[step.other] = row;
      found_.push_back(found);
      if (found_.size() >= kBlock) check_and_emit(step, emit);
    }
  }
}

void Prober::serve_by_index(const Step& step, const Driver& driver, const std::vector<Request>& group,
                            const Emit& emit) {
  StepCount& count = (*counts_)[step.members][step.other];
  rows_.clear();
  lo_.clear();
  hi_.clear();
  for (const Request& request : group) {
    rows_.push_back(request.partial.rows[driver.own]);
    lo_.push_back(request.first);
    hi_.push_back(request.last);
  }
  partners_.resize(group.size());
  for (std::size_t at = 0; at < group.size();) {
    ProbeRun probe;
    probe.own = driver.link->own;
    probe.own_is_left = driver.link->own_is_left;
    probe.rows = rows_.data() + at;
    probe.requests = group.size() - at;
    probe.lo = lo_.data() + at;
    probe.hi = hi_.data() + at;
    probe.found = partners_.data() + at;
    probe.max_pairs = kBlock;
    probe.lane = lane_;
    pairs_.own.clear();
    pairs_.other.clear();
    Work work;
    const std::size_t served = probed(driver, step.other, probe, work);
    count.compared += work.units();
    std::size_t pair = 0;
    for (std::size_t end = at + served; at < end; ++at) {
      Found found = group[at].partial;
      found.members |= std::uint32_t{1} << step.other;
      for (std::uint32_t left = partners_[at]; left > 0; --left, ++pair) {
        const Seq row = pairs_.other[pair];
        if (!matches(group[at].partial, driver, step.other, row, count)) continue;
        found.rows[step.other] = row;
        found_.push_back(found);
      }
    }
    if (found_.size() >= kBlock) check_and_emit(step, emit);
  }
}

std::size_t Prober::probed(const Driver& driver, std::size_t other, const ProbeRun& probe, Work& work) {
  try {
    return driver.link->index->probe(probe, pairs_, work);
  } catch (const PairError& error) {
    explain(driver.own, other, error);
  }
}

// Says which rows it was, by the numbers under which they were pushed.
void Prober::explain(std::size_t own, std::size_t other, const PairError& error) const {
  const auto row = [this](std::size_t stream, Seq number) {
    return "row " + std::to_string(number) + " of '" + run_->config->streams[stream].name + "'";
  };
  throw Error(std::string("where: ") + error.what() + " (for " + row(own, error.own) + ", " +
              row(other, error.other) + ")");
}

bool Prober::matches(const Found& partial, const Driver& driver, std::size_t other, Seq row,
                     StepCount& count) const {
  const SliceStore& store = *run_->store;
  for (std::size_t own = 0; own < run_->streams(); ++own) {
    if (!has(partial.members, own)) continue;
    for (const SliceStore::TermLink& link : store.links(own, other)) {
      if (&link == driver.link) continue;
      ++count.compared;
      try {
        if (!store.holds(link, partial.rows[own], row)) return false;
      } catch (const PairError& error) {
        explain(own, other, error);
      }
    }
  }
  return true;
}

void Prober::check_and_emit(const Step& step, const Emit& emit) {
  const std::uint32_t after = step.members | std::uint32_t{1} << step.other;
  for (std::size_t check = 0; check < run_->config->checks.size() && !found_.empty(); ++check) {
    std::uint32_t needed = 0;
    for (const std::size_t stream : run_->config->checks[check]) needed |= std::uint32_t{1} << stream;
    if ((needed & after) != needed || (needed & step.members) == needed) continue;
    keep_.assign(found_.size(), 0);
    (*counts_)[step.members][step.other].compared += found_.size();
    (*run_->check)(check, found_, keep_.data());
    std::size_t kept = 0;
    for (std::size_t at = 0; at < found_.size(); ++at) {
      if (keep_[at] != 0) found_[kept++] = found_[at];
    }
    found_.resize(kept);
  }
  (*counts_)[step.members][step.other].kept += found_.size();
  if (run_->visits != nullptr) tally_matches(step);
  for (const Found& found : found_) emit(found);
  found_.clear();
}

}  // namespace watersmeet
