#include "watersmeet/tuple/payload.h"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <random>
#include <vector>

#include "support/arrow_batch.h"
#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

using testing::ArrowBatch;
using Values = std::vector<std::optional<std::int64_t>>;

// Column `column` of the batch in `out`, whose values are int64.
Values column_of(ArrowOut& out, std::size_t column) {
  const ArrowArray& array = *out.slot()->children[column];
  const auto* bits = static_cast<const std::uint8_t*>(array.buffers[0]);
  Values values;
  for (std::int64_t row = 0; row < array.length; ++row) {
    std::int64_t value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(array.buffers[1]) + row * 8, 8);
    const bool valid = bits == nullptr || ((bits[row >> 3] >> (row & 7)) & 1) != 0;
    values.push_back(valid ? std::optional(value) : std::nullopt);
  }
  return values;
}

Values gathered(const Payload& payload, const std::vector<std::int64_t>& rows, std::size_t column,
                bool may_miss) {
  ArrowOut out;
  out.begin(rows.size(), payload.columns());
  payload.gather(rows, may_miss, out);
  return column_of(out, column);
}

void append(Payload& payload, const Values& one, const Values& two) {
  ArrowBatch batch(one.size());
  batch.add(one).add(two);
  payload.append(batch.array());
}

TEST(Payload, RowsComeBackInTheOrderAskedFor) {
  Payload payload({8, 8}, 0);
  append(payload, {1, 2}, {10, 20});
  append(payload, {3}, {30});
  EXPECT_EQ(gathered(payload, {2, 0, 0, 1}, 0, false), (Values{3, 1, 1, 2}));
  EXPECT_EQ(gathered(payload, {2, 0, 0, 1}, 1, false), (Values{30, 10, 10, 20}));
}

TEST(Payload, NullsAndMissingRowsAreNull) {
  Payload payload({8, 8}, 0);
  append(payload, {1, 2}, {10, 20});
  append(payload, {std::nullopt, 4}, {30, std::nullopt});
  EXPECT_EQ(gathered(payload, {3, 2, -1, 0}, 0, true), (Values{4, std::nullopt, std::nullopt, 1}));
  EXPECT_EQ(gathered(payload, {3, 2, -1, 0}, 1, true), (Values{std::nullopt, 30, std::nullopt, 10}));
}

TEST(Payload, ARowThatIsNotKeptIsAnError) {
  Payload payload({8, 8}, 5);
  append(payload, {1}, {2});
  EXPECT_EQ(gathered(payload, {5}, 1, false), (Values{2}));
  EXPECT_THROW((void)gathered(payload, {6}, 0, false), SchemaError);
  EXPECT_THROW((void)gathered(payload, {-1}, 0, false), SchemaError);
}

TEST(Payload, WhatWasTakenBackCanBeTakenAgainWithOtherNulls) {
  Payload payload({8, 8}, 0);
  append(payload, {1}, {10});
  append(payload, {std::nullopt}, {std::nullopt});
  payload.truncate(1);
  append(payload, {2}, {20});
  EXPECT_EQ(gathered(payload, {1, 0}, 0, false), (Values{2, 1}));
  EXPECT_EQ(gathered(payload, {1, 0}, 1, false), (Values{20, 10}));
}

TEST(Payload, ColumnsOfAnotherNumberAreRefusedAndNothingIsTaken) {
  Payload payload({8}, 0);
  ArrowBatch batch(1);
  batch.add(Values{1}).add(Values{2});
  EXPECT_THROW(payload.append(batch.array()), SchemaError);
  EXPECT_THROW((void)gathered(payload, {0}, 0, false), SchemaError);
  EXPECT_THROW(Payload({3}, 0), SchemaError);
}

TEST(Payload, MemoryIsGivenBackAsRowsAreDropped) {
  Payload payload({8, 8}, 0);
  const std::size_t rows = 10'000;
  std::size_t most = 0;
  for (std::int64_t start = 0; start < 4'000'000; start += static_cast<std::int64_t>(rows)) {
    append(payload, Values(rows, start), Values(rows, -start));
    payload.drop_before(start);
    most = std::max(most, payload.bytes());
    EXPECT_EQ(gathered(payload, {start}, 1, false), (Values{-start}));
  }
  EXPECT_LT(most, std::size_t{8} << 20);
}

