// The probes of one direction of a change, cut among lanes and given back in the order of their rows.
//
// While rows probe, neither window changes: any lane may serve any stretch of rows, with any index and any
// predicate, and the stretches one after the other are what a single lane would have found. So the answer and
// its order do not depend on the number of lanes. Invariants
//   (1) serve() gives the pairs of a stretch that begins where the one before ended.
//   (2) What lanes found beyond a stretch that stopped at a limit is kept for later calls; it is bounded by the limits
//       of one.
// Stretches are several per lane, taken by whoever is free. So other work of the change, which no probe of this
// direction reads, can go beside them on one lane: entering the batch's own rows in their index.
// Threads    one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "watersmeet/base/lanes.h"
#include "watersmeet/index/index.h"

namespace watersmeet {

class SharedProbes {
 public:
  explicit SharedProbes(std::size_t lanes) : lanes_(lanes) {}

  [[nodiscard]] Lanes& lanes() { return lanes_; }

  // Whether so many requests over so many pairs in all are worth the waking of helpers.
  [[nodiscard]] bool pays(const Index& index, std::size_t requests, std::uint64_t due) const;

  // Drops from `pairs`, from its end, what is no result. Called on any lane.
  using Verify = std::function<void(Pairs& pairs, Work& work)>;

  // Work that goes beside the probes: done once, whole, when serve() returns or throws.
  using Beside = std::function<void()>;

  // Serves the next stretch of a direction's requests, of which `run` are those not given back yet; replaces
  // `pairs`, which are written by all lanes. Returns: how many requests that is.
  [[nodiscard]] std::size_t serve(Index& index, const ProbeRun& run, const Verify& verify,
                                  const Beside& beside, Pairs& pairs, Work& work);
  // True while stretches are kept: serve() has to be called until there are none.
  [[nodiscard]] bool has_kept() const { return !parts_.empty(); }
  void forget();
  [[nodiscard]] std::size_t bytes() const;

 private:
  struct Part {
    std::size_t requests = 0;
    std::size_t served = 0;
    bool done = false;
    Pairs found;
    Work work;
  };

  void cut_front(Index& index, const ProbeRun& run, const Verify& verify, const Beside& beside);
  [[nodiscard]] std::size_t parts_for(const Index& index, std::size_t requests) const;
  void join_parts(std::size_t parts, Pairs& pairs);
  [[nodiscard]] Pairs take_spare();

  Lanes lanes_;
  std::deque<Part> parts_;
  std::vector<Pairs> spare_;  // memory of parts that were given back
};

}  // namespace watersmeet
