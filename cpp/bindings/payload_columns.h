// Payload of fixed width as Python holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "arrow_batch.h"
#include "outbox.h"
#include "prelude.h"
#include "watersmeet/tuple/payload.h"

namespace watersmeet::bindings {

class PayloadColumns {
 public:
  PayloadColumns(std::vector<std::size_t> widths, std::int64_t first, std::size_t chunk_bytes)
      : payload_(std::move(widths), first, chunk_bytes) {}

  void append(const py::object& batch) {
    const ArrowBatch given(batch);
    const py::gil_scoped_release release;
    payload_.append(given.array());
  }
  void truncate(std::int64_t end) { payload_.truncate(end); }
  void drop_before(std::int64_t row) { payload_.drop_before(row); }
  void trim() { payload_.trim(); }
  [[nodiscard]] std::size_t bytes() const { return payload_.bytes(); }

  void gather(const RowArray& rows, Outbox& outbox, bool may_miss) const {
    const py::gil_scoped_release release;
    payload_.gather(view(rows), may_miss, outbox.out());
  }

  [[nodiscard]] Payload& payload() { return payload_; }

 private:
  Payload payload_;
};

}  // namespace watersmeet::bindings
