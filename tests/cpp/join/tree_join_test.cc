// The tree of joins without Python: random streams and trees against every combination looked at one by one;
// changes that are rolled back, trees that are changed, allowances.
#include "watersmeet/join/tree_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "support/arrow_batch.h"

namespace watersmeet {
namespace {

using Combination = std::vector<Seq>;

struct Row {
  Timestamp ts;
  std::int64_t key;
};

struct Scene {
  TreeConfig config;
  std::vector<std::vector<Row>> rows;
};

[[nodiscard]] std::vector<TreeInputs> draw_tree(std::size_t streams, std::mt19937_64& random) {
  std::vector<std::size_t> parts;
  for (std::size_t stream = 0; stream < streams; ++stream) parts.push_back(stream);
  std::vector<TreeInputs> joins;
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), random);
    joins.push_back({parts[parts.size() - 1], parts[parts.size() - 2]});
    parts.resize(parts.size() - 2);
    parts.push_back(streams + joins.size() - 1);
  }
  return joins;
}

// A chain of equal keys, so that every tree has joins with a predicate and joins without.
[[nodiscard]] Scene draw(std::mt19937_64& random) {
  Scene scene;
  const std::size_t streams = 2 + random() % 3;
  for (std::size_t stream = 0; stream < streams; ++stream) {
    TreeStream config;
    config.name = std::string(1, static_cast<char>('A' + stream));
    config.time_column = "ts";
    config.window = static_cast<Wide>(random() % 8);
    if (random() % 3 == 0) config.window_rows = 1 + random() % 5;
    if (random() % 4 == 0) config.freshness = static_cast<Duration>(random() % 6);
    scene.config.streams.push_back(config);
    if (stream > 0) {
      TermConfig term{Term{.kind = TermKind::kEqual}, Coding::kWord, {1, 1}, "equal(key)"};
      scene.config.pairs.push_back({{stream - 1, stream}, {term}, false});
    }
    std::vector<Row> rows;
    Timestamp ts = 0;
    const std::size_t count = random() % 25;
    for (std::size_t row = 0; row < count; ++row) {
      ts += static_cast<Timestamp>(random() % 3);
      rows.push_back({ts, static_cast<std::int64_t>(random() % 3)});
    }
    scene.rows.push_back(rows);
  }
  scene.config.joins = draw_tree(streams, random);
  scene.config.cycle = 4;
  return scene;
}

[[nodiscard]] bool alive(const TreeStream& stream, const std::vector<Row>& rows, const std::vector<Seq>& seen,
                         Seq row, Timestamp ts) {
  const Timestamp age = ts - rows[row].ts;
  if (stream.freshness.has_value() && age > *stream.freshness) return false;
  if (!stream.window_rows.has_value()) return Wide{age} <= stream.window;
  return row + *stream.window_rows >= seen.size();
}

void combine(const Scene& scene, const std::vector<std::vector<Seq>>& choices, Combination& chosen,
             std::set<Combination>& found) {
  const std::size_t stream = chosen.size();
  if (stream == choices.size()) {
    found.insert(chosen);
    return;
  }
  for (const Seq row : choices[stream]) {
    if (stream > 0 && scene.rows[stream - 1][chosen.back()].key != scene.rows[stream][row].key) continue;
    chosen.push_back(row);
    combine(scene, choices, chosen, found);
    chosen.pop_back();
  }
}

[[nodiscard]] std::set<Combination> expected(const Scene& scene) {
  std::vector<std::tuple<Timestamp, std::size_t, Seq>> order;
  for (std::size_t stream = 0; stream < scene.rows.size(); ++stream) {
    for (Seq row = 0; row < scene.rows[stream].size(); ++row)
      order.emplace_back(scene.rows[stream][row].ts, stream, row);
  }
  std::sort(order.begin(), order.end());
  std::vector<std::vector<Seq>> seen(scene.rows.size());
  std::set<Combination> found;
  for (const auto& [ts, stream, row] : order) {
    std::vector<std::vector<Seq>> choices(scene.rows.size());
    for (std::size_t other = 0; other < scene.rows.size(); ++other) {
      if (other == stream) {
        choices[other] = {row};
        continue;
      }
      for (const Seq candidate : seen[other]) {
        if (alive(scene.config.streams[other], scene.rows[other], seen[other], candidate, ts)) {
          choices[other].push_back(candidate);
        }
      }
    }
    Combination chosen;
    combine(scene, choices, chosen, found);
    seen[stream].push_back(row);
  }
  return found;
}

