#include "watersmeet/base/sliding_array.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace watersmeet {
namespace {

TEST(SlidingArray, starts_empty_and_keeps_the_position_it_was_reset_to) {
  SlidingArray<int> array;
  EXPECT_TRUE(array.empty());
  array.reset(100);
  array.push_back(7);
  EXPECT_EQ(array.begin(), 100U);
  EXPECT_EQ(array[100], 7);
}

// Against a deque and the position of its front, through every way to change it.
TEST(SlidingArray, differential_agrees_with_a_deque) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    SlidingArray<std::uint64_t> array;
    std::deque<std::uint64_t> model;
    std::uint64_t begin = 0;
    for (int step = 0; step < 400; ++step) {
      switch (random() % 5) {
        case 0:
          array.push_back(random() % 100);
          model.push_back(array[array.end() - 1]);
          break;
        case 1: {
          std::vector<std::uint64_t> values(random() % 200, random());
          array.append(values.data(), values.size());
          model.insert(model.end(), values.begin(), values.end());
          break;
        }
        case 2: {
          const std::uint64_t dropped = random() % (model.size() + 1);
          array.drop_front_to(begin + dropped);
          model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(dropped));
          begin += dropped;
          break;
        }
        case 3: {
          const std::uint64_t kept = model.size() - random() % (model.size() / 4 + 1);
          array.truncate_to(begin + kept);
          model.resize(kept);
          break;
        }
        default:
          array.append_copies(3, 5);
          model.insert(model.end(), 5, 3);
      }
      ASSERT_EQ(array.begin(), begin);
      ASSERT_EQ(array.size(), model.size());
      ASSERT_TRUE(std::equal(model.begin(), model.end(), array.at(begin)));
    }
  }
}

TEST(SlidingArray, a_steady_window_needs_a_bounded_multiple_of_its_size) {
  SlidingArray<std::uint32_t> array;
  for (std::uint32_t row = 0; row < 1'000'000; ++row) {
    array.push_back(row);
    if (row >= 10'000) array.drop_front_to(row - 10'000);
  }
  EXPECT_LE(array.bytes(), 4 * 10'001 * sizeof(std::uint32_t));
}

TEST(SlidingArray, a_window_that_shrinks_gives_memory_back) {
  SlidingArray<std::uint64_t> array;
  array.append_copies(1, 1'000'000);
  const std::size_t large = array.bytes();
  array.drop_front_to(array.end() - 10);
  for (int row = 0; row < 2'000'000; ++row) {
    array.push_back(2);
    array.drop_front_to(array.end() - 10);
  }
  EXPECT_LT(array.bytes(), large / 100);
}

}  // namespace
}  // namespace watersmeet
