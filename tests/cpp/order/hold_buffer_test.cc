#include "watersmeet/order/hold_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace watersmeet {
namespace {

[[nodiscard]] std::vector<Result> drawn(std::mt19937_64& random, std::size_t count, Timestamp from) {
  std::vector<Result> results;
  for (std::size_t at = 0; at < count; ++at) {
    results.push_back({from + static_cast<Timestamp>(random() % 20), random() % 50, random() % 50});
  }
  return results;
}

[[nodiscard]] bool same(const std::vector<Result>& a, const std::vector<Result>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Result& x, const Result& y) { return !(x < y) && !(y < x); });
}

TEST(HoldBuffer, OracleReleasesWhatASortedListWould) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    HoldBuffer hold;
    std::vector<Result> model;
    std::vector<Result> wanted;
    std::vector<Result> got;
    Timestamp bound = 0;
    for (int step = 0; step < 30; ++step) {
      const std::vector<Result> results = drawn(random, random() % 8, bound);
      model.insert(model.end(), results.begin(), results.end());
      hold.add(results);
      bound += static_cast<Timestamp>(random() % 10);
      std::sort(model.begin(), model.end());
      const auto edge = std::find_if(model.begin(), model.end(), [&](const Result& r) { return r.ts >= bound; });
      wanted.insert(wanted.end(), model.begin(), edge);
      model.erase(model.begin(), edge);
      hold.release_before(bound, got);
      ASSERT_EQ(hold.size(), model.size());
      if (random() % 5 == 0) {  // a restored buffer goes on as the first would
        ByteWriter writer;
        hold.save(writer);
        ByteReader reader(writer.bytes());
        HoldBuffer restored;
        restored.load(reader);
        hold = std::move(restored);
      }
    }
    hold.release_all(got);
    wanted.insert(wanted.end(), model.begin(), model.end());
    ASSERT_TRUE(same(got, wanted)) << "seed " << seed;
    ASSERT_TRUE(hold.empty());
  }
}

TEST(HoldBuffer, KnowsTheFirstRowStillHeld) {
  HoldBuffer hold;
  EXPECT_EQ(hold.first_row(true), kNoRow);
  hold.add({{5, 7, 3}, {1, 9, 2}});
  hold.add({{2, 8, kNoRow}});
  EXPECT_EQ(hold.first_row(true), 7U);
  EXPECT_EQ(hold.first_row(false), 2U);
  std::vector<Result> out;
  hold.release_before(2, out);
  EXPECT_EQ(hold.first_row(false), 3U);
}

}  // namespace
}  // namespace watersmeet
