#include "watersmeet/slice/visits.h"

#include "watersmeet/slice/cycle.h"

namespace watersmeet {
namespace {

// The finaliser of splitmix64: every bit of the result depends on every bit of the word.
[[nodiscard]] std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
  word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
  return word ^ (word >> 31);
}

void add_each(std::vector<std::uint64_t>& sums, const std::vector<std::uint64_t>& more) {
  for (std::size_t at = 0; at < sums.size(); ++at) sums[at] += more[at];
}

}  // namespace

void DirectionTally::reset(std::size_t cells) {
  for (auto* counts : {&due, &compared, &matches, &sample_compared, &sample_matches})
    counts->assign(cells, 0);
  shed = samples = 0;
}

void DirectionTally::add(const DirectionTally& more) {
  add_each(due, more.due);
  add_each(compared, more.compared);
  add_each(matches, more.matches);
  add_each(sample_compared, more.sample_compared);
  add_each(sample_matches, more.sample_matches);
  shed += more.shed;
  samples += more.samples;
}

void Visits::reset(const std::vector<std::uint32_t>& cells, bool whole_samples, std::uint64_t seed,
                   const std::vector<Seq>& row_bases) {
  starts_.assign(1, 0);
  for (const std::uint32_t count : cells) starts_.push_back(starts_.back() + count);
  visits_.clear();
  shares_.clear();
  row_bases_ = row_bases;
  whole_samples_ = whole_samples;
  seed_ = seed;
}

void Visits::add_cycle() {
  visits_.resize(visits_.size() + starts_.back());
  shares_.resize(shares_.size() + streams(), 0);
}

std::size_t Visits::cell_of(std::size_t cycle, std::size_t other, Seq row) const {
  const auto all = of(cycle, other);
  const auto found =
      std::partition_point(all.begin(), all.end(), [row](const CellVisit& cell) { return cell.lo > row; });
  return static_cast<std::size_t>(found - all.begin());
}

bool Visits::samples(const Found& partial, std::size_t other, std::size_t cell) const {
  const double share = shares_[partial.cycle * streams() + other];
  if (share <= 0) return false;
  std::uint64_t state = mixed(seed_ + 0x9e3779b97f4a7c15 * (other + 1));
  for (std::size_t stream = 0; stream < streams(); ++stream) {
    if ((partial.members >> stream & 1) == 0) continue;
    state = mixed(state + 0x9e3779b97f4a7c15 * (partial.rows[stream] + row_bases_[stream] + 1) + stream);
  }
  if (!whole_samples_) state = mixed(state + 0x9e3779b97f4a7c15 * (cell + 1));
  return static_cast<double>(state >> 11) * 0x1p-53 < share;
}

}  // namespace watersmeet
