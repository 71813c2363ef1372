// The selective join as Python sees it: changes that call back at control times and for a user's function.
#include <pybind11/numpy.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <string>

#include "prelude.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/selective_join.h"

namespace watersmeet::bindings {
namespace {

// Candidates shown to a user's function at once; units of work after which signals are looked for.
constexpr std::size_t kBlockCandidates = std::size_t{1} << 16;
constexpr double kBlockUnits = 1e8;

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
  all["missed"] = numbers(period.missed);
  all["planned"] = numbers(period.planned);
  all["predicted"] = numbers(period.predicted);
  all["predicted_missed"] = period.predicted_missed;
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
  all["tossed"] = period.tossed;
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
  all["waited_s"] = period.waited_s;
  all["directions"] = py::make_tuple(to_dict(period.directions[0]), to_dict(period.directions[1]));
  return all;
}

[[nodiscard]] Wide to_wide(const py::int_& value) {
  const py::object high = value.attr("__rshift__")(64);
  const py::object low = value.attr("__and__")(py::int_(UINT64_MAX));
  int overflow = 0;
  const long long top = PyLong_AsLongLongAndOverflow(high.ptr(), &overflow);
  const std::int64_t held = overflow != 0 ? (overflow > 0 ? 4 : -4) : std::clamp<std::int64_t>(top, -4, 4);
  return (Wide{held} << 64) + Wide{low.cast<std::uint64_t>()};
}

// A batch as it is handed over: its Arrow structs, and its rows' types where there are any.
struct Rows {
  Rows(const py::object& batch, const py::object& kinds, std::uint32_t types)
      : capsules_(batch.attr("__arrow_c_array__")()) {
    schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsules_[0].ptr(), "arrow_schema"));
    array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules_[1].ptr(), "arrow_array"));
    if (schema == nullptr || array == nullptr) throw py::error_already_set();
    if (kinds.is_none()) return;
    types_ = kinds.cast<py::array_t<std::uint8_t, py::array::c_style>>();
    if (types_.size() != array->length) throw SchemaError("types: expected one per row");
    has_types_ = true;
    const bool known =
        std::all_of(codes(), codes() + types_.size(), [types](std::uint8_t code) { return code < types; });
    if (!known) throw SchemaError("types: a code is out of range");
  }
  [[nodiscard]] const std::uint8_t* codes() const { return has_types_ ? types_.data() : nullptr; }

  const ArrowSchema* schema;
  const ArrowArray* array;

 private:
  py::tuple capsules_;
  py::array_t<std::uint8_t, py::array::c_style> types_;
  bool has_types_ = false;
};

class Selective {
 public:
  explicit Selective(SelectiveConfig config) : join_(std::move(config)) {}

  py::tuple push(std::size_t stream, const py::object& batch, std::optional<Timestamp> at,
                 const py::object& kinds, const py::object& keep, const py::object& control) {
    const Rows rows(batch, kinds, join_.config().types);
    Released out = change(keep, control, [&] {
      join_.begin_push(checked(stream), *rows.schema, *rows.array, at, rows.codes());
    });
    return py::make_tuple(to_array(std::move(out.left)), to_array(std::move(out.right)),
                          to_array(std::move(out.late)));
  }

