// Appending to a window and expiring from it, at a steady size: what every row costs before any index sees
// it.
//
//   watersmeet_micro --benchmark_filter=window
#include "watersmeet/window/window.h"

#include <benchmark/benchmark.h>

#include "rows.h"

namespace watersmeet::micro {
namespace {

constexpr std::size_t kBatch = 8'192;

void window_append_and_expire(benchmark::State& state) {
  std::mt19937_64 random(1);
  Window window = key_window();
  const auto size = static_cast<std::size_t>(state.range(0));
  append_keys(window, size, 2'000'000, random);
  for (auto step : state) {
    append_keys(window, kBatch, 2'000'000, random);
    window.drop_before(window.end() - size);
    benchmark::DoNotOptimize(window.begin());
  }
  if (window.size() != size) state.SkipWithError("the window did not keep its size");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}
BENCHMARK(window_append_and_expire)->Arg(10'000)->Arg(1'000'000);

void window_find_edge(benchmark::State& state) {
  std::mt19937_64 random(2);
  Window window = key_window();
  append_keys(window, static_cast<std::size_t>(state.range(0)), 2'000'000, random);
  const Timestamp last = window.timestamps[window.end() - 1];
  for (auto step : state) {
    const auto ts = static_cast<Timestamp>(random() % static_cast<std::uint64_t>(last));
    benchmark::DoNotOptimize(window.lower_bound(ts));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(window_find_edge)->Arg(10'000)->Arg(1'000'000);

}  // namespace
}  // namespace watersmeet::micro
