#include "watersmeet/join/arrival.h"

#include <algorithm>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

[[nodiscard]] std::string place(const StreamConfig& stream, std::int64_t row) {
  return "stream '" + stream.name + "', column '" + stream.time_column + "', row " + std::to_string(row) +
         ": ";
}

// Values are shown in the column's own unit, as the user wrote them.
[[noreturn]] void refuse_late(const StreamConfig& stream, std::int64_t row, Timestamp value,
                              Timestamp floor) {
  throw OrderError(place(stream, row) + "time " + std::to_string(value) + " is late: rows older than " +
                   std::to_string(floor / stream.time_multiplier) + " are no longer taken (on_late='raise')");
}

[[noreturn]] void refuse_disorder(const StreamConfig& stream, std::int64_t row, Timestamp value,
                                  Timestamp floor) {
  const std::string seen = std::to_string(floor / stream.time_multiplier);
  throw OrderError(place(stream, row) + "time " + std::to_string(value) + " is older than " + seen +
                   ", seen or promised before; give the stream a lateness to have rows reordered");
}

[[nodiscard]] Timestamp scaled(const StreamConfig& stream, const ArrowView& times, std::int64_t row) {
  const std::int64_t value = times.integer(row);
  Timestamp ts = value;
  const bool beyond = times.physical() == Physical::kUInt64 && value < 0;
  if (beyond || __builtin_mul_overflow(value, stream.time_multiplier, &ts)) {
    refuse_time(stream, times, {TimeFault::kOverflow, row, value, 0});
  }
  return ts;
}

}  // namespace

void refuse_time(const StreamConfig& stream, const ArrowView& times, const TimeCheck& fault) {
  if (fault.fault == TimeFault::kDisorder) refuse_disorder(stream, fault.row, fault.value, fault.previous);
  const bool beyond = times.physical() == Physical::kUInt64;
  const std::string value =
      beyond ? std::to_string(static_cast<std::uint64_t>(fault.value)) : std::to_string(fault.value);
  throw SchemaError(place(stream, fault.row) + "time " + value +
                    " does not fit 64 bits in the join's time unit");
}

Arrivals judge_arrivals(Side& side, const ArrowView& times, Seq first, RowId first_id) {
  const StreamConfig& stream = side.config;
  const Duration lateness = side.lateness;
  if (!times.is_integer() && times.physical() != Physical::kNull) {
    throw SchemaError("stream '" + stream.name + "', column '" + stream.time_column +
                      "': expected timestamps or integers");
  }
  Arrivals arrivals;
  for (std::int64_t row = 0; row < times.length(); ++row) {
    const auto offset = static_cast<std::uint64_t>(row);
    if (times.is_null(row)) {
      arrivals.bad.push_back(first_id + offset);
      continue;
    }
    const Timestamp ts = scaled(stream, times, row);
    const Timestamp floor = std::max(side.watermark, saturating_add(side.newest, -lateness));
    if (ts < floor) {
      // Behind the others while it was idle is late; behind itself, without a lateness, is an error.
      if (!stream.lateness.has_value() && ts < side.newest) {
        refuse_disorder(stream, row, times.integer(row), side.newest);
      }
      if (stream.raise_late) refuse_late(stream, row, times.integer(row), floor);
      arrivals.late.push_back(first_id + offset);
      continue;
    }
    side.newest = std::max(side.newest, ts);
    arrivals.in_time.push_back({ts, first + offset});
  }
  side.watermark = std::max(side.watermark, saturating_add(side.newest, -lateness));
  return arrivals;
}

}  // namespace watersmeet
