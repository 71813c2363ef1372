#include "watersmeet/tuple/ingest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tuple/arrow_column.h"
#include "watersmeet/base/errors.h"

namespace watersmeet::testing {
namespace {

TermCoding coding_of(Coding coding) {
  const bool bytes = coding == Coding::kBytes || coding == Coding::kComposite;
  return {coding, std::make_unique<Interner>(bytes)};
}

std::vector<std::uint64_t> keys_of(const ArrowView& view, const TermCoding& coding,
                                   std::vector<std::uint8_t>& joinable) {
  KeyColumn column;
  joinable.assign(static_cast<std::size_t>(view.length()), 1);
  append_keys({view}, coding, column, joinable.data());
  return {column.words.at(0), column.words.at(column.words.end())};
}

TEST(Ingest, times_are_scaled_and_checked) {
  Timestamp out[3];
  EXPECT_EQ(read_times(column_of<std::int64_t>("l", {1, 1, 5})->view(), 1000, 0, out).fault,
            TimeFault::kNone);
  EXPECT_EQ(out[2], 5000);
  const TimeCheck disorder = read_times(column_of<std::int64_t>("l", {4, 3})->view(), 1, 0, out);
  EXPECT_EQ(disorder.fault, TimeFault::kDisorder);
  EXPECT_EQ(disorder.row, 1);
  EXPECT_EQ(disorder.previous, 4);
  EXPECT_EQ(read_times(column_of<std::int64_t>("l", {INT64_MAX})->view(), 2, 0, out).fault,
            TimeFault::kOverflow);
  const auto nulls = column_of<std::int64_t>("l", {1, 2});
  nulls->nulls({1});
  EXPECT_EQ(read_times(nulls->view(), 1, 0, out).fault, TimeFault::kNull);
  EXPECT_THROW((void)read_times(strings_of({"a"})->view(), 1, 0, out), SchemaError);
}

TEST(Ingest, integer_keys_of_any_width_are_the_same_words) {
  std::vector<std::uint8_t> joinable;
  const TermCoding coding{Coding::kWord, nullptr};
  EXPECT_EQ(keys_of(column_of<std::int8_t>("c", {-1, 7})->view(), coding, joinable),
            keys_of(column_of<std::int64_t>("l", {-1, 7})->view(), coding, joinable));
}

TEST(Ingest, a_null_key_is_not_joinable) {
  std::vector<std::uint8_t> joinable;
  const auto column = column_of<std::int64_t>("l", {1, 2});
  column->nulls({0});
  (void)keys_of(column->view(), {Coding::kWord, nullptr}, joinable);
  EXPECT_EQ(joinable, (std::vector<std::uint8_t>{0, 1}));
}

TEST(Ingest, there_is_one_zero_and_one_nan) {
  std::vector<std::uint8_t> joinable;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto words =
      keys_of(column_of<double>("g", {0.0, -0.0, nan, -nan})->view(), {Coding::kReal, nullptr}, joinable);
  EXPECT_EQ(words[0], words[1]);
  EXPECT_EQ(words[2], words[3]);
}

TEST(Ingest, string_keys_are_equal_only_in_full) {
  std::vector<std::uint8_t> joinable;
  const TermCoding coding = coding_of(Coding::kBytes);
  const auto words = keys_of(strings_of({"a", "b", "a", ""})->view(), coding, joinable);
  EXPECT_EQ(words[0], words[2]);
  EXPECT_NE(words[0], words[1]);
  EXPECT_NE(words[3], 0U);
}

TEST(Ingest, composite_keys_do_not_run_into_each_other) {
  const TermCoding coding = coding_of(Coding::kComposite);
  const auto first = strings_of({"a", "ab"});
  const auto second = strings_of({"bc", "c"});
  KeyColumn column;
  std::vector<std::uint8_t> joinable(2, 1);
  append_keys({first->view(), second->view()}, coding, column, joinable.data());
  EXPECT_NE(column.words[0], column.words[1]);
}

TEST(Ingest, released_keys_leave_nothing_behind) {
  const TermCoding coding = coding_of(Coding::kBytes);
  KeyColumn column;
  std::vector<std::uint8_t> joinable(3, 1);
  const auto texts = strings_of({"a", "b", "a"});
  texts->nulls({1});
  append_keys({texts->view()}, coding, column, joinable.data());
  EXPECT_EQ(coding.interner->live(), 1U);
  release_keys(coding, column, 0, 3);
  EXPECT_EQ(coding.interner->live(), 0U);
}

TEST(Ingest, sets_are_sorted_without_repeats_and_without_nulls) {
  const TermCoding coding = coding_of(Coding::kWord);
  const auto items = column_of<std::int64_t>("l", {9, 5, 9, 1, 5, 3});
  items->nulls({3});
  const auto lists = lists_of({0, 3, 3, 6}, *items);
  SetColumn column;
  std::vector<std::uint8_t> joinable(3, 1);
  append_sets(lists->view(), nullptr, coding, column, joinable.data());
  EXPECT_EQ(column.set_size(0), 2U);
  EXPECT_EQ(column.set_size(1), 0U);
  EXPECT_EQ(column.set_size(2), 2U);
  EXPECT_LT(column.set(0)[0], column.set(0)[1]);
  release_sets(coding, column, 0, 3);
  EXPECT_EQ(coding.interner->live(), 0U);
}

TEST(Ingest, a_plain_column_is_a_set_of_one) {
  const TermCoding coding = coding_of(Coding::kBytes);
  SetColumn column;
  std::vector<std::uint8_t> joinable(2, 1);
  append_sets(strings_of({"x", "y"})->view(), nullptr, coding, column, joinable.data());
  EXPECT_EQ(column.set_size(0), 1U);
  EXPECT_NE(column.set(0)[0], column.set(1)[0]);
}

TEST(Ingest, of_repeated_weighted_items_the_first_stays) {
  const TermCoding coding = coding_of(Coding::kWord);
  const auto items = column_of<std::int64_t>("l", {4, 4, 2});
  const auto weights = column_of<double>("g", {3.0, 5.0, 4.0});
  const auto item_lists = lists_of({0, 3}, *items);
  const auto weight_lists = lists_of({0, 3}, *weights);
  SetColumn column;
  column.weighted = true;
  std::vector<std::uint8_t> joinable(1, 1);
  const ArrowView weight_view = weight_lists->view();
  append_sets(item_lists->view(), &weight_view, coding, column, joinable.data());
  EXPECT_EQ(column.set_size(0), 2U);
  EXPECT_EQ(column.squares[0], 25.0);
}

TEST(Ingest, weights_must_be_finite_and_as_many_as_items) {
  const TermCoding coding = coding_of(Coding::kWord);
  const auto items = column_of<std::int64_t>("l", {1, 2});
  const auto weights = column_of<double>("g", {1.0, std::numeric_limits<double>::infinity()});
  const auto item_lists = lists_of({0, 2}, *items);
  const auto weight_lists = lists_of({0, 2}, *weights);
  const auto short_lists = lists_of({0, 1}, *weights);
  for (const ArrowView& view : {weight_lists->view(), short_lists->view()}) {
    SetColumn column;
    column.weighted = true;
    std::vector<std::uint8_t> joinable(1, 1);
    EXPECT_THROW(append_sets(item_lists->view(), &view, coding, column, joinable.data()), SchemaError);
  }
  EXPECT_EQ(coding.interner->live(), 0U);
}

TEST(Ingest, a_nan_number_is_not_joinable) {
  NumberColumn column;
  std::vector<std::uint8_t> joinable(2, 1);
  append_numbers(column_of<double>("g", {std::nan(""), 1.5})->view(), true, column, joinable.data());
  EXPECT_EQ(joinable, (std::vector<std::uint8_t>{0, 1}));
  EXPECT_EQ(column.real(1), 1.5);
}

TEST(Ingest, vectors_come_from_binaries_and_from_lists) {
  ArrowColumn binary("w:3", 2, {{1, 2, 3, 4, 5, 6}});
  const auto items = column_of<std::uint8_t>("C", {1, 2, 3, 4, 5, 6});
  ArrowColumn lists("+w:3", 2);
  lists.child(*items);
  for (const ArrowView& view : {binary.view(), lists.view()}) {
    VectorColumn column(Element::kByte, 3);
    std::vector<std::uint8_t> joinable(2, 1);
    append_vectors(view, column, joinable.data());
    EXPECT_EQ(column.at(1)[2], 6);
    EXPECT_EQ(column.squares[0], 14.0);
  }
}

TEST(Ingest, a_vector_that_is_null_or_not_finite_is_not_joinable) {
  const auto items = column_of<double>("g", {1, 2, std::nan(""), 4, 5, 6});
  ArrowColumn lists("+w:2", 3);
  lists.child(*items).nulls({2});
  VectorColumn column(Element::kReal, 2);
  std::vector<std::uint8_t> joinable(3, 1);
  append_vectors(lists.view(), column, joinable.data());
  EXPECT_EQ(joinable, (std::vector<std::uint8_t>{1, 0, 0}));
  EXPECT_EQ(column.squares.end(), 3U);
  column.truncate_to(1);
  EXPECT_EQ(column.data.size(), 16U);
}

TEST(Ingest, vectors_with_nulls_or_integers_too_large_are_refused) {
  const auto items = column_of<std::int64_t>("l", {1, std::int64_t{1} << 60});
  ArrowColumn lists("+w:2", 1);
  lists.child(*items);
  VectorColumn column(Element::kReal, 2);
  std::vector<std::uint8_t> joinable(1, 1);
  EXPECT_THROW(append_vectors(lists.view(), column, joinable.data()), SchemaError);
  items->nulls({1});
  EXPECT_THROW(append_vectors(lists.view(), column, joinable.data()), SchemaError);
  VectorColumn wider(Element::kReal, 3);
  EXPECT_THROW(append_vectors(lists.view(), wider, joinable.data()), SchemaError);
}

}  // namespace
}  // namespace watersmeet::testing
