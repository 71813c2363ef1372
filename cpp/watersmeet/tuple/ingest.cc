#include "watersmeet/tuple/ingest.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

std::uint64_t real_word(double value) {
  if (value == 0) return 0;
  if (std::isnan(value)) return std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  return std::bit_cast<std::uint64_t>(value);
}

template <class T>
void copy_integers(const ArrowView& view, std::uint64_t* out) {
  const T* values = view.values<T>();
  for (std::int64_t row = 0; row < view.length(); ++row) {
    out[row] = static_cast<std::uint64_t>(static_cast<std::int64_t>(values[row]));
  }
}

// All rows of an integer-like view as 64-bit words (null rows hold anything).
void read_words(const ArrowView& view, std::uint64_t* out) {
  switch (view.physical()) {
    case Physical::kInt64:
    case Physical::kUInt64:
      std::copy_n(view.values<std::uint64_t>(), view.length(), out);
      return;
    case Physical::kInt32:
      return copy_integers<std::int32_t>(view, out);
    case Physical::kInt16:
      return copy_integers<std::int16_t>(view, out);
    case Physical::kInt8:
      return copy_integers<std::int8_t>(view, out);
    case Physical::kUInt32:
      return copy_integers<std::uint32_t>(view, out);
    case Physical::kUInt16:
      return copy_integers<std::uint16_t>(view, out);
    case Physical::kUInt8:
      return copy_integers<std::uint8_t>(view, out);
    case Physical::kNull:
      std::fill_n(out, view.length(), std::uint64_t{0});
      return;
    default:
      for (std::int64_t row = 0; row < view.length(); ++row) {
        out[row] = static_cast<std::uint64_t>(view.integer(row));
      }
  }
}

// Whether no time is below the one before it, nor the first below `floor`. Looks at all, to be free of branches.
bool is_ordered(const Timestamp* times, std::int64_t count, Timestamp floor) {
  if (count == 0) return true;
  int descents = times[0] < floor ? 1 : 0;
  for (std::int64_t row = 1; row < count; ++row) descents |= times[row] < times[row - 1] ? 1 : 0;
  return descents == 0;
}

void clear_nulls(const ArrowView& view, std::uint8_t* joinable) {
  if (!view.may_have_nulls()) return;
  for (std::int64_t row = 0; row < view.length(); ++row) {
    if (view.is_null(row)) joinable[row] = 0;
  }
}

bool is_signed(Physical physical) { return physical <= Physical::kInt64; }

