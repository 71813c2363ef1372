#include "watersmeet/slice/prober.h"

#include <algorithm>
#include <memory>

namespace watersmeet {

Prober::Prober(const Run& run) : run_(run), counts_(std::make_unique<Counts>()) {
  const std::size_t sets = std::size_t{1} << run.streams();
  checks_.resize((std::size_t{1} << kMostStreams) * kMostStreams);
  for (std::uint32_t members = 1; members < sets; ++members) {
    for (std::size_t other = 0; other < run.streams(); ++other) {
      const std::uint32_t after = members | std::uint32_t{1} << other;
      if (after == members) continue;
      for (std::size_t at = 0; at < run.config->checks.size(); ++at) {
        std::uint32_t needed = 0;
        for (const std::size_t stream : run.config->checks[at]) needed |= std::uint32_t{1} << stream;
        const bool now = (needed & after) == needed;
        const bool before = (needed & members) == needed;
        if (now && !before) checks_[members * kMostStreams + other].push_back(at);
      }
    }
  }
}

bool Prober::matches(const Found& partial, std::size_t other, Seq row) const {
  const SliceStore& store = *run_.store;
  if (!store.joinable(other, row)) return false;
  for (std::size_t own = 0; own < run_.streams(); ++own) {
    if ((partial.members >> own & 1) == 0) continue;
    if (!store.matches(own, partial.rows[own], other, row)) return false;
  }
  return true;
}

void Prober::narrow(const Found& partial, std::size_t other, Seq& first, Seq& last) const {
  const SliceConfig& config = *run_.config;
  Timestamp oldest = kMinTimestamp;
  Timestamp newest = kMaxTimestamp;
  for (std::size_t own = 0; own < run_.streams(); ++own) {
    if ((partial.members >> own & 1) == 0) continue;
    const Timestamp ts = run_.store->time(own, partial.rows[own]);
    const Duration edge = config.inclusive ? 0 : 1;
    oldest = std::max(oldest, saturating_add(ts, saturating_negate(config.streams[other].span - edge)));
    newest = std::min(newest, saturating_add(ts, config.streams[own].span - edge));
  }
  const Window& window = run_.store->window(other);
  first = std::max(first, window.lower_bound(oldest));
  last = std::min(last, window.upper_bound(newest));
}

void Prober::ask(std::vector<Found>& group, std::uint32_t before, std::size_t other) {
  for (const std::size_t check : checks_for(before, other)) {
    if (group.empty()) break;
    keep_.assign(group.size(), 0);
    (*run_.check)(check, group, keep_.data());
    std::size_t kept = 0;
    for (std::size_t at = 0; at < group.size(); ++at) {
      if (keep_[at] != 0) group[kept++] = group[at];
    }
    group.resize(kept);
  }
  (*counts_)[before][other].kept += group.size();
}

}  // namespace watersmeet
