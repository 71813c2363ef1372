// The frame around snapshots.
#include "prelude.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet::bindings {

void bind_snapshot(py::module_& module) {
  module.def(
      "seal",
      [](std::string_view body) {
        std::string frame;
        {
          const py::gil_scoped_release release;
          frame = seal(body);
        }
        return py::bytes(frame);
      },
      py::arg("body"), "Wrap a snapshot's body in a frame with version and checksum.");
  module.def(
      "unseal",
      [](std::string_view frame) {
        std::string_view body;
        {
          const py::gil_scoped_release release;
          body = unseal(frame);
        }
        return py::bytes(body.data(), body.size());
      },
      py::arg("frame"), "The body of a frame, after checking that it is whole and unharmed.");
}

}  // namespace watersmeet::bindings
