// Holding results back and letting them go in order, per result: in time order, as the newest rows of a
// stream give them, and shuffled within a window, as the rows of a stream that lags behind do.
//
//   watersmeet_micro --benchmark_filter=hold
#include "watersmeet/order/hold_buffer.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>

namespace watersmeet::micro {
namespace {

constexpr std::size_t kResults = std::size_t{1} << 20;
constexpr Timestamp kWindow = 1'000'000;

// `per_push` results a push; the times of each push lie in [start, start + spread].
[[nodiscard]] std::vector<std::vector<Result>> pushes(std::size_t per_push, Timestamp spread) {
  std::mt19937_64 random(7);
  std::vector<std::vector<Result>> all;
  RowId row = 0;
  for (std::size_t made = 0; made < kResults; made += per_push) {
    std::vector<Result> push;
    const auto start = static_cast<Timestamp>(made);
    for (std::size_t at = 0; at < per_push; ++at, ++row) {
      const auto ahead = static_cast<Timestamp>(random() % static_cast<std::uint64_t>(spread + 1));
      push.push_back(
          {spread == 0 ? start + static_cast<Timestamp>(at) : start + ahead, row, random() % kResults});
    }
    all.push_back(std::move(push));
  }
  return all;
}

void run(benchmark::State& state, Timestamp spread) {
  const auto all = pushes(static_cast<std::size_t>(state.range(0)), spread);
  for (auto step : state) {
    HoldBuffer hold;
    ResultRows out;
    std::size_t released = 0;
    std::vector<Result> push;
    for (std::size_t at = 0; at < all.size(); ++at) {
      push.assign(all[at].begin(), all[at].end());
      hold.add(push);
      out.left.clear();
      out.right.clear();
      hold.release_before(static_cast<Timestamp>(at * all[at].size()), out);
      released += out.left.size();
    }
    out.left.clear();
    out.right.clear();
    hold.release_all(out);
    if (released + out.left.size() != kResults) state.SkipWithError("results were lost");
    benchmark::DoNotOptimize(out.left.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kResults));
}

void hold_in_step(benchmark::State& state) { run(state, 0); }
BENCHMARK(hold_in_step)->Arg(1)->Arg(64)->Arg(65'536);

void hold_shuffled(benchmark::State& state) { run(state, kWindow / 10); }
BENCHMARK(hold_shuffled)->Arg(1)->Arg(64)->Arg(65'536);

}  // namespace
}  // namespace watersmeet::micro
