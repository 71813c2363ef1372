// TreeJoin for Python: the steps of a change, results as NumPy arrays, counters as dictionaries.
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "prelude.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/tree_join.h"

namespace watersmeet::bindings {
namespace {

// Slices of rows between two looks at Python's signals.
constexpr int kSlicesAtOnce = 64;

using Rows = std::vector<Seq>;

// A batch handed over by the Arrow capsule interface, alive as long as this is.
class CapsuleBatch {
 public:
  explicit CapsuleBatch(const py::object& batch) : capsules_(batch.attr("__arrow_c_array__")()) {
    schema_ = pointer<ArrowSchema>(capsules_[0], "arrow_schema");
    array_ = pointer<ArrowArray>(capsules_[1], "arrow_array");
  }
  [[nodiscard]] const ArrowSchema& schema() const { return *schema_; }
  [[nodiscard]] const ArrowArray& array() const { return *array_; }

 private:
  template <class T>
  static T* pointer(const py::handle& capsule, const char* name) {
    auto* address = static_cast<T*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (address == nullptr) throw py::error_already_set();
    return address;
  }

  py::tuple capsules_;
  ArrowSchema* schema_ = nullptr;
  ArrowArray* array_ = nullptr;
};

[[nodiscard]] py::array_t<std::int64_t> copied(const Rows& rows) {
  py::array_t<std::int64_t> out(static_cast<py::ssize_t>(rows.size()));
  if (!rows.empty()) std::memcpy(out.mutable_data(), rows.data(), rows.size() * sizeof(Seq));
  return out;
}

// keep(pair, first_rows, second_rows) -> a bool per candidate.
[[nodiscard]] Keep as_keep(const py::object& callable) {
  if (callable.is_none()) return nullptr;
  return
      [callable](std::size_t pair, const Rows& first, const Rows& second, std::vector<std::uint8_t>& keep) {
        const py::gil_scoped_acquire gil;
        const py::object answer = callable(pair, copied(first), copied(second));
        const auto flags = py::array_t<bool, py::array::c_style | py::array::forcecast>(answer);
        if (flags.ndim() != 1 || static_cast<std::size_t>(flags.size()) != keep.size()) {
          throw SchemaError("keep: expected one bool per candidate pair");
        }
        for (std::size_t at = 0; at < keep.size(); ++at) keep[at] = flags.data()[at] ? 1 : 0;
      };
}

// Any Python integer that is not negative, held at what no difference of timestamps exceeds.
[[nodiscard]] Wide as_span(const py::int_& value) {
  const py::int_ most(std::numeric_limits<std::uint64_t>::max());
  if (py::bool_(value.attr("__ge__")(most))) return Wide{std::numeric_limits<std::uint64_t>::max()};
  return Wide{value.cast<std::uint64_t>()};
}

[[nodiscard]] py::dict stream_dict(const TreeJoin& join, std::size_t stream) {
  const Leaf& leaf = join.leaf(stream);
  py::dict out;
  out["rows"] = leaf.state.window.end();
  out["processed"] = leaf.state.processed;
  out["window_rows"] = leaf.state.processed - leaf.state.window.begin();
  out["pending_rows"] = leaf.state.window.end() - leaf.state.processed;
  out["expired_rows"] = leaf.state.window.begin();
  out["window_bytes"] = leaf.bytes();
  out["watermark"] =
      leaf.watermark == kMinTimestamp ? py::object(py::none()) : py::object(py::int_(leaf.watermark));
  return out;
}

[[nodiscard]] py::dict half_dict(const Joint& joint, std::size_t side) {
  const HalfJoinCounts& counts = joint.halves[side].counts;
  py::dict out;
  out["rows"] = counts.rows;
  out["looks"] = counts.looks;
  out["probes"] = counts.cells / kCells;
  out["due"] = counts.due;
  out["made"] = counts.made;
  out["comparisons"] = counts.work.comparisons;
  out["postings"] = counts.work.postings;
  out["lookups"] = counts.work.lookups;
  out["state_rows"] = joint.input(side).processed - joint.input(side).window.begin();
  return out;
}

// The half-way joins' cells, from the newest to the oldest: rows compared, and matches found among them.
[[nodiscard]] py::list cells(const TreeJoin& join) {
  py::list out;
  for (const auto& joint : join.joints()) {
    for (const HalfJoin& half : joint->halves)
      out.append(py::make_tuple(half.by_cell.compared, half.by_cell.matches, half.by_cell.squares));
  }
  return out;
}

// Per half-way join: cells from the best to the worst, the share that each row looks at, and how often one
// looks at all.
using CellChoice = std::tuple<std::array<std::uint8_t, kCells>, double, std::uint32_t>;

void set_cells(TreeJoin& join, const std::vector<CellChoice>& choices) {
  if (!choices.empty() && choices.size() != 2 * join.joints().size()) {
    throw ConfigError("set_cells: expected one choice for every half-way join");
  }
  std::vector<CellPlan> plans;
  for (const auto& [order, fraction, full_every] : choices) {
    std::uint32_t seen = 0;
    for (const std::uint8_t cell : order) seen |= cell < kCells ? 1U << cell : 0U;
    if (seen != (1U << kCells) - 1 || !(fraction >= 0 && fraction <= 1)) {
      throw ConfigError("set_cells: expected every cell once, and a share from 0 to 1");
    }
    plans.emplace_back(order, fraction, full_every);
  }
  join.set_cells(plans);
}

[[nodiscard]] py::dict age_dict(const Ages& ages) {
  py::dict out;
  out["total"] = ages.total();
  out["largest"] = ages.largest();
  for (const double share : {0.5, 0.9, 0.99}) out[py::float_(share)] = ages.quantile(share);
  return out;
}

[[nodiscard]] py::dict statistics(const TreeJoin& join) {
  py::dict out;
  out["results"] = join.results();
  out["bytes"] = join.bytes();
  py::list streams;
  for (std::size_t stream = 0; stream < join.config().streams.size(); ++stream)
    streams.append(stream_dict(join, stream));
  out["streams"] = streams;
  py::list half_joins;
  for (const auto& joint : join.joints()) {
    for (std::size_t side = 0; side < kSides; ++side) half_joins.append(half_dict(*joint, side));
  }
  out["half_joins"] = half_joins;
  py::list ages;
  for (const Ages& each : join.ages()) ages.append(age_dict(each));
  out["ages"] = ages;
  return out;
}

[[nodiscard]] TreeStream make_stream(std::string name, std::string time_column, std::int64_t time_multiplier,
                                     std::optional<std::uint64_t> window_rows, const py::int_& window,
                                     std::optional<Duration> freshness) {
  return {std::move(name), std::move(time_column), time_multiplier, window_rows, as_span(window), freshness};
}

[[nodiscard]] std::unique_ptr<TreeJoin> make_join(std::vector<TreeStream> streams,
                                                  std::vector<TreePair> pairs, std::vector<TreeInputs> joins,
                                                  std::vector<std::uint64_t> state_rows, Duration cycle,
                                                  double carried_cycles, bool shares_spare, bool track_ages) {
  return std::make_unique<TreeJoin>(TreeConfig{std::move(streams), std::move(pairs), std::move(joins),
                                               std::move(state_rows), cycle, carried_cycles, shares_spare,
                                               track_ages});
}

void push(TreeJoin& join, std::size_t stream, const py::object& batch) {
  const CapsuleBatch arrow(batch);
  const py::gil_scoped_release release;
  join.push(stream, arrow.schema(), arrow.array());
}

void process(TreeJoin& join, std::optional<Timestamp> until, const py::object& callable) {
  const Keep keep = as_keep(callable);
  bool more = true;
  while (more) {
    {
      const py::gil_scoped_release release;
      for (int slice = 0; slice < kSlicesAtOnce && more; ++slice) more = join.process_slice(until, keep);
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

// (rows of each stream, timestamps) of the results.
[[nodiscard]] py::tuple commit(TreeJoin& join) {
  TreeJoin::Combinations found;
  {
    const py::gil_scoped_release release;
    found = join.commit();
  }
  py::list rows;
  for (Rows& column : found.rows) rows.append(to_array(std::move(column)));
  return py::make_tuple(rows, to_array(std::move(found.times)));
}

void set_tree(TreeJoin& join, std::vector<TreeInputs> joins, const py::object& callable) {
  const Keep keep = as_keep(callable);
  const py::gil_scoped_release release;
  join.set_tree(std::move(joins), keep);
}

[[nodiscard]] py::bytes snapshot(const TreeJoin& join) {
  ByteWriter writer;
  {
    const py::gil_scoped_release release;
    join.save(writer);
  }
  return writer.bytes();
}

void load(TreeJoin& join, const py::bytes& bytes) {
  const std::string_view body(bytes);
  const py::gil_scoped_release release;
  ByteReader reader(body);
  join.load(reader);
}

}  // namespace

void bind_tree_join(py::module_& module) {
  py::class_<TreeStream>(module, "TreeStream")
      .def(py::init(&make_stream), py::arg("name"), py::kw_only(), py::arg("time_column"),
           py::arg("time_multiplier") = 1, py::arg("window_rows") = py::none(), py::arg("window") = 0,
           py::arg("freshness") = py::none());
  py::class_<TreePair>(module, "TreePair")
      .def(py::init([](std::array<std::size_t, kSides> streams, std::vector<TermConfig> terms, bool opaque) {
             return TreePair{streams, std::move(terms), opaque};
           }),
           py::arg("streams"), py::arg("terms"), py::kw_only(), py::arg("opaque") = false);
  py::class_<TreeJoin>(module, "TreeJoin")
      .def(py::init(&make_join), py::arg("streams"), py::arg("pairs"), py::kw_only(), py::arg("joins"),
           py::arg("state_rows") = std::vector<std::uint64_t>{}, py::arg("cycle"),
           py::arg("carried_cycles") = 10.0, py::arg("shares_spare") = false, py::arg("track_ages") = false)
      .def("begin", &TreeJoin::begin)
      .def("push", &push, py::arg("stream"), py::arg("batch"))
      .def("promise", &TreeJoin::promise, py::arg("stream"), py::arg("to"))
      .def("finish", &TreeJoin::finish)
      .def("end", &TreeJoin::end, py::arg("stream"))
      .def("set_synchronised", &TreeJoin::set_synchronised, py::arg("synchronised"))
      .def("synchronised", &TreeJoin::synchronised)
      .def("low", &TreeJoin::low)
      .def("next_due", &TreeJoin::next_due)
      .def("process", &process, py::arg("until") = py::none(), py::arg("keep") = py::none())
      .def("commit", &commit)
      .def("roll_back", &TreeJoin::roll_back)
      .def("set_allowances", &TreeJoin::set_allowances, py::arg("per_cycle"),
           py::arg("spare") = std::vector<double>{}, py::arg("carried") = std::vector<double>{})
      .def("set_cells", &set_cells, py::arg("choices"))
      .def("set_tree", &set_tree, py::arg("joins"), py::arg("keep") = py::none())
      .def("snapshot", &snapshot)
      .def("load", &load, py::arg("body"))
      .def("cells", &cells)
      .def(
          "first_needed",
          [](const TreeJoin& join, std::size_t stream) { return join.leaf(stream).state.window.begin(); },
          py::arg("stream"))
      .def(
          "processed",
          [](const TreeJoin& join, std::size_t stream) { return join.leaf(stream).state.processed; },
          py::arg("stream"))
      .def("statistics", &statistics);
}

}  // namespace watersmeet::bindings