// Appends one value to a composite key: self-delimiting, equal bytes if and only if equal values.
void encode(const ArrowView& view, std::int64_t row, std::string& key) {
  const auto put = [&key](const auto& value) {
    key.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  if (view.is_bytes()) {
    const std::string_view text = view.bytes(row);
    put(static_cast<std::uint64_t>(text.size()));
    key.append(text);
  } else if (view.is_real()) {
    put(real_word(view.real(row)));
  } else {
    const std::int64_t value = view.integer(row);
    key.push_back(is_signed(view.physical()) && value < 0 ? '-' : '+');
    put(value);
  }
}

void append_composite(const std::vector<ArrowView>& views, Interner& interner, KeyColumn& column,
                      const std::uint8_t* joinable) {
  std::string key;
  for (std::int64_t row = 0; row < views[0].length(); ++row) {
    std::uint64_t word = 0;
    if (joinable[row] != 0) {
      key.clear();
      for (const ArrowView& view : views) encode(view, row, key);
      word = std::uint64_t{interner.intern(std::string_view(key))} + 1;
    }
    column.words.push_back(word);
  }
}

// Interned keys are kept as code + 1, so that 0 marks a row that holds no reference.
void append_bytes(const ArrowView& view, Interner& interner, KeyColumn& column,
                  const std::uint8_t* joinable) {
  for (std::int64_t row = 0; row < view.length(); ++row) {
    const bool held = joinable[row] != 0;
    column.words.push_back(held ? std::uint64_t{interner.intern(view.bytes(row))} + 1 : 0);
  }
}

// Interns the items of one row into codes_, in row order.
class ItemReader {
 public:
  ItemReader(const ArrowView& items, const TermCoding& coding) : items_(items), coding_(coding) {}

  [[nodiscard]] bool is_null(std::int64_t item) const { return items_.is_null(item); }

  Code code(std::int64_t item) {
    switch (coding_.coding) {
      case Coding::kBytes:
        return coding_.interner->intern(items_.bytes(item));
      case Coding::kReal:
        return coding_.interner->intern(real_word(items_.real(item)));
      case Coding::kComposite:
        key_.clear();
        encode(items_, item, key_);
        return coding_.interner->intern(std::string_view(key_));
      default:
        return coding_.interner->intern(static_cast<std::uint64_t>(items_.integer(item)));
    }
  }

 private:
  const ArrowView& items_;
  const TermCoding& coding_;
  std::string key_;
};

struct WeightedItem {
  Code code;
  double weight;
};

// Adds a row's codes, sorted and without repeats; repeats give their references back.
void append_plain_set(std::vector<Code>& codes, Interner& interner, SetColumn& column) {
  if (codes.size() <= 16) {
    for (std::size_t at = 1; at < codes.size(); ++at) {  // insertion sort: sets are small
      const Code code = codes[at];
      std::size_t hole = at;
      for (; hole > 0 && codes[hole - 1] > code; --hole) codes[hole] = codes[hole - 1];
      codes[hole] = code;
    }
  } else {
    std::sort(codes.begin(), codes.end());
  }
  std::size_t kept = 0;
  for (std::size_t at = 0; at < codes.size(); ++at) {
    if (kept > 0 && codes[kept - 1] == codes[at]) {
      interner.release(codes[at]);
    } else {
      codes[kept++] = codes[at];
    }
  }
  column.items.append(codes.data(), kept);
}

// The same with weights: of repeats the first stays.
void append_weighted_set(std::vector<WeightedItem>& items, Interner& interner, SetColumn& column) {
  std::stable_sort(items.begin(), items.end(),
                   [](const WeightedItem& a, const WeightedItem& b) { return a.code < b.code; });
  const WeightedItem* previous = nullptr;
  for (const WeightedItem& item : items) {
    if (previous != nullptr && previous->code == item.code) {
      interner.release(item.code);
      continue;
    }
    column.items.push_back(item.code);
    column.weights.push_back(item.weight);
    previous = &item;
  }
}

// Sum of squares of a row's weights, in an order that depends on the weights only.
double sum_of_squares(std::vector<double>& weights) {
  for (double& weight : weights) weight *= weight;
  std::sort(weights.begin(), weights.end());
  double sum = 0;
  for (const double square : weights) sum += square;
  return sum;
}

void append_unweighted(const ArrowView& view, const TermCoding& coding, SetColumn& column,
                       const std::uint8_t* joinable) {
  const bool list = view.is_list();
  const ArrowView items = list ? view.child() : view;
  ItemReader reader(items, coding);
  std::vector<Code> codes;
  for (std::int64_t row = 0; row < view.length(); ++row) {
    column.starts.push_back(column.items.end());
    if (joinable[row] == 0) continue;
    codes.clear();
    const std::int64_t end = list ? view.list_end(row) : row + 1;
    for (std::int64_t item = list ? view.list_begin(row) : row; item < end; ++item) {
      if (!reader.is_null(item)) codes.push_back(reader.code(item));
    }
    append_plain_set(codes, *coding.interner, column);
  }
}

// Where the items and weights of each row are, whichever way the user gave them.
struct WeightedSource {
  const ArrowView& rows;
  ArrowView items;
  ArrowView weights;
  const ArrowView* weight_rows;  // null for a map: weights stand beside the items

  [[nodiscard]] std::int64_t weight_of(std::int64_t row, std::int64_t item) const {
    return weight_rows == nullptr ? item : weight_rows->list_begin(row) + (item - rows.list_begin(row));
  }
};

WeightedSource weighted_source(const ArrowView& view, const ArrowView* weights) {
  if (!view.is_list())
    throw SchemaError("weighted sets need a list of items and a list of weights, or a map");
  if (weights == nullptr) {
    const ArrowView entries = view.child();
    return {view, entries.child(0), entries.child(1), nullptr};
  }
  if (!weights->is_list()) throw SchemaError("weights must be a list column beside the list of items");
  return {view, view.child(), weights->child(), weights};
}

void append_weighted(const ArrowView& view, const ArrowView* weight_rows, const TermCoding& coding,
                     SetColumn& column, std::uint8_t* joinable) {
  const WeightedSource source = weighted_source(view, weight_rows);
  ItemReader reader(source.items, coding);
  std::vector<WeightedItem> items;
  std::vector<double> squares;
  for (std::int64_t row = 0; row < view.length(); ++row) {
    column.starts.push_back(column.items.end());
    column.squares.push_back(0);
    if (joinable[row] == 0) continue;
    if (weight_rows != nullptr && weight_rows->list_end(row) - weight_rows->list_begin(row) !=
                                      view.list_end(row) - view.list_begin(row)) {
      throw SchemaError("row " + std::to_string(row) + ": " +
                        std::to_string(view.list_end(row) - view.list_begin(row)) + " items but " +
                        std::to_string(weight_rows->list_end(row) - weight_rows->list_begin(row)) +
                        " weights");
    }
    items.clear();
    for (std::int64_t item = view.list_begin(row); item < view.list_end(row); ++item) {
      const std::int64_t at = source.weight_of(row, item);
      if (reader.is_null(item) || source.weights.is_null(at)) continue;
      const double weight = source.weights.real(at);
      if (!std::isfinite(weight)) {
        for (const WeightedItem& taken : items) coding.interner->release(taken.code);
        throw SchemaError("row " + std::to_string(row) + ": weight " + std::to_string(weight) +
                          " is not finite");
      }
      items.push_back({reader.code(item), weight});
    }
    append_weighted_set(items, *coding.interner, column);
    const std::uint64_t first = column.starts[column.starts.end() - 1];
    squares.assign(column.weights.at(first), column.weights.at(column.weights.end()));
    column.squares[column.squares.end() - 1] = sum_of_squares(squares);
  }
}

}  // namespace

