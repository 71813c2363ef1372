#include "watersmeet/predicate/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace watersmeet {
namespace {

SetColumn column_of(const std::vector<std::vector<Code>>& sets) {
  SetColumn column;
  for (const auto& set : sets) {
    column.starts.push_back(column.items.end());
    column.items.append(set.data(), set.size());
  }
  return column;
}

SetColumn weighted(const std::vector<Code>& items, const std::vector<double>& weights) {
  SetColumn column = column_of({items});
  column.weighted = true;
  column.weights.append(weights.data(), weights.size());
  double squares = 0;
  for (const double weight : weights) squares += weight * weight;
  column.squares.push_back(squares);
  return column;
}

bool holds(const Term& term, const std::vector<Code>& left, const std::vector<Code>& right) {
  const SetColumn one = column_of({left});
  const SetColumn two = column_of({right});
  const bool forward = satisfies_set(term, one, 0, two, 0, true);
  EXPECT_EQ(satisfies_set(term, two, 0, one, 0, false), forward);
  return forward;
}

TEST(Verify, set_predicates_mean_what_they_say) {
  EXPECT_TRUE(holds({.kind = TermKind::kOverlap, .at_least = 2}, {1, 2, 3}, {2, 3, 4}));
  EXPECT_FALSE(holds({.kind = TermKind::kOverlap, .at_least = 3}, {1, 2, 3}, {2, 3, 4}));
  EXPECT_TRUE(holds({.kind = TermKind::kSubset}, {2}, {1, 2}));
  EXPECT_FALSE(holds({.kind = TermKind::kSubset}, {1, 2}, {2}));
  EXPECT_TRUE(holds({.kind = TermKind::kSuperset}, {1, 2}, {2}));
  EXPECT_TRUE(holds({.kind = TermKind::kSameSet}, {1, 2}, {1, 2}));
  EXPECT_FALSE(holds({.kind = TermKind::kSameSet}, {1, 2}, {1, 3}));
  EXPECT_TRUE(holds({.kind = TermKind::kJaccard, .at_least = 0.5}, {1, 2, 3}, {2, 3, 4}));
  EXPECT_FALSE(holds({.kind = TermKind::kJaccard, .at_least = 0.51}, {1, 2, 3}, {2, 3, 4}));
}

TEST(Verify, empty_sets_overlap_with_nothing_and_are_within_everything) {
  EXPECT_FALSE(holds({.kind = TermKind::kOverlap, .at_least = 1}, {}, {}));
  EXPECT_TRUE(holds({.kind = TermKind::kSubset}, {}, {1}));
  EXPECT_TRUE(holds({.kind = TermKind::kSubset}, {}, {}));
  EXPECT_TRUE(holds({.kind = TermKind::kSuperset}, {1}, {}));
  EXPECT_TRUE(holds({.kind = TermKind::kSameSet}, {}, {}));
  EXPECT_FALSE(holds({.kind = TermKind::kJaccard, .at_least = 0}, {}, {}));
}

TEST(Verify, least_overlap_never_exceeds_what_a_match_shares) {
  for (std::size_t own = 0; own < 12; ++own) {
    for (std::size_t other = 0; other < 12; ++other) {
      for (std::size_t shared = 0; shared <= std::min(own, other); ++shared) {
        for (const bool own_is_left : {true, false}) {
          for (int kind = static_cast<int>(TermKind::kOverlap); kind <= static_cast<int>(TermKind::kJaccard);
               ++kind) {
            for (const double at_least : {0.0, 0.3, 0.6, 1.0, 2.5, 4.0, 1e300}) {
              const Term term{.kind = static_cast<TermKind>(kind), .at_least = at_least};
              if (!accepts_overlap(term, shared, own_is_left ? own : other, own_is_left ? other : own))
                continue;
              EXPECT_LE(least_overlap(term, own, own_is_left), shared);
            }
          }
        }
      }
    }
  }
}

TEST(Verify, differential_shared_items_are_counted_for_all_ratios_of_sizes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 400; ++round) {
    const auto draw = [&random](std::size_t size) {
      std::vector<Code> items(size);
      for (Code& item : items) item = static_cast<Code>(random() % 3000);
      std::sort(items.begin(), items.end());
      items.erase(std::unique(items.begin(), items.end()), items.end());
      return items;
    };
    const auto one = draw(random() % 10);
    const auto two = draw(random() % 2000);
    std::vector<Code> shared;
    std::set_intersection(one.begin(), one.end(), two.begin(), two.end(), std::back_inserter(shared));
    EXPECT_EQ(count_shared(one, two), shared.size());
    EXPECT_EQ(count_shared(two, one), shared.size());
  }
}

TEST(Verify, a_dot_product_does_not_depend_on_the_order_of_items) {
  // 0.1 added ten times is below 1 in one order of rounding and not in another.
  const Term term{.kind = TermKind::kDot, .at_least = 1.0};
  std::vector<double> weights(10, 0.1);
  weights[0] = 1e-17;
  weights.push_back(0.1);
  std::vector<Code> items(weights.size());
  for (std::size_t at = 0; at < items.size(); ++at) items[at] = static_cast<Code>(at);
  const SetColumn ones = weighted(items, std::vector<double>(items.size(), 1.0));
  const bool forward = satisfies_weighted(term, weighted(items, weights), 0, ones, 0);
  std::reverse(weights.begin(), weights.end());
  EXPECT_EQ(satisfies_weighted(term, weighted(items, weights), 0, ones, 0), forward);
}

TEST(Verify, cosine_of_parallel_sets_is_one_and_of_nothing_is_no_match) {
  const Term term{.kind = TermKind::kCosine, .at_least = 1.0};
  EXPECT_TRUE(satisfies_weighted(term, weighted({1, 2}, {3, 4}), 0, weighted({1, 2}, {3, 4}), 0));
  EXPECT_FALSE(satisfies_weighted(term, weighted({1, 2}, {3, 4}), 0, weighted({1, 2}, {4, 3}), 0));
  EXPECT_FALSE(satisfies_weighted({.kind = TermKind::kCosine, .at_least = -1}, weighted({}, {}), 0,
                                  weighted({1}, {1}), 0));
}

TEST(Verify, bands_reach_across_the_whole_range_of_integers) {
  const Term widest{.kind = TermKind::kBand, .within_integer = UINT64_MAX};
  EXPECT_TRUE(accepts_band(widest, INT64_MIN, INT64_MAX));
  const Term narrower{.kind = TermKind::kBand, .within_integer = UINT64_MAX - 1};
  EXPECT_FALSE(accepts_band(narrower, INT64_MIN, INT64_MAX));
  EXPECT_TRUE(accepts_band({.kind = TermKind::kBand, .within_real = 0.5, .real = true}, 1.0, 1.5));
}

}  // namespace
}  // namespace watersmeet
