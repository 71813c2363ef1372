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

[[nodiscard]] bool same(const ResultRows& got, const std::vector<Result>& wanted) {
  if (got.left.size() != wanted.size() || got.right.size() != wanted.size()) return false;
  for (std::size_t at = 0; at < wanted.size(); ++at) {
    if (got.left[at] != wanted[at].left || got.right[at] != wanted[at].right) return false;
  }
  return true;
}

void add(HoldBuffer& hold, std::vector<Result> results) {
  hold.add(results);
  ASSERT_TRUE(results.empty());
}

TEST(HoldBuffer, TrimGivesBackAllButWhatIsHeld) {
  std::mt19937_64 random(7);
  HoldBuffer hold;
  for (int run = 0; run < 6; ++run) add(hold, drawn(random, 1'000, 100 - 10 * run));
  ResultRows released;
  hold.release_before(75, released);
  const std::size_t held = hold.size();
  ASSERT_GT(held, 0U);
  hold.trim();
  EXPECT_EQ(hold.bytes(), held * sizeof(Result));
  add(hold, drawn(random, 100, 200));
  ResultRows rest;
  hold.release_all(rest);
  EXPECT_EQ(rest.left.size(), held + 100);
  hold.trim();
  EXPECT_EQ(hold.bytes(), 0U);
}

TEST(HoldBuffer, OracleReleasesWhatASortedListWould) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    HoldBuffer hold;
    std::vector<Result> model;
    std::vector<Result> wanted;
    ResultRows got;
    Timestamp bound = 0;
    for (int step = 0; step < 30; ++step) {
      const std::vector<Result> results = drawn(random, random() % 8, bound);
      model.insert(model.end(), results.begin(), results.end());
      add(hold, results);
      bound += static_cast<Timestamp>(random() % 10);
      std::sort(model.begin(), model.end());
      const auto edge =
          std::find_if(model.begin(), model.end(), [&](const Result& r) { return r.ts >= bound; });
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
  EXPECT_EQ(hold.first_row(0), kNoRow);
  add(hold, {{5, 7, 3}, {1, 9, 2}});
  add(hold, {{2, 8, kNoRow}});
  EXPECT_EQ(hold.first_row(0), 7U);
  EXPECT_EQ(hold.first_row(1), 2U);
  ResultRows out;
  hold.release_before(2, out);
  EXPECT_EQ(hold.first_row(1), 3U);
  EXPECT_TRUE(hold.holds({7, 3}));
  EXPECT_FALSE(hold.holds({9, 2})) << "it is out";
}

TEST(HoldBuffer, ResultsThatFollowOneAnotherMakeOneRun) {
  HoldBuffer hold;
  for (Timestamp ts = 0; ts < 100; ++ts) add(hold, {{ts, 1, 1}, {ts, 2, 1}});
  EXPECT_EQ(hold.runs(), 1U);
  for (Timestamp ts = 0; ts < 100; ++ts) add(hold, {{ts, 3, 3}, {ts + 100, 1, 0}});
  EXPECT_EQ(hold.size(), 400U);
  ResultRows out;
  hold.release_all(out);
  EXPECT_EQ(hold.runs(), 0U);
  EXPECT_EQ(out.left.size(), 400U);
}

TEST(HoldBuffer, MergesAnyNumberOfRuns) {
  for (std::size_t runs = 1; runs < 40; ++runs) {
    HoldBuffer hold;
    std::vector<Result> model;
    for (std::size_t run = runs; run > 0; --run) {  // each begins before the last one ends
      std::vector<Result> results;
      for (std::size_t at = 0; at < run + runs % 5; ++at) {
        results.push_back({static_cast<Timestamp>(1000 - 7 * (runs - run) + 13 * at), run, at});
      }
      model.insert(model.end(), results.begin(), results.end());
      add(hold, std::move(results));
    }
    std::sort(model.begin(), model.end());
    ResultRows out;
    hold.release_all(out);
    ASSERT_TRUE(same(out, model)) << runs << " runs";
  }
}

TEST(HoldBuffer, CountsTheMemoryOfWhatItHolds) {
  HoldBuffer hold;
  EXPECT_EQ(hold.bytes(), 0U);
  std::vector<Result> many(300'000, Result{1, 2, 3});
  hold.add(many);
  EXPECT_GE(hold.bytes(), 300'000 * sizeof(Result));
  ResultRows out;
  hold.release_all(out);
  EXPECT_LT(hold.bytes(), 100'000 * sizeof(Result)) << "what is let go is given back";
}

}  // namespace
}  // namespace watersmeet
