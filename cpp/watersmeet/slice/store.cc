#include "watersmeet/slice/store.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "watersmeet/base/errors.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

[[nodiscard]] TermCoding make_coding(const SliceTerm& config) {
  TermCoding coding;
  coding.coding = config.coding;
  const bool bytes = config.coding == Coding::kBytes || config.coding == Coding::kComposite;
  const bool keys = config.term.kind == TermKind::kEqual;
  if (config.term.is_set() || (keys && bytes)) coding.interner = std::make_unique<Interner>(bytes);
  return coding;
}

[[nodiscard]] Column make_column(const Term& term) {
  if (term.kind == TermKind::kEqual) return KeyColumn{};
  if (term.kind == TermKind::kBand) return NumberColumn{};
  if (term.kind == TermKind::kDistance) return VectorColumn(term.element, term.width);
  SetColumn sets;
  sets.weighted = term.is_weighted();
  return sets;
}

[[nodiscard]] Seq end_of(const Column& column) {
  if (const auto* keys = std::get_if<KeyColumn>(&column)) return keys->words.end();
  if (const auto* numbers = std::get_if<NumberColumn>(&column)) return numbers->words.end();
  if (const auto* vectors = std::get_if<VectorColumn>(&column)) return vectors->squares.end();
  return std::get<SetColumn>(column).starts.end();
}

[[noreturn]] void refuse_time(const SliceStream& stream, const TimeCheck& fault) {
  const std::string where =
      "stream '" + stream.name + "': column '" + stream.time_column + "', row " + std::to_string(fault.row);
  if (fault.fault == TimeFault::kDisorder) {
    throw OrderError(where + ": " + std::to_string(fault.value) + " is behind " +
                     std::to_string(fault.previous) +
                     ", which the stream has reached; rows come in timestamp order");
  }
  if (fault.fault == TimeFault::kNull) throw SchemaError(where + ": a null timestamp");
  throw SchemaError(where + ": timestamp " + std::to_string(fault.value) + " is out of range");
}

}  // namespace

SliceStore::SliceStore(const SliceConfig& config)
    : config_(&config),
      columns_(config.streams.size()),
      links_(config.streams.size() * config.streams.size()) {
  const std::size_t streams = config.streams.size();
  for (std::size_t stream = 0; stream < streams; ++stream) windows_.emplace_back();
  for (std::size_t at = 0; at < config.terms.size(); ++at) {
    const SliceTerm& term = config.terms[at];
    codings_.push_back(make_coding(term));
    distances_.emplace_back();
    if (term.term.kind == TermKind::kDistance) distances_.back().emplace(term.term);
    const std::size_t left = add_column(term.left, at, true);
    const std::size_t right = add_column(term.right, at, false);
    links_[term.left * streams + term.right].push_back({at, left, right, true});
    links_[term.right * streams + term.left].push_back({at, right, left, false});
  }
}

std::size_t SliceStore::add_column(std::size_t stream, std::size_t term, bool left) {
  columns_[stream].push_back({term, left});
  windows_[stream].columns.push_back(make_column(config_->terms[term].term));
  return columns_[stream].size() - 1;
}

void SliceStore::append(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array,
                        Timestamp floor) {
  Window& window = windows_[stream];
  const Seq first = window.end();
  const auto rows = static_cast<std::size_t>(array.length);
  std::vector<ArrowView> views;
  for (std::int64_t at = 0; at < array.n_children; ++at) {
    views.emplace_back(*schema.children[at], *array.children[at], array.offset, array.length);
  }
  std::vector<Timestamp> times(rows);
  const SliceStream& config = config_->streams[stream];
  const TimeCheck check = read_times(views.at(0), config.time_multiplier, floor, times.data());
  if (check.fault != TimeFault::kNone) refuse_time(config, check);
  std::vector<std::uint8_t> joinable(rows, 1);
  try {
    append_columns(stream, views, joinable.data());
  } catch (...) {
    release(stream, first, first + rows);
    window.truncate(first);
    throw;
  }
  window.timestamps.append(times.data(), rows);
  window.joinable.append(joinable.data(), rows);
  window.close_append(first);
}

void SliceStore::append_columns(std::size_t stream, const std::vector<ArrowView>& views,
                                std::uint8_t* joinable) {
  auto next = views.begin() + 1;
  for (std::size_t at = 0; at < columns_[stream].size(); ++at) {
    const StreamColumn& place = columns_[stream][at];
    const SliceTerm& config = config_->terms[place.term];
    const TermCoding& coding = codings_[place.term];
    const auto end = next + static_cast<std::ptrdiff_t>(config.columns[place.left ? 0 : 1]);
    Column& column = windows_[stream].columns[at];
    try {
      if (auto* keys = std::get_if<KeyColumn>(&column)) {
        append_keys({next, end}, coding, *keys, joinable);
      } else if (auto* numbers = std::get_if<NumberColumn>(&column)) {
        append_numbers(*next, config.term.real, *numbers, joinable);
      } else if (auto* vectors = std::get_if<VectorColumn>(&column)) {
        append_vectors(*next, *vectors, joinable);
      } else {
        append_sets(*next, end - next > 1 ? &*(next + 1) : nullptr, coding, std::get<SetColumn>(column),
                    joinable);
      }
    } catch (const SchemaError& error) {
      throw SchemaError(config.label + ": " + error.what());
    }
    next = end;
  }
}

void SliceStore::release(std::size_t stream, Seq first, Seq last) {
  for (std::size_t at = 0; at < columns_[stream].size(); ++at) {
    const TermCoding& coding = codings_[columns_[stream][at].term];
    if (coding.interner == nullptr) continue;
    const Column& column = windows_[stream].columns[at];
    const Seq end = std::min(last, end_of(column));
    if (end <= first) continue;
    if (const auto* keys = std::get_if<KeyColumn>(&column)) {
      release_keys(coding, *keys, first, end);
    } else {
      release_sets(coding, std::get<SetColumn>(column), first, end);
    }
  }
}

void SliceStore::take_back(std::size_t stream, Seq row) {
  Window& window = windows_[stream];
  if (row >= window.end()) return;
  release(stream, row, window.end());
  window.truncate(row);
}

void SliceStore::drop_before(std::size_t stream, Seq row) {
  Window& window = windows_[stream];
  if (row <= window.begin()) return;
  release(stream, window.begin(), row);
  window.drop_before(row);
}

void SliceStore::start_at(std::size_t stream, Seq row) { windows_[stream].reset(row); }

bool SliceStore::matches(std::size_t own, Seq own_row, std::size_t other, Seq other_row) const {
  const Window& own_window = windows_[own];
  const Window& other_window = windows_[other];
  for (const TermLink& link : links(own, other)) {
    const Column& own_column = own_window.columns[link.own_column];
    const Column& other_column = other_window.columns[link.other_column];
    const auto& distance = distances_[link.term];
    const bool holds = distance.has_value() ? (*distance)(std::get<VectorColumn>(own_column), own_row,
                                                          std::get<VectorColumn>(other_column), other_row)
                                            : satisfies(config_->terms[link.term].term, own_column, own_row,
                                                        other_column, other_row, link.own_is_left);
    if (!holds) return false;
  }
  return true;
}

std::size_t SliceStore::bytes() const {
  std::size_t total = 0;
  for (const Window& window : windows_) total += window.bytes();
  for (const TermCoding& coding : codings_)
    total += coding.interner == nullptr ? 0 : coding.interner->bytes();
  return total;
}

}  // namespace watersmeet
