#include "watersmeet/join/shared_probes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace watersmeet {
namespace {

// Below these, one lane is done before the others are awake.
constexpr std::size_t kFewestLookUps = 2048;
constexpr std::size_t kFewestCopies = 8192;
constexpr std::uint64_t kFewestPairs = std::uint64_t{1} << 15;

}  // namespace

bool SharedProbes::pays(const Index& index, std::size_t requests, std::uint64_t due) const {
  if (index.looks_up()) return requests >= kFewestLookUps;
  return requests >= lanes_.size() && due >= kFewestPairs;
}

std::size_t SharedProbes::serve(Index& index, const ProbeRun& run, const Verify& verify, Pairs& pairs,
                                Work& work) {
  if (parts_.empty()) parts_.emplace_back().requests = run.requests;
  if (!parts_.front().done) cut_front(index, run, verify);
  // All parts up to the first that stopped at a limit, and what that one has.
  std::size_t parts = 0;
  std::size_t served = 0;
  for (bool whole = true; whole && parts < parts_.size() && parts_[parts].done; ++parts) {
    served += parts_[parts].served;
    work += parts_[parts].work;
    whole = parts_[parts].served == parts_[parts].requests;
  }
  join_parts(parts, pairs);
  const std::size_t left = parts_[parts - 1].requests - parts_[parts - 1].served;
  for (std::size_t part = 0; part < parts; ++part) {
    spare_.push_back(std::move(parts_.front().found));
    parts_.pop_front();
  }
  if (left > 0) parts_.emplace_front().requests = left;
  return served;
}

// Writes what the first parts have found one after the other.
void SharedProbes::join_parts(std::size_t parts, Pairs& pairs) {
  std::vector<std::size_t> starts = {0};
  for (std::size_t part = 0; part < parts; ++part)
    starts.push_back(starts.back() + parts_[part].found.size());
  pairs.own.resize(starts.back());
  pairs.other.resize(starts.back());
  const auto copy = [&](std::size_t part) {
    const Pairs& found = parts_[part].found;
    std::copy(found.own.begin(), found.own.end(),
              pairs.own.begin() + static_cast<std::ptrdiff_t>(starts[part]));
    std::copy(found.other.begin(), found.other.end(),
              pairs.other.begin() + static_cast<std::ptrdiff_t>(starts[part]));
  };
  if (starts.back() < kFewestCopies || parts != lanes_.size()) {
    for (std::size_t part = 0; part < parts; ++part) copy(part);
  } else {
    lanes_.run(copy);
  }
}

Pairs SharedProbes::take_spare() {
  if (spare_.empty()) return {};
  Pairs pairs = std::move(spare_.back());
  spare_.pop_back();
  pairs.own.clear();
  pairs.other.clear();
  return pairs;
}

void SharedProbes::forget() { parts_.clear(); }

std::size_t SharedProbes::bytes() const {
  std::size_t total = 0;
  for (const Pairs& pairs : spare_) total += (pairs.own.capacity() + pairs.other.capacity()) * sizeof(Seq);
  return total;
}

// The first part becomes one per lane, all done up to their limits.
void SharedProbes::cut_front(Index& index, const ProbeRun& run, const Verify& verify) {
  const std::size_t requests = parts_.front().requests;
  ProbeRun all = run;
  all.requests = requests;
  index.prepare(all, lanes_.size());
  std::vector<Part> shares(lanes_.size());
  for (Part& share : shares) share.found = take_spare();
  lanes_.run([&](std::size_t lane) {
    Part& part = shares[lane];
    const auto [first, last] = lanes_.share(requests, lane);
    part.requests = last - first;
    part.done = true;
    if (part.requests == 0) return;
    ProbeRun mine = run;
    mine.lane = lane;
    mine.requests = part.requests;
    mine.first += first;
    mine.rows = run.rows == nullptr ? nullptr : run.rows + first;
    mine.lo += first;
    mine.hi += first;
    mine.found = run.found == nullptr ? nullptr : run.found + first;
    mine.max_pairs = std::max<std::size_t>(1, run.max_pairs / lanes_.size());
    mine.max_work = std::max<std::uint64_t>(1, run.max_work / lanes_.size());
    part.served = index.probe(mine, part.found, part.work);
    if (verify) verify(part.found, part.work);
  });
  parts_.pop_front();
  for (std::size_t lane = shares.size(); lane-- > 0;) {
    if (shares[lane].requests > 0) {
      parts_.push_front(std::move(shares[lane]));
    } else {
      spare_.push_back(std::move(shares[lane].found));
    }
  }
}

}  // namespace watersmeet
