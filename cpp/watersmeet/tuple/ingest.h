// From Arrow columns to the canonical columns of a window.
//
// Both sides of a term are brought to one coding, chosen once when the join sees both schemas, so that equal
// canonical values mean equal keys or items whatever the Arrow types were.
// Errors     SchemaError for values that cannot be joined on (NaN weight, lists of unequal length); the caller
//            then takes back the rows appended so far.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "watersmeet/base/sliding_array.h"
#include "watersmeet/base/types.h"
#include "watersmeet/tuple/arrow_view.h"
#include "watersmeet/tuple/column.h"
#include "watersmeet/tuple/interner.h"

namespace watersmeet {

// How values become 64-bit words or codes.
enum class Coding : std::uint8_t {
  kWord,       // integers, bools, dates and times of one signedness: the value itself
  kReal,       // floats: the bits of the double, with one zero and one NaN
  kBytes,      // strings, binaries, decimals of one scale: interned
  kComposite,  // several columns, or uint64 against signed integers: encoded, then interned
};

// How one term's values are coded, and the interner both windows share (null for kWord and kReal keys).
struct TermCoding {
  Coding coding = Coding::kWord;
  std::unique_ptr<Interner> interner;
};

enum class TimeFault : std::uint8_t { kNone, kNull, kDisorder, kOverflow };

struct TimeCheck {
  TimeFault fault = TimeFault::kNone;
  std::int64_t row = 0;    // the first row at fault
  Timestamp value = 0;     // its timestamp, in the column's own unit
  Timestamp previous = 0;  // the timestamp it falls behind, in the join's unit
};

// Reads timestamps in the column's unit, times `multiplier`, into `out` (one per row). Checks that they are
// neither null nor too large, and neither below `floor` nor decreasing; stops at the first fault.
[[nodiscard]] TimeCheck read_times(const ArrowView& view, std::int64_t multiplier, Timestamp floor,
                                   Timestamp* out);

// Each appends one value per row of the views; joinable[row] becomes 0 where a value is null (or a NaN number).
void append_keys(const std::vector<ArrowView>& views, const TermCoding& coding, KeyColumn& column,
                 std::uint8_t* joinable);
void append_numbers(const ArrowView& view, bool real, NumberColumn& column, std::uint8_t* joinable);
// `weights` is null for unweighted sets and for maps (whose values are the weights). A view that is not a list
// counts as a set of one item per row.
void append_sets(const ArrowView& view, const ArrowView* weights, const TermCoding& coding, SetColumn& column,
                 std::uint8_t* joinable);

// Vectors of the column's width: fixed-size binaries, or fixed-size lists of numbers. A row with a NaN or infinite
// element matches nothing; a null element, or an integer beyond 2^52 where elements are doubles, is an error.
void append_vectors(const ArrowView& view, VectorColumn& column, std::uint8_t* joinable);

// Gives back the interner's references of rows [first, last).
void release_keys(const TermCoding& coding, const KeyColumn& column, Seq first, Seq last);
void release_sets(const TermCoding& coding, const SetColumn& column, Seq first, Seq last);

}  // namespace watersmeet
