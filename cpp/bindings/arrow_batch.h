// Batches on their way in, by Arrow's C data interface.
#pragma once

#include <cstdint>

#include "prelude.h"
#include "watersmeet/tuple/arrow_abi.h"

namespace watersmeet::bindings {

// A batch as Arrow's C data interface has it, for as long as this lives.
class ArrowBatch {
 public:
  explicit ArrowBatch(const py::object& batch) : capsules_(batch.attr("__arrow_c_array__")()) {
    schema_ = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsules_[0].ptr(), "arrow_schema"));
    array_ = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules_[1].ptr(), "arrow_array"));
    if (schema_ == nullptr || array_ == nullptr) throw py::error_already_set();
  }

  [[nodiscard]] const ArrowSchema& schema() const { return *schema_; }
  [[nodiscard]] const ArrowArray& array() const { return *array_; }

 private:
  py::tuple capsules_;
  const ArrowSchema* schema_;
  const ArrowArray* array_;
};

// A stream's batches, one after another, all of one schema: it is exported once, since that costs as much as the rest
// of a small push.
class ArrowInbox {
 public:
  ArrowInbox() = default;
  ArrowInbox(const ArrowInbox&) = delete;
  ArrowInbox& operator=(const ArrowInbox&) = delete;
  ~ArrowInbox() {
    empty();
    if (schema_.release != nullptr) schema_.release(&schema_);
  }

  void take(const py::object& batch) {
    empty();
    static const py::handle schema = interned("schema");
    static const py::handle export_to_c = interned("_export_to_c");
    if (schema_.release == nullptr) call(batch.attr(schema), export_to_c, address_of(schema_));
    call(batch, export_to_c, address_of(array_));
  }
  void empty() {
    if (array_.release != nullptr) array_.release(&array_);
  }

  [[nodiscard]] const ArrowSchema& schema() const { return schema_; }
  [[nodiscard]] const ArrowArray& array() const { return array_; }

 private:
  // A name that is looked up often, made once and never let go.
  [[nodiscard]] static py::handle interned(const char* name) {
    PyObject* made = PyUnicode_InternFromString(name);
    if (made == nullptr) throw py::error_already_set();
    return made;
  }
  static void call(const py::object& object, py::handle method, std::uintptr_t argument) {
    const py::int_ number(argument);
    PyObject* result = PyObject_CallMethodOneArg(object.ptr(), method.ptr(), number.ptr());
    if (result == nullptr) throw py::error_already_set();
    Py_DECREF(result);
  }
  template <class Structure>
  [[nodiscard]] static std::uintptr_t address_of(Structure& structure) {
    return reinterpret_cast<std::uintptr_t>(&structure);
  }

  ArrowSchema schema_{};
  ArrowArray array_{};
};

}  // namespace watersmeet::bindings
