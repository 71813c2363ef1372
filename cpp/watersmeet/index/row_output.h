// Writes the partners of one row into Pairs, without growing the vectors element by element.
#pragma once

#include <cstddef>
#include <span>

#include "watersmeet/base/types.h"
#include "watersmeet/index/index.h"

namespace watersmeet {

// Adds (own_row, base + offset) for every offset.
inline void add_partners(Pairs& pairs, Seq own_row, Seq base, std::span<const std::uint32_t> offsets) {
  const std::size_t before = pairs.size();
  pairs.own.resize(before + offsets.size(), own_row);
  pairs.other.resize(before + offsets.size());
  Seq* other = pairs.other.data() + before;
  for (std::size_t at = 0; at < offsets.size(); ++at) other[at] = base + offsets[at];
}

// Adds every joinable row of [lo, hi).
inline void add_all_joinable(Pairs& pairs, Seq own_row, const Window& other, Seq lo, Seq hi) {
  for (Seq row = lo; row < hi; ++row) {
    if (other.joinable[row]) pairs.add(own_row, row);
  }
}

// The range of `window` that request `at` may meet, cut to the live rows.
struct LiveRange {
  Seq lo = 0;
  Seq hi = 0;
  [[nodiscard]] bool empty() const { return lo >= hi; }
};

[[nodiscard]] inline LiveRange live_range(const ProbeRun& run, std::size_t at, const Window& window) {
  const Seq lo = run.lo[at] > window.begin() ? run.lo[at] : window.begin();
  const Seq hi = run.hi[at] < window.end() ? run.hi[at] : window.end();
  return {lo, hi};
}

// Serves each request with `probe_row` until the run ends or one of its limits is reached.
// Returns: how many requests were served.
template <class ProbeRow>
std::size_t for_each_request(const ProbeRun& run, const Window& window, Pairs& pairs, Work& work,
                             ProbeRow probe_row) {
  const std::size_t pairs_before = pairs.size();
  const std::uint64_t work_before = work.units();
  for (std::size_t at = 0; at < run.requests; ++at) {
    ++work.probes;
    const std::size_t before = pairs.size();
    const LiveRange range = live_range(run, at, window);
    const Seq row = run.row(at);
    if (!range.empty() && run.own->joinable[row]) probe_row(row, range);
    if (run.found != nullptr) run.found[at] = static_cast<std::uint32_t>(pairs.size() - before);
    if (pairs.size() - pairs_before >= run.max_pairs || work.units() - work_before >= run.max_work)
      return at + 1;
  }
  return run.requests;
}

}  // namespace watersmeet
