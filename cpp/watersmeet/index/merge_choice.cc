#include "watersmeet/index/merge_choice.h"

#include <algorithm>
#include <limits>

#include "watersmeet/merge/bit_slices.h"

namespace watersmeet {
namespace {

// Nanoseconds, measured by bench/micro on one machine; only their ratios matter.
constexpr double kPosting = 1.3;      // counted and cleared
constexpr double kVerification = 60;  // of one candidate
constexpr double kBlock = 5;          // 512 rows of counters, read out
constexpr double kBlockOfList = 1.2;  // 512 rows of one bitmap
constexpr double kRaised = 3;         // one posting, added to bit-sliced counters
constexpr double kList = 15;          // cutting a list to its range

constexpr std::size_t kMostTried = 32;  // numbers of lists to skip that are compared

// Rows expected in at least `least` lists, if `postings` fall on `rows` rows at random.
double expected_candidates(double postings, double rows, std::size_t least) {
  double expected = postings;
  // Up to the mean number of lists per row every factor is 1: sets of a million items are not worth a walk.
  const auto sure = static_cast<std::size_t>(postings / std::max(rows, 1.0));
  for (std::size_t count = std::max<std::size_t>(2, sure); count <= least && expected > 1e-3; ++count) {
    expected *= std::min(1.0, postings / (static_cast<double>(count) * rows));
  }
  return expected;
}

double bitmap_cost(const MergeEstimate& estimate) {
  const double blocks = estimate.rows / static_cast<double>(kBlockRows) + 1;
  double rare = 0;
  for (const double postings : estimate.postings.subspan(estimate.popular))
    rare += kRaised * postings + kList;
  return blocks * (kBlock + kBlockOfList * static_cast<double>(estimate.popular)) + rare;
}

}  // namespace

MergeChoice choose_merge(const MergeEstimate& estimate) {
  double rest = 0;
  for (const double postings : estimate.postings) rest += postings;
  MergeChoice best;
  double least_cost = std::numeric_limits<double>::infinity();
  const std::size_t most = estimate.may_skip ? std::min(estimate.least, estimate.postings.size()) : 1;
  const std::size_t step = std::max<std::size_t>(1, most / kMostTried);
  for (std::size_t skipped = 0; skipped < most; skipped += step) {
    const double candidates =
        skipped == 0 ? 0 : expected_candidates(rest, estimate.rows, estimate.least - skipped);
    const double cost = kPosting * rest + kVerification * candidates +
                        kList * static_cast<double>(estimate.postings.size() - skipped);
    if (cost < least_cost) {
      least_cost = cost;
      best.skipped = skipped;
    }
    const std::size_t next = std::min(skipped + step, most);
    for (std::size_t list = skipped; list < next; ++list)
      rest = std::max(0.0, rest - estimate.postings[list]);
  }
  if (estimate.bitmaps_allowed && estimate.popular > 0) best.bitmaps = bitmap_cost(estimate) < least_cost;
  return best;
}

}  // namespace watersmeet
