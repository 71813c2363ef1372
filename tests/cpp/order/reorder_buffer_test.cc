#include "watersmeet/order/reorder_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace watersmeet {
namespace {

[[nodiscard]] std::vector<WaitingRow> drain(ReorderBuffer& buffer, std::size_t count) {
  std::vector<WaitingRow> rows;
  for (; rows.size() < count && !buffer.empty(); buffer.take()) rows.push_back(buffer.front());
  return rows;
}

// Every change is tried twice: rolled back first, which must leave no trace, then for good.
TEST(ReorderBuffer, OracleKeepsRowsInOrderAndForgetsWhatIsRolledBack) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    ReorderBuffer buffer;
    std::vector<WaitingRow> model;
    Seq next_row = 0;
    for (int step = 0; step < 30; ++step) {
      std::vector<WaitingRow> rows;
      const std::size_t count = random() % 6;
      for (std::size_t at = 0; at < count; ++at)
        rows.push_back({static_cast<Timestamp>(random() % 40), next_row + at});
      const std::size_t taken = random() % 5;
      const std::size_t split = count == 0 ? 0 : random() % (count + 1);

      buffer.begin();
      buffer.add(std::span(rows).first(split));
      buffer.add(std::span(rows).subspan(split));
      (void)drain(buffer, taken);
      buffer.roll_back();
      ASSERT_EQ(buffer.size(), model.size());

      buffer.begin();
      buffer.add(rows);
      model.insert(model.end(), rows.begin(), rows.end());
      std::sort(model.begin(), model.end());
      const std::vector<WaitingRow> got = drain(buffer, taken);
      buffer.commit();
      for (std::size_t at = 0; at < got.size(); ++at) {
        ASSERT_EQ(got[at].ts, model[at].ts) << "seed " << seed;
        ASSERT_EQ(got[at].row, model[at].row) << "seed " << seed;
      }
      model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(got.size()));
      next_row += count;
      Seq first = next_row;
      for (const WaitingRow& row : model) first = std::min(first, row.row);
      ASSERT_EQ(buffer.first_row(next_row), first);
      ASSERT_EQ(buffer.size(), model.size());
    }
  }
}

TEST(ReorderBuffer, RefusesRowsOfASnapshotThatAreOutOfOrder) {
  for (const bool sorted : {true, false}) {
    ByteWriter writer;
    writer.put<std::uint64_t>(0);
    const WaitingRow rows[] = {{sorted ? 1 : 3, 0}, {2, 1}};
    writer.put_array(rows, 2);
    ByteReader reader(writer.bytes());
    ReorderBuffer buffer;
    if (sorted) {
      buffer.load(reader, 0, 2);
      EXPECT_EQ(buffer.size(), 2U);
    } else {
      EXPECT_THROW(buffer.load(reader, 0, 2), SnapshotError);
    }
  }
}

}  // namespace
}  // namespace watersmeet
