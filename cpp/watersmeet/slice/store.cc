#include "watersmeet/slice/store.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "watersmeet/base/errors.h"
#include "watersmeet/predicate/term_column.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

[[nodiscard]] std::unique_ptr<Index> make_index(const Window& window, const Term& term) {
  if (term.kind == TermKind::kEqual) return make_hash_index(window, term);
  if (term.is_set()) return make_inverted_index(window, term, MergeKind::kAuto);
  return make_scan_index(window, term);
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
    : config_(&config), sides_(config.streams.size()), links_(config.streams.size() * config.streams.size()) {
  const std::size_t streams = config.streams.size();
  for (std::size_t stream = 0; stream < streams; ++stream) windows_.emplace_back();
  for (std::size_t at = 0; at < config.terms.size(); ++at) {
    const SliceTerm& term = config.terms[at];
    codings_.push_back(make_coding(term.term, term.coding));
    distances_.emplace_back();
    if (term.term.kind == TermKind::kDistance) distances_.back().emplace(term.term);
    TermSide& left = add_side(term.left, at, true);
    TermSide& right = add_side(term.right, at, false);
    links_[term.left * streams + term.right].push_back(
        {at, true, &left.window, &right.window, right.index.get()});
    links_[term.right * streams + term.left].push_back(
        {at, false, &right.window, &left.window, left.index.get()});
  }
}

SliceStore::TermSide& SliceStore::add_side(std::size_t stream, std::size_t term, bool left) {
  auto side = std::make_unique<TermSide>();
  side->term = term;
  side->left = left;
  const Term& given = config_->terms[term].term;
  side->window.columns.push_back(make_column(given));
  side->index = make_index(side->window, given);
  sides_[stream].push_back(std::move(side));
  return *sides_[stream].back();
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
  std::size_t indexed = 0;
  try {
    const ArrowView* next = views.data() + 1;
    for (const auto& side : sides_[stream]) {
      append_column(*side, next, joinable.data());
      next += config_->terms[side->term].columns[side->left ? 0 : 1];
    }
    // A row is joinable or not in all its terms alike.
    for (const auto& side : sides_[stream]) {
      side->window.timestamps.append(times.data(), rows);
      side->window.joinable.append(joinable.data(), rows);
      side->window.close_append(first);
    }
    for (const auto& side : sides_[stream]) {
      ++indexed;
      side->index->append(first, first + rows);
    }
  } catch (...) {
    for (const auto& side : sides_[stream]) {
      if (indexed > 0) {
        --indexed;
        side->index->truncate(first);
      }
      release(*side, first, first + rows);
      side->window.truncate(first);
    }
    throw;
  }
  window.timestamps.append(times.data(), rows);
  window.joinable.append(joinable.data(), rows);
  window.close_append(first);
}

void SliceStore::append_column(TermSide& side, const ArrowView* views, std::uint8_t* joinable) {
  const SliceTerm& config = config_->terms[side.term];
  const std::size_t count = config.columns[side.left ? 0 : 1];
  append_term(config.term, config.label, codings_[side.term], views, count, side.window.columns[0], joinable);
}

void SliceStore::release(const TermSide& side, Seq first, Seq last) {
  release_term(codings_[side.term], side.window.columns[0], first, last);
}

void SliceStore::take_back(std::size_t stream, Seq row) {
  Window& window = windows_[stream];
  if (row >= window.end()) return;
  for (const auto& side : sides_[stream]) {
    side->index->truncate(row);
    release(*side, row, window.end());
    side->window.truncate(row);
  }
  window.truncate(row);
}

void SliceStore::drop_before(std::size_t stream, Seq row) {
  Window& window = windows_[stream];
  if (row <= window.begin()) return;
  for (const auto& side : sides_[stream]) {
    side->index->expire_before(row);
    release(*side, window.begin(), row);
    side->window.drop_before(row);
  }
  window.drop_before(row);
}

void SliceStore::start_at(std::size_t stream, Seq row) {
  windows_[stream].reset(row);
  for (const auto& side : sides_[stream]) side->window.reset(row);
}

void SliceStore::prepare(const std::vector<std::vector<Seq>>& probing, std::size_t lanes) {
  const std::size_t streams = config_->streams.size();
  for (std::size_t own = 0; own < streams; ++own) {
    for (std::size_t other = 0; other < streams; ++other) {
      for (const TermLink& link : links(own, other)) {
        ProbeRun run;
        run.own = link.own;
        run.own_is_left = link.own_is_left;
        run.rows = probing[own].data();
        run.requests = term(link).is_set() ? probing[own].size() : 0;
        link.index->prepare(run, lanes);
      }
    }
  }
}

bool SliceStore::holds(const TermLink& link, Seq own_row, Seq other_row) const {
  const Column& own = link.own->columns[0];
  const Column& other = link.other->columns[0];
  const auto& distance = distances_[link.term];
  if (distance.has_value()) {
    return (*distance)(std::get<VectorColumn>(own), own_row, std::get<VectorColumn>(other), other_row);
  }
  return satisfies(term(link), own, own_row, other, other_row, link.own_is_left);
}

std::size_t SliceStore::bytes() const {
  std::size_t total = 0;
  for (const Window& window : windows_) total += window.bytes();
  for (const auto& sides : sides_) {
    for (const auto& side : sides) total += side->window.bytes() + side->index->bytes();
  }
  for (const TermCoding& coding : codings_)
    total += coding.interner == nullptr ? 0 : coding.interner->bytes();
  return total;
}

}  // namespace watersmeet
