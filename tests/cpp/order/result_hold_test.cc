#include "watersmeet/order/result_hold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

using Row = std::vector<std::uint64_t>;  // timestamp, then a row per stream

void add(ResultHold& hold, const std::vector<Row>& results) {
  std::vector<Timestamp> times;
  std::vector<std::vector<RowId>> columns(hold.streams());
  for (const Row& result : results) {
    times.push_back(static_cast<Timestamp>(result[0]));
    for (std::size_t stream = 0; stream < columns.size(); ++stream)
      columns[stream].push_back(result[stream + 1]);
  }
  std::vector<std::span<const RowId>> spans(columns.begin(), columns.end());
  hold.add(times, spans);
}

TEST(ResultHold, OracleReleasesWhatIsOldEnoughByTimeThenRows) {
  for (std::size_t streams = 2; streams <= 8; ++streams) {
    std::mt19937_64 random(streams);
    auto hold = make_result_hold(streams);
    std::vector<Row> held;
    std::uint64_t low = 0;
    for (int step = 0; step < 300; ++step) {
      std::vector<Row> fresh(random() % 8);
      for (Row& result : fresh) {
        result.push_back(low + random() % 20);
        for (std::size_t stream = 0; stream < streams; ++stream) result.push_back(random() % 50);
      }
      add(*hold, fresh);
      held.insert(held.end(), fresh.begin(), fresh.end());
      std::sort(held.begin(), held.end());
      low += random() % 4;
      const RowColumns out = hold->release_before(static_cast<Timestamp>(low));
      const auto end =
          std::find_if(held.begin(), held.end(), [low](const Row& row) { return row[0] >= low; });
      ASSERT_EQ(out[0].size(), static_cast<std::size_t>(end - held.begin()));
      for (std::size_t at = 0; at < out[0].size(); ++at) {
        for (std::size_t stream = 0; stream < streams; ++stream)
          ASSERT_EQ(out[stream][at], held[at][stream + 1]);
      }
      held.erase(held.begin(), end);
      ASSERT_EQ(hold->size(), held.size());
      for (std::size_t stream = 0; stream < streams; ++stream) {
        for (const Row& row : held) ASSERT_LE(hold->first_row(stream), row[stream + 1]);
      }
      if (held.empty()) {
        ASSERT_EQ(hold->first_row(0), kNoRow);
      }
    }
    ByteWriter writer;
    hold->save(writer);
    auto again = make_result_hold(streams);
    ByteReader reader(writer.bytes());
    again->load(reader);
    ASSERT_EQ(again->size(), hold->size());
    ASSERT_EQ(again->release_all(), hold->release_all());
  }
}

TEST(ResultHold, FirstRowGrowsAsResultsLeave) {
  auto hold = make_result_hold(2);
  for (std::uint64_t at = 0; at < 1000; ++at) add(*hold, {{at, at, at}});
  (void)hold->release_before(900);
  EXPECT_EQ(hold->first_row(0), 900U);
  EXPECT_TRUE(hold->holds(std::vector<RowId>{950, 950}));
  EXPECT_FALSE(hold->holds(std::vector<RowId>{950, 951}));
}

TEST(ResultHold, OtherNumbersOfStreamsAreRefused) {
  EXPECT_THROW((void)make_result_hold(1), ConfigError);
  EXPECT_THROW((void)make_result_hold(9), ConfigError);
}

}  // namespace
}  // namespace watersmeet
