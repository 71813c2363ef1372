#include "watersmeet/tuple/arrow_view.h"

#include <gtest/gtest.h>

#include "tuple/arrow_column.h"
#include "watersmeet/base/errors.h"

namespace watersmeet::testing {
namespace {

TEST(ArrowView, integers_of_every_width_are_read_with_their_sign) {
  EXPECT_EQ(column_of<std::int8_t>("c", {-1})->view().integer(0), -1);
  EXPECT_EQ(column_of<std::uint8_t>("C", {255})->view().integer(0), 255);
  EXPECT_EQ(column_of<std::int16_t>("s", {-300})->view().integer(0), -300);
  EXPECT_EQ(column_of<std::uint16_t>("S", {65535})->view().integer(0), 65535);
  EXPECT_EQ(column_of<std::int32_t>("i", {-70000})->view().integer(0), -70000);
  EXPECT_EQ(column_of<std::uint32_t>("I", {4'000'000'000U})->view().integer(0), 4'000'000'000);
  EXPECT_EQ(column_of<std::int64_t>("l", {INT64_MIN})->view().integer(0), INT64_MIN);
  EXPECT_EQ(column_of<std::int64_t>("tsu:UTC", {5})->view().integer(0), 5);
  EXPECT_EQ(column_of<std::int32_t>("tdD", {5})->view().integer(0), 5);
}

TEST(ArrowView, a_slice_starts_at_its_offset) {
  const auto column = column_of<std::int64_t>("l", {1, 2, 3, 4});
  column->nulls({2}).slice(1, 3);
  const ArrowView view = column->view();
  EXPECT_EQ(view.length(), 3);
  EXPECT_EQ(view.integer(0), 2);
  EXPECT_FALSE(view.is_null(0));
  EXPECT_TRUE(view.is_null(1));
}

TEST(ArrowView, bools_are_bits) {
  const auto column = column_of<std::uint8_t>("b", {0b10110});
  column->slice(1, 4);
  const ArrowView view = column->view();
  EXPECT_EQ(view.integer(0), 1);
  EXPECT_EQ(view.integer(2), 0);
  EXPECT_EQ(view.integer(3), 1);
}

TEST(ArrowView, strings_and_fixed_bytes_are_read_by_their_edges) {
  EXPECT_EQ(strings_of({"ab", "", "c"})->view().bytes(2), "c");
  EXPECT_EQ(strings_of({"ab", "", "c"})->view().bytes(1), "");
  ArrowColumn fixed("w:2", 2, {{'a', 'b', 'c', 'd'}});
  EXPECT_EQ(fixed.view().bytes(1), "cd");
  ArrowColumn decimal("d:10,2", 1, {std::vector<char>(16, 1)});
  EXPECT_EQ(decimal.view().bytes(0).size(), 16U);
}

TEST(ArrowView, lists_give_the_edges_of_their_items) {
  const auto items = column_of<std::int64_t>("l", {1, 2, 3});
  const auto lists = lists_of({0, 2, 2, 3}, *items);
  const ArrowView view = lists->view();
  EXPECT_EQ(view.list_begin(1), view.list_end(1));
  EXPECT_EQ(view.child().integer(view.list_begin(2)), 3);
  ArrowColumn fixed("+w:3", 1);
  fixed.child(*items);
  EXPECT_EQ(fixed.view().list_end(0), 3);
}

TEST(ArrowView, what_cannot_be_read_is_a_schema_error) {
  EXPECT_THROW((void)column_of<std::int64_t>("+r", {1})->view(), SchemaError);
  EXPECT_THROW((void)ArrowColumn("l", 1).view(), SchemaError);
  EXPECT_THROW((void)ArrowColumn("w:x", 1, {{'a'}}).view(), SchemaError);
  EXPECT_THROW((void)ArrowColumn("+l", 1, {std::vector<char>(8)}).view(), SchemaError);
  const auto column = column_of<std::int64_t>("l", {1});
  EXPECT_THROW((void)ArrowView(column->schema(), column->array(), 1, 1), SchemaError);
  EXPECT_THROW((void)strings_of({"a"})->view().integer(0), SchemaError);
  column->array().offset = -1;
  EXPECT_THROW((void)column->view(), SchemaError);
}

TEST(ArrowView, offsets_that_leave_the_items_are_a_schema_error) {
  const auto items = column_of<std::int64_t>("l", {1, 2, 3});
  EXPECT_THROW((void)lists_of({0, 4}, *items)->view(), SchemaError);
  EXPECT_THROW((void)lists_of({0, 2, 1}, *items)->view(), SchemaError);
  ArrowColumn fixed("+w:2", 2);
  fixed.child(*items);
  EXPECT_THROW((void)fixed.view(), SchemaError);
}

}  // namespace
}  // namespace watersmeet::testing
