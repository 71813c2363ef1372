// Merging posting lists: heap, counting and bit-sliced bitmaps on the same lists, in the shape of W2 (5
// lists, at least 3) and of W2b (10 lists, at least 5). Every merge is checked against the heap's rows before
// it is timed.
//
//   watersmeet_micro --benchmark_filter=merge
#include "watersmeet/merge/merge.h"

#include <benchmark/benchmark.h>

#include <memory>
#include <random>

namespace watersmeet::micro {
namespace {

// Lists over `rows` rows, the k-th with every row at random with probability density / (k + 1).
class Lists {
 public:
  Lists(std::size_t lists, std::uint32_t rows, double density, std::size_t least) {
    std::mt19937_64 random(3);
    positions_.resize(lists);
    bitmaps_.resize(lists);
    input_.ring_rows = 512;
    while (input_.ring_rows < rows) input_.ring_rows *= 2;
    for (std::size_t list = 0; list < lists; ++list) {
      std::bernoulli_distribution holds(density / static_cast<double>(list + 1));
      bitmaps_[list].resize(input_.ring_rows / 64);
      for (std::uint32_t row = 0; row < rows; ++row) {
        if (!holds(random)) continue;
        positions_[list].push_back(row);
        bitmaps_[list][row / 64] |= std::uint64_t{1} << (row % 64);
      }
      views_.push_back({positions_[list].data(), positions_[list].size(), bitmaps_[list].data()});
      postings_ += positions_[list].size();
    }
    input_.lists = views_;
    input_.rows = rows;
    input_.least = least;
  }

  [[nodiscard]] const MergeInput& input() const { return input_; }
  [[nodiscard]] std::size_t postings() const { return postings_; }

 private:
  std::vector<std::vector<Position>> positions_;
  std::vector<std::vector<std::uint64_t>> bitmaps_;
  std::vector<PostingView> views_;
  MergeInput input_;
  std::size_t postings_ = 0;
};

void run_merge(benchmark::State& state, std::unique_ptr<Merge> (*make)(), const Lists& lists) {
  Candidates found;
  Candidates right;
  make_heap_merge()->run(lists.input(), right);
  const auto merge = make();
  merge->run(lists.input(), found);
  if (found.offsets != right.offsets) {
    state.SkipWithError("other rows than the heap merge finds");
    return;
  }
  for (auto step : state) {
    benchmark::DoNotOptimize(merge->run(lists.input(), found));
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["postings/s"] = benchmark::Counter(static_cast<double>(lists.postings()),
                                                    benchmark::Counter::kIsIterationInvariantRate);
}

void merge_w2(benchmark::State& state, std::unique_ptr<Merge> (*make)()) {
  run_merge(state, make, Lists(5, 10'000, 0.2, 3));
}
void merge_w2b(benchmark::State& state, std::unique_ptr<Merge> (*make)()) {
  run_merge(state, make, Lists(10, 100'000, 0.1, 5));
}

BENCHMARK_CAPTURE(merge_w2, heap, &make_heap_merge);
BENCHMARK_CAPTURE(merge_w2, count, &make_count_merge);
BENCHMARK_CAPTURE(merge_w2, bitmap, &make_bitmap_merge);
BENCHMARK_CAPTURE(merge_w2b, heap, &make_heap_merge);
BENCHMARK_CAPTURE(merge_w2b, count, &make_count_merge);
BENCHMARK_CAPTURE(merge_w2b, bitmap, &make_bitmap_merge);

}  // namespace
}  // namespace watersmeet::micro