class Player {
 public:
  Player(const Scene& scene, std::mt19937_64& random) : scene_(scene), random_(random), join_(scene.config) {}

  [[nodiscard]] TreeJoin& join() { return join_; }

  // `switching`: rows are processed as they come, or by time, drawn anew before some pushes.
  std::vector<Combination> play(bool undo, bool change_trees, bool switching = false) {
    if (switching) join_.set_synchronised(false);
    std::vector<std::size_t> next(scene_.rows.size(), 0);
    for (std::size_t left = total(); left > 0;) {
      const std::size_t stream = random_() % next.size();
      const std::size_t count =
          std::min<std::size_t>(random_() % 7, scene_.rows[stream].size() - next[stream]);
      if (switching && random_() % 5 == 0) join_.set_synchronised(random_() % 2 == 0);
      if (undo && random_() % 3 == 0) {
        push(stream, next[stream], count);
        join_.roll_back();
      }
      push(stream, next[stream], count);
      take();
      next[stream] += count;
      left -= count;
      if (change_trees && random_() % 4 == 0) join_.set_tree(draw_tree(next.size(), random_), nullptr);
    }
    join_.begin();
    join_.finish();
    while (join_.process_slice(std::nullopt, nullptr)) {
    }
    take();
    return found_;
  }

 private:
  [[nodiscard]] std::size_t total() const {
    std::size_t rows = 0;
    for (const auto& each : scene_.rows) rows += each.size();
    return rows;
  }
  void push(std::size_t stream, std::size_t first, std::size_t count) {
    std::vector<std::optional<std::int64_t>> times;
    std::vector<std::optional<std::int64_t>> keys;
    for (std::size_t at = first; at < first + count; ++at) {
      times.emplace_back(scene_.rows[stream][at].ts);
      keys.emplace_back(scene_.rows[stream][at].key);
    }
    testing::ArrowBatch batch(count);
    batch.add(times);
    if (stream > 0) batch.add(keys);
    if (stream + 1 < scene_.rows.size()) batch.add(keys);
    join_.begin();
    join_.push(stream, batch.schema(), batch.array());
    while (join_.process_slice(std::nullopt, nullptr)) {
    }
  }
  void take() {
    const auto [columns, times] = join_.commit();
    ASSERT_EQ(times.size(), columns[0].size());
    for (std::size_t at = 0; at < columns[0].size(); ++at) {
      Combination combination;
      Timestamp newest = 0;
      for (std::size_t stream = 0; stream < columns.size(); ++stream) {
        combination.push_back(columns[stream][at]);
        newest = std::max(newest, scene_.rows[stream][columns[stream][at]].ts);
      }
      ASSERT_EQ(times[at], newest);
      ASSERT_TRUE(!low_.has_value() || newest >= *low_) << "older than was promised";
      found_.push_back(combination);
    }
    low_ = join_.low();
  }

  const Scene& scene_;
  std::mt19937_64& random_;
  TreeJoin join_;
  std::vector<Combination> found_;
  std::optional<Timestamp> low_;
};

void expect_exact(const Scene& scene, std::vector<Combination> found, unsigned seed) {
  std::sort(found.begin(), found.end());
  ASSERT_TRUE(std::adjacent_find(found.begin(), found.end()) == found.end())
      << "seed " << seed << ": repeated";
  const auto answer = expected(scene);
  ASSERT_EQ(found, std::vector<Combination>(answer.begin(), answer.end())) << "seed " << seed;
}

TEST(TreeJoin, OracleAnyTreeEqualsTheDefinition) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    const Scene scene = draw(random);
    expect_exact(scene, Player(scene, random).play(false, false), seed);
  }
}

