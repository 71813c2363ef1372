// The selective join as Python sees it: changes that call back at control times and for a user's function.
#include <pybind11/numpy.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>

#include "limit.h"
#include "prelude.h"
#include "two_way.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/selective_join.h"

namespace watersmeet::bindings {
namespace {

// Candidates shown to a user's function at once; units of work after which signals are looked for, and the clock.
constexpr std::size_t kBlockCandidates = std::size_t{1} << 14;
constexpr double kBlockUnits = 1e7;

template <class Value>
[[nodiscard]] py::array_t<double> numbers(const std::vector<Value>& values) {
  py::array_t<double> array(static_cast<py::ssize_t>(values.size()));
  std::copy(values.begin(), values.end(), array.mutable_data());
  return array;
}

[[nodiscard]] py::dict to_dict(const CellTally& tally) {
  py::dict all;
  all["due"] = numbers(tally.due);
  all["comparisons"] = numbers(tally.comparisons);
  all["matches"] = numbers(tally.matches);
  all["full_comparisons"] = numbers(tally.full_comparisons);
  all["full_matches"] = numbers(tally.full_matches);
  return all;
}

[[nodiscard]] py::dict to_dict(const DirectionPeriod& period) {
  py::dict all = to_dict(period.tally);
  all["sample_known"] = numbers(period.samples.known);
  all["sample_missed"] = numbers(period.samples.missed);
  all["sample_shares"] = numbers(period.samples.shares);
  all["others"] = period.samples.others;
  all["others_known"] = period.samples.others_known;
  all["not_asked"] = period.samples.not_asked;
  std::vector<double> scores;
  std::vector<double> costs;
  for (std::size_t level = 0; level < period.level_costs.size(); ++level) {
    if (period.level_costs[level] == 0) continue;
    scores.push_back(std::exp2(static_cast<double>(level) / kLevelsPerOctave - 40));
    costs.push_back(period.level_costs[level]);
  }
  all["level_scores"] = numbers(scores);
  all["level_costs"] = numbers(costs);
  all["probes"] = period.probes;
  all["arrived"] = period.arrived;
  all["dropped"] = period.dropped;
  return all;
}

[[nodiscard]] py::dict to_dict(const Period& period) {
  py::dict all;
  all["begin_s"] = period.begin_s;
  all["elapsed_s"] = period.elapsed_s;
  all["busy_s"] = period.busy_s;
  all["units"] = period.units;
  all["score_units"] = period.score_units;
  all["planned_units"] = period.planned_units;
  all["used_s"] = period.used_s;
  all["stretch"] = period.stretch;
  all["directions"] = py::make_tuple(to_dict(period.directions[0]), to_dict(period.directions[1]));
  return all;
}

// A batch as it is handed over, with its rows' types where there are any.
class Rows : public ArrowBatch {
 public:
  Rows(const py::object& batch, const py::object& kinds, std::uint32_t types) : ArrowBatch(batch) {
    if (kinds.is_none()) return;
    types_ = kinds.cast<py::array_t<std::uint8_t, py::array::c_style>>();
    if (types_.size() != array().length) throw SchemaError("types: expected one per row");
    has_types_ = true;
    const bool known =
        std::all_of(codes(), codes() + types_.size(), [types](std::uint8_t code) { return code < types; });
    if (!known) throw SchemaError("types: a code is out of range");
  }
  [[nodiscard]] const std::uint8_t* codes() const { return has_types_ ? types_.data() : nullptr; }

 private:
  py::array_t<std::uint8_t, py::array::c_style> types_;
  bool has_types_ = false;
};

class Selective {
 public:
  explicit Selective(SelectiveConfig config) : join_(std::move(config)) {}

  py::tuple push(std::size_t stream, const py::object& batch, std::optional<Timestamp> at,
                 const py::object& kinds, const py::object& keep, const py::object& control) {
    const Rows rows(batch, kinds, join_.config().types);
    Released out = change<true>(keep, control, [&] {
      join_.begin_push(checked_stream(stream), rows.schema(), rows.array(), at, rows.codes());
    });
    return py::make_tuple(to_array(std::move(out.left)), to_array(std::move(out.right)),
                          to_array(std::move(out.late)));
  }