TimeCheck read_times(const ArrowView& view, std::int64_t multiplier, Timestamp floor, Timestamp* out) {
  if (!view.is_integer() && view.physical() != Physical::kNull) {
    throw SchemaError("the time column must hold timestamps, dates or integers");
  }
  Timestamp previous = floor;
  const bool nulls = view.may_have_nulls();
  const bool is_unsigned = view.physical() == Physical::kUInt64;
  if (!nulls) {
    read_words(view, reinterpret_cast<std::uint64_t*>(out));
    if (multiplier == 1 && !is_unsigned && is_ordered(out, view.length(), floor)) return {};
  }
  for (std::int64_t row = 0; row < view.length(); ++row) {
    if (nulls && view.is_null(row)) return {TimeFault::kNull, row, 0, previous};
    const std::int64_t value = nulls ? view.integer(row) : out[row];
    Timestamp ts = value;
    if (multiplier != 1 && __builtin_mul_overflow(value, multiplier, &ts)) {
      return {TimeFault::kOverflow, row, value, previous};
    }
    if (is_unsigned && value < 0) return {TimeFault::kOverflow, row, value, previous};
    if (ts < previous) return {TimeFault::kDisorder, row, value, previous};
    out[row] = ts;
    previous = ts;
  }
  return {};
}

void append_keys(const std::vector<ArrowView>& views, const TermCoding& coding, KeyColumn& column,
                 std::uint8_t* joinable) {
  for (const ArrowView& view : views) clear_nulls(view, joinable);
  const ArrowView& view = views[0];
  const auto rows = static_cast<std::size_t>(view.length());
  switch (coding.coding) {
    case Coding::kWord:
      read_words(view, column.words.extend(rows));
      return;
    case Coding::kReal: {
      std::uint64_t* out = column.words.extend(rows);
      for (std::int64_t row = 0; row < view.length(); ++row) {
        out[row] = joinable[row] != 0 ? real_word(view.real(row)) : 0;
      }
      return;
    }
    case Coding::kBytes:
      return append_bytes(view, *coding.interner, column, joinable);
    case Coding::kComposite:
      return append_composite(views, *coding.interner, column, joinable);
  }
}

void append_numbers(const ArrowView& view, bool real, NumberColumn& column, std::uint8_t* joinable) {
  clear_nulls(view, joinable);
  for (std::int64_t row = 0; row < view.length(); ++row) {
    if (joinable[row] == 0) {
      column.words.push_back(0);
    } else if (real) {
      const double value = view.real(row);
      if (std::isnan(value)) joinable[row] = 0;
      column.words.push_back(std::bit_cast<std::int64_t>(value));
    } else {
      column.words.push_back(view.integer(row));
    }
  }
}

void append_sets(const ArrowView& view, const ArrowView* weights, const TermCoding& coding, SetColumn& column,
                 std::uint8_t* joinable) {
  clear_nulls(view, joinable);
  if (weights != nullptr) clear_nulls(*weights, joinable);
  if (view.physical() == Physical::kNull) {
    for (std::int64_t row = 0; row < view.length(); ++row) {
      column.starts.push_back(column.items.end());
      if (column.weighted) column.squares.push_back(0);
    }
  } else if (column.weighted) {
    append_weighted(view, weights, coding, column, joinable);
  } else {
    append_unweighted(view, coding, column, joinable);
  }
}

void release_keys(const TermCoding& coding, const KeyColumn& column, Seq first, Seq last) {
  if (coding.interner == nullptr) return;
  for (Seq row = first; row < last; ++row) {
    const std::uint64_t word = column.words[row];
    if (word != 0) coding.interner->release(static_cast<Code>(word - 1));
  }
}

void release_sets(const TermCoding& coding, const SetColumn& column, Seq first, Seq last) {
  if (first >= last) return;
  const Code* item = column.items.at(column.starts[first]);
  const Code* end = column.items.at(column.item_end(last - 1));
  for (; item < end; ++item) coding.interner->release(*item);
}

}  // namespace watersmeet
