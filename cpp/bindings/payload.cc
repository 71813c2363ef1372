// Payload and row numbers, gathered into Arrow batches that pyarrow takes over without a copy.
#include "watersmeet/tuple/payload.h"
#include "outbox.h"
#include "prelude.h"

namespace watersmeet::bindings {
namespace {

class PayloadColumns {
 public:
  PayloadColumns(std::vector<std::size_t> widths, std::int64_t first, std::size_t chunk_bytes)
      : payload_(std::move(widths), first, chunk_bytes) {}

  void append(const py::object& batch) {
    const py::tuple capsules = batch.attr("__arrow_c_array__")();
    const auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules[1].ptr(), "arrow_array"));
    if (array == nullptr) throw py::error_already_set();
    const py::gil_scoped_release release;
    payload_.append(*array);
  }
  void truncate(std::int64_t end) { payload_.truncate(end); }
  void drop_before(std::int64_t row) { payload_.drop_before(row); }
  void trim() { payload_.trim(); }
  [[nodiscard]] std::size_t bytes() const { return payload_.bytes(); }

  void gather(const RowArray& rows, Outbox& outbox, bool may_miss) const {
    const py::gil_scoped_release release;
    payload_.gather(view(rows), may_miss, outbox.out());
  }

 private:
  Payload payload_;
};

}  // namespace

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
