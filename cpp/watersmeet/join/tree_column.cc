#include "watersmeet/join/tree_column.h"

#include <vector>

namespace watersmeet {

Column empty_column(const Term& term, Seq row) {
  const auto starting_at = [row](auto column) -> Column {
    column.reset(row);
    return column;
  };
  if (term.kind == TermKind::kEqual) return starting_at(KeyColumn{});
  if (term.kind == TermKind::kBand) return starting_at(NumberColumn{});
  if (term.kind == TermKind::kDistance || term.kind == TermKind::kCompiled)
    return starting_at(VectorColumn(term.element, term.width));
  SetColumn sets;
  sets.weighted = term.is_weighted();
  return starting_at(std::move(sets));
}

void append_value(const Column& from, Seq row, Column& to) {
  if (const auto* keys = std::get_if<KeyColumn>(&from)) {
    std::get<KeyColumn>(to).words.push_back(keys->words[row]);
  } else if (const auto* numbers = std::get_if<NumberColumn>(&from)) {
    std::get<NumberColumn>(to).words.push_back(numbers->words[row]);
  } else if (const auto* vectors = std::get_if<VectorColumn>(&from)) {
    auto& out = std::get<VectorColumn>(to);
    out.data.append(vectors->at(row), vectors->row_bytes);
    out.squares.push_back(vectors->squares[row]);
  } else {
    const auto& sets = std::get<SetColumn>(from);
    auto& out = std::get<SetColumn>(to);
    const auto items = sets.set(row);
    out.starts.push_back(out.items.end());
    out.items.append(items.data(), items.size());
    if (!out.weighted) return;
    out.weights.append(sets.set_weights(row).data(), items.size());
    out.squares.push_back(sets.squares[row]);
  }
}

void append_nothing(Column& to) {
  if (auto* keys = std::get_if<KeyColumn>(&to)) {
    keys->words.push_back(0);
  } else if (auto* numbers = std::get_if<NumberColumn>(&to)) {
    numbers->words.push_back(0);
  } else if (auto* vectors = std::get_if<VectorColumn>(&to)) {
    vectors->data.append_copies(0, vectors->row_bytes);
    vectors->squares.push_back(0);
  } else {
    auto& sets = std::get<SetColumn>(to);
    sets.starts.push_back(sets.items.end());
    if (sets.weighted) sets.squares.push_back(0);
  }
}

}  // namespace watersmeet
