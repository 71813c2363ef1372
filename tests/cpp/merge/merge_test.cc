// Every merge against a map from row to count, on lists of every density, with and without bitmaps.
#include "watersmeet/merge/merge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>

namespace watersmeet {
namespace {

// Lists over rows [first, first + rows), and the same as bitmaps.
struct Lists {
  std::vector<std::vector<Position>> positions;
  std::vector<std::vector<std::uint64_t>> bitmaps;
  std::vector<PostingView> views;
  MergeInput input;
};

Lists draw(std::mt19937_64& random, bool with_bitmaps) {
  Lists lists;
  lists.input.first_row = random() % 2 == 0 ? random() % 3000 : (std::uint64_t{1} << 32) - random() % 3000;
  lists.input.rows = static_cast<std::uint32_t>(1 + random() % (random() % 10 == 0 ? 70'000 : 2'000));
  lists.input.ring_rows = 512;
  while (lists.input.ring_rows < lists.input.rows + 1024) lists.input.ring_rows *= 2;
  const std::size_t count = 1 + random() % (random() % 10 == 0 ? 300 : 12);
  lists.input.least = 1 + random() % (count + 1);
  if (random() % 2 == 0) lists.input.least = std::min<std::size_t>(lists.input.least, 3);
  lists.input.exact = random() % 2 == 0;
  for (std::size_t list = 0; list < count; ++list) {
    const double density = std::pow(0.5, static_cast<double>(random() % 9));
    std::bernoulli_distribution holds(density);
    auto& positions = lists.positions.emplace_back();
    auto& bitmap = lists.bitmaps.emplace_back(lists.input.ring_rows / 64);
    const std::uint32_t step = count > 50 ? 37 : 1;
    for (std::uint32_t offset = 0; offset < lists.input.rows; offset += step) {
      if (!holds(random)) continue;
      const std::uint64_t row = lists.input.first_row + offset;
      positions.push_back(static_cast<Position>(row));
      const std::uint64_t slot = row & (lists.input.ring_rows - 1);
      bitmap[slot / 64] |= 1ULL << (slot % 64);
    }
  }
  for (std::size_t list = 0; list < count; ++list) {
    const bool bitmap = with_bitmaps && random() % 2 == 0;
    lists.views.push_back({lists.positions[list].data(), lists.positions[list].size(),
                           bitmap ? lists.bitmaps[list].data() : nullptr});
  }
  lists.input.lists = lists.views;
  return lists;
}

void expect_right(Merge& merge, const Lists& lists) {
  std::map<std::uint32_t, std::uint32_t> counts;
  for (const auto& positions : lists.positions) {
    for (const Position position : positions)
      ++counts[position - static_cast<Position>(lists.input.first_row)];
  }
  std::erase_if(counts, [&](const auto& entry) { return entry.second < lists.input.least; });
  Candidates found;
  found.offsets.push_back(99);  // left over from an earlier run
  merge.run(lists.input, found);
  ASSERT_EQ(found.offsets.size(), counts.size());
  std::size_t at = 0;
  for (const auto& [offset, count] : counts) {
    ASSERT_EQ(found.offsets[at], offset);
    if (lists.input.exact) {
      ASSERT_EQ(found.counts[at], count);
    }
    ++at;
  }
}

void run_cases(std::unique_ptr<Merge> merge, bool with_bitmaps) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const Lists lists = draw(random, with_bitmaps);
    if (with_bitmaps && !fits_bit_slices(lists.views.size(), lists.input.least)) continue;
    expect_right(*merge, lists);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(OracleMerge, heap_merge_counts_right) { run_cases(make_heap_merge(), false); }
TEST(OracleMerge, count_merge_counts_right) { run_cases(make_count_merge(), false); }
TEST(OracleMerge, bitmap_merge_counts_right) { run_cases(make_bitmap_merge(), true); }

TEST(Merge, postings_read_are_those_of_the_views) {
  const std::vector<Position> one{1, 2, 3};
  const std::vector<Position> two{2};
  const std::vector<PostingView> views{{one.data(), 3, nullptr}, {two.data(), 1, nullptr}};
  const MergeInput input{.lists = views, .first_row = 0, .rows = 4, .least = 2, .exact = true};
  Candidates found;
  EXPECT_EQ(make_heap_merge()->run(input, found), 4U);
  EXPECT_EQ(make_count_merge()->run(input, found), 4U);
  EXPECT_EQ(found.offsets, (std::vector<std::uint32_t>{2}));
}

}  // namespace
}  // namespace watersmeet
