// Whether one pair of rows satisfies one term, evaluated on the columns themselves.
//
// This is the last word of every index and the filter for terms that do not drive one. Item codes depend on
// the order of arrival, so a decision about weighted sets must not depend on the order in which products are
// added: sums that come close to the threshold are done again over the products sorted by value.
// Cost       equal, band O(1); sets O(own + other items), or O(small * log large) where the sizes differ a lot.
// Threads    const data only; scratch memory is per thread.
#pragma once

#include <cstddef>
#include <span>

#include "watersmeet/base/types.h"
#include "watersmeet/predicate/term.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

// True if rows `own_row` and `other_row` satisfy the term. Both columns must have the form the term reads;
// `joinable` is the caller's business.
[[nodiscard]] bool satisfies(const Term& term, const Column& own, Seq own_row, const Column& other,
                             Seq other_row, bool own_is_left);

// The number of codes in both of two strictly increasing lists.
[[nodiscard]] std::size_t count_shared(std::span<const Code> own, std::span<const Code> other);

// The same for two rows of unweighted sets.
[[nodiscard]] bool satisfies_set(const Term& term, const SetColumn& own, Seq own_row, const SetColumn& other,
                                 Seq other_row, bool own_is_left);

// The same for two rows of weighted sets (dot and cosine are symmetric).
[[nodiscard]] bool satisfies_weighted(const Term& term, const SetColumn& own, Seq own_row,
                                      const SetColumn& other, Seq other_row);

}  // namespace watersmeet
