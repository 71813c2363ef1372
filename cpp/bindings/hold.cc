// Results of joins of several streams, held until they can leave in order.
#include "prelude.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/order/result_hold.h"

namespace watersmeet::bindings {
namespace {

using Numbers = py::array_t<std::int64_t, py::array::c_style>;

template <class Value>
[[nodiscard]] std::span<const Value> values(const Numbers& numbers) {
  return {reinterpret_cast<const Value*>(numbers.data()), static_cast<std::size_t>(numbers.size())};
}

void add(ResultHold& hold, const Numbers& times, const std::vector<Numbers>& rows) {
  std::vector<std::span<const RowId>> columns;
  for (const Numbers& column : rows) columns.push_back(values<RowId>(column));
  if (columns.size() != hold.streams()) throw ConfigError("rows: expected one column per stream");
  for (const auto& column : columns) {
    if (column.size() != static_cast<std::size_t>(times.size()))
      throw ConfigError("rows: expected one per timestamp");
  }
  const py::gil_scoped_release release;
  hold.add(values<Timestamp>(times), columns);
}

template <class Release>
[[nodiscard]] py::list released(Release release_results) {
  RowColumns columns;
  {
    const py::gil_scoped_release release;
    columns = release_results();
  }
  py::list out;
  for (auto& column : columns) out.append(to_array(std::move(column)));
  return out;
}

}  // namespace

void bind_hold(py::module_& module) {
  py::class_<ResultHold>(module, "ResultHold")
      .def(py::init(&make_result_hold), py::arg("streams"))
      .def("add", &add, py::arg("times"), py::arg("rows"))
      .def(
          "release_before",
          [](ResultHold& hold, Timestamp bound) {
            return released([&] { return hold.release_before(bound); });
          },
          py::arg("bound"))
      .def("release_all", [](ResultHold& hold) { return released([&] { return hold.release_all(); }); })
      .def("first_row", &ResultHold::first_row, py::arg("stream"))
      .def(
          "holds",
          [](const ResultHold& hold, const std::vector<RowId>& rows) {
            return rows.size() == hold.streams() && hold.holds(rows);
          },
          py::arg("rows"))
      .def("snapshot",
           [](const ResultHold& hold) {
             ByteWriter writer;
             hold.save(writer);
             return py::bytes(writer.bytes());
           })
      .def(
          "load",
          [](ResultHold& hold, const py::bytes& bytes) {
            const std::string_view body(bytes);
            ByteReader reader(body);
            hold.load(reader);
          },
          py::arg("bytes"))
      .def_property_readonly("size", &ResultHold::size)
      .def_property_readonly("bytes", &ResultHold::bytes);
}

}  // namespace watersmeet::bindings