  void hold(std::size_t stream, const py::object& batch,
            const py::array_t<Timestamp, py::array::c_style>& arrivals, const py::object& kinds) {
    const Rows rows(batch, kinds, join_.config().types);
    if (arrivals.size() != rows.array().length) throw SchemaError("arrivals: expected one per row");
    const py::none nothing;
    change(nothing, nothing, [&] {
      join_.begin_hold(checked_stream(stream), rows.schema(), rows.array(), arrivals.data(), rows.codes());
    });
  }

  py::tuple drain(const py::object& keep, const py::object& control) {
    py::tuple found = pairs(change(keep, control, [&] { join_.begin_drain(); }));
    if (const std::optional<Period> period = join_.end_period()) {
      const py::object plans = control(to_dict(*period));
      if (!plans.is_none()) set_plans(plans.cast<py::tuple>());
    }
    return found;
  }

  void refill(std::size_t stream, const py::object& batch, const py::object& kinds) {
    const Rows rows(batch, kinds, join_.config().types);
    const py::none nothing;
    change(nothing, nothing,
           [&] { join_.begin_refill(checked_stream(stream), rows.schema(), rows.array(), rows.codes()); });
  }

  void set_speed(double units_per_second) { join_.set_speed(units_per_second); }

  [[nodiscard]] py::bytes course() const {
    ByteWriter writer;
    join_.save_course(writer);
    return writer.bytes();
  }
  void set_course(std::string_view body) {
    ByteReader reader(body);
    join_.load_course(reader);
    reader.expect_end();
  }

  py::tuple advance(std::size_t stream, Timestamp to, const py::object& keep, const py::object& control) {
    return pairs(change(keep, control, [&] { join_.begin_advance(checked_stream(stream), to); }));
  }

  py::tuple finish(const py::object& keep, const py::object& control, std::optional<std::size_t> stream) {
    return pairs(change(keep, control, [&] {
      stream.has_value() ? join_.begin_end(checked_stream(*stream)) : join_.begin_finish();
    }));
  }

  void set_room(std::size_t room, bool may_evict) { limit_.set(room, may_evict); }

  void evict(std::size_t stream, std::size_t rows) {
    const py::gil_scoped_release release;
    join_.evict(checked_stream(stream), rows);
  }

  void note_thinned(std::size_t stream, std::uint64_t rows, std::uint64_t kept, Timestamp first,
                    Timestamp last) {
    join_.note_thinned(checked_stream(stream), rows, kept, first, last);
  }

  void trim() {
    const py::gil_scoped_release release;
    join_.forget_unneeded();
    Limit::trim(join_);
  }

  [[nodiscard]] std::size_t bytes() const { return join_.bytes(); }
  [[nodiscard]] std::size_t waiting_bytes() const { return join_.waiting_bytes(); }

  py::tuple poll(const py::object& keep, const py::object& control) {
    return pairs(change(keep, control, [&] { join_.begin_poll(); }));
  }

  void set_lag(double seconds) { join_.set_lag(seconds); }
  void set_lateness(std::size_t stream, Duration lateness) {
    join_.set_lateness(checked_stream(stream), lateness);
  }
  void set_idle(std::size_t stream, bool idle) { join_.set_idle(checked_stream(stream), idle); }
  void set_synchronised(bool synchronised) { join_.set_synchronised(synchronised); }
  // As Join::progress: held results and their bytes; per stream rows in time, newest, watermark, low,
  // waiting.
  [[nodiscard]] py::tuple progress() const {
    py::tuple streams(kSides);
    for (std::size_t stream = 0; stream < kSides; ++stream) {
      const Side& side = join_.side(stream);
      const auto low = static_cast<Timestamp>(std::min(join_.low(stream), Wide{kMaxTimestamp}));
      streams[stream] = py::make_tuple(side.counts.rows - side.counts.late_rows - side.counts.bad_rows,
                                       side.newest, side.watermark, low, join_.waiting(stream));
    }
    return py::make_tuple(join_.held(), join_.held_bytes(), streams);
  }
  [[nodiscard]] bool holds(RowId left, RowId right) const { return join_.holds(left, right); }
  [[nodiscard]] RowId first_needed(std::size_t stream) { return join_.first_needed(checked_stream(stream)); }

