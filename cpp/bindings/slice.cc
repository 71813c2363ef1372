// Joins on slices: configuration by name, batches by Arrow's C data interface, results as arrays of row numbers.
#include <atomic>
#include <string>
#include <tuple>

#include "prelude.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/config.h"
#include "watersmeet/slice/slice_join.h"

namespace watersmeet::bindings {
namespace {

// Left stream, right stream, the term between them.
using StreamTerm = std::tuple<std::size_t, std::size_t, TermConfig>;

[[nodiscard]] Topology topology_kind(const std::string& name) {
  if (name == "ring") return Topology::kRing;
  if (name == "split") return Topology::kSplit;
  throw ConfigError("topology='" + name + "' is unknown");
}

[[nodiscard]] Relocation relocation_kind(const std::string& name) {
  if (name == "aggressive") return Relocation::kAggressive;
  if (name == "passive") return Relocation::kPassive;
  throw ConfigError("relocation='" + name + "' is unknown");
}

[[nodiscard]] SliceTerm slice_term(const StreamTerm& given) {
  const auto& [left, right, config] = given;
  return {config.term, config.coding, left, right, config.columns, config.label};
}

struct CBatch {
  explicit CBatch(const py::object& batch) : capsules(batch.attr("__arrow_c_array__")()) {
    schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsules[0].ptr(), "arrow_schema"));
    array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules[1].ptr(), "arrow_array"));
    if (schema == nullptr || array == nullptr) throw py::error_already_set();
  }
  py::tuple capsules;
  const ArrowSchema* schema;
  const ArrowArray* array;
};

class PySliceJoin {
 public:
  explicit PySliceJoin(SliceConfig config) : checks_(config.checks), join_(std::move(config)) {}

  // (stream, batch)
  using Batches = std::vector<std::pair<std::size_t, py::object>>;
  // (stream, time up to which it is complete, or None: it has ended)
  using Promises = std::vector<std::pair<std::size_t, std::optional<Timestamp>>>;

  py::tuple take(const Batches& batches, const Promises& promises, const py::object& check,
                 const py::object& control) {
    std::vector<CBatch> given;
    given.reserve(batches.size());
    std::vector<SliceJoin::Batch> rows;
    for (const auto& [stream, batch] : batches) {
      given.emplace_back(batch);
      rows.push_back({known(stream), given.back().schema, given.back().array});
    }
    std::vector<SliceJoin::Promise> kept;
    for (const auto& [stream, to] : promises) kept.push_back({known(stream), to});
    return run(check, control,
               [&](const SliceJoin::Callbacks& callbacks) { return join_.take(rows, kept, callbacks); });
  }
  void set_synchronised(bool synchronised) { join_.set_synchronised(synchronised); }
  [[nodiscard]] std::optional<Timestamp> low() const { return join_.low(); }
  void request_resize(std::size_t slices, const std::string& relocation) {
    join_.request_resize(slices, relocation_kind(relocation));
  }
  void set_orderings(std::vector<std::vector<std::size_t>> orderings) {
    join_.set_orderings(std::move(orderings));
  }

  void shed(std::vector<std::int64_t> cell_spans, std::vector<std::uint32_t> cells, double units_per_second,
            double seconds_per_unit, Duration control_span, Duration tick_span, double room_s,
            double least_sample_share, bool whole_samples, std::uint64_t seed, std::vector<Seq> row_bases) {
    join_.shed({std::move(cell_spans), std::move(cells), units_per_second, seconds_per_unit, control_span,
                tick_span, room_s, least_sample_share, whole_samples, seed, std::move(row_bases)});
  }
  // By direction, own * streams + other: order of cells, fraction, share of samples.
  void set_plans(const std::vector<std::tuple<std::vector<std::uint32_t>, double, double>>& plans) {
    std::vector<ProbePlan> given;
    for (const auto& [order, fraction, share] : plans) given.push_back({order, fraction, share});
    sheds();
    join_.set_plans(std::move(given));
  }
  [[nodiscard]] py::dict shedding() const {
    const SliceShedding& shedding = sheds();
    py::dict all;
    all["tallies"] = as_list(shedding.totals());
    all["lag_s"] = shedding.lag_s();
    const SliceShedding::Recall& recall = shedding.recall();
    all["results"] = recall.results;
    all["missed"] = recall.missed;
    all["variance"] = recall.variance;
    all["variance_squared"] = recall.variance_squared;
    all["samples"] = recall.samples;
    all["heaviest"] = recall.heaviest;
    all["shed"] = recall.shed;
    py::list plans;
    for (const ProbePlan& plan : shedding.plans())
      plans.append(py::make_tuple(plan.order, plan.fraction, plan.sample_share));
    all["plans"] = plans;
    return all;
  }
  [[nodiscard]] py::bytes shedding_state() const {
    sheds();
    return py::bytes(join_.shedding_state());
  }
  void load_shedding_state(const std::string& state) {
    sheds();
    join_.load_shedding_state(state);
  }

