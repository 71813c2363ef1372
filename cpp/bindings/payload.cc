// Payload and row numbers, gathered into Arrow batches that pyarrow takes over without a copy.
#include "outbox.h"
#include "payload_columns.h"
#include "prelude.h"

namespace watersmeet::bindings {
void bind_payload(py::module_& module) {
  py::class_<Outbox>(module, "Outbox")
      .def(py::init<>())
      .def("begin", &Outbox::begin, py::arg("rows"), py::arg("columns"))
      .def(
          "add_rows", [](Outbox& outbox, const RowArray& column) { outbox.add_rows(view(column)); },
          py::arg("column"))
      .def(
          "pairs",
          [](Outbox& outbox, const RowArray& left, const RowArray& right) {
            if (left.size() != right.size()) throw py::value_error("columns of different length");
            return outbox.pairs(view(left), view(right));
          },
          py::arg("left"), py::arg("right"))
      .def_property_readonly("address", &Outbox::address);
  py::class_<PayloadColumns>(module, "PayloadColumns")
      .def(py::init<std::vector<std::size_t>, std::int64_t, std::size_t>(), py::arg("widths"), py::kw_only(),
           py::arg("first") = std::int64_t{0}, py::arg("chunk_bytes") = std::size_t{0})
      .def("append", &PayloadColumns::append, py::arg("batch"))
      .def("truncate", &PayloadColumns::truncate, py::arg("end"))
      .def("drop_before", &PayloadColumns::drop_before, py::arg("row"))
      .def("trim", &PayloadColumns::trim)
      .def_property_readonly("bytes", &PayloadColumns::bytes)
      .def("gather", &PayloadColumns::gather, py::arg("rows"), py::arg("outbox"), py::kw_only(),
           py::arg("may_miss"));
}

}  // namespace watersmeet::bindings