TEST(Payload, DifferentialRandomBatchesAndRowsAgreeWithPlainVectors) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 10; ++round) {
    Payload payload({8, 8}, 0);
    Values one;
    Values two;
    std::int64_t kept = 0;
    for (int step = 0; step < 30; ++step) {
      const std::size_t count = random() % (round < 6 ? 7 : 60'000);
      Values more_one;
      Values more_two;
      for (std::size_t row = 0; row < count; ++row) {
        more_one.push_back(random() % 5 == 0 && round % 2 == 0 ? std::nullopt
                                                               : std::optional(std::int64_t(random())));
        more_two.push_back(std::int64_t(random()));
      }
      if (count > 0) append(payload, more_one, more_two);
      one.insert(one.end(), more_one.begin(), more_one.end());
      two.insert(two.end(), more_two.begin(), more_two.end());
      kept = std::max(kept, static_cast<std::int64_t>(one.size()) - 100'000);
      payload.drop_before(kept);
      std::vector<std::int64_t> rows;
      Values wanted_one;
      Values wanted_two;
      for (int row = 0; row < 300 && !one.empty(); ++row) {
        const bool missing = random() % 9 == 0;
        const auto span = static_cast<std::uint64_t>(static_cast<std::int64_t>(one.size()) - kept);
        const auto place = static_cast<std::size_t>(kept) + (span == 0 ? 0 : random() % span);
        if (span == 0) continue;
        rows.push_back(missing ? -1 : static_cast<std::int64_t>(place));
        wanted_one.push_back(missing ? std::nullopt : one[place]);
        wanted_two.push_back(missing ? std::nullopt : two[place]);
      }
      ASSERT_EQ(gathered(payload, rows, 0, true), wanted_one);
      ASSERT_EQ(gathered(payload, rows, 1, true), wanted_two);
    }
  }
}

// Large batches go past the caches, small ones do not; an odd column is in no pair, and an odd row in no square.
TEST(Payload, DifferentialAnyNumberOfColumnsComesBackWholeAtOnceAndLater) {
  std::mt19937_64 random(11);
  for (std::size_t columns = 1; columns <= 6; ++columns) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{131}, std::size_t{70'001}}) {
      const bool with_nulls = random() % 3 == 0;
      Payload payload(std::vector<std::size_t>(columns, 8), 0);
      std::vector<Values> kept(columns);
      for (int step = 0; step < 2; ++step) {
        ArrowBatch batch(count);
        for (Values& values : kept) {
          const std::size_t before = values.size();
          for (std::size_t row = 0; row < count; ++row) {
            const bool is_null = with_nulls && random() % 4 == 0;
            values.push_back(is_null ? std::nullopt : std::optional(static_cast<std::int64_t>(random())));
          }
          batch.add(Values(values.begin() + static_cast<std::ptrdiff_t>(before), values.end()));
        }
        std::vector<std::int64_t> rows;
        for (std::size_t row = 0; row < count; ++row) {
          for (std::size_t time = random() % 3; time > 0; --time) {
            rows.push_back(payload.end() + static_cast<std::int64_t>(row));
          }
        }
        ArrowOut out;
        out.begin(rows.size(), columns);
        payload.append_and_gather(batch.array(), rows, out);
        for (std::size_t column = 0; column < columns; ++column) {
          Values wanted;
          for (const std::int64_t row : rows) wanted.push_back(kept[column][static_cast<std::size_t>(row)]);
          ASSERT_EQ(column_of(out, column), wanted);
          ASSERT_EQ(gathered(payload, rows, column, false), wanted);
        }
      }
      Values all = kept[0];
      std::vector<std::int64_t> every(all.size());
      for (std::size_t row = 0; row < every.size(); ++row) every[row] = static_cast<std::int64_t>(row);
      ASSERT_EQ(gathered(payload, every, 0, false), all);
    }
  }
}

TEST(Payload, RowsOfAnotherBatchAreRefusedBeforeAnythingIsTaken) {
  Payload payload({8}, 0);
  ArrowBatch batch(1);
  batch.add(Values{1});
  ArrowOut out;
  out.begin(1, 1);
  const std::vector<std::int64_t> rows = {1};
  EXPECT_THROW(payload.append_and_gather(batch.array(), rows, out), SchemaError);
  EXPECT_EQ(payload.end(), 0);
}

TEST(ArrowOut, ABatchThatNobodyTakesIsGivenBack) {
  ArrowOut out;
  out.begin(3, 2);
  (void)out.add(24, true);
  (void)out.add(24, false);
  out.begin(1, 1);
  (void)out.add(8, false);
  EXPECT_EQ(out.slot()->n_children, 1);
  out.drop();
  EXPECT_EQ(out.slot()->release, nullptr);
}

TEST(ArrowOut, ABatchThatWasTakenOutlivesItsSender) {
  ArrowArray taken{};
  {
    ArrowOut out;
    out.begin(1, 1);
    const ArrowOut::Column column = out.add(8, false);
    const std::int64_t value = 42;
    std::memcpy(column.values, &value, 8);
    taken = *out.slot();
    out.slot()->release = nullptr;
  }
  std::int64_t value = 0;
  std::memcpy(&value, taken.children[0]->buffers[1], 8);
  EXPECT_EQ(value, 42);
  taken.release(&taken);
}

}  // namespace
}  // namespace watersmeet
