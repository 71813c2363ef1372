// How rows come into a two-way join: straight into their window, or by way of the stage, where they wait their turn.
#include <algorithm>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "watersmeet/base/errors.h"
#include "watersmeet/base/thrift.h"
#include "watersmeet/join/arrival.h"
#include "watersmeet/join/two_way_join.h"
#include "watersmeet/join/watermarks.h"

namespace watersmeet {
namespace {

constexpr std::size_t kFewestSharedRows = 8192;  // of a batch whose times and keys are taken at once

[[nodiscard]] bool has_null(const ArrowView& view) {
  if (!view.may_have_nulls()) return false;
  for (std::int64_t row = 0; row < view.length(); ++row) {
    if (view.is_null(row)) return true;
  }
  return false;
}

}  // namespace

void TwoWayJoin::take_batch(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array) {
  const std::size_t columns = 1 + terms_.arrow_columns(stream);
  if (schema.n_children != static_cast<std::int64_t>(columns) || array.n_children != schema.n_children) {
    throw SchemaError("a batch of stream '" + config_.streams[stream].name + "' needs " +
                      std::to_string(columns) + " join columns");
  }
  const auto view = [&](std::size_t column) {
    return ArrowView(*schema.children[column], *array.children[column], array.offset, array.length);
  };
  const ArrowView times = view(0);
  std::vector<ArrowView> views;
  views.reserve(columns - 1);
  for (std::size_t column = 1; column < columns; ++column) views.push_back(view(column));
  if (goes_straight(*sides_[stream], times)) {
    if (!sides_[1 - stream]->stage.waiting.empty()) admit_own(1 - stream);
    take_straight(stream, times, views);
    move_watermarks();
  } else {
    take_staged(stream, times, views);
    move_watermarks();
    admit_all();
  }
}

bool TwoWayJoin::goes_straight(const Side& side, const ArrowView& times) const {
  if (synchronised_ || side.config.lateness.has_value() || !side.stage.waiting.empty()) return false;
  // Behind a watermark that followed others a row is late, not an error; an idle stream's rows may become
  // free.
  if (side.watermark > side.newest) return false;
  for (const auto& any : sides_) {
    if (any->idle && !any->stage.waiting.empty()) return false;
  }
  return times.is_integer() && !has_null(times);
}

void TwoWayJoin::take_straight(std::size_t stream, const ArrowView& times,
                               const std::vector<ArrowView>& views) {
  Side& side = *sides_[stream];
  Window& window = side.window;
  const auto rows = static_cast<std::size_t>(times.length());
  const Seq first = window.end();
  TimeCheck check;
  const auto take_times = [&] {
    check = read_times(times, side.config.time_multiplier, side.watermark, window.timestamps.extend(rows));
  };
  const auto take_columns = [&] {
    window.joinable.append_copies(1, rows);
    if (window.track_matches) window.matched.append_copies(0, rows);
    terms_.append(stream, views, window.columns, window.joinable.at(first));
  };
  // Thrift holds for the caller's thread alone, and arrays grow here.
  const bool shares = shared_ != nullptr && (rows >= kFewestSharedRows || config_.share_all);
  if (shares && !Thrift::is_on()) {
    std::exception_ptr error;  // a wrong time comes first
    shared_->lanes().run([&](std::size_t lane) {
      if (lane == 0) take_times();
      if (lane != 1) return;
      try {
        take_columns();
      } catch (...) {
        error = std::current_exception();
      }
    });
    if (check.fault != TimeFault::kNone) refuse_time(side.config, times, check);
    if (error != nullptr) std::rethrow_exception(error);
  } else {
    take_times();
    if (check.fault != TimeFault::kNone) refuse_time(side.config, times, check);
    take_columns();
  }
  if (!side.dense()) {
    for (std::size_t row = 0; row < rows; ++row) side.add_row_id(side.counts.rows + row);
  }
  side.counts.rows += rows;
  if (rows > 0) {
    side.watermark = side.newest = window.timestamps[window.end() - 1];
    side.idle = false;
  }
}

void TwoWayJoin::take_staged(std::size_t stream, const ArrowView& times,
                             const std::vector<ArrowView>& views) {
  Side& side = *sides_[stream];
  Stage& stage = side.stage;
  const auto rows = static_cast<std::size_t>(times.length());
  const Seq first = stage.end();
  const RowId first_id = side.counts.rows;
  Arrivals arrivals = judge_arrivals(side, times, first, first_id);
  stage.joinable.append_copies(1, rows);
  for (std::size_t row = 0; row < rows; ++row) stage.row_ids.push_back(first_id + row);
  terms_.append(stream, views, stage.columns, stage.joinable.at(first));
  stage.waiting.add(arrivals.in_time);
  if (!arrivals.in_time.empty()) side.idle = false;
  if (!arrivals.late.empty() || !arrivals.bad.empty()) side.stop_being_dense();
  side.counts.rows += rows;
  side.counts.late_rows += arrivals.late.size();
  side.counts.bad_rows += arrivals.bad.size();
  plain_.late = std::move(arrivals.late);
  if (config_.tracks(stream) && config_.how != How::kSemi) bad_ = std::move(arrivals.bad);
  bad_stream_ = stream;
}

void TwoWayJoin::move_watermarks() { watersmeet::move_watermarks(sides_); }

// --- rows enter their windows --------------------------------------------------------------------

void TwoWayJoin::admit_all() {
  if (synchronised_) {
    admit_in_order();
  } else {
    for (std::size_t stream = 0; stream < kSides; ++stream) admit_own(stream);
  }
}

// A row goes once nothing that comes before it, by (timestamp, stream, arrival), can still arrive.
void TwoWayJoin::admit_in_order() {
  for (;;) {
    const ReorderBuffer& left = sides_[0]->stage.waiting;
    const ReorderBuffer& right = sides_[1]->stage.waiting;
    if (left.empty() && right.empty()) return;
    const bool left_first = right.empty() || (!left.empty() && left.front().ts <= right.front().ts);
    const std::size_t stream = left_first ? 0 : 1;
    const Timestamp ts = (left_first ? left : right).front().ts;
    if (!sides_[stream]->complete_to(ts, false) || !sides_[1 - stream]->complete_to(ts, stream == 1)) return;
    admit_next(stream);
  }
}

void TwoWayJoin::admit_own(std::size_t stream) {
  const Side& side = *sides_[stream];
  while (!side.stage.waiting.empty() && side.complete_to(side.stage.waiting.front().ts, false))
    admit_next(stream);
}

void TwoWayJoin::admit_next(std::size_t stream) {
  fresh_[stream].visible.push_back(sides_[1 - stream]->window.end());
  sides_[stream]->admit_waiting(terms_);
}

}  // namespace watersmeet
