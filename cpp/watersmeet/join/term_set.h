// The terms of a join with what their values are coded by: shared by the windows of all its streams.
//
// Invariants
//   (1) The reference that an interner counts for a row is given back once, when the row leaves its columns.
// Threads    one writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "watersmeet/join/config.h"
#include "watersmeet/tuple/arrow_view.h"
#include "watersmeet/window/window.h"

namespace watersmeet {

class TermSet {
 public:
  explicit TermSet(std::vector<TermConfig> terms);

  [[nodiscard]] std::size_t size() const { return terms_.size(); }
  [[nodiscard]] const Term& term(std::size_t at) const { return terms_[at].term; }
  // The columns, one per term, empty, whose first row will be `row`.
  [[nodiscard]] std::vector<Column> make_columns(Seq row) const;
  // How many Arrow columns a batch of `stream` has for the terms.
  [[nodiscard]] std::size_t arrow_columns(std::size_t stream) const;

  // Appends one batch: `views` are the Arrow columns of all terms. Clears joinable[row] of rows that match
  // nothing. Throws SchemaError naming the term; what was appended by then is to be truncated by the caller.
  void append(std::size_t stream, const std::vector<ArrowView>& views, std::vector<Column>& columns,
              std::uint8_t* joinable);
  // Appends a copy of one row of other columns.
  void append_copy(const std::vector<Column>& from, Seq row, std::vector<Column>& to);
  // Gives back what rows [first, last) hold; columns that end earlier are released up to their end.
  void release(const std::vector<Column>& columns, Seq first, Seq last);

  // True if the pair satisfies all terms from `first` on.
  [[nodiscard]] bool satisfies_from(std::size_t first, const Window& own, Seq own_row, const Window& other,
                                    Seq other_row, bool own_is_left) const;

  // Gives back memory of values that no row holds any more.
  void trim();
  [[nodiscard]] std::size_t bytes() const;
  void save(ByteWriter& writer) const;
  void load(ByteReader& reader);
  // Writes and reads the rows of `columns`; loading counts their references.
  void save_columns(ByteWriter& writer, const std::vector<Column>& columns) const;
  void load_columns(ByteReader& reader, std::vector<Column>& columns, Seq first, std::size_t rows);
  // Ends a load: values that no row holds are forgotten.
  void finish_load();

 private:
  std::vector<TermConfig> terms_;
  std::vector<TermCoding> codings_;
};

}  // namespace watersmeet
