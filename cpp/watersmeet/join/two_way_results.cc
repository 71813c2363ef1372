// What becomes of the pairs that a two-way join finds: results that leave at once or in order, rows that stay alone, and
// the rows that results still to come may name.
#include <algorithm>
#include <array>
#include <cstring>

#include "watersmeet/join/two_way_join.h"

namespace watersmeet {
namespace {

constexpr std::size_t kFewestSharedCopies = 8192;  // results that several lanes copy
constexpr std::size_t kStepBlock = 4096;           // results for which older partners are told together

template <class Values>
void append_rows(const Side& side, const UninitializedVector<Seq>& rows, Values& out) {
  const std::size_t before = out.size();
  out.resize(before + rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) out[before + at] = side.row_id(rows[at]);
}

// Adds `rows` to `out`; where there is nothing yet, the two change memory instead.
template <class Rows>
void append(Rows& rows, Rows& out) {
  if (out.empty()) {
    out.swap(rows);
  } else {
    out.insert(out.end(), rows.begin(), rows.end());
  }
}

void append_results(const std::vector<Result>& results, ResultRows& out) {
  const std::size_t before = out.left.size();
  out.left.resize(before + results.size());
  out.right.resize(before + results.size());
  for (std::size_t at = 0; at < results.size(); ++at) {
    out.left[before + at] = results[at].left;
    out.right[before + at] = results[at].right;
  }
}

}  // namespace

void TwoWayJoin::accept(std::size_t own_stream, Pairs& found) {
  if (measures_ages_) sample_results(own_stream, found);
  if (plain()) return accept_plain(own_stream, found);
  const Side& own = *sides_[own_stream];
  const Side& other = *sides_[1 - own_stream];
  const bool own_is_left = own_stream == 0;
  for (const std::size_t stream : {std::size_t{0}, std::size_t{1}}) {
    if (!config_.tracks(stream)) continue;
    const auto& rows = stream == own_stream ? found.own : found.other;
    matched_[stream].insert(matched_[stream].end(), rows.begin(), rows.end());
  }
  if (config_.how == How::kSemi || config_.how == How::kAnti) return;
  if (config_.order != Order::kNone) return accept_in_step(own_stream, found);
  found_.reserve(found_.size() + found.size());
  for (std::size_t at = 0; at < found.size(); ++at) {
    const RowId own_id = own.row_id(found.own[at]);
    const RowId other_id = other.row_id(found.other[at]);
    const Timestamp ts =
        std::max(own.window.timestamps[found.own[at]], other.window.timestamps[found.other[at]]);
    found_.push_back({ts, own_is_left ? own_id : other_id, own_is_left ? other_id : own_id});
  }
}

// Where row numbers are the windows' own, the first block of results becomes the answer as it is.
void TwoWayJoin::accept_plain(std::size_t own_stream, Pairs& found) {
  auto& own_ids = own_stream == 0 ? plain_.left : plain_.right;
  auto& other_ids = own_stream == 0 ? plain_.right : plain_.left;
  if (own_ids.empty() && sides_[0]->dense() && sides_[1]->dense()) {
    own_ids.swap(found.own);
    other_ids.swap(found.other);
    return;
  }
  append_rows(*sides_[own_stream], found.own, own_ids);
  append_rows(*sides_[1 - own_stream], found.other, other_ids);
}

void TwoWayJoin::copy_plain_results(std::byte* left, std::byte* right) {
  const std::size_t rows = plain_.left.size();
  const auto copy = [&](std::size_t first, std::size_t last) {
    if (first == last) return;
    std::memcpy(left + first * sizeof(RowId), plain_.left.data() + first, (last - first) * sizeof(RowId));
    std::memcpy(right + first * sizeof(RowId), plain_.right.data() + first, (last - first) * sizeof(RowId));
  };
  if (shared_ == nullptr || rows < kFewestSharedCopies) return copy(0, rows);
  shared_->lanes().run([&](std::size_t lane) {
    const auto [first, last] = shared_->lanes().share(rows, lane);
    copy(first, last);
  });
}

// Rows probe in time order, so results at the own row's time come in order; those of newer partners do not.
// Partners that come before all that is newer than a block's first row are told by their place, which spares
// most results a look at the partner's time.
void TwoWayJoin::accept_in_step(std::size_t own_stream, const Pairs& found) {
  if (found.size() == 0) return;
  const Window& own = sides_[own_stream]->window;
  const Window& other = sides_[1 - own_stream]->window;
  const Timestamp* own_times = own.timestamps.at(own.begin());
  const Timestamp* other_times = other.timestamps.at(other.begin());
  const bool dense = sides_[0]->dense() && sides_[1]->dense();
  const auto result = [&](Timestamp ts, Seq row, Seq partner) {
    const RowId own_id = dense ? row : sides_[own_stream]->row_id(row);
    const RowId other_id = dense ? partner : sides_[1 - own_stream]->row_id(partner);
    return own_stream == 0 ? Result{ts, own_id, other_id} : Result{ts, other_id, own_id};
  };
  std::vector<Result>& in_step = in_step_[own_stream];
  const std::size_t before = in_step.size();
  in_step.resize(before + found.size());
  Result* next = in_step.data() + before;
  for (std::size_t begin = 0; begin < found.size(); begin += kStepBlock) {
    const std::size_t end = std::min(begin + kStepBlock, found.size());
    const Seq older = other.lower_bound(own_times[found.own[begin] - own.begin()]);
    for (std::size_t at = begin; at < end; ++at) {
      const Seq row = found.own[at];
      const Seq partner = found.other[at];
      const Timestamp ts = own_times[row - own.begin()];
      if (partner >= older) [[unlikely]] {
        const Timestamp other_ts = other_times[partner - other.begin()];
        if (other_ts > ts) {
          found_.push_back(result(other_ts, row, partner));
          continue;
        }
      }
      *next++ = result(ts, row, partner);
    }
  }
  in_step.resize(static_cast<std::size_t>(next - in_step.data()));
}

// --- rows without a partner ----------------------------------------------------------------------

void TwoWayJoin::mark_matches() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    for (const Seq row : matched_[stream]) {
      if (config_.how == How::kSemi && side.window.matched[row] == 0) {
        found_.push_back({side.window.timestamps[row], side.row_id(row), kNoRow});
      }
      side.window.matched[row] = 1;
    }
  }
}

