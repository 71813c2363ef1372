// The two-way join without Python: random keyed streams against every pair looked at one by one; changes that are
// rolled back; snapshots, whole and damaged.
#include "watersmeet/join/two_way_join.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>

#include "support/arrow_batch.h"

namespace watersmeet {
namespace {

using Pair = std::pair<RowId, RowId>;

struct Row {
  Timestamp ts;
  std::int64_t key;
};

struct Scene {
  std::array<std::vector<Row>, kSides> rows;
  Timestamp window_left;
  Timestamp window_right;
  IndexKind index;
  Order order;
};

[[nodiscard]] Scene draw(std::mt19937_64& random) {
  Scene scene;
  for (auto& rows : scene.rows) {
    Timestamp ts = 0;
    const std::size_t count = random() % 60;
    for (std::size_t row = 0; row < count; ++row) {
      ts += static_cast<Timestamp>(random() % 4);
      rows.push_back({ts, static_cast<std::int64_t>(random() % 5)});
    }
  }
  scene.window_left = static_cast<Timestamp>(random() % 12);
  scene.window_right = static_cast<Timestamp>(random() % 12);
  scene.index = random() % 2 == 0 ? IndexKind::kScan : IndexKind::kHash;
  scene.order = static_cast<Order>(random() % 3);
  return scene;
}

[[nodiscard]] JoinConfig config_of(const Scene& scene) {
  JoinConfig config;
  config.terms.push_back({Term{.kind = TermKind::kEqual}, Coding::kWord, {1, 1}, "equal(key)"});
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    config.streams[stream].name = stream == 0 ? "left" : "right";
    config.streams[stream].time_column = "ts";
    config.streams[stream].index = scene.index;
  }
  config.lower = -scene.window_right;
  config.upper = scene.window_left;
  config.order = scene.order;
  return config;
}

[[nodiscard]] std::vector<Pair> brute_force(const Scene& scene) {
  std::vector<Pair> pairs;
  for (RowId left = 0; left < scene.rows[0].size(); ++left) {
    for (RowId right = 0; right < scene.rows[1].size(); ++right) {
      const Row& a = scene.rows[0][left];
      const Row& b = scene.rows[1][right];
      const Timestamp lag = b.ts - a.ts;
      if (a.key == b.key && -scene.window_right <= lag && lag <= scene.window_left)
        pairs.emplace_back(left, right);
    }
  }
  return pairs;
}

void begin_rows(TwoWayJoin& join, std::size_t stream, const std::vector<Row>& rows, std::size_t first,
                std::size_t last) {
  std::vector<std::optional<std::int64_t>> times;
  std::vector<std::optional<std::int64_t>> keys;
  for (std::size_t row = first; row < last; ++row) {
    times.push_back(rows[row].ts);
    keys.push_back(rows[row].key);
  }
  testing::ArrowBatch batch(last - first);
  batch.add(times).add(keys);
  join.begin_push(stream, batch.schema(), batch.array());
}

void complete(TwoWayJoin& join, std::vector<Pair>& out) {
  Pairs found;
  while (join.probing()) {
    const std::size_t stream = join.probing_stream();
    join.probe(3, 1000, found);
    join.accept(stream, found);
  }
  Released released;
  join.commit(released);
  for (std::size_t at = 0; at < released.left.size(); ++at)
    out.emplace_back(released.left[at], released.right[at]);
}

[[nodiscard]] std::string bytes_of(const TwoWayJoin& join) {
  ByteWriter writer;
  join.save(writer);
  return writer.bytes();
}

// Pushes the scene in random pieces. `disturb`: each piece is first begun, probed a little and rolled back; the
// join is then replaced by its restored snapshot, and a window of it by one with another index.
[[nodiscard]] std::vector<Pair> play(const Scene& scene, std::mt19937_64& random, bool disturb) {
  auto join = std::make_unique<TwoWayJoin>(config_of(scene));
  std::vector<Pair> out;
  std::array<std::size_t, kSides> next = {};
  while (next[0] < scene.rows[0].size() || next[1] < scene.rows[1].size()) {
    std::size_t stream = random() % 2;
    if (next[stream] == scene.rows[stream].size()) stream = 1 - stream;
    const std::size_t last = std::min(scene.rows[stream].size(), next[stream] + 1 + random() % 9);
    if (disturb) {
      const std::string before = bytes_of(*join);
      begin_rows(*join, stream, scene.rows[stream], next[stream], last);
      Pairs found;
      if (join->probing()) join->probe(2, 50, found);
      join->roll_back();
      EXPECT_EQ(bytes_of(*join), before);
      auto restored = std::make_unique<TwoWayJoin>(config_of(scene));
      ByteReader reader(before);
      restored->load(reader);
      EXPECT_EQ(bytes_of(*restored), before);
      join = std::move(restored);
      join->reindex(random() % 2, random() % 2 == 0 ? IndexKind::kScan : IndexKind::kHash, MergeKind::kAuto);
      EXPECT_EQ(bytes_of(*join), before);
    }
    begin_rows(*join, stream, scene.rows[stream], next[stream], last);
    complete(*join, out);
    next[stream] = last;
  }
  join->begin_finish();
  complete(*join, out);
  EXPECT_EQ(join->held(), 0U);
  EXPECT_EQ(join->results(), out.size());
  return out;
}

TEST(TwoWayJoin, OracleFindsEveryPairOnceForAnyBatchingAndOrder) {
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    std::mt19937_64 random(seed);
    const Scene scene = draw(random);
    std::vector<Pair> wanted = brute_force(scene);
    std::vector<Pair> got = play(scene, random, seed % 3 == 0);
    if (scene.order != Order::kNone) {
      const auto key = [&](const Pair& pair) {
        return std::tuple(std::max(scene.rows[0][pair.first].ts, scene.rows[1][pair.second].ts), pair);
      };
      EXPECT_TRUE(std::is_sorted(got.begin(), got.end(),
                                 [&](const Pair& a, const Pair& b) { return key(a) < key(b); }))
          << "seed " << seed;
    }
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    ASSERT_EQ(got, wanted) << "seed " << seed;
  }
}

TEST(TwoWayJoin, RowOutOfOrderIsRefusedAndLeavesNoTrace) {
  std::mt19937_64 random(1);
  Scene scene = draw(random);
  TwoWayJoin join(config_of(scene));
  std::vector<Pair> out;
  begin_rows(join, 0, {{5, 1}, {6, 1}}, 0, 2);
  complete(join, out);
  const std::string before = bytes_of(join);
  EXPECT_THROW(begin_rows(join, 0, {{7, 1}, {9, 1}, {8, 1}}, 0, 3), OrderError);
  EXPECT_EQ(bytes_of(join), before);
}

TEST(TwoWayJoin, DamagedSnapshotBodyNeverDoesMoreThanThrow) {
  std::mt19937_64 random(2);
  const Scene scene = draw(random);
  TwoWayJoin join(config_of(scene));
  std::vector<Pair> out;
  begin_rows(join, 0, scene.rows[0], 0, scene.rows[0].size());
  complete(join, out);
  const std::string whole = bytes_of(join);
  for (int round = 0; round < 3000; ++round) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<char>(1U << (random() % 8));
    if (round % 4 == 0) damaged.resize(random() % damaged.size());
    TwoWayJoin victim(config_of(scene));
    ByteReader reader(damaged);
    try {
      victim.load(reader);
    } catch (const SnapshotError&) {
      continue;  // a flip inside a value can give another whole state: the frame's checksum tells those
    }
  }
}

}  // namespace
}  // namespace watersmeet
