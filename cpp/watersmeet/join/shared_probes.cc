#include "watersmeet/join/shared_probes.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <utility>
#include <vector>

namespace watersmeet {
namespace {

// Below these, one lane is done before the others are awake.
constexpr std::size_t kFewestLookUps = 2048;
constexpr std::size_t kFewestCopies = 8192;
constexpr std::uint64_t kFewestPairs = std::uint64_t{1} << 15;
// Parts per lane: enough that lanes end together though one has other work first. A part costs a few microseconds.
constexpr std::size_t kPartsPerLane = 8;
constexpr std::size_t kFewestLookUpsOfPart = 2048;
constexpr std::size_t kFewestRequestsOfPart = 32;

}  // namespace

bool SharedProbes::pays(const Index& index, std::size_t requests, std::uint64_t due) const {
  if (index.looks_up()) return requests >= kFewestLookUps;
  return requests >= lanes_.size() && due >= kFewestPairs;
}

std::size_t SharedProbes::serve(Index& index, const ProbeRun& run, const Verify& verify, const Beside& beside,
                                Pairs& pairs, Work& work) {
  if (parts_.empty()) parts_.emplace_back().requests = run.requests;
  if (!parts_.front().done) {
    cut_front(index, run, verify, beside);
  } else if (beside) {
    beside();
  }
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
  if (starts.back() < kFewestCopies || parts < lanes_.size()) {
    for (std::size_t part = 0; part < parts; ++part) copy(part);
  } else {
    lanes_.run([&](std::size_t lane) {
      const auto [first, last] = lanes_.share(parts, lane);
      for (std::size_t part = first; part < last; ++part) copy(part);
    });
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

std::size_t SharedProbes::parts_for(const Index& index, std::size_t requests) const {
  const std::size_t fewest = index.looks_up() ? kFewestLookUpsOfPart : kFewestRequestsOfPart;
  return std::clamp(requests / fewest, lanes_.size(), kPartsPerLane * lanes_.size());
}

// The first part becomes several, all done up to their limits.
void SharedProbes::cut_front(Index& index, const ProbeRun& run, const Verify& verify, const Beside& beside) {
  const std::size_t requests = parts_.front().requests;
  ProbeRun all = run;
  all.requests = requests;
  index.prepare(all, lanes_.size());
  std::vector<Part> shares(parts_for(index, requests));
  for (Part& share : shares) share.found = take_spare();
  const auto probe = [&](std::size_t number, std::size_t lane) {
    Part& part = shares[number];
    const std::size_t first = requests * number / shares.size();
    const std::size_t last = requests * (number + 1) / shares.size();
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
    mine.max_pairs = std::max<std::size_t>(1, run.max_pairs / shares.size());
    mine.max_work = std::max<std::uint64_t>(1, run.max_work / shares.size());
    part.served = index.probe(mine, part.found, part.work);
    if (verify) verify(part.found, part.work);
  };
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> errors(shares.size());
  lanes_.run([&](std::size_t lane) {
    if (lane == 0 && beside) beside();  // the helpers may still be waking up
    for (std::size_t number = next.fetch_add(1); number < shares.size(); number = next.fetch_add(1)) {
      try {
        probe(number, lane);
      } catch (...) {
        errors[number] = std::current_exception();
      }
    }
  });
  for (const std::exception_ptr& error : errors) {  // of the first rows, on whichever lane it was
    if (error != nullptr) std::rethrow_exception(error);
  }
  parts_.pop_front();
  for (std::size_t number = shares.size(); number-- > 0;) {
    if (shares[number].requests > 0) {
      parts_.push_front(std::move(shares[number]));
    } else {
      spare_.push_back(std::move(shares[number].found));
    }
  }
}

}  // namespace watersmeet
