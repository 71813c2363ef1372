// What a hop costs: a message through the link between two slices, and round a ring that has nothing to compare.
//
// Command: watersmeet_micro --benchmark_filter=hop
#include <benchmark/benchmark.h>

#include <thread>

#include "slice/streams.h"  // of tests/cpp
#include "watersmeet/slice/cycle.h"
#include "watersmeet/slice/slice_join.h"
#include "watersmeet/slice/spsc_queue.h"

namespace watersmeet {
namespace {

// One thread sends, another takes: items per second are messages over one link.
void hop_between_threads(benchmark::State& state) {
  const std::uint64_t count = 1 << 16;
  for (auto _ : state) {
    SpscQueue<Message> link;
    std::uint64_t sum = 0;
    std::thread taker([&] {
      Message message;
      for (std::uint64_t taken = 0; taken < count;) {
        if (link.pop(message)) {
          sum += message.cycle;
          ++taken;
        } else {
          link.wait(kPatience, [] { return false; });
        }
      }
    });
    Message message;
    for (std::uint64_t sent = 0; sent < count; ++sent) {
      message.cycle = static_cast<std::uint32_t>(sent);
      link.push(message);
    }
    taker.join();
    if (sum != count * (count - 1) / 2) state.SkipWithError("messages were lost");
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * count));
}
BENCHMARK(hop_between_threads)->UseRealTime();

// The same on one thread: what the queue itself costs.
void hop_on_one_thread(benchmark::State& state) {
  SpscQueue<Message> link;
  Message message;
  std::uint64_t sum = 0;
  for (auto _ : state) {
    for (int sent = 0; sent < 64; ++sent) link.push(message);
    while (link.pop(message)) ++sum;
  }
  benchmark::DoNotOptimize(sum);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * 64));
}
BENCHMARK(hop_on_one_thread);

// Rows round a ring of so many slices, whose windows hold a row and match nothing: items are messages between
// slices, so with two slices and more their time is that of a message and a hop, handling included. Rows under
// way at once are the second argument.
void hop_round_a_ring(benchmark::State& state) {
  constexpr std::size_t kRows = 1 << 14;
  std::uint64_t messages = 0;
  for (auto _ : state) {
    SliceConfig config;
    for (std::size_t at = 0; at < 2; ++at) {
      SliceStream stream;
      stream.name = std::string(1, at == 0 ? 'A' : 'B');
      stream.time_column = "ts";
      stream.window_rows = 1;
      config.streams.push_back(stream);
    }
    SliceTerm term;
    term.term.kind = TermKind::kBand;
    config.terms.push_back(term);
    config.slices = static_cast<std::size_t>(state.range(0));
    config.interleave = static_cast<std::size_t>(state.range(1));
    SliceJoin join(config);
    for (std::size_t stream = 0; stream < 2; ++stream) {
      TestStream rows;
      for (std::size_t row = 0; row < kRows; ++row)
        rows.push_back({static_cast<std::int64_t>(row), static_cast<std::int64_t>(stream) * 1000});
      const TestBatch batch(rows, 0, rows.size(), 1);
      if (!join.push(stream, batch.schema, batch.array, {})[0].empty()) state.SkipWithError("a match");
    }
    if (!join.finish({})[0].empty()) state.SkipWithError("a match");
    const SliceStatistics statistics = join.statistics();
    messages += statistics.messages;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(messages));
  state.counters["messages_per_row"] =
      static_cast<double>(messages) / static_cast<double>(state.iterations() * 2 * kRows);
}
BENCHMARK(hop_round_a_ring)->ArgsProduct({{1, 2}, {1, 16, 64}})->UseRealTime();

}  // namespace
}  // namespace watersmeet