  [[nodiscard]] py::dict statistics() const {
    py::dict all;
    all["results"] = join_.results();
    all["held"] = join_.held();
    all["held_bytes"] = join_.held_bytes();
    all["bytes"] = join_.bytes();
    all["units"] = join_.units();
    all["seconds"] = join_.seconds();
    py::list streams;
    py::list directions;
    py::list tallies;
    for (std::size_t stream = 0; stream < kSides; ++stream) {
      streams.append(stream_statistics(stream));
      directions.append(counts_of(join_.direction(stream)));
      tallies.append(to_dict(join_.tally(stream)));
    }
    all["streams"] = streams;
    all["directions"] = directions;
    all["tallies"] = tallies;
    all["weighed"] = py::make_tuple(join_.drops().weighed(0), join_.drops().weighed(1));
    all["weighed_variance"] = join_.drops().variance();
    return all;
  }

  // What was counted since the last control time, by direction.
  [[nodiscard]] py::tuple period() const {
    const Period& open = join_.period();
    return py::make_tuple(to_dict(open.directions[0]), to_dict(open.directions[1]));
  }

  [[nodiscard]] py::bytes snapshot() const {
    ByteWriter writer;
    join_.save(writer);
    return writer.bytes();
  }
  void load(std::string_view body) {
    ByteReader reader(body);
    join_.load(reader);
  }

 private:
  static py::tuple pairs(Released out) {
    return py::make_tuple(to_array(std::move(out.left)), to_array(std::move(out.right)));
  }

  // One change, from its beginning to commit; anything thrown on the way, also by Python, takes it back.
  // limited: whether it must fit under the memory limit; what only lets rows go on need not.
  template <bool limited = false, class Begin>
  Released change(const py::object& keep, const py::object& control, Begin begin) {
    const Turn turn(busy_);
    Released out;
    const Thrift thrift(limit_.is_set());
    begin();
    try {
      if (limited) limit_.check(join_);
      for (bool goes_on = true; goes_on;) goes_on = step(keep, control);
      if (limited) limit_.check(join_);
    } catch (...) {
      join_.roll_back();
      if (limit_.is_set()) Limit::trim(join_);
      throw;
    }
    join_.commit(out);
    return out;
  }

