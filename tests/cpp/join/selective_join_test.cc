// The selective join without Python: random keyed streams under budgets, of time and of rows, scored or not,
// sampled by cells or by probes; changes rolled back, snapshots restored and damaged; cells, drop weights and
// counters by hand.
#include "watersmeet/join/selective_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "support/arrow_batch.h"
#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

using Pair = std::pair<RowId, RowId>;

struct Row {
  Timestamp ts;
  std::int64_t key;
};

struct Scene {
  std::array<std::vector<Row>, kSides> rows;
  SelectiveConfig config;
};

[[nodiscard]] Scene draw(std::mt19937_64& random, double units_per_second) {
  Scene scene;
  for (auto& rows : scene.rows) {
    Timestamp ts = 0;
    const std::size_t count = 20 + random() % 150;
    for (std::size_t row = 0; row < count; ++row) {
      ts += static_cast<Timestamp>(random() % 40);
      rows.push_back({ts, static_cast<std::int64_t>(random() % 5)});
    }
  }
  SelectiveConfig& config = scene.config;
  config.terms.push_back({Term{.kind = TermKind::kEqual}, Coding::kWord, {1, 1}, "equal(key)"});
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    config.streams[stream].name = stream == 0 ? "left" : "right";
    config.streams[stream].time_column = "ts";
    config.streams[stream].index = random() % 2 == 0 ? IndexKind::kScan : IndexKind::kHash;
    config.cell_spans[stream] = 50;
    config.cells[stream] = 7;
    if (random() % 3 != 0) continue;
    config.streams[stream].window_rows = 30;
    config.cell_spans[stream] = 5;
  }
  config.lower = config.streams[1].window_rows.has_value() ? 0 : -300;
  config.upper = config.streams[0].window_rows.has_value() ? 0 : 300;
  config.seconds_per_tick = 1e-3;
  config.units_per_second = units_per_second;
  config.input_buffer_s = 0.1;
  config.control_period_s = 0.3;
  config.ordered = random() % 2 == 0;
  config.guarded = random() % 4 != 0;
  config.eases_door = random() % 3 == 0;
  config.scored = random() % 2 == 0;
  config.samples_cells = config.scored || random() % 2 == 0;
  config.least_sample_share = 0.05;
  config.seed = random();
  return scene;
}

// In (timestamp, stream) order, each row with those of the other stream that its window still holds.
[[nodiscard]] std::vector<Pair> brute_force(const Scene& scene) {
  std::vector<Pair> pairs;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const std::size_t other = 1 - stream;
    const auto& count = scene.config.streams[other].window_rows;
    for (RowId own = 0; own < scene.rows[stream].size(); ++own) {
      const Row& row = scene.rows[stream][own];
      const auto is_before = [&](const Row& partner) {
        return partner.ts < row.ts || (partner.ts == row.ts && other == 0);
      };
      const auto end = std::partition_point(scene.rows[other].begin(), scene.rows[other].end(), is_before);
      const auto seen = static_cast<RowId>(end - scene.rows[other].begin());
      for (RowId at = 0; at < seen; ++at) {
        const Row& partner = scene.rows[other][at];
        const bool is_in = count.has_value() ? at + *count >= seen : row.ts - partner.ts <= 300;
        if (!is_in || partner.key != row.key) continue;
        pairs.emplace_back(stream == 0 ? own : at, stream == 0 ? at : own);
      }
    }
  }
  std::sort(pairs.begin(), pairs.end());
  return pairs;
}

void begin_rows(SelectiveJoin& join, std::size_t stream, const std::vector<Row>& rows, std::size_t first,
                std::size_t last) {
  std::vector<std::optional<std::int64_t>> times;
  std::vector<std::optional<std::int64_t>> keys;
  for (std::size_t row = first; row < last; ++row) {
    times.push_back(rows[row].ts);
    keys.push_back(rows[row].key);
  }
  testing::ArrowBatch batch(last - first);
  batch.add(times).add(keys);
  join.begin_push(stream, batch.schema(), batch.array(), std::nullopt, nullptr);
}

