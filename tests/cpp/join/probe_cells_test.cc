#include "watersmeet/join/probe_cells.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>

namespace watersmeet {
namespace {

CellPlan plan(double fraction, std::uint32_t full_every) {
  std::array<std::uint8_t, kCells> order{};
  std::iota(order.rbegin(), order.rend(), std::uint8_t{0});
  return CellPlan(order, fraction, full_every);
}

TEST(CellPlan, FractionsAddUpOverRows) {
  CellPlan half = plan(0.5 / kCells, 0);
  EXPECT_EQ(half.next_cells(), 0U);
  EXPECT_EQ(half.next_cells(), 1U);
}

TEST(CellPlan, ARowLooksAtEverythingInTimeHoweverOftenThePlanChanges) {
  CellPlan now = plan(0.25, 4);
  std::size_t looks_at_everything = 0;
  for (int row = 0; row < 12; ++row) {
    if (now.next_cells() == kCells) ++looks_at_everything;
    now.change_to(plan(0.125, 4));
  }
  EXPECT_EQ(looks_at_everything, 3U);
}

TEST(CellPlan, AnotherOrderIsInForceAtOnceAndFractionsGoOn) {
  CellPlan now;
  EXPECT_EQ(now.chosen(1), 1U);
  now = plan(0.5 / kCells, 0);
  EXPECT_EQ(now.next_cells(), 0U);
  now.change_to(plan(0.5 / kCells, 0));
  EXPECT_EQ(now.chosen(1), 1U << (kCells - 1));
  EXPECT_EQ(now.next_cells(), 1U);
}

}  // namespace
}  // namespace watersmeet
