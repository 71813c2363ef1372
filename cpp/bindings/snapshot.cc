// The frame around snapshots.
#include "prelude.h"
#include "watersmeet/snapshot/bytes.h"

namespace watersmeet::bindings {

void bind_snapshot(py::module_& module) {
  module.def(
      "seal",
      [](const py::bytes& unsealed) {
        const std::string_view body(unsealed);
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
      [](const py::bytes& sealed) {
        const std::string_view frame(sealed);
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
