#include "watersmeet/base/lanes.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace watersmeet {
namespace {

TEST(LanesTest, EveryLaneDoesItsPartOfEveryTask) {
  Lanes lanes(4);
  std::vector<int> done(4, 0);
  for (int round = 0; round < 500; ++round) {
    const auto until =
        std::chrono::steady_clock::now() + std::chrono::microseconds(round % 100 == 0 ? 500 : 0);
    while (std::chrono::steady_clock::now() < until) std::this_thread::yield();  // helpers fall asleep
    lanes.run([&](std::size_t lane) { ++done[lane]; });
    EXPECT_EQ(done, std::vector<int>(4, round + 1));
  }
}

TEST(LanesTest, SharesCoverAllAndDoNotMeet) {
  for (const std::size_t count : {0UL, 1UL, 3UL, 10UL, 1001UL}) {
    const Lanes lanes(3);
    std::vector<int> taken(count, 0);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      const auto [first, last] = lanes.share(count, lane);
      for (std::size_t at = first; at < last; ++at) ++taken[at];
    }
    EXPECT_EQ(std::accumulate(taken.begin(), taken.end(), std::size_t{0}), count);
  }
}

TEST(LanesTest, TheLowestLanesErrorIsThrownAfterAllHaveEnded) {
  Lanes lanes(3);
  std::vector<int> done(3, 0);
  const auto task = [&](std::size_t lane) {
    ++done[lane];
    if (lane > 0) throw std::runtime_error("lane " + std::to_string(lane));
  };
  try {
    lanes.run(task);
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_EQ(std::string(error.what()), "lane 1");
  }
  EXPECT_EQ(done, std::vector<int>(3, 1));
  lanes.run([&](std::size_t lane) { ++done[lane]; });
  EXPECT_EQ(done, std::vector<int>(3, 2));
}

}  // namespace
}  // namespace watersmeet
