// Single values copied from column to column: what a combination takes from the member that drives the join
// above.
#pragma once

#include "watersmeet/predicate/term.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

// A column for the term's values, empty, whose first row will be `row`.
[[nodiscard]] Column empty_column(const Term& term, Seq row = 0);
// Appends a row's value. Requires: both columns are of one kind.
void append_value(const Column& from, Seq row, Column& to);
// Appends the value of a row that matches nothing.
void append_nothing(Column& to);

}  // namespace watersmeet
