#include "watersmeet/slice/boundaries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "slice/streams.h"
#include "watersmeet/slice/slice_join.h"

namespace watersmeet {
namespace {

// Two streams with a row each per unit of time, and windows of 120 rows or of their time; nothing matches.
class Ring {
 public:
  explicit Ring(std::size_t slices, bool counts = true, std::vector<std::size_t> lengths = {0, 0}) {
    SliceConfig config;
    for (std::size_t at = 0; at < 2; ++at) {
      SliceStream stream;
      stream.name = std::string(1, at == 0 ? 'A' : 'B');
      stream.time_column = "ts";
      stream.span = 119;
      if (counts) stream.window_rows = 120;
      stream.slices = lengths[at];
      config.streams.push_back(stream);
    }
    SliceTerm term;
    term.term.kind = TermKind::kBand;
    config.terms.push_back(term);
    config.slices = slices;
    join_ = std::make_unique<SliceJoin>(config);
  }

  void flow(std::int64_t rows, std::int64_t every = 1) {
    for (std::size_t stream = 0; stream < 2; ++stream) {
      TestStream batch;
      for (std::int64_t row = 1; row <= rows; ++row)
        batch.push_back({now_ + (row + every - 1) / every, static_cast<std::int64_t>(stream) * 1000});
      const TestBatch given(batch, 0, batch.size(), 1);
      EXPECT_TRUE(join_->push(stream, given.schema, given.array, {})[0].empty());
    }
    now_ += rows / every;
    call();  // the last row waits for it
  }
  void resize(std::size_t slices, Relocation relocation) { join_->request_resize(slices, relocation); }
  // The change is made by the next call.
  void call() { (void)join_->advance(0, now_ + 1, {}); }

  [[nodiscard]] std::vector<std::int64_t> flows() const { return join_->statistics().flows; }
  [[nodiscard]] std::vector<std::uint64_t> held(std::size_t stream) const {
    std::vector<std::uint64_t> rows;
    for (const auto& ranges : join_->statistics().held) rows.push_back(ranges[stream].size());
    return rows;
  }

 private:
  std::unique_ptr<SliceJoin> join_;
  std::int64_t now_ = 0;
};

void expect_even(const std::vector<std::uint64_t>& rows, std::size_t slices, double within) {
  ASSERT_EQ(rows.size(), slices);
  for (const std::uint64_t held : rows)
    EXPECT_NEAR(static_cast<double>(held), 120.0 / static_cast<double>(slices), within);
}

TEST(Boundaries, NewPlacesFollowTheNodesOfTheSpecification) {
  using Places = std::vector<bool>;
  EXPECT_EQ(places_changed(3, 4), (Places{false, false, false, true}));
  EXPECT_EQ(places_changed(4, 6), (Places{false, false, true, false, false, true}));
  EXPECT_EQ(places_changed(5, 8), (Places{false, false, true, false, false, true, false, true}));
  EXPECT_EQ(places_changed(8, 5), places_changed(5, 8));
  EXPECT_EQ(places_changed(4, 4), Places(4, false));
}

// SPEC P8, in slices of the longer ring: of both windows' 240 rows.
TEST(Boundaries, FlowsOfAnAggressiveRelocationAreThoseOfTheSpecification) {
  const std::vector<std::tuple<std::size_t, std::size_t, std::vector<std::int64_t>>> cases = {
      {3, 4, {20, 40, 60}},
      {4, 6, {20, 40, 0, 20, 40}},
      {5, 8, {18, 36, 6, 24, 42, 12, 30}},
      {4, 3, {-20, -40, -60}},
  };
  for (const auto& [before, after, expected] : cases) {
    Ring ring(before);
    ring.flow(300);
    ring.resize(before, Relocation::kAggressive);
    ring.call();
    ring.resize(after, Relocation::kAggressive);
    ring.call();
    // Within a row of each stream: the newest has not yet pushed the oldest out.
    expect_even(ring.held(0), after, 1);
    ASSERT_EQ(ring.flows().size(), expected.size());
    for (std::size_t at = 0; at < expected.size(); ++at) {
      EXPECT_NEAR(static_cast<double>(ring.flows()[at]), static_cast<double>(expected[at]), 2)
          << before << " to " << after << ", boundary " << at;
    }
  }
}

TEST(Boundaries, APassiveChangeMovesRowsAsTheyAgeAndEndsWithinAWindow) {
  Ring ring(3);
  ring.flow(400);
  ring.resize(4, Relocation::kPassive);
  ring.call();
  EXPECT_EQ(ring.held(0).back(), 0U);
  std::vector<std::uint64_t> tail;
  for (int step = 0; step < 8; ++step) {
    ring.flow(20);
    tail.push_back(ring.held(0).back());
    EXPECT_LE(tail.back(), static_cast<std::uint64_t>(30 + 2));
  }
  EXPECT_TRUE(std::is_sorted(tail.begin(), tail.end()));
  EXPECT_LT(tail[1], 15U);  // and not all at once
  expect_even(ring.held(0), 4, 2);

  ring.resize(3, Relocation::kPassive);
  ring.flow(40);
  EXPECT_EQ(ring.held(0).size(), 4U);
  EXPECT_GT(ring.held(0).back(), 5U);
  ring.flow(100);
  ring.flow(20);
  expect_even(ring.held(0), 3, 2);
}

TEST(Boundaries, SlicesStayEvenWhenTheRateChanges) {
  Ring ring(4, false);
  ring.flow(400);
  for (int step = 0; step < 12; ++step) ring.flow(40, 2);  // twice the rate, for two windows
  const auto rows = ring.held(0);
  for (const std::uint64_t held : rows) EXPECT_NEAR(static_cast<double>(held), 60, 5);
}

TEST(Boundaries, AStreamMayBeCutIntoFewerSlices) {
  Ring ring(4, true, {4, 1});
  for (int step = 0; step < 4; ++step) ring.flow(100);
  expect_even(ring.held(0), 4, 2);
  EXPECT_NEAR(static_cast<double>(ring.held(1)[0]), 120, 1);
  EXPECT_EQ(ring.held(1)[1] + ring.held(1)[2] + ring.held(1)[3], 0U);
  ring.resize(2, Relocation::kPassive);
  for (int step = 0; step < 8; ++step) ring.flow(20);
  expect_even(ring.held(1), 2, 2);
}

}  // namespace
}  // namespace watersmeet
