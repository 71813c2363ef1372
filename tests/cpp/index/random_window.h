// Windows of random rows for the index tests, small enough that every kind of match is frequent.
#pragma once

#include <algorithm>
#include <bit>
#include <random>
#include <vector>

#include "watersmeet/predicate/term.h"
#include "watersmeet/window/window.h"

namespace watersmeet::testing {

using Random = std::mt19937_64;

[[nodiscard]] inline std::uint64_t below(Random& random, std::uint64_t bound) { return random() % bound; }

// What rows look like: drawn once per case, so that cases differ in density.
struct Shape {
  std::uint64_t domain = 10;
  std::uint64_t max_set = 6;
  double null_share = 0.1;
  std::uint64_t spread = 1;  // keys are multiples of it
};

[[nodiscard]] inline Window make_window(const Term& term, Seq first) {
  Window window;
  if (term.kind == TermKind::kEqual) {
    window.columns.emplace_back(KeyColumn{});
  } else if (term.kind == TermKind::kBand) {
    window.columns.emplace_back(NumberColumn{});
  } else if (term.kind == TermKind::kDistance) {
    window.columns.emplace_back(VectorColumn(term.element, term.width));
  } else {
    window.columns.emplace_back(SetColumn{});
    std::get<SetColumn>(window.columns[0]).weighted = term.is_weighted();
  }
  window.reset(first);
  return window;
}

inline void append_set(SetColumn& column, std::vector<Code> items, Random& random) {
  std::sort(items.begin(), items.end());
  items.erase(std::unique(items.begin(), items.end()), items.end());
  column.starts.push_back(column.items.end());
  column.items.append(items.data(), items.size());
  if (!column.weighted) return;
  // Halves and quarters make sums that hit thresholds exactly; the rest is anything.
  double squares = 0;
  for (std::size_t at = 0; at < items.size(); ++at) {
    const double weight = below(random, 2) == 0 ? static_cast<double>(below(random, 9)) / 4 - 1
                                                : std::uniform_real_distribution<double>(-1, 2)(random);
    column.weights.push_back(weight);
    squares += weight * weight;
  }
  column.squares.push_back(squares);
}

inline void append_row(Window& window, const Term& term, const Shape& shape, Random& random) {
  window.timestamps.push_back(static_cast<Timestamp>(window.end() / 3));
  const bool joinable = std::uniform_real_distribution<double>(0, 1)(random) >= shape.null_share;
  window.joinable.push_back(joinable ? 1 : 0);
  if (term.kind == TermKind::kEqual) {
    std::get<KeyColumn>(window.columns[0])
        .words.push_back(joinable ? shape.spread * below(random, shape.domain) : 0);
  } else if (term.kind == TermKind::kBand) {
    const auto value = static_cast<std::int64_t>(below(random, shape.domain));
    std::get<NumberColumn>(window.columns[0])
        .words.push_back(term.real ? std::bit_cast<std::int64_t>(static_cast<double>(value) / 2) : value);
  } else if (term.kind == TermKind::kDistance) {
    auto& vectors = std::get<VectorColumn>(window.columns[0]);
    std::uint8_t* out = vectors.data.extend(vectors.row_bytes);
    for (std::size_t at = 0; at < vectors.row_bytes; ++at)
      out[at] = static_cast<std::uint8_t>(below(random, 20));
    vectors.squares.push_back(0);
  } else {
    std::vector<Code> items;
    const std::uint64_t size = joinable ? below(random, shape.max_set + 1) : 0;
    for (std::uint64_t at = 0; at < size; ++at) {
      // The smaller of two draws: some items are popular.
      items.push_back(static_cast<Code>(std::min(below(random, shape.domain), below(random, shape.domain))));
    }
    append_set(std::get<SetColumn>(window.columns[0]), std::move(items), random);
  }
}

inline void append_rows(Window& window, const Term& term, const Shape& shape, std::size_t rows,
                        Random& random) {
  const Seq first = window.end();
  for (std::size_t row = 0; row < rows; ++row) append_row(window, term, shape, random);
  window.close_append(first);
}

}  // namespace watersmeet::testing
