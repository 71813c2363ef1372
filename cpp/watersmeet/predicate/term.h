// One native part of a join predicate, and what it means for a pair of rows.
//
// A join's predicate is a conjunction of terms; the first drives the index, the others filter.
// Terms are directional (subset: left within right), so every test says which side its own row is on.
// Arithmetic here is the definition (DESIGN.md section 2): indexes must agree with it exactly.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "watersmeet/tuple/column.h"

namespace watersmeet {

enum class TermKind : std::uint8_t {
  kEqual,
  kBand,
  kOverlap,
  kSubset,
  kSuperset,
  kSameSet,
  kJaccard,
  kDot,
  kCosine,
  kDistance,
  kCompiled,  // a user's C function of the bytes of two rows
};

// Above 0: the pair matches; 0: it does not; below 0: it cannot be decided, and the join stops. Called on any
// thread, on several at once.
using CompiledTest = int (*)(const void* left, const void* right, void* user_data);

// How far apart two vectors are. With a and b of n elements:
enum class Metric : std::uint8_t {
  kMeanAbs,  // sum |a - b| / n
  kL2,       // sqrt(sum (a - b)^2)
  kCosine,   // 1 - a.b / (|a| |b|); a vector of zeros matches nothing
  kHamming,  // bits in which they differ
};

struct Term {
  TermKind kind = TermKind::kEqual;
  // overlap: items; jaccard, dot, cosine: similarity.
  double at_least = 0;
  // band on integers / on doubles.
  std::uint64_t within_integer = 0;
  double within_real = 0;
  bool real = false;
  // distance: of vectors of `width` elements each.
  Metric metric = Metric::kMeanAbs;
  double at_most = 0;
  Element element = Element::kByte;
  std::size_t width = 0;
  // compiled: of rows of `width` bytes each; swapped: the function's first row is the right one.
  CompiledTest function = nullptr;
  void* user_data = nullptr;
  bool swapped = false;

  [[nodiscard]] bool is_set() const { return kind >= TermKind::kOverlap && kind <= TermKind::kCosine; }
  [[nodiscard]] bool is_weighted() const { return kind == TermKind::kDot || kind == TermKind::kCosine; }
};

// True if a pair of unweighted sets that share `shared` items satisfies the term.
[[nodiscard]] inline bool accepts_overlap(const Term& term, std::size_t shared, std::size_t left_size,
                                          std::size_t right_size) {
  switch (term.kind) {
    case TermKind::kOverlap:
      return static_cast<double>(shared) >= term.at_least;
    case TermKind::kSubset:
      return shared == left_size;
    case TermKind::kSuperset:
      return shared == right_size;
    case TermKind::kSameSet:
      return shared == left_size && shared == right_size;
    case TermKind::kJaccard:
      // The quotient, as the definition has it: a product would round the other way at thresholds met
      // exactly.
      return shared > 0 &&
             static_cast<double>(shared) / static_cast<double>(left_size + right_size - shared) >=
                 term.at_least;
    default:
      return false;
  }
}

// The fewest shared items with which any partner could satisfy the term, given the own set's size.
// 0 means that partners without a shared item may match (subset and superset of empty sets).
[[nodiscard]] inline std::size_t least_overlap(const Term& term, std::size_t own_size, bool own_is_left) {
  switch (term.kind) {
    case TermKind::kOverlap:
      // Beyond own_size nothing matches; the cap keeps the conversion defined.
      return static_cast<std::size_t>(
          std::clamp(std::ceil(term.at_least), 0.0, static_cast<double>(own_size) + 1));
    case TermKind::kSubset:
      return own_is_left ? own_size : 0;
    case TermKind::kSuperset:
      return own_is_left ? 0 : own_size;
    case TermKind::kSameSet:
      return own_size;
    case TermKind::kJaccard: {
      // shared >= s * union >= s * own_size; one below the ceiling guards against rounding.
      const double bound = term.at_least * static_cast<double>(own_size);
      const auto rounded = static_cast<std::size_t>(std::ceil(bound * (1 - 1e-12)));
      return rounded > 0 ? rounded : 1;
    }
    default:
      return 1;
  }
}

// True if dot product `dot` of two weighted sets with squared norms satisfies the term.
[[nodiscard]] inline bool accepts_product(const Term& term, double dot, double own_squares,
                                          double other_squares) {
  if (term.kind == TermKind::kDot) return dot >= term.at_least;
  const double scale = std::sqrt(own_squares * other_squares);
  return scale > 0 && dot / scale >= term.at_least;
}

// |own - other| <= within, without overflow.
[[nodiscard]] inline bool accepts_band(const Term& term, std::int64_t own, std::int64_t other) {
  const auto a = static_cast<std::uint64_t>(own);
  const auto b = static_cast<std::uint64_t>(other);
  return (own >= other ? a - b : b - a) <= term.within_integer;
}
[[nodiscard]] inline bool accepts_band(const Term& term, double own, double other) {
  return std::abs(own - other) <= term.within_real;
}

}  // namespace watersmeet