  // Returns: whether there is more to do.
  bool step(const py::object& keep, const py::object& control) {
    SelectiveJoin::Stop stop{};
    {
      const py::gil_scoped_release release;
      stop = join_.run(kBlockCandidates, kBlockUnits);
      if (keep.is_none()) join_.accept(nullptr);
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (!keep.is_none()) judge(keep);
    if (stop == SelectiveJoin::Stop::kControl) {
      const py::object plans = control(to_dict(join_.take_period()));
      if (!plans.is_none()) set_plans(plans.cast<py::tuple>());
    } else if (stop == SelectiveJoin::Stop::kPause) {
      // Rows that come late, all at once, pass no control time: what they cost shows in the lag alone.
      const py::object lag = control(py::none());
      if (!lag.is_none()) join_.set_lag(lag.cast<double>());
    }
    return stop != SelectiveJoin::Stop::kDone;
  }

  void judge(const py::object& keep) {
    const auto& pending = join_.pending();
    if (pending.tags.empty()) return;
    const auto mask = verdicts(keep, to_array(std::vector<RowId>(pending.left)),
                               to_array(std::vector<RowId>(pending.right)), pending.tags.size());
    join_.accept(mask.data());
  }

  void set_plans(const py::tuple& plans) {
    for (std::size_t stream = 0; stream < kSides; ++stream) {
      const py::tuple given = plans[stream].cast<py::tuple>();
      join_.set_plan(stream,
                     {given[0].cast<std::vector<std::uint32_t>>(), given[1].cast<std::vector<double>>(),
                      given[2].cast<double>(), given[3].cast<double>(), given[4].cast<double>()});
    }
  }

  [[nodiscard]] py::dict stream_statistics(std::size_t stream) const {
    py::dict counts = counts_of(join_.side(stream), join_.waiting(stream));
    counts["dropped_rows"] = join_.dropped(stream) + join_.side(stream).counts.thinned_rows;
    return counts;
  }

  SelectiveJoin join_;
  Limit limit_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace

void bind_selective(py::module_& module) {
  py::class_<Selective>(module, "SelectiveJoin")
      .def(py::init([](std::vector<TermConfig> terms, std::array<StreamConfig, kSides> streams,
                       const py::int_& lower, const py::int_& upper, double seconds_per_tick,
                       double units_per_second, std::array<double, 4> costs,
                       std::array<Duration, kSides> cell_spans, std::array<std::uint32_t, kSides> cells,
                       std::uint32_t types, double input_buffer_s, double control_period_s, bool synchronised,
                       bool ordered, bool guarded, bool eases_door, bool scored, bool samples_cells,
                       double least_sample_share, std::uint64_t seed) {
             SelectiveConfig config;
             config.terms = std::move(terms);
             config.streams = std::move(streams);
             config.lower = to_wide(lower);
             config.upper = to_wide(upper);
             config.seconds_per_tick = seconds_per_tick;
             config.units_per_second = units_per_second;
             config.costs = {costs[0], costs[1], costs[2], costs[3]};
             config.cell_spans = cell_spans;
             config.cells = cells;
             config.types = types;
             config.input_buffer_s = input_buffer_s;
             config.control_period_s = control_period_s;
             config.synchronised = synchronised;
             config.ordered = ordered;
             config.guarded = guarded;
             config.eases_door = eases_door;
             config.scored = scored;
             config.samples_cells = samples_cells;
             config.least_sample_share = least_sample_share;
             config.seed = seed;
             return std::make_unique<Selective>(std::move(config));
           }),
           py::arg("terms"), py::arg("streams"), py::kw_only(), py::arg("lower"), py::arg("upper"),
           py::arg("seconds_per_tick"), py::arg("units_per_second"), py::arg("costs"), py::arg("cell_spans"),
           py::arg("cells"), py::arg("types"), py::arg("input_buffer_s"), py::arg("control_period_s"),
           py::arg("synchronised"), py::arg("ordered"), py::arg("guarded"), py::arg("eases_door"),
           py::arg("scored"), py::arg("samples_cells"), py::arg("least_sample_share"), py::arg("seed"))
      .def("push", &Selective::push, py::arg("stream"), py::arg("batch"), py::kw_only(), py::arg("at"),
           py::arg("kinds"), py::arg("keep"), py::arg("control"))
      .def("advance", &Selective::advance, py::arg("stream"), py::arg("to"), py::kw_only(), py::arg("keep"),
           py::arg("control"))
      .def("finish", &Selective::finish, py::kw_only(), py::arg("keep"), py::arg("control"),
           py::arg("stream") = py::none())
      .def("set_room", &Selective::set_room, py::arg("room"), py::kw_only(), py::arg("may_evict"))
      .def("evict", &Selective::evict, py::arg("stream"), py::arg("rows"))
      .def("note_thinned", &Selective::note_thinned, py::arg("stream"), py::arg("rows"), py::kw_only(),
           py::arg("kept"), py::arg("first"), py::arg("last"))
      .def("trim", &Selective::trim)
      .def_property_readonly("memory_bytes", &Selective::bytes)
      .def_property_readonly("waiting_bytes", &Selective::waiting_bytes)
      .def("hold", &Selective::hold, py::arg("stream"), py::arg("batch"), py::kw_only(), py::arg("arrivals"),
           py::arg("kinds"))
      .def("drain", &Selective::drain, py::kw_only(), py::arg("keep"), py::arg("control"))
      .def("refill", &Selective::refill, py::arg("stream"), py::arg("batch"), py::kw_only(), py::arg("kinds"))
      .def("set_speed", &Selective::set_speed, py::arg("units_per_second"))
      .def("course", &Selective::course)
      .def("set_course", &Selective::set_course, py::arg("body"))
      .def("poll", &Selective::poll, py::kw_only(), py::arg("keep"), py::arg("control"))
      .def("set_lateness", &Selective::set_lateness, py::arg("stream"), py::arg("lateness"))
      .def("set_idle", &Selective::set_idle, py::arg("stream"), py::arg("idle"))
      .def("set_synchronised", &Selective::set_synchronised, py::arg("synchronised"))
      .def("progress", &Selective::progress)
      .def("holds", &Selective::holds, py::arg("left"), py::arg("right"))
      .def("set_lag", &Selective::set_lag, py::arg("seconds"))
      .def("first_needed", &Selective::first_needed, py::arg("stream"))
      .def("statistics", &Selective::statistics)
      .def("period", &Selective::period)
      .def("snapshot", &Selective::snapshot)
      .def("load", &Selective::load, py::arg("body"));
}

}  // namespace watersmeet::bindings
