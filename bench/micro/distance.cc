// Distances of vectors in tiles, in the shape of W5: images of 15,000 bytes, 500 of them in the window, mean absolute
// difference at most 40; and of embeddings, 768 floats. Checked against `satisfies` on a few rows before it is timed.
//
//   watersmeet_micro --benchmark_filter=distance
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>

#include "watersmeet/index/index.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet::micro {
namespace {

constexpr std::size_t kRows = 500;
constexpr std::size_t kProbing = 64;

[[nodiscard]] Window vectors(const Term& term, std::size_t rows, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Window window;
  window.columns.emplace_back(VectorColumn(term.element, term.width));
  auto& column = std::get<VectorColumn>(window.columns[0]);
  for (std::size_t row = 0; row < rows; ++row) {
    window.timestamps.push_back(static_cast<Timestamp>(row));
    window.joinable.push_back(1);
    std::uint8_t* out = column.data.extend(column.row_bytes);
    double squares = 0;
    for (std::size_t at = 0; at < term.width; ++at) {
      if (term.element == Element::kByte) {
        out[at] = static_cast<std::uint8_t>(random());
        squares += static_cast<double>(out[at] * out[at]);
      } else {
        const float value = std::uniform_real_distribution<float>(-1, 1)(random);
        std::memcpy(out + at * sizeof(value), &value, sizeof(value));
        squares += static_cast<double>(value) * static_cast<double>(value);
      }
    }
    column.squares.push_back(squares);
  }
  window.close_append(0);
  return window;
}

void distance(benchmark::State& state, const Term& term) {
  const Window window = vectors(term, kRows, 51);
  const Window own = vectors(term, kProbing, 52);
  const auto index = make_scan_index(window, term);
  const std::vector<Seq> lo(kProbing, 0);
  const std::vector<Seq> hi(kProbing, kRows);
  const ProbeRun run{.own = &own, .requests = kProbing, .lo = lo.data(), .hi = hi.data()};
  Pairs pairs;
  Work work;
  index->probe(run, pairs, work);
  std::size_t found = 0;
  for (Seq row = 0; row < kProbing; ++row) {
    for (Seq other = 0; other < kRows; ++other) {
      found += satisfies(term, own.columns[0], row, window.columns[0], other, true) ? 1 : 0;
    }
  }
  if (found != pairs.size()) {
    state.SkipWithError("other pairs than satisfies() finds");
    return;
  }
  for (auto iteration : state) {
    pairs.own.clear();
    pairs.other.clear();
    benchmark::DoNotOptimize(index->probe(run, pairs, work));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(kProbing * kRows));
  state.counters["found"] = static_cast<double>(found);
}

[[nodiscard]] Term images(Metric metric, double at_most) {
  return {.kind = TermKind::kDistance,
          .metric = metric,
          .at_most = at_most,
          .element = Element::kByte,
          .width = 15'000};
}
[[nodiscard]] Term embeddings(Metric metric, double at_most) {
  return {.kind = TermKind::kDistance,
          .metric = metric,
          .at_most = at_most,
          .element = Element::kFloat,
          .width = 768};
}

BENCHMARK_CAPTURE(distance, image_mean_abs_40, images(Metric::kMeanAbs, 40));
BENCHMARK_CAPTURE(distance, image_mean_abs_all, images(Metric::kMeanAbs, 100));
BENCHMARK_CAPTURE(distance, image_l2, images(Metric::kL2, 20'000));
BENCHMARK_CAPTURE(distance, image_cosine, images(Metric::kCosine, 0.1));
BENCHMARK_CAPTURE(distance, image_hamming, images(Metric::kHamming, 100'000));
BENCHMARK_CAPTURE(distance, embedding_mean_abs, embeddings(Metric::kMeanAbs, 0.6));
BENCHMARK_CAPTURE(distance, embedding_l2, embeddings(Metric::kL2, 22));
BENCHMARK_CAPTURE(distance, embedding_cosine, embeddings(Metric::kCosine, 0.9));

}  // namespace
}  // namespace watersmeet::micro
