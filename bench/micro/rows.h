// Windows full of seeded rows for the microbenchmarks, in the shapes of the workloads (bench/workloads.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "watersmeet/window/window.h"

namespace watersmeet::micro {

inline constexpr Timestamp kSpacing = 10;  // between two rows

// Skewed items: rank r is drawn with a probability proportional to 1 / r^exponent.
class Zipf {
 public:
  Zipf(std::size_t domain, double exponent) : below_(domain) {
    double sum = 0;
    for (std::size_t rank = 0; rank < domain; ++rank) {
      sum += std::pow(static_cast<double>(rank + 1), -exponent);
      below_[rank] = sum;
    }
  }

  template <class Random>
  [[nodiscard]] Code operator()(Random& random) const {
    const double drawn = std::uniform_real_distribution<double>(0, below_.back())(random);
    const auto found = std::lower_bound(below_.begin(), below_.end(), drawn);
    return static_cast<Code>(
        std::min<std::ptrdiff_t>(found - below_.begin(), static_cast<std::ptrdiff_t>(below_.size()) - 1));
  }

 private:
  std::vector<double> below_;
};

inline void add_time(Window& window) {
  window.timestamps.push_back(static_cast<Timestamp>(window.end()) * kSpacing);
  window.joinable.push_back(1);
}

// Appends rows with uniform keys below `keys`; the window's one column is a KeyColumn.
inline void append_keys(Window& window, std::size_t rows, std::uint64_t keys, std::mt19937_64& random) {
  const Seq first = window.end();
  auto& column = std::get<KeyColumn>(window.columns[0]);
  for (std::size_t row = 0; row < rows; ++row) {
    add_time(window);
    column.words.push_back(random() % keys);
  }
  window.close_append(first);
}

// Appends rows with sets of `size` distinct skewed items; the window's one column is a SetColumn.
inline void append_sets(Window& window, std::size_t rows, std::size_t size, const Zipf& items,
                        std::mt19937_64& random) {
  const Seq first = window.end();
  auto& column = std::get<SetColumn>(window.columns[0]);
  std::vector<Code> set;
  for (std::size_t row = 0; row < rows; ++row) {
    set.clear();
    while (set.size() < size) {
      const Code item = items(random);
      if (std::find(set.begin(), set.end(), item) == set.end()) set.push_back(item);
    }
    std::sort(set.begin(), set.end());
    add_time(window);
    column.starts.push_back(column.items.end());
    for (const Code item : set) column.items.push_back(item);
  }
  window.close_append(first);
}

// The same with round(Normal(size, spread)) items, at least 1; in a weighted column with weights of length 1.
inline void append_sets_of_about(Window& window, std::size_t rows, double size, double spread,
                                 const Zipf& items, std::mt19937_64& random) {
  std::normal_distribution<double> sizes(size, spread);
  auto& column = std::get<SetColumn>(window.columns[0]);
  for (std::size_t row = 0; row < rows; ++row) {
    append_sets(window, 1, static_cast<std::size_t>(std::clamp(std::round(sizes(random)), 1.0, 32.0)), items,
                random);
    if (!column.weighted) continue;
    const std::size_t count = column.set_size(window.end() - 1);
    double* weights = column.weights.extend(count);
    double squares = 0;
    for (std::size_t at = 0; at < count; ++at) {
      weights[at] = std::uniform_real_distribution<double>(0, 1)(random);
      squares += weights[at] * weights[at];
    }
    for (std::size_t at = 0; at < count; ++at) weights[at] /= std::sqrt(squares);
    column.squares.push_back(1);
  }
}

[[nodiscard]] inline Window key_window() {
  Window window(1'000'000);
  window.columns.emplace_back(KeyColumn{});
  return window;
}

[[nodiscard]] inline Window set_window() {
  Window window(1'000'000);
  window.columns.emplace_back(SetColumn{});
  return window;
}

[[nodiscard]] inline Window weighted_window() {
  Window window = set_window();
  std::get<SetColumn>(window.columns[0]).weighted = true;
  return window;
}

}  // namespace watersmeet::micro
