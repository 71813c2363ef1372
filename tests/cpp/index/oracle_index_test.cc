// Every index against a loop over `satisfies`, on random windows that grow, slide and are cut back.
#include <gtest/gtest.h>

#include <functional>
#include <numeric>
#include <string>

#include "index/random_window.h"
#include "watersmeet/index/index.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet::testing {
namespace {

using Maker = std::function<std::unique_ptr<Index>(const Window&, const Term&)>;

Maker inverted(MergeKind merge) {
  return [merge](const Window& window, const Term& term) { return make_inverted_index(window, term, merge); };
}

Term random_term(Random& random, bool sets) {
  if (!sets) {
    switch (below(random, 4)) {
      case 2: {
        const std::size_t width = below(random, 16) == 0 ? 1'100 : 30;
        return {.kind = TermKind::kDistance, .metric = Metric::kMeanAbs, .at_most = 6.6, .width = width};
      }
      case 0:
        return {.kind = TermKind::kEqual};
      case 1:
        return {.kind = TermKind::kBand, .within_integer = below(random, 3)};
      default:
        return {.kind = TermKind::kBand,
                .within_real = 0.5 * static_cast<double>(below(random, 3)),
                .real = true};
    }
  }
  const auto whole = static_cast<double>(below(random, 6));
  switch (below(random, 8)) {
    case 0:
      return {.kind = TermKind::kOverlap, .at_least = whole + 1};
    case 1:
      return {.kind = TermKind::kSubset};
    case 2:
      return {.kind = TermKind::kSuperset};
    case 3:
      return {.kind = TermKind::kSameSet};
    case 4:
      return {.kind = TermKind::kJaccard, .at_least = whole / 5};
    case 5:
      return {.kind = TermKind::kDot, .at_least = whole / 2 - 0.5};
    case 6:
      return {.kind = TermKind::kOverlap, .at_least = below(random, 2) == 0 ? 1e300 : whole + 0.5};
    default:
      return {.kind = TermKind::kCosine, .at_least = whole / 5};
  }
}

class Case {
 public:
  Case(std::uint64_t seed, const Maker& make, bool sets, std::uint64_t large = 1'500)
      : random_(seed),
        large_(large),
        term_(random_term(random_, sets)),
        shape_{.domain = 1 + below(random_, below(random_, 2) == 0 ? 8 : 60),
               .max_set = below(random_, 12),
               .spread = below(random_, 2) == 0 ? 1 : std::uint64_t{0x100000001}},
        first_(below(random_, 2) == 0 ? 0 : (Seq{1} << 32) - below(random_, 2'000)),
        window_(make_window(term_, first_)),
        own_(make_window(term_, 7)),
        index_(make(window_, term_)) {
    append_rows(own_, term_, shape_, 12, random_);
  }

  void run(std::size_t steps) {
    for (std::size_t step = 0; step < steps; ++step) {
      change();
      probe();
      if (::testing::Test::HasFailure()) return;
    }
  }

 private:
  void change() {
    switch (below(random_, 5)) {
      case 0: {  // grows, and is taken back
        const Seq end = window_.end();
        append(1 + below(random_, 40));
        index_->truncate(end);
        window_.truncate(end);
        break;
      }
      case 1: {
        const Seq row = window_.begin() + below(random_, window_.size() + 1);
        if (below(random_, 3) != 0) index_->expire_before(row);  // else lazily: the next one does
        window_.drop_before(row);
        break;
      }
      case 2: {
        const Seq row = window_.begin() + below(random_, window_.size() + 1);
        index_->truncate(row);
        window_.truncate(row);
        break;
      }
      default:
        append(below(random_, below(random_, 8) == 0 || large_ > 1'500 ? large_ : 60));
    }
  }

  void append(std::size_t rows) {
    const Seq first = window_.end();
    append_rows(window_, term_, shape_, rows, random_);
    index_->append(first, window_.end());
  }

  void probe() {
    std::vector<Seq> rows;
    std::vector<Seq> lo;
    std::vector<Seq> hi;
    for (std::size_t at = 0; at < 6; ++at) {
      const Seq around = window_.size() + 5;
      const Seq start = window_.begin() < 2 ? 0 : window_.begin() - 2;
      rows.push_back(own_.begin() + below(random_, own_.size()));
      lo.push_back(start + below(random_, around));
      hi.push_back(start + below(random_, around));
      if (at % 2 == 0) rows.back() = rows[at / 2];
      if (at % 3 == 0) {
        lo.back() = 0;
        hi.back() = UINT64_MAX;
      }
    }
    const bool own_is_left = below(random_, 2) == 0;
    const bool straight = below(random_, 2) == 0;  // each row asks once
    if (straight)
      std::iota(rows.begin(), rows.end(), own_.begin() + below(random_, own_.size() - rows.size() + 1));
    std::vector<std::uint32_t> found(rows.size());
    const ProbeRun run{.own = &own_,
                       .own_is_left = own_is_left,
                       .first = rows[0],
                       .rows = straight ? nullptr : rows.data(),
                       .requests = rows.size(),
                       .lo = lo.data(),
                       .hi = hi.data(),
                       .found = found.data()};
    Pairs pairs;
    Work work;
    ASSERT_EQ(index_->probe(run, pairs, work), rows.size());
    std::size_t at = 0;
    for (std::size_t request = 0; request < rows.size(); ++request) {
      std::vector<Seq> expected = partners(rows[request], lo[request], hi[request], own_is_left);
      ASSERT_EQ(found[request], expected.size()) << describe();
      for (const Seq other : expected) {
        ASSERT_EQ(pairs.own[at], rows[request]) << describe();
        ASSERT_EQ(pairs.other[at], other) << describe();
        ++at;
      }
    }
  }

  std::vector<Seq> partners(Seq row, Seq lo, Seq hi, bool own_is_left) {
    std::vector<Seq> expected;
    if (!own_.joinable[row]) return expected;
    for (Seq other = std::max(lo, window_.begin()); other < std::min(hi, window_.end()); ++other) {
      if (window_.joinable[other] &&
          satisfies(term_, own_.columns[0], row, window_.columns[0], other, own_is_left)) {
        expected.push_back(other);
      }
    }
    return expected;
  }

  std::string describe() const {
    return "term " + std::to_string(static_cast<int>(term_.kind)) + " at least " +
           std::to_string(term_.at_least);
  }

  Random random_;
  std::uint64_t large_;  // rows appended at once, at most
  Term term_;
  Shape shape_;
  Seq first_;
  Window window_;
  Window own_;
  std::unique_ptr<Index> index_;
};

void run_cases(const Maker& make, bool sets, std::uint64_t cases = 400) {
  for (std::uint64_t seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Case(seed, make, sets).run(8);
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(OracleIndex, scan_finds_equal_and_near_values) { run_cases(&make_scan_index, false); }
TEST(OracleIndex, scan_finds_matching_sets) { run_cases(&make_scan_index, true); }
TEST(OracleIndex, hash_finds_equal_and_near_values) { run_cases(&make_hash_index, false); }
TEST(OracleIndex, inverted_finds_matching_sets) { run_cases(inverted(MergeKind::kAuto), true, 1'000); }
TEST(OracleIndex, inverted_by_heap_finds_matching_sets) { run_cases(inverted(MergeKind::kHeap), true); }
TEST(OracleIndex, inverted_by_counting_finds_matching_sets) { run_cases(inverted(MergeKind::kCount), true); }
TEST(OracleIndex, inverted_by_bitmaps_finds_matching_sets) { run_cases(inverted(MergeKind::kBitmap), true); }
TEST(OracleIndex, inverted_by_id_finds_matching_sets) { run_cases(&make_inverted_by_id_index, true); }

// Long enough for several stretches of sums, turns of the bitmaps' ring and tables that grow.
TEST(OracleIndex, large_windows_are_no_different) {
  const std::pair<Maker, bool> makers[] = {
      {&make_hash_index, false}, {inverted(MergeKind::kAuto), true}, {inverted(MergeKind::kBitmap), true}};
  for (const auto& [make, sets] : makers) {
    for (std::uint64_t seed = 1000; seed < 1012; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Case(seed, make, sets, 6'000).run(8);
    }
  }
}

TEST(OracleIndex, cross_index_finds_every_joinable_row) {
  Random random(3);
  const Term term{.kind = TermKind::kEqual};
  Window window = make_window(term, 5);
  append_rows(window, term, {}, 50, random);
  Window own = make_window(term, 0);
  append_rows(own, term, {.null_share = 0}, 1, random);
  const auto index = make_cross_index(window);
  index->append(5, 55);
  window.drop_before(10);
  const Seq lo = 0;
  const Seq hi = 40;
  Pairs pairs;
  Work work;
  index->probe({.own = &own, .requests = 1, .lo = &lo, .hi = &hi}, pairs, work);
  std::vector<Seq> expected;
  for (Seq row = 10; row < 40; ++row) {
    if (window.joinable[row]) expected.push_back(row);
  }
  EXPECT_TRUE(std::equal(pairs.other.begin(), pairs.other.end(), expected.begin(), expected.end()));
}

}  // namespace
}  // namespace watersmeet::testing
