#include "watersmeet/predicate/term_column.h"

#include <algorithm>
#include <memory>
#include <variant>
#include <vector>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

void append_values(const Term& term, const TermCoding& coding, const ArrowView* views, std::size_t count,
                   Column& column, std::uint8_t* joinable) {
  if (auto* keys = std::get_if<KeyColumn>(&column)) {
    return append_keys(std::vector<ArrowView>(views, views + count), coding, *keys, joinable);
  }
  if (auto* numbers = std::get_if<NumberColumn>(&column)) {
    return append_numbers(*views, term.real, *numbers, joinable);
  }
  if (auto* vectors = std::get_if<VectorColumn>(&column)) return append_vectors(*views, *vectors, joinable);
  append_sets(*views, count > 1 ? views + 1 : nullptr, coding, std::get<SetColumn>(column), joinable);
}

}  // namespace

TermCoding make_coding(const Term& term, Coding coding) {
  TermCoding made;
  made.coding = coding;
  const bool bytes = coding == Coding::kBytes || coding == Coding::kComposite;
  const bool keys = term.kind == TermKind::kEqual;
  if (term.is_set() || (keys && bytes)) made.interner = std::make_unique<Interner>(bytes);
  return made;
}

Column make_column(const Term& term) {
  if (term.kind == TermKind::kEqual) return KeyColumn{};
  if (term.kind == TermKind::kBand) return NumberColumn{};
  if (term.kind == TermKind::kDistance || term.kind == TermKind::kCompiled)
    return VectorColumn(term.element, term.width);
  SetColumn sets;
  sets.weighted = term.is_weighted();
  return sets;
}

Seq end_of(const Column& column) {
  if (const auto* keys = std::get_if<KeyColumn>(&column)) return keys->words.end();
  if (const auto* numbers = std::get_if<NumberColumn>(&column)) return numbers->words.end();
  if (const auto* vectors = std::get_if<VectorColumn>(&column)) return vectors->squares.end();
  return std::get<SetColumn>(column).starts.end();
}

void append_term(const Term& term, const std::string& label, const TermCoding& coding, const ArrowView* views,
                 std::size_t count, Column& column, std::uint8_t* joinable) {
  try {
    append_values(term, coding, views, count, column, joinable);
  } catch (const SchemaError& error) {
    throw SchemaError(label + ": " + error.what());
  }
}

void release_term(const TermCoding& coding, const Column& column, Seq first, Seq last) {
  if (coding.interner == nullptr) return;
  const Seq end = std::min(last, end_of(column));
  if (end <= first) return;
  if (const auto* keys = std::get_if<KeyColumn>(&column)) {
    release_keys(coding, *keys, first, end);
  } else {
    release_sets(coding, std::get<SetColumn>(column), first, end);
  }
}

}  // namespace watersmeet
