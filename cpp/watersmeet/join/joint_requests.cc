#include "watersmeet/join/joint_requests.h"

#include <algorithm>

#include "watersmeet/join/alive_cursor.h"

namespace watersmeet {
namespace {

constexpr std::size_t kMoreCells = kCells / 4;

[[nodiscard]] Timestamp clamped(Wide time) {
  return static_cast<Timestamp>(std::clamp(time, Wide{kMinTimestamp}, Wide{kMaxTimestamp}));
}

}  // namespace

Wide reach(const TreeState& state, Seq row, const Leaves& leaves) {
  Wide limit = kForever;
  for (std::size_t at = 0; at < state.streams.size(); ++at) {
    const Leaf& leaf = *leaves[state.streams[at]];
    limit = std::min(limit, Wide{leaf.state.window.timestamps[state.member(at, row)]} + span_of(leaf.config));
  }
  return limit;
}

std::size_t Joint::granted(HalfJoin& half, std::int64_t cycle) {
  const std::size_t parts = half.plan.whole() ? 1 : kCells;
  std::size_t wanted = 1;
  if (!half.plan.whole()) {
    wanted = half.plan.next_cells();
    // The plan's share of the cells follows from rows that are expected. If fewer come, each looks at more.
    if (half.allowance.is_plentiful()) wanted = std::min(kCells, wanted + kMoreCells);
  }
  if (wanted == 0) return 0;
  const std::size_t taken = half.allowance.take_parts(cycle, wanted, parts);
  half.denied += static_cast<double>(wanted - taken) / static_cast<double>(parts);
  return taken * (kCells / parts);
}

void Joint::find_ranges(std::size_t side, const Leaves& leaves, Requests& requests) {
  const TreeState& own = *inputs_[side];
  const TreeState& other = *inputs_[1 - side];
  HalfJoin& half = halves[side];
  const bool rationed = half.allowance.limited();
  std::vector<AliveCursor> cursors;
  for (const std::size_t stream : other.streams)
    cursors.emplace_back(*leaves[stream], !other.window_rows.has_value());
  Seq lo = other.window.begin();
  Seq hi = other.is_stream() ? lo : std::max(lo, other.slice);
  const Seq end = own.processed;
  requests.rows.reserve(static_cast<std::size_t>(end - own.slice));
  const auto ask = [&](Seq row, Seq first, Seq last) {
    if (first == last) return;
    requests.rows.push_back(row);
    requests.lo.push_back(first);
    requests.hi.push_back(last);
    if (rationed) {
      requests.reach_lo.push_back(lo);
      requests.reach_hi.push_back(hi);
    }
    if (other.is_stream()) return;
    for (const AliveCursor& cursor : cursors) requests.alive.push_back(cursor.lo());
  };
  for (Seq row = own.slice; row < end; ++row) {
    if (own.window.joinable[row] == 0) continue;
    ++half.counts.rows;
    const Turn turn = own.turn(row);
    const std::size_t cells = rationed ? granted(half, cycle_of(turn.ts, config_.cycle)) : kCells;
    if (cells == 0) continue;
    for (AliveCursor& cursor : cursors) cursor.move_to(turn);
    if (other.is_stream()) {
      lo = cursors[0].lo();
      hi = cursors[0].hi();
    } else {
      while (hi < other.processed && other.turn(hi).before(turn)) ++hi;
      if (other.window_rows.has_value() && hi - other.window.begin() > *other.window_rows) {
        lo = std::max(lo, hi - *other.window_rows);
      }
      const auto dead = [&](Seq at) {
        for (std::size_t member = 0; member < cursors.size(); ++member) {
          if (other.members[member][at] < cursors[member].lo()) return true;
        }
        return false;
      };
      while (lo < hi && dead(lo)) ++lo;
    }
    ++half.counts.looks;
    half.counts.cells += cells;
    if (!rationed) {
      half.counts.due += hi - lo;
      ask(row, lo, hi);
      continue;
    }
    const std::uint32_t chosen = cells == kCells ? (1U << kCells) - 1 : half.plan.chosen(cells);
    const std::uint64_t rows = hi - lo;
    // From the oldest cell to the newest; neighbours are asked for together.
    Seq first = lo;
    Seq last = lo;
    for (std::size_t cell = kCells; cell-- > 0;) {
      if ((chosen >> cell & 1U) == 0) continue;
      const Seq cell_lo = hi - cell_begin(rows, cell + 1);
      const Seq cell_hi = hi - cell_begin(rows, cell);
      half.by_cell.compared[cell] += cell_hi - cell_lo;
      half.counts.due += cell_hi - cell_lo;
      if (cell_lo != last) {
        ask(row, first, last);
        first = cell_lo;
      }
      last = cell_hi;
    }
    ask(row, first, last);
  }
}

// Everything in the other state was processed before. A stream's rows lie in the order of time; combinations
// do not, and are looked at one by one, as they are found.
void Joint::find_two_sided(std::size_t side, const Leaves& leaves, Requests& requests) {
  const TreeState& own = *inputs_[side];
  const TreeState& other = *inputs_[1 - side];
  HalfJoin& half = halves[side];
  const Wide span = other.is_stream() ? span_of(leaves[other.streams[0]]->config) : kForever;
  for (Seq row = own.slice; row < own.processed; ++row) {
    if (own.window.joinable[row] == 0) continue;
    ++half.counts.rows;
    ++half.counts.looks;
    half.counts.cells += kCells;
    const Wide limit = reach(own, row, leaves);
    Seq lo = other.window.begin();
    Seq hi = other.processed;
    if (other.is_stream()) {
      const Wide oldest = Wide{own.window.timestamps[row]} - span;
      lo = oldest > kMaxTimestamp ? hi : std::min(hi, other.window.lower_bound(clamped(oldest)));
      hi = limit >= kMaxTimestamp ? hi : std::min(hi, other.window.lower_bound(clamped(limit + 1)));
    }
    if (lo >= hi) continue;
    half.counts.due += hi - lo;
    requests.rows.push_back(row);
    requests.lo.push_back(lo);
    requests.hi.push_back(hi);
    requests.reach.push_back(limit);
  }
}

void Joint::count_matches(HalfJoin& half, const Requests& requests, std::size_t first, std::size_t request,
                          const Pairs& found) {
  std::size_t last_cell = kCells;
  std::uint64_t bunch = 0;
  for (std::size_t at = first; at < found.size(); ++at) {
    const bool same_row = at > first && found.own[at] == found.own[at - 1];
    while (requests.rows[request] != found.own[at]) ++request;
    const Seq lo = requests.reach_lo[request];
    const Seq hi = requests.reach_hi[request];
    const std::size_t cell = cell_of(hi - lo, hi - 1 - found.other[at]);
    ++half.by_cell.matches[cell];
    // n squared is the sum of the first n odd numbers.
    bunch = same_row && cell == last_cell ? bunch + 1 : 1;
    half.by_cell.squares += 2 * bunch - 1;
    last_cell = cell;
  }
}

}  // namespace watersmeet