  void restore(std::size_t stream, const py::object& batch, Seq first, Seq oldest, Seq processed,
               Timestamp watermark, bool ended) {
    const CBatch given(batch);
    join_.restore(known(stream), *given.schema, *given.array, {first, oldest, processed, watermark, ended});
  }
  [[nodiscard]] py::dict state(std::size_t stream) const {
    const SliceJoin::Restored state = join_.state_of(known(stream));
    py::dict all;
    all["first"] = state.first;
    all["oldest"] = state.oldest;
    all["processed"] = state.processed;
    all["watermark"] = state.watermark;
    all["ended"] = state.ended;
    return all;
  }

  [[nodiscard]] py::dict statistics() const {
    const SliceStatistics counted = join_.statistics();
    py::dict all;
    all["results"] = join_.results();
    all["bytes"] = join_.bytes();
    all["slices"] = join_.slices();
    all["compared"] = counted.compared;
    all["messages"] = counted.messages;
    all["flows"] = counted.flows;
    py::list held;
    for (const auto& slice : counted.held) {
      py::list ranges;
      for (const RowRange& range : slice) ranges.append(py::make_tuple(range.first, range.last));
      held.append(ranges);
    }
    all["held"] = held;
    all["steps"] = steps(counted);
    return all;
  }

 private:
  const SliceShedding& sheds() const {
    if (!join_.shedding().has_value()) throw ConfigError("this join does not shed");
    return *join_.shedding();
  }

  [[nodiscard]] static py::list as_list(const SliceShedding::Tallies& tallies) {
    py::list all;
    for (const DirectionTally& tally : tallies) {
      py::dict counts;
      counts["due"] = tally.due;
      counts["comparisons"] = tally.compared;
      counts["matches"] = tally.matches;
      counts["full_comparisons"] = tally.sample_compared;
      counts["full_matches"] = tally.sample_matches;
      counts["shed"] = tally.shed;
      counts["samples"] = tally.samples;
      all.append(counts);
    }
    return all;
  }

  [[nodiscard]] static py::dict as_dict(const SliceShedding::Period& period) {
    py::dict all;
    all["begin_s"] = period.begin_s;
    all["elapsed_s"] = period.elapsed_s;
    all["lag_s"] = period.lag_s;
    all["units"] = period.compared;
    all["tallies"] = as_list(period.tallies);
    all["results"] = period.results;
    all["rows"] = period.rows;
    return all;
  }

  [[nodiscard]] std::size_t known(std::size_t stream) const {
    if (stream >= join_.config().streams.size())
      throw ConfigError("stream=" + std::to_string(stream) + " is unknown");
    return stream;
  }

  // (members' bits, stream, due, kept) of every step that was made.
  [[nodiscard]] py::list steps(const SliceStatistics& counted) const {
    py::list all;
    for (std::size_t members = 0; members < counted.steps.size(); ++members) {
      for (std::size_t other = 0; other < kMostStreams; ++other) {
        const StepCount& step = counted.steps[members][other];
        if (step.due > 0) all.append(py::make_tuple(members, other, step.due, step.kept));
      }
    }
    return all;
  }

  template <class Call>
  py::tuple run(const py::object& check, const py::object& control, Call call) {
    if (busy_.test_and_set()) throw ConfigError("this join is in the middle of another call");
    struct Free {
      ~Free() { flag.clear(); }
      std::atomic_flag& flag;
    } free{busy_};
    SliceJoin::Callbacks callbacks;
    if (!check.is_none()) {
      callbacks.check = [this, &check](std::size_t number, std::span<const Found> found, std::uint8_t* keep) {
        ask(check, number, found, keep);
      };
    }
    if (!control.is_none()) {
      callbacks.control = [this, &control](const SliceShedding::Period& period) {
        const py::gil_scoped_acquire acquire;
        control(as_dict(period));
      };
    }
    callbacks.poll = [] {
      const py::gil_scoped_acquire acquire;
      if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    };
    SliceResults results;
    {
      const py::gil_scoped_release release;
      results = call(callbacks);
    }
    py::tuple rows(results.size());
    for (std::size_t at = 0; at < results.size(); ++at) rows[at] = to_array(std::move(results[at]));
    return rows;
  }

