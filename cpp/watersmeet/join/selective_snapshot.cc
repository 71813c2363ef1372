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
  put(writer, period.samples.known);
  put(writer, period.samples.missed);
  put(writer, period.samples.shares);
  writer.put(period.samples.others);
  writer.put(period.samples.others_known);
  writer.put(period.samples.not_asked);
  put(writer, period.level_costs);
  writer.put(period.probes);
  writer.put(period.arrived);
  writer.put(period.dropped);
}

void get(ByteReader& reader, DirectionPeriod& period) {
  get(reader, period.tally);
  period.samples.known = reader.get_array<double>();
  period.samples.missed = reader.get_array<double>();
  period.samples.shares = reader.get_array<double>();
  period.samples.others = reader.get<double>();
  period.samples.others_known = reader.get<double>();
  period.samples.not_asked = reader.get<double>();
  if (period.samples.known.size() != period.samples.missed.size() ||
      period.samples.known.size() != period.samples.shares.size())
    throw SnapshotError("snapshot: samples differ in number");
  get(reader, period.level_costs);
  period.probes = reader.get<std::uint64_t>();
  period.arrived = reader.get<std::uint64_t>();
  period.dropped = reader.get<std::uint64_t>();
}

void put(ByteWriter& writer, const DirectionPlan& plan) {
  put(writer, plan.order);
  put(writer, plan.fractions);
  writer.put(plan.sample_share);
  writer.put(plan.keep_share);
  writer.put(plan.threshold);
}

[[nodiscard]] DirectionPlan get_plan(ByteReader& reader) {
  DirectionPlan plan;
  plan.order = reader.get_array<std::uint32_t>();
  plan.fractions = reader.get_array<double>();
  plan.sample_share = reader.get<double>();
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
  writer.put(server_.gap_s);
  writer.put(server_.entered_s);
  writer.put(totals_.results);
  writer.put(totals_.units);
  for (const double value : {period_.begin_s, period_.elapsed_s, period_.busy_s, period_.units,
                             period_.score_units, period_.planned_units, period_.used_s, lag_s_}) {
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
    writer.put(rests_[stream].samples);
    writer.put(rests_[stream].hazard);
    writer.put(rests_[stream].door);
  }
  drops_.save_sums(writer);
}

void SelectiveJoin::load_course(ByteReader& reader) {
  server_.has_begun = reader.get<std::uint8_t>() != 0;
  server_.base = reader.get<Timestamp>();
  server_.free_s = reader.get<double>();
  server_.now_s = reader.get<double>();
  server_.control_s = reader.get<double>();
  server_.gap_s = reader.get<double>();
  server_.entered_s = reader.get<double>();
  totals_.results = reader.get<std::uint64_t>();
  totals_.units = reader.get<double>();
  for (double* value : {&period_.begin_s, &period_.elapsed_s, &period_.busy_s, &period_.units,
                        &period_.score_units, &period_.planned_units, &period_.used_s, &lag_s_}) {
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
    rests_[stream].samples = reader.get<std::uint64_t>();
    rests_[stream].hazard = reader.get<double>();
    rests_[stream].door = reader.get<Door>();
  }
  drops_.load_sums(reader);
}

void SelectiveJoin::save(ByteWriter& writer) const {
  save_course(writer);
  terms_.save(writer);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    writer.put(needed_[stream]);
    writer.put(results_at_look_[stream]);
    writer.put_sliding(numbers_[stream]);
    sides_[stream]->save(writer, terms_);
    lanes_[stream]->save(writer, terms_);
    rings_[stream].save(writer);
    writer.put_sliding(stage_kinds_[stream]);
    writer.put_sliding(stage_arrivals_[stream]);
    writer.put(scores_[stream] ? scores_[stream]->first() : Seq{0});
  }
  drops_.save(writer);
  hold_.save(writer);
}

void SelectiveJoin::load(ByteReader& reader) {
  load_course(reader);
  terms_.load(reader);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    needed_[stream] = reader.get<RowId>();
    results_at_look_[stream] = reader.get<std::uint64_t>();
    reader.get_sliding(numbers_[stream]);
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
    if (counts_rows(stream) && numbers_[stream].size() != side.window.size()) {
      throw SnapshotError("snapshot: a window's rows and their numbers differ");
    }
    if (scores_[stream]) scores_[stream]->reset(std::max(first, side.window.begin()));
  }
  drops_.load(reader);
  hold_.load(reader);
  terms_.finish_load();
  reader.expect_end();
}

}  // namespace watersmeet
