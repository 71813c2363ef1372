#include "watersmeet/slice/slice_join.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

#include "slice/streams.h"
#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

// One random join: streams, windows, terms or checks between neighbours, topology, slices, interleaving.
struct Case {
  SliceConfig config;
  std::vector<TestStream> streams;
  bool with_check = false;
  bool whole_check = false;
  std::int64_t within = 0;

  [[nodiscard]] bool pair(const TestResult& members, std::size_t one, std::size_t two) const {
    if (two != one + 1) return true;
    const std::int64_t a = streams[one][static_cast<std::size_t>(members[one])].key;
    const std::int64_t b = streams[two][static_cast<std::size_t>(members[two])].key;
    return std::abs(a - b) <= within;
  }

  [[nodiscard]] Check check() const {
    if (!with_check) return {};
    return [this](std::size_t number, std::span<const Found> found, std::uint8_t* keep) {
      for (std::size_t at = 0; at < found.size(); ++at) {
        TestResult members(found[at].rows.begin(), found[at].rows.end());
        bool holds = true;
        const std::size_t first = whole_check ? 0 : number;
        const std::size_t last = whole_check ? config.streams.size() - 1 : number + 1;
        for (std::size_t one = first; one < last; ++one) holds = holds && pair(members, one, one + 1);
        keep[at] = holds ? 1 : 0;
      }
    };
  }

  // Arrow columns that a stream's terms take.
  [[nodiscard]] std::size_t keys(std::size_t stream) const {
    std::size_t count = 0;
    for (const SliceTerm& term : config.terms)
      count += (term.left == stream ? 1 : 0) + (term.right == stream ? 1 : 0);
    return count;
  }

  [[nodiscard]] std::vector<TestResult> expected() const {
    NestedLoop loop(config, streams,
                    [this](const TestResult& m, std::size_t a, std::size_t b) { return pair(m, a, b); });
    return loop.all();
  }
};

Case draw(std::uint64_t seed) {
  std::mt19937_64 rng(seed);
  const auto below = [&rng](std::uint64_t bound) { return rng() % bound; };
  Case drawn;
  const std::size_t streams = 2 + below(4);
  drawn.within = static_cast<std::int64_t>(below(2));
  drawn.with_check = below(3) == 0;
  drawn.whole_check = drawn.with_check && below(2) == 0;
  const std::uint64_t rows = streams == 2 ? 60 : streams == 3 ? 30 : 16;
  for (std::size_t at = 0; at < streams; ++at) {
    SliceStream stream;
    stream.name = std::string(1, static_cast<char>('A' + at));
    stream.time_column = "ts";
    if (below(4) == 0) {
      stream.window_rows = 1 + below(8);
    } else {
      stream.span = static_cast<Duration>(below(25));
    }
    drawn.config.streams.push_back(stream);
    TestStream values;
    std::int64_t now = 0;
    for (std::uint64_t row = 0; row < below(rows) + 1; ++row) {
      now += static_cast<std::int64_t>(below(4));
      values.push_back({now, static_cast<std::int64_t>(below(4))});
    }
    drawn.streams.push_back(values);
  }
  for (std::size_t at = 0; at + 1 < streams; ++at) {
    if (drawn.with_check) {
      if (!drawn.whole_check) drawn.config.checks.push_back({at, at + 1});
      continue;
    }
    SliceTerm term;
    term.term.kind = TermKind::kBand;
    term.term.within_integer = static_cast<std::uint64_t>(drawn.within);
    term.left = at;
    term.right = at + 1;
    drawn.config.terms.push_back(term);
  }
  if (drawn.whole_check) {
    drawn.config.checks.emplace_back();
    for (std::size_t at = 0; at < streams; ++at) drawn.config.checks.back().push_back(at);
  }
  drawn.config.inclusive = below(2) == 0;
  drawn.config.slices = 1 + below(8);
  for (SliceStream& stream : drawn.config.streams)
    if (below(4) == 0) stream.slices = 1 + below(drawn.config.slices);
  drawn.config.interleave = 1 + below(32);
  drawn.config.topology = below(4) == 0 ? Topology::kSplit : Topology::kRing;
  return drawn;
}

// Pushes random stretches of the streams, resizing now and then, and checks the rows held after each push.
class Driver {
 public:
  Driver(const Case& drawn, std::uint64_t seed) : drawn_(drawn), join_(drawn.config), rng_(seed) {
    callbacks_.check = drawn.check();
  }

