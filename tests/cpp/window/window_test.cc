#include "watersmeet/window/window.h"

#include <gtest/gtest.h>

#include <limits>

namespace watersmeet {
namespace {

Window window_of(Duration basic_span, const std::vector<Timestamp>& times) {
  Window window(basic_span);
  window.columns.emplace_back(KeyColumn{});
  for (const Timestamp ts : times) {
    const Seq first = window.end();
    window.timestamps.push_back(ts);
    window.joinable.push_back(1);
    std::get<KeyColumn>(window.columns[0]).words.push_back(static_cast<std::uint64_t>(ts));
    window.close_append(first);
  }
  return window;
}

std::vector<Seq> starts_of(const Window& window) {
  std::vector<Seq> starts;
  for (const BasicWindow& basic_window : window.basic_windows()) starts.push_back(basic_window.first);
  return starts;
}

TEST(Window, rows_are_found_by_time) {
  const Window window = window_of(0, {1, 3, 3, 7});
  EXPECT_EQ(window.lower_bound(3), 1U);
  EXPECT_EQ(window.upper_bound(3), 3U);
  EXPECT_EQ(window.lower_bound(8), window.end());
  EXPECT_EQ(window.lower_bound(kMinTimestamp), 0U);
}

TEST(Window, without_a_span_all_rows_are_one_basic_window) {
  EXPECT_EQ(starts_of(window_of(0, {1, 1000, 1'000'000})), (std::vector<Seq>{0}));
}

TEST(Window, basic_windows_cut_time_into_equal_spans) {
  // Spans of 10 from the first timestamp, 5: [5, 15), [15, 25), nothing, [35, 45).
  const Window window = window_of(10, {5, 14, 15, 24, 36, 44});
  EXPECT_EQ(starts_of(window), (std::vector<Seq>{0, 2, 4}));
  EXPECT_EQ(window.basic_windows()[2].start, 35);
}

TEST(Window, a_batch_is_cut_like_single_rows) {
  Window window(10);
  for (const Timestamp ts : {5, 14, 15, 24, 36, 44}) {
    window.timestamps.push_back(ts);
    window.joinable.push_back(1);
  }
  window.close_append(0);
  EXPECT_EQ(starts_of(window), (std::vector<Seq>{0, 2, 4}));
}

TEST(Window, timestamps_at_the_ends_of_the_range_do_not_overflow) {
  const Window window = window_of(10, {kMinTimestamp, -1, kMaxTimestamp});
  EXPECT_EQ(starts_of(window), (std::vector<Seq>{0, 1, 2}));
  EXPECT_EQ(window.upper_bound(kMaxTimestamp), window.end());
}

TEST(Window, dropping_rows_drops_whole_basic_windows_and_trims_one) {
  Window window = window_of(10, {5, 14, 15, 24, 36});
  window.drop_before(3);
  EXPECT_EQ(starts_of(window), (std::vector<Seq>{3, 4}));
  EXPECT_EQ(window.begin(), 3U);
  window.drop_before(5);
  EXPECT_TRUE(window.basic_windows().empty());
}

TEST(Window, truncation_undoes_an_append) {
  Window window = window_of(10, {5, 14});
  const auto before = starts_of(window);
  const Seq end = window.end();
  for (const Timestamp ts : {15, 36}) {
    window.timestamps.push_back(ts);
    window.joinable.push_back(1);
    std::get<KeyColumn>(window.columns[0]).words.push_back(1);
  }
  window.close_append(end);
  window.truncate(end);
  EXPECT_EQ(starts_of(window), before);
  EXPECT_EQ(window.end(), end);
  EXPECT_EQ(std::get<KeyColumn>(window.columns[0]).words.end(), end);
}

TEST(Window, a_set_column_keeps_items_of_live_rows_only) {
  SetColumn column;
  column.weighted = true;
  for (const std::vector<Code>& set : {std::vector<Code>{1, 2}, {}, {3}, {4, 5, 6}}) {
    column.starts.push_back(column.items.end());
    column.squares.push_back(0);
    for (const Code item : set) {
      column.items.push_back(item);
      column.weights.push_back(1);
    }
  }
  column.drop_front_to(2);
  EXPECT_EQ(column.items.size(), 4U);
  column.truncate_to(3);
  EXPECT_EQ(column.items.size(), 1U);
  EXPECT_EQ(column.set(2)[0], 3U);
  EXPECT_EQ(column.weights.size(), 1U);
}

}  // namespace
}  // namespace watersmeet
