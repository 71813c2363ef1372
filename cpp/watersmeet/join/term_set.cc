#include "watersmeet/join/term_set.h"

#include <utility>
#include <variant>

#include "watersmeet/predicate/term_column.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

void copy_set(const SetColumn& from, Seq row, SetColumn& to) {
  const auto items = from.set(row);
  to.starts.push_back(to.items.end());
  to.items.append(items.data(), items.size());
  if (!to.weighted) return;
  to.weights.append(from.set_weights(row).data(), items.size());
  to.squares.push_back(from.squares[row]);
}

}  // namespace

TermSet::TermSet(std::vector<TermConfig> terms) : terms_(std::move(terms)) {
  for (const TermConfig& config : terms_) codings_.push_back(make_coding(config.term, config.coding));
}

std::vector<Column> TermSet::make_columns(Seq row) const {
  std::vector<Column> columns;
  for (const TermConfig& config : terms_) {
    columns.push_back(make_column(config.term));
    std::visit([row](auto& values) { values.reset(row); }, columns.back());
  }
  return columns;
}

std::size_t TermSet::arrow_columns(std::size_t stream) const {
  std::size_t count = 0;
  for (const TermConfig& config : terms_) count += config.columns[stream];
  return count;
}

void TermSet::append(std::size_t stream, const std::vector<ArrowView>& views, std::vector<Column>& columns,
                     std::uint8_t* joinable) {
  const ArrowView* next = views.data();
  for (std::size_t at = 0; at < terms_.size(); ++at) {
    const TermConfig& config = terms_[at];
    const std::size_t count = config.columns[stream];
    append_term(config.term, config.label, codings_[at], next, count, columns[at], joinable);
    next += count;
  }
}

void TermSet::append_copy(const std::vector<Column>& from, Seq row, std::vector<Column>& to) {
  for (std::size_t at = 0; at < terms_.size(); ++at) {
    Interner* interner = codings_[at].interner.get();
    if (const auto* keys = std::get_if<KeyColumn>(&from[at])) {
      const std::uint64_t word = keys->words[row];
      if (interner != nullptr && word != 0) interner->add_reference(static_cast<Code>(word - 1));
      std::get<KeyColumn>(to[at]).words.push_back(word);
    } else if (const auto* numbers = std::get_if<NumberColumn>(&from[at])) {
      std::get<NumberColumn>(to[at]).words.push_back(numbers->words[row]);
    } else if (const auto* vectors = std::get_if<VectorColumn>(&from[at])) {
      auto& copies = std::get<VectorColumn>(to[at]);
      copies.data.append(vectors->at(row), vectors->row_bytes);
      copies.squares.push_back(vectors->squares[row]);
    } else {
      const auto& sets = std::get<SetColumn>(from[at]);
      for (const Code code : sets.set(row)) interner->add_reference(code);
      copy_set(sets, row, std::get<SetColumn>(to[at]));
    }
  }
}

void TermSet::release(const std::vector<Column>& columns, Seq first, Seq last) {
  for (std::size_t at = 0; at < terms_.size(); ++at) release_term(codings_[at], columns[at], first, last);
}

bool TermSet::satisfies_from(std::size_t first, const Window& own, Seq own_row, const Window& other,
                             Seq other_row, bool own_is_left) const {
  for (std::size_t at = first; at < terms_.size(); ++at) {
    if (!satisfies(terms_[at].term, own.columns[at], own_row, other.columns[at], other_row, own_is_left)) {
      return false;
    }
  }
  return true;
}

void TermSet::trim() {
  for (TermCoding& coding : codings_) {
    if (coding.interner != nullptr) coding.interner->trim();
  }
}

std::size_t TermSet::bytes() const {
  std::size_t total = 0;
  for (const TermCoding& coding : codings_)
    total += coding.interner == nullptr ? 0 : coding.interner->bytes();
  return total;
}

void TermSet::save(ByteWriter& writer) const {
  for (const TermCoding& coding : codings_) {
    if (coding.interner != nullptr) coding.interner->save(writer);
  }
}

void TermSet::load(ByteReader& reader) {
  for (TermCoding& coding : codings_) {
    if (coding.interner != nullptr) coding.interner->load(reader);
  }
}