// A policy of the test's own: at every control time half of a window, from the oldest cell, and a threshold.
void control(SelectiveJoin& join, const Period& period) {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const CellTally& tally = period.directions[stream].tally;
    for (std::size_t cell = 0; cell < tally.due.size(); ++cell) {
      ASSERT_LE(tally.comparisons[cell], tally.due[cell]);
      ASSERT_LE(tally.matches[cell], tally.comparisons[cell]);
      ASSERT_LE(tally.full_matches[cell], tally.full_comparisons[cell]);
    }
    DirectionPlan plan;
    plan.order.resize(tally.due.size());
    std::iota(plan.order.rbegin(), plan.order.rend(), 0);
    plan.fractions = {0.5};
    plan.sample_share = 0.1;
    plan.keep_share = join.config().eases_door ? 0.7 : 1;
    plan.threshold = stream == 0 ? 0.2 : -1;
    join.set_plan(stream, plan);
  }
}

void complete(SelectiveJoin& join, bool plans, std::vector<Pair>& out) {
  for (;;) {
    const SelectiveJoin::Stop stop = join.run(7, 50);
    join.accept(nullptr);
    if (stop == SelectiveJoin::Stop::kDone) break;
    if (stop != SelectiveJoin::Stop::kControl) continue;
    const Period period = join.take_period();
    if (plans) control(join, period);
  }
  Released released;
  join.commit(released);
  for (std::size_t at = 0; at < released.left.size(); ++at)
    out.emplace_back(released.left[at], released.right[at]);
}

[[nodiscard]] std::string bytes_of(const SelectiveJoin& join) {
  ByteWriter writer;
  join.save(writer);
  return writer.bytes();
}

// Pushes the scene in pieces of random sizes. `disturb`: each piece is first begun, run a little and rolled
// back; then the join is replaced by its restored snapshot.
[[nodiscard]] std::vector<Pair> play(const Scene& scene, std::mt19937_64& random, bool plans, bool disturb) {
  auto join = std::make_unique<SelectiveJoin>(scene.config);
  std::vector<Pair> out;
  std::array<std::size_t, kSides> next = {};
  while (next[0] < scene.rows[0].size() || next[1] < scene.rows[1].size()) {
    const std::size_t stream = random() % kSides;
    const std::size_t last = std::min(scene.rows[stream].size(), next[stream] + random() % 20);
    if (disturb) {
      const std::string before = bytes_of(*join);
      begin_rows(*join, stream, scene.rows[stream], next[stream], last);
      if (join->run(5, 100) == SelectiveJoin::Stop::kControl) {
        join->accept(nullptr);
        const Period period = join->take_period();
        if (plans) control(*join, period);
        (void)join->run(3, 50);
      }
      join->roll_back();
      EXPECT_EQ(bytes_of(*join), before);
      auto twin = std::make_unique<SelectiveJoin>(scene.config);
      ByteReader reader(before);
      twin->load(reader);
      join = std::move(twin);
    }
    begin_rows(*join, stream, scene.rows[stream], next[stream], last);
    complete(*join, plans, out);
    next[stream] = last;
  }
  join->begin_finish();
  complete(*join, plans, out);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    EXPECT_EQ(join->waiting(stream), 0U);
    EXPECT_LE(join->direction(stream).done, join->direction(stream).due);
    const CellTally& tally = join->tally(stream);
    EXPECT_EQ(std::accumulate(tally.due.begin(), tally.due.end(), std::uint64_t{0}),
              join->direction(stream).due);
    EXPECT_EQ(std::accumulate(tally.comparisons.begin(), tally.comparisons.end(), std::uint64_t{0}),
              join->direction(stream).done);
  }
  EXPECT_EQ(join->results(), out.size());
  EXPECT_EQ(join->held(), 0U);
  return out;
}

[[nodiscard]] Timestamp time_of(const Scene& scene, const Pair& pair) {
  return std::max(scene.rows[0][pair.first].ts, scene.rows[1][pair.second].ts);
}

TEST(SelectiveJoin, oracle_gives_the_exact_join_when_there_is_plenty) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    Scene scene = draw(random, 1e15);
    scene.config.eases_door = false;
    std::vector<Pair> found = play(scene, random, false, seed % 2 == 0);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, brute_force(scene));
  }
}

