// Probes of a part of a state: which of its cells a half-way join visits, and what it found in each.
//
// A state's rows within reach, from the newest back, are cut into kCells equal parts. Looking at one cell
// costs that share of a probe, so that cells and whole probes are paid from one allowance. Paper: [Gedik]
// V-A, basic windows, along the paths of [JAQPOT]. Departs from [Gedik]: cells count rows and not time, so
// that all of them cost the same, in count windows and in states between joins as well. Values: copying them
// is how a change is undone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "watersmeet/base/types.h"

namespace watersmeet {

inline constexpr std::size_t kCells = 16;

// Where cell `cell` begins, in rows back from the newest of `rows`; the last one ends at `rows`.
[[nodiscard]] constexpr std::uint64_t cell_begin(std::uint64_t rows, std::size_t cell) {
  return rows * cell / kCells;
}
// The cell of the row that has `back` newer ones. Requires: back < rows.
[[nodiscard]] constexpr std::size_t cell_of(std::uint64_t rows, std::uint64_t back) {
  return static_cast<std::size_t>((kCells * (back + 1) - 1) / rows);
}

class CellPlan {
 public:
  // Whole probes.
  CellPlan() {
    for (std::size_t at = 0; at < kCells; ++at) order_[at] = static_cast<std::uint8_t>(at);
  }
  // Every row looks at this share of the cells, in this order; every `full_every`-th at all of them (0:
  // none).
  CellPlan(const std::array<std::uint8_t, kCells>& order, double fraction, std::uint32_t full_every)
      : order_(order), fraction_(fraction), full_every_(full_every) {}

  [[nodiscard]] bool whole() const { return fraction_ >= 1; }
  // Goes over to another plan. Fractions go on adding up, and so do the rows since one looked at everything:
  // or plans that change more often than such a row is due would never let one come.
  void change_to(const CellPlan& plan) {
    order_ = plan.order_;
    fraction_ = plan.fraction_;
    full_every_ = plan.full_every_;
  }
  // How many cells the next row should look at: fractions add up over rows.
  [[nodiscard]] std::size_t next_cells() {
    if (full_every_ > 0 && ++since_full_ >= full_every_) {
      since_full_ = 0;
      return kCells;
    }
    credit_ += fraction_ * static_cast<double>(kCells);
    const auto cells = static_cast<std::size_t>(credit_);
    credit_ -= static_cast<double>(cells);
    return cells < kCells ? cells : kCells;
  }
  // The first `cells` of the order, as bits.
  [[nodiscard]] std::uint32_t chosen(std::size_t cells) const {
    std::uint32_t bits = 0;
    for (std::size_t at = 0; at < cells; ++at) bits |= 1U << order_[at];
    return bits;
  }

  template <class Writer>
  void save(Writer& writer) const {
    for (const std::uint8_t cell : order_) writer.put(cell);
    writer.put(fraction_);
    writer.put(credit_);
    writer.put(full_every_);
    writer.put(since_full_);
  }
  template <class Reader>
  [[nodiscard]] bool load(Reader& reader) {
    std::uint32_t seen = 0;
    for (std::uint8_t& cell : order_) {
      cell = reader.template get<std::uint8_t>();
      if (cell < kCells) seen |= 1U << cell;
    }
    fraction_ = reader.template get<double>();
    credit_ = reader.template get<double>();
    full_every_ = reader.template get<std::uint32_t>();
    since_full_ = reader.template get<std::uint32_t>();
    return seen == (1U << kCells) - 1 && fraction_ >= 0 && fraction_ <= 1 && credit_ >= 0 &&
           credit_ <= kCells;
  }

 private:
  std::array<std::uint8_t, kCells> order_{};
  double fraction_ = 1;
  double credit_ = 0;
  std::uint32_t full_every_ = 0;
  std::uint32_t since_full_ = 0;
};

// What probes found, cell by cell.
struct CellCounts {
  std::array<std::uint64_t, kCells> compared{};  // rows within the cells that were visited
  std::array<std::uint64_t, kCells> matches{};
  // Matches of one look in one cell come together: the sum of the squares of such bunches says how much.
  std::uint64_t squares = 0;
};

}  // namespace watersmeet
