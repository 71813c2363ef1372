// The life of two indexed windows of one join, without the join: batches of the two sides alternate, each probes
// the other side's index and then enters its own, and old rows leave. What is left of a workload's cost once Arrow,
// order and Python are taken away; the bare loops of bench/scenarios do the same work on the same shapes.
//
//   watersmeet_micro --benchmark_filter=life
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>

#include "rows.h"
#include "watersmeet/index/index.h"

namespace watersmeet::micro {
namespace {

using Maker = std::function<std::unique_ptr<Index>(const Window&, const Term&)>;

// Rows are drawn before the clock runs, into a window that never slides, and copied from there.
class Source {
 public:
  explicit Source(Window drawn) : drawn_(std::move(drawn)) {}

  // Appends `rows` more to `window`.
  void feed(Window& window, std::size_t rows) {
    const Seq first = window.end();
    Timestamp* times = window.timestamps.extend(rows);
    for (std::size_t row = 0; row < rows; ++row) times[row] = static_cast<Timestamp>(first + row) * kSpacing;
    window.joinable.append_copies(1, rows);
    if (next_ + rows > drawn_.end()) next_ = 0;
    if (const auto* keys = std::get_if<KeyColumn>(&drawn_.columns[0])) {
      std::get<KeyColumn>(window.columns[0]).words.append(keys->words.at(next_), rows);
    } else {
      feed_sets(std::get<SetColumn>(drawn_.columns[0]), std::get<SetColumn>(window.columns[0]), rows);
    }
    next_ += rows;
    window.close_append(first);
  }

 private:
  void feed_sets(const SetColumn& from, SetColumn& to, std::size_t rows) const {
    const std::uint64_t first = from.starts[next_];
    const auto items = static_cast<std::size_t>(from.item_end(next_ + rows - 1) - first);
    std::uint64_t* starts = to.starts.extend(rows);
    for (std::size_t row = 0; row < rows; ++row)
      starts[row] = to.items.end() + from.starts[next_ + row] - first;
    to.items.append(from.items.at(first), items);
    if (!from.weighted) return;
    to.weights.append(from.weights.at(first), items);
    to.squares.append(from.squares.at(next_), rows);
  }

  Window drawn_;
  Seq next_ = 0;
};

struct Side {
  Source source;
  Window window;
  std::unique_ptr<Index> index;
};

// Each side holds the last `reach` rows; a row meets those at most `reach` before it.
class Life {
 public:
  Life(Window (*empty)(), Window one, Window two, const Term& term, const Maker& make, Seq reach)
      : sides_{{Source(std::move(one)), empty(), nullptr}, {Source(std::move(two)), empty(), nullptr}},
        reach_(reach) {
    for (Side& side : sides_) side.index = make(side.window, term);
  }

  void batch(std::size_t rows) {
    for (std::size_t own = 0; own < 2; ++own) step(sides_[own], sides_[1 - own], own == 0, rows);
  }

  [[nodiscard]] std::size_t pairs() const { return total_; }
  [[nodiscard]] std::size_t bytes() const { return sides_[0].index->bytes() + sides_[1].index->bytes(); }

 private:
  void step(Side& own, Side& other, bool own_is_left, std::size_t rows) {
    const Seq first = own.window.end();
    own.source.feed(own.window, rows);
    lo_.resize(rows);
    hi_.resize(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      lo_[row] = first + row > reach_ ? first + row - reach_ : 0;
      hi_[row] = std::min(other.window.end(), first + row + reach_ + 1);
    }
    pairs_.own.clear();
    pairs_.other.clear();
    Work work;
    other.index->probe({.own = &own.window,
                        .own_is_left = own_is_left,
                        .first = first,
                        .requests = rows,
                        .lo = lo_.data(),
                        .hi = hi_.data()},
                       pairs_, work);
    total_ += pairs_.size();
    own.index->append(first, own.window.end());
    if (lo_.back() > other.window.begin()) {
      other.index->expire_before(lo_.back());
      other.window.drop_before(lo_.back());
    }
  }

  Side sides_[2];
  Seq reach_;
  std::vector<Seq> lo_;
  std::vector<Seq> hi_;
  Pairs pairs_;
  std::size_t total_ = 0;
};

void live(benchmark::State& state, Life&& life, Seq reach) {
  const auto rows = static_cast<std::size_t>(state.range(0));
  for (Seq filled = 0; filled < reach + reach / 2; filled += rows) life.batch(rows);
  const std::size_t before = life.pairs();
  for (auto iteration : state) life.batch(rows);
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(2 * rows));
  state.counters["pairs/row"] = static_cast<double>(life.pairs() - before) /
                                (2 * static_cast<double>(rows) * static_cast<double>(state.iterations()));
  state.counters["MB"] = static_cast<double>(life.bytes()) / 1e6;
}

[[nodiscard]] Window keys(Seq rows, std::uint64_t domain, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Window window = key_window();
  append_keys(window, rows, domain, random);
  return window;
}

[[nodiscard]] Window sets(Seq rows, const Zipf& items, double size, double spread, bool weighted,
                          std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Window window = weighted ? weighted_window() : set_window();
  append_sets_of_about(window, rows, size, spread, items, random);
  return window;
}

void life_w1(benchmark::State& state) {
  const Seq reach = 1'000'000;
  live(state,
       Life(&key_window, keys(4 * reach, 2 * reach, 1), keys(4 * reach, 2 * reach, 2),
            {.kind = TermKind::kEqual}, &make_hash_index, reach),
       reach);
}

// About 5 of 100 items, at least 3 shared, 10,000 rows back.
void life_w2(benchmark::State& state, MergeKind merge) {
  const Zipf items(100, 0.6);
  const auto make = [merge](const Window& window, const Term& term) {
    return make_inverted_index(window, term, merge);
  };
  live(state,
       Life(&set_window, sets(100'000, items, 5, 1, false, 21), sets(100'000, items, 5, 1, false, 22),
            {.kind = TermKind::kOverlap, .at_least = 3}, make, 10'000),
       10'000);
}

// About 10 of 10,000 items, at least 5 shared, 100,000 rows back; with weights, cosine at least 0.5.
void life_w2b(benchmark::State& state, MergeKind merge, bool weighted) {
  const Zipf items(10'000, 0.8);
  const auto make = [merge](const Window& window, const Term& term) {
    return make_inverted_index(window, term, merge);
  };
  const Term term = weighted ? Term{.kind = TermKind::kCosine, .at_least = 0.5}
                             : Term{.kind = TermKind::kOverlap, .at_least = 5};
  live(state,
       Life(weighted ? &weighted_window : &set_window, sets(200'000, items, 10, 2, weighted, 31),
            sets(200'000, items, 10, 2, weighted, 32), term, make, 100'000),
       100'000);
}

BENCHMARK(life_w1)->Arg(1'024)->Arg(65'536)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(life_w2, auto, MergeKind::kAuto) -> Arg(8'192) -> Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(life_w2, heap, MergeKind::kHeap)->Arg(1'024)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(life_w2b, auto, MergeKind::kAuto, false) -> Arg(1'024) -> Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(life_w2b, cosine, MergeKind::kAuto, true)->Arg(1'024)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace watersmeet::micro
