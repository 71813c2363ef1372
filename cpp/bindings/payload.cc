// Payload and row numbers, gathered into Arrow batches that pyarrow takes over without a copy.
#include <algorithm>
#include <cstring>
#include <span>

#include "prelude.h"
#include "watersmeet/tuple/payload.h"

namespace watersmeet::bindings {
namespace {

using RowArray = py::array_t<std::int64_t, py::array::c_style | py::array::forcecast>;

[[nodiscard]] std::span<const std::int64_t> view(const RowArray& rows) {
  return {rows.data(), static_cast<std::size_t>(rows.size())};
}

// A batch on its way out: columns are added to it, then pyarrow takes it over by its address.
class Outbox {
 public:
  void begin(std::size_t rows, std::size_t columns) { out_.begin(rows, columns); }

  // A column of row numbers; a negative one is null.
  void add_rows(const RowArray& column) {
    const std::span<const std::int64_t> numbers = view(column);
    const bool missing = std::ranges::any_of(numbers, [](std::int64_t row) { return row < 0; });
    const ArrowOut::Column target = out_.add(numbers.size_bytes(), missing);
    if (!numbers.empty()) std::memcpy(target.values, numbers.data(), numbers.size_bytes());
    for (std::size_t row = 0; missing && row < numbers.size(); ++row) {
      if (numbers[row] >= 0) target.validity[row >> 3] |= static_cast<std::uint8_t>(1U << (row & 7));
    }
  }

  // Two columns of row numbers, the batch complete; gives its address.
  [[nodiscard]] std::uintptr_t pairs(const RowArray& left, const RowArray& right) {
    if (left.size() != right.size()) throw py::value_error("columns of different length");
    begin(static_cast<std::size_t>(left.size()), 2);
    add_rows(left);
    add_rows(right);
    return address();
  }

  [[nodiscard]] std::uintptr_t address() { return reinterpret_cast<std::uintptr_t>(out_.slot()); }
  [[nodiscard]] ArrowOut& out() { return out_; }

 private:
  ArrowOut out_;
};

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
      .def("add_rows", &Outbox::add_rows, py::arg("column"))
      .def("pairs", &Outbox::pairs, py::arg("left"), py::arg("right"))
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