  // Calls check(number, rows of each of its streams), on whichever thread asks.
  void ask(const py::object& check, std::size_t number, std::span<const Found> found,
           std::uint8_t* keep) const {
    std::vector<std::vector<std::int64_t>> rows;
    for (const std::size_t stream : checks_[number]) {
      rows.emplace_back();
      rows.back().reserve(found.size());
      for (const Found& candidate : found)
        rows.back().push_back(static_cast<std::int64_t>(candidate.rows[stream]));
    }
    const py::gil_scoped_acquire acquire;
    py::list arrays;
    for (auto& column : rows) arrays.append(to_array(std::move(column)));
    const auto mask = check(number, arrays).cast<py::array_t<bool>>();
    if (mask.ndim() != 1 || static_cast<std::size_t>(mask.size()) != found.size()) {
      throw SchemaError("check: expected one boolean per candidate");
    }
    const auto kept = mask.unchecked<1>();
    for (std::size_t at = 0; at < found.size(); ++at) keep[at] = kept(static_cast<py::ssize_t>(at)) ? 1 : 0;
  }

  std::vector<std::vector<std::size_t>> checks_;
  SliceJoin join_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace

void bind_slice(py::module_& module) {
  py::class_<SliceStream>(module, "SliceStream")
      .def(py::init([](std::string name, std::string time_column, std::int64_t time_multiplier,
                       std::optional<std::uint64_t> window_rows, Duration span, std::size_t slices) {
             return SliceStream{std::move(name), std::move(time_column), time_multiplier, window_rows, span,
                                slices};
           }),
           py::arg("name"), py::kw_only(), py::arg("time_column"),
           py::arg("time_multiplier") = std::int64_t{1}, py::arg("window_rows") = py::none(),
           py::arg("span") = Duration{0}, py::arg("slices") = std::size_t{0});
  py::class_<PySliceJoin>(module, "SliceJoin")
      .def(py::init([](std::vector<SliceStream> streams, const std::vector<StreamTerm>& terms,
                       std::vector<std::vector<std::size_t>> checks, bool inclusive, bool ordered,
                       const std::string& topology, std::size_t slices, std::size_t interleave,
                       std::optional<std::uint64_t> schedule_seed, std::optional<std::uint64_t> delay_seed) {
             SliceConfig config;
             config.streams = std::move(streams);
             for (const StreamTerm& term : terms) config.terms.push_back(slice_term(term));
             config.checks = std::move(checks);
             config.inclusive = inclusive;
             config.ordered = ordered;
             config.topology = topology_kind(topology);
             config.slices = slices;
             config.interleave = interleave;
             config.schedule_seed = schedule_seed;
             config.delay_seed = delay_seed;
             return std::make_unique<PySliceJoin>(std::move(config));
           }),
           py::arg("streams"), py::arg("terms"), py::kw_only(), py::arg("checks"), py::arg("inclusive"),
           py::arg("ordered") = false, py::arg("topology"), py::arg("slices"), py::arg("interleave"),
           py::arg("schedule_seed") = py::none(), py::arg("delay_seed") = py::none())
      .def("take", &PySliceJoin::take, py::arg("batches"), py::arg("promises"), py::arg("check") = py::none(),
           py::arg("control") = py::none())
      .def("shed", &PySliceJoin::shed, py::kw_only(), py::arg("cell_spans"), py::arg("cells"),
           py::arg("units_per_second"), py::arg("seconds_per_unit"), py::arg("control_span"),
           py::arg("tick_span"), py::arg("room_s"), py::arg("least_sample_share"), py::arg("whole_samples"),
           py::arg("seed"), py::arg("row_bases"))
      .def("set_plans", &PySliceJoin::set_plans, py::arg("plans"))
      .def("shedding", &PySliceJoin::shedding)
      .def("shedding_state", &PySliceJoin::shedding_state)
      .def("load_shedding_state", &PySliceJoin::load_shedding_state, py::arg("state"))
      .def("set_synchronised", &PySliceJoin::set_synchronised, py::arg("synchronised"))
      .def("low", &PySliceJoin::low)
      .def("request_resize", &PySliceJoin::request_resize, py::arg("slices"), py::arg("relocation"))
      .def("set_orderings", &PySliceJoin::set_orderings, py::arg("orderings"))
      .def("restore", &PySliceJoin::restore, py::arg("stream"), py::arg("batch"), py::kw_only(),
           py::arg("first"), py::arg("oldest"), py::arg("processed"), py::arg("watermark"), py::arg("ended"))
      .def("state", &PySliceJoin::state, py::arg("stream"))
      .def("statistics", &PySliceJoin::statistics);
}

}  // namespace watersmeet::bindings