TEST(TreeJoin, AChangeThatIsRolledBackLeavesNoTrace) {
  for (unsigned seed = 300; seed < 500; ++seed) {
    std::mt19937_64 random(seed);
    const Scene scene = draw(random);
    expect_exact(scene, Player(scene, random).play(true, false), seed);
  }
}

TEST(TreeJoin, AnotherTreeInBetweenLosesAndRepeatsNothing) {
  for (unsigned seed = 500; seed < 700; ++seed) {
    std::mt19937_64 random(seed);
    const Scene scene = draw(random);
    expect_exact(scene, Player(scene, random).play(true, true), seed);
  }
}

TEST(TreeJoin, OracleRowsProcessedAsTheyComeOrInTurnGiveTheSameAnswer) {
  for (unsigned seed = 1000; seed < 2000; ++seed) {
    std::mt19937_64 random(seed);
    Scene scene = draw(random);
    if (seed % 4 != 0) {
      for (TreeStream& stream : scene.config.streams) stream.window_rows.reset();
    }
    expect_exact(scene, Player(scene, random).play(true, seed % 3 == 0, true), seed);
  }
}

TEST(TreeJoin, WithAllowancesTheResultIsPartOfTheAnswerAndProbesKeepToThem) {
  for (unsigned seed = 700; seed < 800; ++seed) {
    std::mt19937_64 random(seed);
    const Scene scene = draw(random);
    Player player(scene, random);
    player.join().set_allowances(std::vector<double>(2 * scene.config.joins.size(), 0.75));
    const auto found = player.play(true, false);
    const auto answer = expected(scene);
    for (const Combination& combination : found) ASSERT_TRUE(answer.contains(combination)) << "seed " << seed;
    ASSERT_EQ(std::set<Combination>(found.begin(), found.end()).size(), found.size());
    for (const auto& joint : player.join().joints()) {
      for (const HalfJoin& half : joint->halves) {
        ASSERT_LE(half.counts.looks, half.counts.rows);
        ASSERT_EQ(half.counts.cells, kCells * half.counts.looks);
        ASSERT_LE(static_cast<double>(half.counts.looks), 0.75 * (60.0 / 4 + 1) + 8);
      }
    }
  }
}

TEST(Allowance, FractionsAddUpToWholeProbesOverCycles) {
  Allowance allowance;
  ASSERT_TRUE(allowance.take(0));
  allowance.set(0.25, 10);
  int taken = 0;
  for (std::int64_t cycle = 0; cycle < 100; ++cycle) {
    for (int row = 0; row < 5; ++row) taken += allowance.take(cycle) ? 1 : 0;
  }
  EXPECT_EQ(taken, 25);
}

TEST(Allowance, WhatIsNotUsedIsKeptForSomeCyclesOnly) {
  Allowance allowance;
  allowance.set(2, 3);
  ASSERT_TRUE(allowance.take(0));
  int taken = 0;
  while (allowance.take(1000)) ++taken;
  EXPECT_EQ(taken, 6);
}

TEST(Allowance, ItIsPlentifulOnceSomeOfItWillSoonBeTooOld) {
  Allowance allowance;
  EXPECT_FALSE(allowance.is_plentiful());  // unlimited: nothing is kept
  allowance.set(10, 2);
  (void)allowance.move_to(0);
  EXPECT_FALSE(allowance.is_plentiful());  // a cycle's own, of two
  (void)allowance.take_parts(0, 4, 1);
  (void)allowance.move_to(1);
  EXPECT_TRUE(allowance.is_plentiful());
  (void)allowance.take_parts(1, 2, 1);
  EXPECT_FALSE(allowance.is_plentiful());
}

TEST(Ages, QuantilesAreAtMostAnEighthTooLarge) {
  Ages ages;
  for (Duration age = 1; age <= 10'000; ++age) ages.add(age);
  EXPECT_EQ(ages.largest(), 10'000U);
  for (const double share : {0.1, 0.5, 0.9, 0.99, 1.0}) {
    const double exact = share * 10'000;
    EXPECT_GE(static_cast<double>(ages.quantile(share)), exact);
    EXPECT_LE(static_cast<double>(ages.quantile(share)), exact * 1.125 + 1);
  }
}

}  // namespace
}  // namespace watersmeet