TEST(SelectiveJoin, oracle_gives_part_of_the_exact_join_once_and_the_same_for_any_batching) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Scene scene = draw(random, 300 + static_cast<double>(random() % 4000));
    const std::vector<Pair> found = play(scene, random, true, false);
    EXPECT_EQ(play(scene, random, true, true), found);
    const std::vector<Pair> all = brute_force(scene);
    const std::set<Pair> some(found.begin(), found.end());
    EXPECT_EQ(some.size(), found.size());
    EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end()));
    if (!scene.config.ordered) continue;
    EXPECT_TRUE(std::is_sorted(found.begin(), found.end(), [&](const Pair& a, const Pair& b) {
      return std::pair(time_of(scene, a), a) < std::pair(time_of(scene, b), b);
    }));
  }
}

TEST(SelectiveJoin, damaged_snapshot_is_refused) {
  std::mt19937_64 random(3);
  const Scene scene = draw(random, 1000);
  SelectiveJoin join(scene.config);
  std::vector<Pair> out;
  begin_rows(join, 0, scene.rows[0], 0, 15);
  complete(join, false, out);
  const std::string whole = bytes_of(join);
  for (const std::size_t kept : {std::size_t{0}, std::size_t{9}, whole.size() / 2, whole.size() - 1}) {
    SelectiveJoin twin(scene.config);
    ByteReader reader(std::string_view(whole).substr(0, kept));
    EXPECT_THROW(twin.load(reader), SnapshotError);
  }
}

TEST(SelectiveJoin, plan_that_does_not_fit_is_refused) {
  std::mt19937_64 random(4);
  SelectiveJoin join(draw(random, 1000).config);
  DirectionPlan plan = join.plan(0);
  plan.order.back() = 0;
  EXPECT_THROW(join.set_plan(0, plan), ConfigError);
  plan = join.plan(0);
  plan.fractions = {1.5};
  EXPECT_THROW(join.set_plan(0, plan), ConfigError);
}

TEST(CellRing, cuts_rows_by_age_on_a_grid_that_knows_no_batches) {
  CellRing ring(10);
  const std::vector<Timestamp> times = {-3, 0, 9, 10, 11, 35};
  for (Seq row = 0; row < times.size(); ++row) ring.append(times[row], row);
  std::array<CellRows, 4> cells;
  ring.cut(39, 0, 6, cells);
  EXPECT_EQ(cells[0].lo, 5U);  // 35
  EXPECT_EQ(cells[1].size(), 0U);
  EXPECT_EQ(cells[2].lo, 3U);  // 10, 11
  EXPECT_EQ(cells[3].lo, 0U);  // the rest
  EXPECT_EQ(cells[3].hi, 3U);
  ring.drop_before(3);
  ring.truncate(5);
  ring.cut(29, 3, 5, cells);
  EXPECT_EQ(cells[0].size(), 0U);
  EXPECT_EQ(cells[1].size(), 2U);
}

TEST(DropWeights, weighs_results_by_their_rows_and_takes_changes_back) {
  DropWeights drops;
  drops.begin_change();
  for (const double weight : {2.0, 1.0}) drops.append(0, weight);
  for (const double weight : {4.0, 1.0}) drops.append(1, weight);
  drops.add_result(0, 0, 0);  // 8
  drops.add_result(1, 1, 1);  // 1
  EXPECT_EQ(drops.weighed(0), 8);
  EXPECT_EQ(drops.weighed(1), 1);
  // 2 * 1 * 4^2 + 4 * 3 * 2^2 - 2 * 1 * 4 * 3
  EXPECT_EQ(drops.variance(), 32 + 48 - 24);
  drops.begin_change();
  drops.add_result(0, 0, 1);
  EXPECT_EQ(drops.weighed(0), 10);
  drops.roll_back({2, 2});
  EXPECT_EQ(drops.weighed(0), 8);
  EXPECT_EQ(drops.variance(), 56);
  drops.begin_change();
  drops.drop_before(0, 1);
  drops.drop_before(1, 2);
  EXPECT_EQ(drops.variance(), 56);
}

TEST(Door, share_of_rows_that_found_room_follows_what_happens_and_returns_to_one) {
  Door door;
  EXPECT_EQ(door.offer(true), 1);
  double share = 1;
  for (int row = 0; row < 1000; ++row) share = door.offer(row % 2 == 0);
  EXPECT_NEAR(share, 0.5, 0.02);
  for (int row = 0; row < 1000; ++row) share = door.offer(true);
  EXPECT_EQ(share, 1);
}

}  // namespace
}  // namespace watersmeet
