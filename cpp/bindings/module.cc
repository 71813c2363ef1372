// The compiled module watersmeet._core._native: a list of its rooms.
#include "prelude.h"

PYBIND11_MODULE(_native, module) {
  module.doc() = "The compiled core of watersmeet; use the package, not this.";
  watersmeet::bindings::bind_errors(module);
  watersmeet::bindings::bind_snapshot(module);
  watersmeet::bindings::bind_payload(module);
  watersmeet::bindings::bind_join_config(module);
  watersmeet::bindings::bind_join(module);
  watersmeet::bindings::bind_hold(module);
  watersmeet::bindings::bind_tree_join(module);
  watersmeet::bindings::bind_slice(module);
  watersmeet::bindings::bind_selective(module);
  module.attr("__version__") = WATERSMEET_VERSION;
}