  std::vector<TestResult> run() {
    std::vector<std::size_t> next(drawn_.streams.size(), 0);
    for (;;) {
      std::vector<std::size_t> open;
      for (std::size_t at = 0; at < next.size(); ++at) {
        if (next[at] < drawn_.streams[at].size()) open.push_back(at);
      }
      if (open.empty()) break;
      const std::size_t stream = open[rng_() % open.size()];
      const std::size_t last = std::min(next[stream] + 1 + rng_() % 12, drawn_.streams[stream].size());
      const TestBatch batch(drawn_.streams[stream], next[stream], last, drawn_.keys(stream));
      take(join_.push(stream, batch.schema, batch.array, callbacks_));
      next[stream] = last;
      check_state();
      if (rng_() % 4 == 0) {
        join_.request_resize(1 + rng_() % 8,
                             rng_() % 2 == 0 ? Relocation::kAggressive : Relocation::kPassive);
      }
      if (rng_() % 5 == 0) reorder();
      if (drawn_.config.ordered && rng_() % 3 == 0) join_.set_synchronised(rng_() % 2 == 0);
    }
    take(join_.finish(callbacks_));
    check_state();
    return results_;
  }

 private:
  void take(const SliceResults& found) {
    for (std::size_t at = 0; at < found[0].size(); ++at) {
      TestResult result;
      for (std::size_t stream = 0; stream < drawn_.streams.size(); ++stream)
        result.push_back(found[stream][at]);
      if (drawn_.config.ordered) check_time(result, found.back()[at]);
      results_.push_back(result);
    }
    low_ = join_.low();
  }

  // The last column is the largest timestamp, and no result is older than was promised before.
  void check_time(const TestResult& result, Timestamp time) {
    Timestamp newest = 0;
    for (std::size_t stream = 0; stream < result.size(); ++stream) {
      newest = std::max(newest, drawn_.streams[stream][static_cast<std::size_t>(result[stream])].ts);
    }
    ASSERT_EQ(time, newest);
    ASSERT_TRUE(!low_.has_value() || time >= *low_);
  }

  void reorder() {
    auto orderings = join_.orderings();
    for (auto& ordering : orderings) std::shuffle(ordering.begin(), ordering.end(), rng_);
    join_.set_orderings(orderings);
  }

  // Every row of a window is in one slice, and no other row is in any.
  void check_state() {
    if (drawn_.config.topology == Topology::kSplit) return;
    const SliceStatistics statistics = join_.statistics();
    for (std::size_t stream = 0; stream < drawn_.streams.size(); ++stream) {
      const SliceJoin::Restored state = join_.state_of(stream);
      std::vector<Seq> rows;
      for (const auto& held : statistics.held) {
        for (Seq row = held[stream].first; row < held[stream].last; ++row) rows.push_back(row);
      }
      std::sort(rows.begin(), rows.end());
      std::vector<Seq> window;
      for (Seq row = state.oldest; row < state.processed; ++row) window.push_back(row);
      ASSERT_EQ(rows, window);
    }
  }

  const Case& drawn_;
  SliceJoin join_;
  SliceJoin::Callbacks callbacks_;
  std::mt19937_64 rng_;
  std::vector<TestResult> results_;
  std::optional<Timestamp> low_;
};

void expect_nested_loop(Case drawn, std::uint64_t seed) {
  std::vector<TestResult> results = Driver(drawn, seed).run();
  std::vector<TestResult> expected = drawn.expected();
  std::sort(results.begin(), results.end());
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(results, expected) << "seed " << seed;
}

