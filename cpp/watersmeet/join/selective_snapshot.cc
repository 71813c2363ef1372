// A selective join as bytes: everything between two changes, plans included.

#include <algorithm>

#include "watersmeet/base/errors.h"
#include "watersmeet/join/selective_join.h"

namespace watersmeet {
namespace {

template <class Value>
void put(ByteWriter& writer, const std::vector<Value>& values) {
  writer.put_array(values.data(), values.size());
}

template <class Value>
void get(ByteReader& reader, std::vector<Value>& values) {
  std::vector<Value> read = reader.get_array<Value>();
  if (read.size() != values.size()) throw SnapshotError("snapshot: a table of cells has another size");
  values = std::move(read);
}

void put(ByteWriter& writer, const CellTally& tally) {
  put(writer, tally.due);
  put(writer, tally.comparisons);
  put(writer, tally.matches);
  put(writer, tally.full_comparisons);
  put(writer, tally.full_matches);
}

void get(ByteReader& reader, CellTally& tally) {
  get(reader, tally.due);
  get(reader, tally.comparisons);
  get(reader, tally.matches);
  get(reader, tally.full_comparisons);
  get(reader, tally.full_matches);
}

void put(ByteWriter& writer, const DirectionPeriod& period) {
  put(writer, period.tally);
  put(writer, period.missed);
  put(writer, period.planned);
  put(writer, period.predicted);
  writer.put(period.predicted_missed);
  put(writer, period.level_costs);
  writer.put(period.probes);
  writer.put(period.tossed);
  writer.put(period.arrived);
  writer.put(period.dropped);
}

void get(ByteReader& reader, DirectionPeriod& period) {
  get(reader, period.tally);
  period.missed = reader.get_array<double>();
  period.planned = reader.get_array<double>();
  period.predicted = reader.get_array<double>();
  period.predicted_missed = reader.get<double>();
  get(reader, period.level_costs);
  period.probes = reader.get<std::uint64_t>();
  period.tossed = reader.get<std::uint64_t>();
  period.arrived = reader.get<std::uint64_t>();
  period.dropped = reader.get<std::uint64_t>();
}

void put(ByteWriter& writer, const DirectionPlan& plan) {
  put(writer, plan.order);
  put(writer, plan.fractions);
  writer.put(plan.full_probe_share);
  writer.put(plan.keep_share);
  writer.put(plan.threshold);
}

[[nodiscard]] DirectionPlan get_plan(ByteReader& reader) {
  DirectionPlan plan;
  plan.order = reader.get_array<std::uint32_t>();
  plan.fractions = reader.get_array<double>();
  plan.full_probe_share = reader.get<double>();
  plan.keep_share = reader.get<double>();
  plan.threshold = reader.get<double>();
  return plan;
}

}  // namespace

void SelectiveJoin::save_course(ByteWriter& writer) const {
  writer.put<std::uint8_t>(server_.has_begun ? 1 : 0);
  writer.put(server_.base);
  writer.put(server_.free_s);
  writer.put(server_.now_s);
  writer.put(server_.control_s);
  writer.put(totals_.results);
  writer.put(totals_.units);
  for (const double value : {period_.begin_s, period_.elapsed_s, period_.busy_s, period_.units,
                             period_.score_units, period_.planned_units, period_.waited_s, lag_s_}) {
    writer.put(value);
  }
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    writer.put(rows_before_[stream] + sides_[stream]->counts.rows);
    writer.put(lanes_[stream]->last_arrival);
    writer.put(totals_.directions[stream]);
    writer.put(totals_.dropped[stream]);
    put(writer, totals_.tallies[stream]);
    put(writer, period_.directions[stream]);
    put(writer, plans_[stream]);
    put(writer, rests_[stream].allowance);
    writer.put(rests_[stream].rotation);
  }
}

void SelectiveJoin::load_course(ByteReader& reader) {
  server_.has_begun = reader.get<std::uint8_t>() != 0;
  server_.base = reader.get<Timestamp>();
  server_.free_s = reader.get<double>();
  server_.now_s = reader.get<double>();
  server_.control_s = reader.get<double>();
  totals_.results = reader.get<std::uint64_t>();
  totals_.units = reader.get<double>();
  for (double* value : {&period_.begin_s, &period_.elapsed_s, &period_.busy_s, &period_.units,
                        &period_.score_units, &period_.planned_units, &period_.waited_s, &lag_s_}) {
    *value = reader.get<double>();
  }
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    rows_before_[stream] = reader.get<RowId>() - sides_[stream]->counts.rows;
    lanes_[stream]->last_arrival = reader.get<Timestamp>();
    totals_.directions[stream] = reader.get<DirectionCounts>();
    totals_.dropped[stream] = reader.get<std::uint64_t>();
    get(reader, totals_.tallies[stream]);
    get(reader, period_.directions[stream]);
    set_plan(stream, get_plan(reader));
    get(reader, rests_[stream].allowance);
    rests_[stream].rotation = reader.get<std::uint64_t>();
  }
}

void SelectiveJoin::save(ByteWriter& writer) const {
  save_course(writer);
  terms_.save(writer);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream]->save(writer, terms_);
    lanes_[stream]->save(writer, terms_);
    rings_[stream].save(writer);
    writer.put_sliding(stage_kinds_[stream]);
    writer.put_sliding(stage_arrivals_[stream]);
    writer.put(scores_[stream] ? scores_[stream]->first() : Seq{0});
  }
}

void SelectiveJoin::load(ByteReader& reader) {
  load_course(reader);
  terms_.load(reader);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    side.load(reader, terms_);
    rows_before_[stream] -= side.counts.rows;
    lanes_[stream]->load(reader, terms_);
    rings_[stream].load(reader);
    reader.get_sliding(stage_kinds_[stream]);
    reader.get_sliding(stage_arrivals_[stream]);
    const Seq first = reader.get<Seq>();
    if (stage_kinds_[stream].end() != side.stage.end() || stage_arrivals_[stream].end() != side.stage.end()) {
      throw SnapshotError("snapshot: waiting rows and their arrivals differ");
    }
    if (scores_[stream]) scores_[stream]->reset(std::max(first, side.window.begin()));
  }
  terms_.finish_load();
  reader.expect_end();
}

}  // namespace watersmeet
