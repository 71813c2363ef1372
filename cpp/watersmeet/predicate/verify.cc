#include "watersmeet/predicate/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <variant>
#include <vector>

#include "watersmeet/base/errors.h"
#include "watersmeet/predicate/distance.h"

namespace watersmeet {
namespace {

// Beyond this ratio of sizes, searching the larger list beats walking it.
constexpr std::size_t kSearchRatio = 32;

// Calls visit(position in small, position in large) for each code in both lists.
template <class Visit>
void for_each_shared_by_search(std::span<const Code> small, std::span<const Code> large, Visit visit) {
  std::size_t from = 0;
  for (std::size_t at = 0; at < small.size() && from < large.size(); ++at) {
    std::size_t step = 1;
    std::size_t to = from;
    while (to < large.size() && large[to] < small[at]) {
      from = to + 1;
      to += step;
      step *= 2;
    }
    const auto found =
        std::lower_bound(large.begin() + static_cast<std::ptrdiff_t>(from),
                         large.begin() + static_cast<std::ptrdiff_t>(std::min(to, large.size())), small[at]);
    from = static_cast<std::size_t>(found - large.begin());
    if (from < large.size() && large[from] == small[at]) {
      visit(at, from);
      ++from;
    }
  }
}

template <class Visit>
void for_each_shared(std::span<const Code> own, std::span<const Code> other, Visit visit) {
  if (own.size() / kSearchRatio > other.size()) {
    for_each_shared_by_search(other, own, [&visit](std::size_t b, std::size_t a) { visit(a, b); });
    return;
  }
  if (other.size() / kSearchRatio > own.size()) {
    for_each_shared_by_search(own, other, visit);
    return;
  }
  std::size_t a = 0;
  std::size_t b = 0;
  while (a < own.size() && b < other.size()) {
    const Code own_code = own[a];
    const Code other_code = other[b];
    if (own_code == other_code) visit(a, b);
    a += own_code <= other_code;
    b += other_code <= own_code;
  }
}

// The test of a term, kept for the pairs to come: terms change seldom.
const DistanceTest& distance_test(const Term& term) {
  static thread_local Term known;
  static thread_local DistanceTest test{Term{}};
  const bool same = known.kind == TermKind::kDistance && known.metric == term.metric &&
                    known.at_most == term.at_most && known.element == term.element &&
                    known.width == term.width;
  if (!same) {
    test = DistanceTest(term);
    known = term;
  }
  return test;
}

// The sum that every index agrees on, whatever codes the items got.
double sum_by_value(std::vector<double>& products) {
  std::sort(products.begin(), products.end());
  double sum = 0;
  for (const double product : products) sum += product;
  return sum;
}

}  // namespace

std::size_t count_shared(std::span<const Code> own, std::span<const Code> other) {
  std::size_t shared = 0;
  for_each_shared(own, other, [&shared](std::size_t, std::size_t) { ++shared; });
  return shared;
}

bool satisfies_set(const Term& term, const SetColumn& own, Seq own_row, const SetColumn& other, Seq other_row,
                   bool own_is_left) {
  const auto own_set = own.set(own_row);
  const auto other_set = other.set(other_row);
  const std::size_t left = own_is_left ? own_set.size() : other_set.size();
  const std::size_t right = own_is_left ? other_set.size() : own_set.size();
  // More shared items never hurt, so sizes that fail with the most possible fail with any.
  if (!accepts_overlap(term, std::min(left, right), left, right)) return false;
  return accepts_overlap(term, count_shared(own_set, other_set), left, right);
}

// A plain sum of n products errs by less than n * epsilon * (sum of magnitudes), and so does the sorted one.
// Where the distance to the threshold exceeds both errors, and that of the division, the plain sum decides;
// NaN and infinity fail both tests and go the slow way.
bool satisfies_weighted(const Term& term, const SetColumn& own, Seq own_row, const SetColumn& other,
                        Seq other_row) {
  static thread_local std::vector<double> products;
  products.clear();
  const double* own_weights = own.weights.at(own.starts[own_row]);
  const double* other_weights = other.weights.at(other.starts[other_row]);
  double sum = 0;
  double magnitude = 0;
  for_each_shared(own.set(own_row), other.set(other_row), [&](std::size_t a, std::size_t b) {
    const double product = own_weights[a] * other_weights[b];
    products.push_back(product);
    sum += product;
    magnitude += std::abs(product);
  });
  const double own_squares = own.squares[own_row];
  const double other_squares = other.squares[other_row];
  const double bound =
      term.kind == TermKind::kDot ? term.at_least : term.at_least * std::sqrt(own_squares * other_squares);
  const double count = static_cast<double>(products.size() + 2);
  const double margin = 4 * count * std::numeric_limits<double>::epsilon() * (magnitude + std::abs(bound)) +
                        std::numeric_limits<double>::min();
  if (sum + margin < bound) return false;
  if (sum - margin > bound && std::isfinite(bound) && bound != 0) {
    return accepts_product(term, sum, own_squares, other_squares);
  }
  return accepts_product(term, sum_by_value(products), own_squares, other_squares);
}

bool satisfies(const Term& term, const Column& own, Seq own_row, const Column& other, Seq other_row,
               bool own_is_left) {
  switch (term.kind) {
    case TermKind::kEqual:
      return std::get<KeyColumn>(own).words[own_row] == std::get<KeyColumn>(other).words[other_row];
    case TermKind::kBand: {
      const auto& own_numbers = std::get<NumberColumn>(own);
      const auto& other_numbers = std::get<NumberColumn>(other);
      return term.real ? accepts_band(term, own_numbers.real(own_row), other_numbers.real(other_row))
                       : accepts_band(term, own_numbers.words[own_row], other_numbers.words[other_row]);
    }
    case TermKind::kDot:
    case TermKind::kCosine:
      return satisfies_weighted(term, std::get<SetColumn>(own), own_row, std::get<SetColumn>(other),
                                other_row);
    case TermKind::kDistance:
      return distance_test(term)(std::get<VectorColumn>(own), own_row, std::get<VectorColumn>(other),
                                 other_row);
    case TermKind::kCompiled: {
      const void* own_bytes = std::get<VectorColumn>(own).at(own_row);
      const void* other_bytes = std::get<VectorColumn>(other).at(other_row);
      const bool own_first = own_is_left != term.swapped;
      const int verdict = own_first ? term.function(own_bytes, other_bytes, term.user_data)
                                    : term.function(other_bytes, own_bytes, term.user_data);
      if (verdict < 0) throw PairError(own_row, other_row, verdict);
      return verdict > 0;
    }
    default:
      return satisfies_set(term, std::get<SetColumn>(own), own_row, std::get<SetColumn>(other), other_row,
                           own_is_left);
  }
}

}  // namespace watersmeet
