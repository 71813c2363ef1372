// What a hop costs: a message through the link between two slices, and round a ring that has nothing to compare.
//
// Command: watersmeet_micro --benchmark_filter=hop
#include <benchmark/benchmark.h>

#include <thread>

#include "watersmeet/slice/cycle.h"
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
          link.wait([] { return false; });
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

}  // namespace
}  // namespace watersmeet