TEST(SliceJoin, OracleNestedLoopInDrawnOrders) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Case drawn = draw(seed);
    drawn.config.schedule_seed = seed;
    expect_nested_loop(drawn, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(SliceJoin, OracleRowsProcessedAsTheyComeOrInTurnGiveTheSameAnswer) {
  for (std::uint64_t seed = 20'000; seed < 21'500; ++seed) {
    Case drawn = draw(seed);
    drawn.config.ordered = true;
    drawn.config.schedule_seed = seed;
    if (seed % 4 != 0) {
      for (SliceStream& stream : drawn.config.streams) stream.window_rows.reset();
    }
    expect_nested_loop(drawn, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(SliceJoin, OracleNestedLoopOnThreads) {
  for (std::uint64_t seed = 10'000; seed < 10'150; ++seed) {
    Case drawn = draw(seed);
    if (seed % 2 == 0) drawn.config.delay_seed = seed;
    expect_nested_loop(drawn, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(SliceJoin, OrderOfResultsDoesNotDependOnSlices) {
  for (std::uint64_t seed = 500; seed < 540; ++seed) {
    Case drawn = draw(seed);
    std::optional<std::vector<TestResult>> first;
    for (const Topology topology : {Topology::kRing, Topology::kSplit}) {
      for (const std::size_t slices : {1U, 2U, 5U}) {
        drawn.config.topology = topology;
        drawn.config.slices = slices;
        drawn.config.schedule_seed = seed + slices;
        const std::vector<TestResult> results = Driver(drawn, seed).run();
        if (!first.has_value()) first = results;
        ASSERT_EQ(results, *first) << "seed " << seed;
      }
    }
  }
}

class SliceJoinFailure : public ::testing::TestWithParam<std::tuple<Topology, std::size_t>> {};

TEST_P(SliceJoinFailure, StopsTheSlicesAndChangesNothing) {
  Case drawn = draw(77);
  for (std::uint64_t seed = 78; !drawn.with_check || drawn.expected().size() < 5; ++seed) drawn = draw(seed);
  drawn.config.topology = std::get<0>(GetParam());
  drawn.config.slices = std::get<1>(GetParam());
  SliceJoin join(drawn.config);
  SliceJoin::Callbacks good;
  good.check = drawn.check();
  SliceJoin::Callbacks bad;
  std::atomic<int> left = 3;
  bad.check = [&](std::size_t number, std::span<const Found> found, std::uint8_t* keep) {
    if (left.fetch_sub(1) <= 0) throw std::runtime_error("the predicate fails");
    good.check(number, found, keep);
  };
  std::vector<TestResult> results;
  const auto take = [&results](const SliceResults& found) {
    for (std::size_t at = 0; at < found[0].size(); ++at) {
      results.emplace_back();
      for (const auto& rows : found) results.back().push_back(rows[at]);
    }
  };
  for (std::size_t stream = 0; stream < drawn.streams.size(); ++stream) {
    const TestBatch batch(drawn.streams[stream], 0, drawn.streams[stream].size(), drawn.keys(stream));
    left = 0;
    try {
      (void)join.push(stream, batch.schema, batch.array, bad);
      join.request_resize(2, Relocation::kAggressive);
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "the predicate fails");
      take(join.push(stream, batch.schema, batch.array, good));
    }
  }
  left = 0;
  try {
    take(join.finish(bad));
  } catch (const std::runtime_error&) {
    take(join.finish(good));
  }
  std::vector<TestResult> expected = drawn.expected();
  std::sort(results.begin(), results.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(results, expected);
}

INSTANTIATE_TEST_SUITE_P(Topologies, SliceJoinFailure,
                         ::testing::Combine(::testing::Values(Topology::kRing, Topology::kSplit),
                                            ::testing::Values(1, 3, 6)));

TEST(SliceJoin, ResizeFromAnotherThreadWhileDataFlows) {
  Case drawn;
  for (std::size_t at = 0; at < 2; ++at) {
    SliceStream stream;
    stream.name = at == 0 ? "A" : "B";
    stream.time_column = "ts";
    stream.span = 40;
    drawn.config.streams.push_back(stream);
    TestStream rows;
    for (std::int64_t row = 0; row < 9000; ++row)
      rows.push_back({row, (row * 7 + static_cast<std::int64_t>(at)) % 5});
    drawn.streams.push_back(rows);
  }
  SliceTerm term;
  term.term.kind = TermKind::kBand;
  drawn.config.terms.push_back(term);
  drawn.config.slices = 2;
  drawn.config.interleave = 8;
  SliceJoin join(drawn.config);
  std::atomic<bool> done = false;
  std::thread other([&join, &done] {
    for (std::size_t slices = 1; !done.load(); slices = slices % 5 + 1) {
      join.request_resize(slices, slices % 2 == 0 ? Relocation::kPassive : Relocation::kAggressive);
      std::this_thread::yield();
    }
  });
  std::size_t results = 0;
  for (std::size_t stream = 0; stream < 2; ++stream) {
    const TestBatch batch(drawn.streams[stream], 0, drawn.streams[stream].size(), 1);
    results += join.push(stream, batch.schema, batch.array, {})[0].size();
  }
  results += join.finish({})[0].size();
  done = true;
  other.join();
  EXPECT_EQ(results, drawn.expected().size());
}

TEST(SliceJoin, RowsOutOfOrderAreRefusedAndLeaveNoTrace) {
  Case drawn = draw(3);
  drawn.streams[0] = {{5, 0}, {4, 0}};
  SliceJoin join(drawn.config);
  const TestBatch batch(drawn.streams[0], 0, 2, drawn.keys(0));
  EXPECT_THROW((void)join.push(0, batch.schema, batch.array, {}), OrderError);
  EXPECT_EQ(join.waiting(0), 0U);
}

TEST(SliceJoin, ImpossibleSizesAreRefused) {
  Case drawn = draw(3);
  drawn.config.slices = 0;
  EXPECT_THROW(SliceJoin{drawn.config}, ConfigError);
  drawn.config.slices = 2;
  SliceJoin join(drawn.config);
  EXPECT_THROW(join.request_resize(0, Relocation::kPassive), ConfigError);
  drawn.config.streams.resize(1);
  EXPECT_THROW(SliceJoin{drawn.config}, ConfigError);
}

}  // namespace
}  // namespace watersmeet