void TermSet::finish_load() {
  for (TermCoding& coding : codings_) {
    if (coding.interner != nullptr) coding.interner->drop_unreferenced();
  }
}

void TermSet::save_columns(ByteWriter& writer, const std::vector<Column>& columns) const {
  for (const Column& column : columns) {
    if (const auto* keys = std::get_if<KeyColumn>(&column)) {
      writer.put_sliding(keys->words);
    } else if (const auto* numbers = std::get_if<NumberColumn>(&column)) {
      writer.put_sliding(numbers->words);
    } else if (const auto* vectors = std::get_if<VectorColumn>(&column)) {
      writer.put_sliding(vectors->data);
      writer.put_sliding(vectors->squares);
    } else {
      const auto& sets = std::get<SetColumn>(column);
      writer.put_sliding(sets.starts);
      writer.put_sliding(sets.items);
      writer.put_sliding(sets.weights);
      writer.put_sliding(sets.squares);
    }
  }
}

namespace {

[[noreturn]] void damaged(const char* what) { throw SnapshotError(std::string("snapshot: ") + what); }

template <class T>
void expect_rows(const SlidingArray<T>& array, Seq first, std::size_t rows) {
  if (array.begin() != first || array.size() != rows) damaged("a column does not have its window's rows");
}

void load_keys(ByteReader& reader, KeyColumn& keys, Interner* interner, Seq first, std::size_t rows) {
  reader.get_sliding(keys.words);
  expect_rows(keys.words, first, rows);
  if (interner == nullptr) return;
  for (Seq row = first; row < first + rows; ++row) {
    const std::uint64_t word = keys.words[row];
    if (word == 0) continue;
    if (!interner->known(word - 1)) damaged("a key that no text belongs to");
    interner->add_reference(static_cast<Code>(word - 1));
  }
}

void check_sets(const SetColumn& sets, Seq first, std::size_t rows) {
  expect_rows(sets.starts, first, rows);
  if (sets.weighted) {
    expect_rows(sets.squares, first, rows);
    expect_rows(sets.weights, sets.items.begin(), sets.items.size());
  }
  std::uint64_t previous = sets.items.begin();
  for (Seq row = first; row < first + rows; ++row) {
    if (sets.starts[row] < previous || sets.starts[row] > sets.items.end()) damaged("a set out of range");
    previous = sets.starts[row];
  }
  if (rows > 0 ? sets.starts[first] != sets.items.begin() : !sets.items.empty()) damaged("items of no set");
}

void load_sets(ByteReader& reader, SetColumn& sets, Interner& interner, Seq first, std::size_t rows) {
  reader.get_sliding(sets.starts);
  reader.get_sliding(sets.items);
  reader.get_sliding(sets.weights);
  reader.get_sliding(sets.squares);
  check_sets(sets, first, rows);
  for (Seq row = first; row < first + rows; ++row) {
    const auto items = sets.set(row);
    for (std::size_t at = 0; at < items.size(); ++at) {
      if (!interner.known(items[at])) damaged("an item that no value belongs to");
      if (at > 0 && items[at] <= items[at - 1]) damaged("the items of a set are out of order");
      interner.add_reference(items[at]);
    }
  }
}

}  // namespace

void TermSet::load_columns(ByteReader& reader, std::vector<Column>& columns, Seq first, std::size_t rows) {
  for (std::size_t at = 0; at < terms_.size(); ++at) {
    Interner* interner = codings_[at].interner.get();
    if (auto* keys = std::get_if<KeyColumn>(&columns[at])) {
      load_keys(reader, *keys, interner, first, rows);
    } else if (auto* numbers = std::get_if<NumberColumn>(&columns[at])) {
      reader.get_sliding(numbers->words);
      expect_rows(numbers->words, first, rows);
    } else if (auto* vectors = std::get_if<VectorColumn>(&columns[at])) {
      reader.get_sliding(vectors->data);
      reader.get_sliding(vectors->squares);
      expect_rows(vectors->squares, first, rows);
      expect_rows(vectors->data, first * vectors->row_bytes, rows * vectors->row_bytes);
    } else {
      load_sets(reader, std::get<SetColumn>(columns[at]), *interner, first, rows);
    }
  }
}

}  // namespace watersmeet
