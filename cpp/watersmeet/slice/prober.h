// Extends partial results by the rows of one window: the innermost loop of every topology.
//
// Requests are collected and served together, those of one step in one run over an index: keys are looked up
// with prefetches, and vectors compared in tiles. Where a check outside the core has its say, candidates are
// asked for in blocks, since such a call costs far more than a pair.
// Invariants
//   (1) Every extension asked for that satisfies all terms and checks among its members is handed out exactly
//   once, by the next settle().
// Threads    one per worker; each has a lane of its own.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "watersmeet/base/errors.h"
#include "watersmeet/slice/cycle.h"

namespace watersmeet {

class Prober {
 public:
  explicit Prober(std::size_t lane) : lane_(lane), counts_(std::make_unique<Counts>()) {}

  // Before a run; counts go on.
  void begin(const Run& run);

  // Asks for `partial`, extended by rows [first, last) of `other`.
  void ask(const Found& partial, std::size_t other, Seq first, Seq last);
  [[nodiscard]] bool has_requests() const { return !requests_.empty(); }
  // Enough to be served now.
  [[nodiscard]] bool is_full() const { return requests_.size() >= kMostRequests || due_ >= kMostDue; }
  void clear();

  // Serves all requests, and hands out what they found.
  using Emit = std::function<void(const Found& found)>;
  void settle(const Emit& emit);

  // Where rows look at some cells only: pairs of this run by direction, own * streams + other.
  [[nodiscard]] const std::vector<DirectionTally>& tallies() const { return tallies_; }

  // By members' bits, then by stream.
  using Counts = std::array<std::array<StepCount, kMostStreams>, std::size_t{1} << kMostStreams>;
  [[nodiscard]] const Counts& counts() const { return *counts_; }

 private:
  static constexpr std::size_t kMostRequests = 512;
  static constexpr std::uint64_t kMostDue = std::uint64_t{1} << 22;
  static constexpr std::size_t kBlock = 1 << 15;  // candidates per check

  struct Request {
    Found partial;
    std::uint8_t other = 0;
    Seq first = 0;
    Seq last = 0;
  };
  // Requests by rows of one stream, of equal members, to one window.
  struct Step {
    std::size_t stream = 0;
    std::uint32_t members = 0;
    std::size_t other = 0;
    [[nodiscard]] bool operator==(const Step&) const = default;
  };
  // The term whose index finds the partners of a step, seen by the member `own`.
  struct Driver {
    std::size_t own = 0;
    const SliceStore::TermLink* link = nullptr;
  };

  void add_request(const Found& partial, std::size_t other, Seq first, Seq last);
  // Asks for the parts of [first, last) that the row's plan, or chance, has it visit.
  void ask_selectively(const Found& partial, std::size_t other, Seq first, Seq last);
  // Notes in which cells the rows kept lie.
  void tally_matches(const Step& step);
  [[nodiscard]] Step step_of(const Request& request) const;
  [[nodiscard]] Driver driver_of(const Step& step) const;
  // Cuts [first, last) to the rows of `other` that are in reach of all members, whichever of them is newer
  // (SPEC H5).
  void narrow(const Found& partial, std::size_t other, Seq& first, Seq& last) const;
  void serve(const Step& step, const std::vector<Request>& group, const Emit& emit);
  void serve_by_index(const Step& step, const Driver& driver, const std::vector<Request>& group,
                      const Emit& emit);
  void serve_by_scan(const Step& step, const std::vector<Request>& group, const Emit& emit);
  [[nodiscard]] std::size_t probed(const Driver& driver, std::size_t other, const ProbeRun& probe,
                                   Work& work);
  [[noreturn]] void explain(std::size_t own, std::size_t other, const PairError& error) const;
  // Whether all terms but the driver's hold between the members and a row.
  [[nodiscard]] bool matches(const Found& partial, const Driver& driver, std::size_t other, Seq row,
                             StepCount& count) const;
  // Hands out those of found_ that pass the checks that `step` makes decidable.
  void check_and_emit(const Step& step, const Emit& emit);

  const std::size_t lane_;
  const Run* run_ = nullptr;
  std::vector<Request> requests_;
  std::uint64_t due_ = 0;
  std::unique_ptr<Counts> counts_;
  std::vector<DirectionTally> tallies_;
  // Scratch memory of settle().
  std::vector<Found> found_;
  std::vector<std::uint8_t> keep_;
  std::vector<Seq> rows_, lo_, hi_;
  std::vector<std::uint32_t> partners_;  // per request
  Pairs pairs_;
};

}  // namespace watersmeet
