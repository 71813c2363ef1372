// The column that one term of a predicate keeps per window: how it is made, filled from Arrow and let go.
//
// Every kind of join keeps such columns, alone or side by side, so what depends on a term's kind stands here once.
// Errors     append_term throws SchemaError, naming the term; the caller takes back the rows appended so far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "watersmeet/predicate/term.h"
#include "watersmeet/tuple/arrow_view.h"
#include "watersmeet/tuple/ingest.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

// The coding of a term's values, with an interner where they need one.
[[nodiscard]] TermCoding make_coding(const Term& term, Coding coding);

// An empty column of the type that the term compares.
[[nodiscard]] Column make_column(const Term& term);

// One past the column's last row.
[[nodiscard]] Seq end_of(const Column& column);

// Appends one value per row of the `count` views; joinable[row] becomes 0 where there is nothing to compare.
// `label` is what messages call the term.
void append_term(const Term& term, const std::string& label, const TermCoding& coding, const ArrowView* views,
                 std::size_t count, Column& column, std::uint8_t* joinable);

// Gives back what rows [first, last), as far as the column has them, hold of the interner.
void release_term(const TermCoding& coding, const Column& column, Seq first, Seq last);

}  // namespace watersmeet
