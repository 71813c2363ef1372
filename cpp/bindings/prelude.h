// What every file of the bindings needs: pybind11, and how results cross into Python without being copied.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace watersmeet::bindings {

namespace py = pybind11;

// An int64 array that owns the vector's memory.
template <class Vector>
[[nodiscard]] py::array_t<std::int64_t> to_array(Vector&& values) {
  using Owned = std::decay_t<Vector>;
  auto owner = std::make_unique<Owned>(std::forward<Vector>(values));
  auto* data = reinterpret_cast<std::int64_t*>(owner->data());
  const auto size = static_cast<py::ssize_t>(owner->size());
  py::capsule base(owner.release(), [](void* memory) { delete static_cast<Owned*>(memory); });
  return py::array_t<std::int64_t>(size, data, base);
}

void bind_errors(py::module_& module);
void bind_snapshot(py::module_& module);
void bind_join_config(py::module_& module);
void bind_join(py::module_& module);
void bind_payload(py::module_& module);
void bind_hold(py::module_& module);
void bind_tree_join(py::module_& module);
void bind_slice(py::module_& module);
void bind_selective(py::module_& module);

}  // namespace watersmeet::bindings