  void hold(std::size_t stream, const py::object& batch,
            const py::array_t<Timestamp, py::array::c_style>& arrivals, const py::object& kinds) {
    const Rows rows(batch, kinds, join_.config().types);
    if (arrivals.size() != rows.array->length) throw SchemaError("arrivals: expected one per row");
    const py::none nothing;
    change(nothing, nothing, [&] {
      join_.begin_hold(checked(stream), *rows.schema, *rows.array, arrivals.data(), rows.codes());
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
           [&] { join_.begin_refill(checked(stream), *rows.schema, *rows.array, rows.codes()); });
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
    return pairs(change(keep, control, [&] { join_.begin_advance(checked(stream), to); }));
  }

  py::tuple finish(const py::object& keep, const py::object& control) {
    return pairs(change(keep, control, [&] { join_.begin_finish(); }));
  }

  void set_lag(double seconds) { join_.set_lag(seconds); }
  [[nodiscard]] RowId first_needed(std::size_t stream) { return join_.first_needed(checked(stream)); }

  [[nodiscard]] py::dict statistics() const {
    py::dict all;
    all["results"] = join_.results();
    all["held"] = 0;
    all["bytes"] = join_.bytes();
    all["units"] = join_.units();
    all["seconds"] = join_.seconds();
    py::list streams;
    py::list directions;
    py::list tallies;
    for (std::size_t stream = 0; stream < kSides; ++stream) {
      streams.append(stream_statistics(stream));
      directions.append(direction_statistics(stream));
      tallies.append(to_dict(join_.tally(stream)));
    }
    all["streams"] = streams;
    all["directions"] = directions;
    all["tallies"] = tallies;
    return all;
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
  [[nodiscard]] static std::size_t checked(std::size_t stream) {
    if (stream >= kSides) throw ConfigError("stream=" + std::to_string(stream) + ": expected 0 or 1");
    return stream;
  }
  static py::tuple pairs(Released out) {
    return py::make_tuple(to_array(std::move(out.left)), to_array(std::move(out.right)));
  }

  // One change, from its beginning to commit; anything thrown on the way, also by Python, takes it back.
  template <class Begin>
  Released change(const py::object& keep, const py::object& control, Begin begin) {
    if (busy_.test_and_set()) throw ConfigError("this join is in the middle of another call");
    const struct Clear {
      std::atomic_flag& busy;
      ~Clear() { busy.clear(); }
    } clear{busy_};
    Released out;
    begin();
    try {
      for (bool goes_on = true; goes_on;) goes_on = step(keep, control);
    } catch (...) {
      join_.roll_back();
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
    }
    return stop != SelectiveJoin::Stop::kDone;
  }

  void judge(const py::object& keep) {
    const auto& pending = join_.pending();
    if (pending.tags.empty()) return;
    const py::object verdict =
        keep(to_array(std::vector<RowId>(pending.left)), to_array(std::vector<RowId>(pending.right)));
    const auto mask = verdict.cast<py::array_t<bool, py::array::c_style>>();
    if (mask.ndim() != 1 || static_cast<std::size_t>(mask.size()) != pending.tags.size()) {
      throw SchemaError("keep: expected one boolean per candidate");
    }
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
    const Side& side = join_.side(stream);
    py::dict counts;
    counts["rows"] = side.counts.rows;
    counts["bad_rows"] = side.counts.bad_rows;
    counts["late_rows"] = side.counts.late_rows;
    counts["dropped_rows"] = join_.dropped(stream);
    counts["window_rows"] = side.window.size();
    counts["window_bytes"] = side.bytes();
    counts["expired_rows"] = side.counts.expired_rows;
    counts["pending_rows"] = join_.waiting(stream);
    counts["watermark"] = side.watermark == kMinTimestamp ? py::object(py::none()) : py::int_(side.watermark);
    return counts;
  }

  [[nodiscard]] py::dict direction_statistics(std::size_t stream) const {
    const DirectionCounts& direction = join_.direction(stream);
    py::dict counts;
    counts["probes"] = direction.work.probes;
    counts["comparisons"] = direction.work.comparisons;
    counts["postings"] = direction.work.postings;
    counts["lookups"] = direction.work.lookups;
    counts["due"] = direction.due;
    counts["done"] = direction.done;
    counts["shed"] = direction.due - direction.done;
    return counts;
  }

  SelectiveJoin join_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace

void bind_selective(py::module_& module) {
  py::class_<Selective>(module, "SelectiveJoin")
      .def(py::init([](std::vector<TermConfig> terms, std::array<StreamConfig, kSides> streams,
                       const py::int_& lower, const py::int_& upper, double seconds_per_tick,
                       double units_per_second, std::array<double, 4> costs, Duration basic_span,
                       std::array<std::uint32_t, kSides> cells, std::uint32_t types, double input_buffer_s,
                       double control_period_s, bool synchronised, bool guarded, bool scored,
                       double first_full_probe_share, std::uint64_t seed) {
             return std::make_unique<Selective>(SelectiveConfig{std::move(terms),
                                                                std::move(streams),
                                                                to_wide(lower),
                                                                to_wide(upper),
                                                                seconds_per_tick,
                                                                units_per_second,
                                                                {costs[0], costs[1], costs[2], costs[3]},
                                                                basic_span,
                                                                cells,
                                                                types,
                                                                input_buffer_s,
                                                                control_period_s,
                                                                synchronised,
                                                                guarded,
                                                                scored,
                                                                first_full_probe_share,
                                                                seed});
           }),
           py::arg("terms"), py::arg("streams"), py::kw_only(), py::arg("lower"), py::arg("upper"),
           py::arg("seconds_per_tick"), py::arg("units_per_second"), py::arg("costs"), py::arg("basic_span"),
           py::arg("cells"), py::arg("types"), py::arg("input_buffer_s"), py::arg("control_period_s"),
           py::arg("synchronised"), py::arg("guarded"), py::arg("scored"), py::arg("first_full_probe_share"),
           py::arg("seed"))
      .def("push", &Selective::push, py::arg("stream"), py::arg("batch"), py::kw_only(), py::arg("at"),
           py::arg("kinds"), py::arg("keep"), py::arg("control"))
      .def("advance", &Selective::advance, py::arg("stream"), py::arg("to"), py::kw_only(), py::arg("keep"),
           py::arg("control"))
      .def("finish", &Selective::finish, py::kw_only(), py::arg("keep"), py::arg("control"))
      .def("hold", &Selective::hold, py::arg("stream"), py::arg("batch"), py::kw_only(), py::arg("arrivals"),
           py::arg("kinds"))
      .def("drain", &Selective::drain, py::kw_only(), py::arg("keep"), py::arg("control"))
      .def("refill", &Selective::refill, py::arg("stream"), py::arg("batch"), py::kw_only(), py::arg("kinds"))
      .def("set_speed", &Selective::set_speed, py::arg("units_per_second"))
      .def("course", &Selective::course)
      .def("set_course", &Selective::set_course, py::arg("body"))
      .def("set_lag", &Selective::set_lag, py::arg("seconds"))
      .def("first_needed", &Selective::first_needed, py::arg("stream"))
      .def("statistics", &Selective::statistics)
      .def("snapshot", &Selective::snapshot)
      .def("load", &Selective::load, py::arg("body"));
}

}  // namespace watersmeet::bindings
