#include "watersmeet/join/match_ages.h"

#include <gtest/gtest.h>

namespace watersmeet {
namespace {

TEST(MatchAges, EveryAgeLiesBetweenTheEndsOfItsCell) {
  for (const Wide span : {Wide{1} << 40, Wide{3'600'000'000}, Wide{32 * 1024}}) {
    for (Wide age = 0; age < span; age = age * 9 / 8 + 1) {
      const std::size_t cell = MatchAges::cell(age, span);
      ASSERT_LT(cell, MatchAges::kCells);
      EXPECT_TRUE(cell + 1 == MatchAges::kCells || age <= MatchAges::edge(cell, span));
      EXPECT_TRUE(cell == 0 || age >= MatchAges::edge(cell - 1, span));
    }
  }
}

TEST(MatchAges, CellsEndWhereTheNextBeginsAndTheLastWithTheWindow) {
  const Wide span = 1'000'000;
  for (std::size_t cell = 1; cell < MatchAges::kCells; ++cell) {
    EXPECT_GT(MatchAges::edge(cell, span), MatchAges::edge(cell - 1, span));
  }
  EXPECT_EQ(MatchAges::edge(MatchAges::kCells - 1, span), span);
  EXPECT_EQ(MatchAges::cell(span + 5, span), MatchAges::kCells - 1);
  EXPECT_EQ(MatchAges::cell(-1, span), 0U);
  EXPECT_EQ(MatchAges::cell(3, 0), 0U);
}

}  // namespace
}  // namespace watersmeet
