// What becomes of the rows of a batch as they arrive, judged one by one: in time, late, or without a time.
#pragma once

#include <string>
#include <vector>

#include "watersmeet/join/side.h"
#include "watersmeet/order/reorder_buffer.h"
#include "watersmeet/tuple/arrow_view.h"
#include "watersmeet/tuple/ingest.h"

namespace watersmeet {

struct Arrivals {
  std::vector<WaitingRow> in_time;  // rows numbered by their place in the stage
  std::vector<RowId> late;
  std::vector<RowId> bad;
};

// Judges the rows of `times`, moving the stream's clock; row 0 will be row `first` of the stage and is number
// `first_id` of the stream. Throws OrderError or SchemaError.
[[nodiscard]] Arrivals judge_arrivals(Side& side, const ArrowView& times, Seq first, RowId first_id);

// Throws what read_times found wrong, naming stream, column, row and values.
[[noreturn]] void refuse_time(const StreamConfig& stream, const ArrowView& times, const TimeCheck& fault);

}  // namespace watersmeet