// The first row of a window that a row still to be processed may meet.
Seq TwoWayJoin::first_alive(std::size_t stream) const {
  const Window& window = sides_[stream]->window;
  const Side& other = *sides_[1 - stream];
  if (other.ended && other.stage.waiting.empty()) return window.end();
  const auto& count = config_.streams[stream].window_rows;
  if (!count.has_value()) return bounds_.first_alive(window, stream, other.low());
  return std::max(window.begin(), window.end() > *count ? window.end() - *count : 0);
}

void TwoWayJoin::settle(std::size_t stream) {
  Side& side = *sides_[stream];
  const Seq alive = first_alive(stream);
  for (; side.settled < alive; ++side.settled) {
    const Seq row = side.settled;
    if (config_.how == How::kSemi || side.window.matched[row] != 0) continue;
    emit_alone(stream, side.window.timestamps[row], side.row_id(row));
  }
}

void TwoWayJoin::emit_alone(std::size_t stream, Timestamp ts, RowId id) {
  found_.push_back({ts, stream == 0 ? id : kNoRow, stream == 0 ? kNoRow : id});
}

// A row without a time has no place in the order of results: where there is one, it comes last.
void TwoWayJoin::emit_bad_rows() {
  for (const RowId id : bad_) {
    emit_alone(bad_stream_, kMinTimestamp, id);
    if (config_.order == Order::kNone) continue;
    timeless_.push_back(found_.back());
    found_.pop_back();
  }
}

// --- results leave -------------------------------------------------------------------------------

// No result still to come has a smaller timestamp than this.
Wide TwoWayJoin::release_bound() const {
  Wide bound = std::min(sides_[0]->low(), sides_[1]->low());
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    const Side& side = *sides_[stream];
    if (!config_.tracks(stream) || side.settled == side.window.end()) continue;
    bound = std::min(bound, Wide{side.window.timestamps[side.settled]});
  }
  return bound;
}

void TwoWayJoin::release(Released& out) {
  append(plain_.late, out.late);
  if (plain()) {
    append(plain_.left, out.left);
    append(plain_.right, out.right);
    return;
  }
  if (config_.order == Order::kNone) {
    append_results(found_, out);
    return;
  }
  const std::array fresh = {in_step_.data(), in_step_.data() + 1, &found_};
  const Wide bound = release_bound();
  if (bound <= kMaxTimestamp) {
    hold_.pass(fresh, static_cast<Timestamp>(bound), out);
    return;
  }
  for (std::vector<Result>* results : fresh) hold_.add(*results);
  hold_.release_all(out);
  std::sort(timeless_.begin(), timeless_.end());
  append_results(timeless_, out);
  timeless_.clear();
}

RowId TwoWayJoin::first_needed(std::size_t stream) {
  if (held() == 0) return sides_[stream]->first_needed();
  if (results_ - results_at_look_[stream] >= held() / 2) look_for_needed(stream);
  return needed_[stream];
}

// Held results name rows that may have left their window. A walk over them all is taken when as many have
// been released; results found in between are made of rows that are in their windows now or come later.
void TwoWayJoin::look_for_needed(std::size_t stream) {
  results_at_look_[stream] = results_;
  needed_[stream] = std::min(sides_[stream]->first_needed(), hold_.first_row(stream));
  for (const Result& result : timeless_) {
    needed_[stream] = std::min(needed_[stream], stream == 0 ? result.left : result.right);
  }
}

}  // namespace watersmeet
