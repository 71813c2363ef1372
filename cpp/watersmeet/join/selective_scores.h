// How likely a row is to match in each cell of a window, from what the cell holds: item histograms, not rows.
//
// Paper: none of ours; SPEC 4.2, I2. For sets, items of a partner are taken to be independent draws with the
// cell's own frequencies, so the number of shared items is Poisson-binomial and its tail a short recurrence,
// done for all cells at once. For keys the frequency is the answer. For weights, products are summed on a
// coarse scale. Scores only choose what to compare; whether a pair matches is never decided here. Invariants
//   (1) Counts are those of the joinable rows [first(), end of window): append, forget_before and take_back
//   say so. (2) They do not depend on when rows were physically expired, so scores do not depend on batching.
// Cost       append, forget O(items of the row); score O(items x needed x cells).
// Threads    one caller at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "watersmeet/base/types.h"
#include "watersmeet/join/selective_cells.h"
#include "watersmeet/predicate/term.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

struct CellScore {
  double share = 0;     // of the cell's rows that are expected to match
  double postings = 0;  // how many (row, item) entries an inverted index holds for the probe's items
};

class CellScores {
 public:
  // `places`: of the window's rows, as its ring of cells has them.
  CellScores(const Term& term, const Window& window, const SlidingArray<std::int64_t>& places,
             const CellRing& ring, std::size_t cells);

  // Whether this kind of term can be scored.
  [[nodiscard]] static bool serves(const Term& term) {
    return term.kind == TermKind::kEqual || term.is_set();
  }

  // Row `row` of the window was appended.
  void append(Seq row) { add(row, 1); }
  // Rows before `row` are out of reach for every probe from now on.
  void forget_before(Seq row);
  // Rows from `row` on are taken back, and those from `first` on are within reach again.
  void take_back(Seq row, Seq first);
  [[nodiscard]] Seq first() const { return first_; }
  // Starts anew with the rows [first, end of window).
  void reset(Seq first);

  // About the best score that any cell can have for a row of the other window, from each item's best cell; 1
  // where that would cost as much as the scores themselves. Never counts the newest and the oldest cell,
  // which change.
  [[nodiscard]] double best_share(const Window& own, Seq own_row, bool own_is_left, std::int64_t now);
  // Scores every cell for a row of the other window, as seen from `now`.
  void score(const Window& own, Seq own_row, bool own_is_left, std::int64_t now, std::span<CellScore> out);

  // Gives back memory of items that no row holds any more.
  void trim();
  [[nodiscard]] std::size_t bytes() const;

 private:
  void add(Seq row, std::int64_t sign);
  void make_room(std::int64_t index);
  [[nodiscard]] std::size_t slot(std::int64_t index) const {
    return static_cast<std::uint64_t>(index) & (slots_ - 1);
  }
  // The counters of an item, one per slot; null if there is none.
  [[nodiscard]] const double* counters(std::uint64_t item, const std::vector<double>& values) const;
  double* counters_for(std::uint64_t item, std::int64_t sign);
  void count_item(std::uint64_t item, std::size_t at, std::int64_t sign, double weight);
  [[nodiscard]] std::size_t needed(std::size_t own_size, bool own_is_left) const;
  [[nodiscard]] double peak(Code item, std::int64_t now);
  void score_keys(std::uint64_t word, std::int64_t now, std::span<CellScore> out);
  void score_sets(std::span<const Code> items, std::size_t need, std::int64_t now, std::span<CellScore> out);
  void score_weights(const SetColumn& own, Seq own_row, std::int64_t now, std::span<CellScore> out);

  // An item of the probe that the window holds: its counters, and its weight in the probe.
  struct HeldItem {
    const double* counts;
    double weight;
  };
  void find_items(std::span<const Code> items, std::span<const double> weights, std::int64_t now,
                  std::size_t cells);

  const Term term_;
  const Window& window_;
  const SlidingArray<std::int64_t>& places_;
  const CellRing& ring_;
  Seq first_ = 0;
  std::int64_t newest_ = INT64_MIN;  // index of the newest cell that has a slot
  std::size_t slots_;                // a power of two
  std::vector<double> counts_;       // item by item, one counter per slot
  std::vector<double> weights_;      // sums, beside the counts; weighted terms only
  std::vector<double> rows_;         // per slot
  std::vector<double> norms_;        // per slot: sum of the norms of weighted sets
  double all_rows_ = 0;
  double all_items_ = 0;
  std::unordered_map<std::uint64_t, std::uint32_t> key_places_;
  std::vector<std::uint64_t> key_rows_;  // how many rows hold the key at a place
  std::vector<std::uint32_t> free_places_;
  std::vector<HeldItem> items_;
  std::vector<double> peaks_of_probe_;
  std::vector<double> scratch_;
  // Per item, its largest share of any whole cell, and the newest cell when that was found.
  std::vector<double> peaks_;
  std::vector<std::int64_t> peak_cells_;
  std::size_t cells_;
};

}  // namespace watersmeet
