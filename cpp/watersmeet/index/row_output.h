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

// The range of `window` that row `at` of the run may meet, cut to the live rows. Empty ranges have first >= second.
struct LiveRange {
  Seq lo = 0;
  Seq hi = 0;
  [[nodiscard]] bool empty() const { return lo >= hi; }
};

[[nodiscard]] inline LiveRange live_range(const ProbeRun& run, Seq row, const Window& window) {
  const std::size_t at = static_cast<std::size_t>(row - run.first);
  const Seq lo = run.lo[at] > window.begin() ? run.lo[at] : window.begin();
  const Seq hi = run.hi[at] < window.end() ? run.hi[at] : window.end();
  return {lo, hi};
}

// Probes each row with `probe_row` until the run ends or one of its limits is reached.
// Returns: the first row not probed.
template <class ProbeRow>
Seq for_each_row(const ProbeRun& run, const Window& window, Pairs& pairs, Work& work, ProbeRow probe_row) {
  const std::size_t pairs_before = pairs.size();
  const std::uint64_t work_before = work.units();
  for (Seq row = run.first; row < run.last; ++row) {
    ++work.probes;
    const LiveRange range = live_range(run, row, window);
    if (!range.empty() && run.own->joinable[row]) probe_row(row, range);
    if (pairs.size() - pairs_before >= run.max_pairs || work.units() - work_before >= run.max_work) return row + 1;
  }
  return run.last;
}

}  // namespace watersmeet
