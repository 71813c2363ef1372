// Errors of the core become the Python leaves of the same name.
#include "watersmeet/base/errors.h"
#include "prelude.h"

namespace watersmeet::bindings {
namespace {

void raise(const char* leaf, const char* message) {
  const py::object type = py::module_::import("watersmeet.errors").attr(leaf);
  PyErr_SetString(type.ptr(), message);
}

}  // namespace

void bind_errors(py::module_& /*module*/) {
  py::register_exception_translator([](std::exception_ptr failure) {
    try {
      if (failure) std::rethrow_exception(failure);
    } catch (const SchemaError& error) {
      raise("SchemaError", error.what());
    } catch (const OrderError& error) {
      raise("OrderError", error.what());
    } catch (const SnapshotError& error) {
      raise("SnapshotError", error.what());
    } catch (const ConfigError& error) {
      raise("ConfigError", error.what());
    } catch (const MemoryLimitError& error) {
      raise("MemoryLimitError", error.what());
    } catch (const Error& error) {
      raise("WatersmeetError", error.what());
    }
  });
}

}  // namespace watersmeet::bindings
