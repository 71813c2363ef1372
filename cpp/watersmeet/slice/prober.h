// Extends partial results by the rows of one window: the innermost loop of every topology.
//
// Native terms are decided at once. Where a check outside the core has its say, candidates are collected and
// asked for in blocks, since such a call costs far more than a pair. Invariants
//   (1) Every extension that satisfies all terms and checks among its members is handed out exactly once.
//   (2) Extensions are handed out by probe() or by the next settle().
// Threads    one per worker.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "watersmeet/slice/cycle.h"

namespace watersmeet {

class Prober {
 public:
  explicit Prober(const Run& run);

  // Extends `partial` by rows [first, last) of `other`, taking each `stride`-th row that is `offset` modulo
  // `stride`.
  template <class Emit>
  void probe(const Found& partial, std::size_t other, Seq first, Seq last, Emit emit) {
    probe(partial, other, first, last, 1, 0, emit);
  }
  template <class Emit>
  void probe(const Found& partial, std::size_t other, Seq first, Seq last, std::size_t stride,
             std::size_t offset, Emit emit);
  // Asks for all candidates collected, and hands out those that are kept.
  template <class Emit>
  void settle(Emit emit);

  [[nodiscard]] bool has_candidates() const { return !candidates_.empty(); }
  // Enough to be asked for now.
  [[nodiscard]] bool is_full() const { return candidates_.size() >= kBlock; }
  void clear() { candidates_.clear(); }

  // By members' bits, then by stream.
  using Counts = std::array<std::array<StepCount, kMostStreams>, std::size_t{1} << kMostStreams>;
  [[nodiscard]] const Counts& counts() const { return *counts_; }

 private:
  static constexpr std::size_t kBlock = 1 << 15;

  [[nodiscard]] bool matches(const Found& partial, std::size_t other, Seq row) const;
  // Cuts [first, last) to the rows of `other` that are in reach of all members, whichever of them is newer
  // (SPEC H5).
  void narrow(const Found& partial, std::size_t other, Seq& first, Seq& last) const;
  // The checks that become decidable when `other` joins `members`.
  [[nodiscard]] const std::vector<std::size_t>& checks_for(std::uint32_t members, std::size_t other) const {
    return checks_[members * kMostStreams + other];
  }
  void ask(std::vector<Found>& group, std::uint32_t before, std::size_t other);

  struct Candidate {
    Found found;
    std::uint8_t other = 0;
  };

  const Run& run_;
  std::vector<std::vector<std::size_t>> checks_;
  std::vector<Candidate> candidates_;
  std::vector<std::uint8_t> keep_;
  std::unique_ptr<Counts> counts_;
};

template <class Emit>
void Prober::probe(const Found& partial, std::size_t other, Seq first, Seq last, std::size_t stride,
                   std::size_t offset, Emit emit) {
  if (run_.two_sided) narrow(partial, other, first, last);
  if (first >= last) return;
  const bool asks = !checks_for(partial.members, other).empty();
  StepCount& count = (*counts_)[partial.members][other];
  Found found = partial;
  found.members |= std::uint32_t{1} << other;
  Seq row = first + (offset + stride - first % stride) % stride;
  for (; row < last; row += stride) {
    ++count.compared;
    if (!matches(partial, other, row)) continue;
    found.rows[other] = row;
    if (asks) {
      candidates_.push_back({found, static_cast<std::uint8_t>(other)});
    } else {
      ++count.kept;
      emit(found);
    }
  }
}

template <class Emit>
void Prober::settle(Emit emit) {
  std::vector<Candidate> waiting;
  waiting.swap(candidates_);
  std::vector<Found> group;
  // Candidates of one step are asked for together; steps in order of first appearance.
  std::vector<std::uint8_t> done(waiting.size(), 0);
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    if (done[at] != 0) continue;
    const std::uint32_t members = waiting[at].found.members;
    const std::uint8_t other = waiting[at].other;
    group.clear();
    for (std::size_t like = at; like < waiting.size(); ++like) {
      if (done[like] != 0 || waiting[like].found.members != members || waiting[like].other != other) continue;
      done[like] = 1;
      group.push_back(waiting[like].found);
    }
    ask(group, members & ~(std::uint32_t{1} << other), other);
    for (const Found& found : group) emit(found);
  }
}

}  // namespace watersmeet
