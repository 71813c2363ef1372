// The life of an index at a steady window: append and expire, and probes by kind of index and of merge. Each
// probe run is checked against the scan index on a few rows before it is timed.
//
//   watersmeet_micro --benchmark_filter=index
#include "watersmeet/index/index.h"

#include <benchmark/benchmark.h>

#include <functional>

#include "rows.h"

namespace watersmeet::micro {
namespace {

constexpr std::size_t kBatch = 8'192;
constexpr Seq kProbed = 256;          // at a time, so that slow indexes finish; divides kBatch
constexpr std::size_t kChecked = 16;  // rows probed by the scan index too

using Maker = std::function<std::unique_ptr<Index>(const Window&, const Term&)>;
using Filler = std::function<void(Window&, std::size_t, std::mt19937_64&)>;

struct Shape {
  Window (*make)();
  Filler fill;
  Term term;
};

[[nodiscard]] Shape keys_shape(std::size_t window_rows) {
  const std::uint64_t keys = 2 * window_rows;
  return {&key_window,
          [keys](Window& window, std::size_t rows, std::mt19937_64& random) {
            append_keys(window, rows, keys, random);
          },
          Term{.kind = TermKind::kEqual}};
}

[[nodiscard]] Shape sets_shape(std::size_t domain, double exponent, std::size_t size, double at_least) {
  const auto items = std::make_shared<Zipf>(domain, exponent);
  return {&set_window,
          [items, size](Window& window, std::size_t rows, std::mt19937_64& random) {
            append_sets(window, rows, size, *items, random);
          },
          Term{.kind = TermKind::kOverlap, .at_least = at_least}};
}

void append_and_expire(benchmark::State& state, const Shape& shape, std::size_t rows, const Maker& make) {
  std::mt19937_64 random(4);
  Window window = shape.make();
  const auto index = make(window, shape.term);
  const auto step = [&](std::size_t count) {
    const Seq first = window.end();
    shape.fill(window, count, random);
    index->append(first, window.end());
    if (window.size() <= rows) return;
    index->expire_before(window.end() - rows);
    window.drop_before(window.end() - rows);
  };
  step(rows);
  for (auto iteration : state) step(kBatch);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kBatch));
}

// The pairs of the first `count` rows of `probing` over the whole of `window`, in an order of their own.
[[nodiscard]] std::vector<std::pair<Seq, Seq>> pairs_of(Index& index, const Window& probing,
                                                        const Window& window, std::size_t count) {
  const std::vector<Seq> lo(count, window.begin());
  const std::vector<Seq> hi(count, window.end());
  Pairs pairs;
  Work work;
  index.probe({.own = &probing, .first = 0, .requests = count, .lo = lo.data(), .hi = hi.data()}, pairs,
              work);
  std::vector<std::pair<Seq, Seq>> found;
  for (std::size_t at = 0; at < pairs.size(); ++at) found.emplace_back(pairs.own[at], pairs.other[at]);
  std::sort(found.begin(), found.end());
  return found;
}

void probe(benchmark::State& state, const Shape& shape, std::size_t rows, const Maker& make) {
  std::mt19937_64 random(5);
  Window window = shape.make();
  const auto index = make(window, shape.term);
  const auto scan = make_scan_index(window, shape.term);
  shape.fill(window, rows, random);
  index->append(window.begin(), window.end());
  scan->append(window.begin(), window.end());
  Window probing = shape.make();
  shape.fill(probing, kBatch, random);
  if (pairs_of(*index, probing, window, kChecked) != pairs_of(*scan, probing, window, kChecked)) {
    state.SkipWithError("other pairs than the scan index finds");
    return;
  }
  const std::vector<Seq> lo(kBatch, window.begin());
  const std::vector<Seq> hi(kBatch, window.end());
  Pairs pairs;
  Work work;
  Seq first = 0;
  for (auto iteration : state) {
    pairs.own.clear();
    pairs.other.clear();
    const ProbeRun run{.own = &probing,
                       .first = first,
                       .requests = kProbed,
                       .lo = lo.data() + first,
                       .hi = hi.data() + first};
    benchmark::DoNotOptimize(index->probe(run, pairs, work));
    first = (first + kProbed) % kBatch;
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kProbed));
}

[[nodiscard]] Maker inverted(MergeKind merge) {
  return [merge](const Window& window, const Term& term) { return make_inverted_index(window, term, merge); };
}

constexpr std::size_t kW1Rows = 1'000'000;
constexpr std::size_t kW2Rows = 10'000;
constexpr std::size_t kW2bRows = 100'000;

[[nodiscard]] Shape w2() { return sets_shape(100, 0.6, 5, 3); }
[[nodiscard]] Shape w2b() { return sets_shape(10'000, 0.8, 10, 5); }

void index_append_expire_hash(benchmark::State& state) {
  append_and_expire(state, keys_shape(kW1Rows), kW1Rows, &make_hash_index);
}
void index_append_expire_inverted(benchmark::State& state, MergeKind merge) {
  append_and_expire(state, w2b(), kW2bRows, inverted(merge));
}
void index_append_expire_by_id(benchmark::State& state) {
  append_and_expire(state, w2b(), kW2bRows, &make_inverted_by_id_index);
}
void index_probe_hash(benchmark::State& state) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  probe(state, keys_shape(rows), rows, &make_hash_index);
}
void index_probe_scan_keys(benchmark::State& state) {
  probe(state, keys_shape(kW2Rows), kW2Rows, &make_scan_index);
}
void index_probe_w2(benchmark::State& state, MergeKind merge) {
  probe(state, w2(), kW2Rows, inverted(merge));
}
void index_probe_w2b(benchmark::State& state, MergeKind merge) {
  probe(state, w2b(), kW2bRows, inverted(merge));
}
void index_probe_w2_by_id(benchmark::State& state) {
  probe(state, w2(), kW2Rows, &make_inverted_by_id_index);
}
void index_probe_w2_scan(benchmark::State& state) { probe(state, w2(), kW2Rows, &make_scan_index); }

BENCHMARK(index_append_expire_hash);
BENCHMARK_CAPTURE(index_append_expire_inverted, count, MergeKind::kCount);
BENCHMARK_CAPTURE(index_append_expire_inverted, bitmap, MergeKind::kBitmap);
BENCHMARK(index_append_expire_by_id);
BENCHMARK(index_probe_hash)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);
BENCHMARK(index_probe_scan_keys);
BENCHMARK_CAPTURE(index_probe_w2, auto, MergeKind::kAuto);
BENCHMARK_CAPTURE(index_probe_w2, heap, MergeKind::kHeap);
BENCHMARK_CAPTURE(index_probe_w2, count, MergeKind::kCount);
BENCHMARK_CAPTURE(index_probe_w2, bitmap, MergeKind::kBitmap);
BENCHMARK(index_probe_w2_by_id);
BENCHMARK(index_probe_w2_scan);
BENCHMARK_CAPTURE(index_probe_w2b, auto, MergeKind::kAuto);
BENCHMARK_CAPTURE(index_probe_w2b, heap, MergeKind::kHeap);
BENCHMARK_CAPTURE(index_probe_w2b, count, MergeKind::kCount);
BENCHMARK_CAPTURE(index_probe_w2b, bitmap, MergeKind::kBitmap);

}  // namespace
}  // namespace watersmeet::micro
