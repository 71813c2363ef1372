// How old rows are when they are met, and when they match: the measured match densities of one direction.
//
// Ages run from 0 to the span of the probed window, in kCells cells: as long as each other, but that the
// youngest is halved again and again, since a window may be asked for that is far longer than rows match. The
// age of a partner newer than the probing row is 0. In a window of rows an age is how many rows back. What is
// counted is sampled: some probes of each change, and some results of each block, each standing for its
// neighbours. Paper: [Gedik] IV-B, the match density f by age. Departs from [Gedik]: cells of unequal length.
// Threads    one writer.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "watersmeet/join/bounds.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

struct MatchAges {
  static constexpr std::size_t kHalvings = 10;
  static constexpr std::size_t kEven = 32;
  static constexpr std::size_t kCells = kHalvings + kEven;
  static constexpr std::size_t kProbes = 16;    // sampled per change
  static constexpr std::size_t kResults = 512;  // sampled per block of results

  std::array<double, kCells> met = {};      // pairs within the window's bounds, decided
  std::array<double, kCells> absent = {};   // the same, of rows that were given up
  std::array<double, kCells> matches = {};  // results
  std::array<double, kCells> sampled = {};  // results looked at: what `matches` rests on
  // Results of probing rows looked at, and the sum of their squares: how much results come in clusters.
  double row_results = 0;
  double row_squares = 0;

  // The age at which a cell of a window that spans `span` ends.
  [[nodiscard]] static Wide edge(std::size_t cell, Wide span) {
    constexpr auto kParts = static_cast<Wide>(kEven);
    if (cell >= kHalvings) return span * static_cast<Wide>(cell - kHalvings + 1) / kParts;
    return span / (kParts << (kHalvings - cell));
  }

  // The cell of an age.
  [[nodiscard]] static std::size_t cell(Wide age, Wide span) {
    if (age <= 0 || span <= 0) return 0;
    const auto even = static_cast<std::size_t>(age * static_cast<Wide>(kEven) / span);
    if (even > 0) return std::min(kCells - 1, kHalvings + even);
    std::size_t found = 0;
    while (found < kHalvings && age >= edge(found, span)) ++found;
    return found;
  }
};

}  // namespace watersmeet
