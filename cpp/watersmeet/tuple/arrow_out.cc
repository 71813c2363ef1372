#include "watersmeet/tuple/arrow_out.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "watersmeet/base/pages.h"

namespace watersmeet {
namespace {

// One column: it frees its own buffers, so that it may be taken apart from its batch. The memory goes to the next
// batch, which is of much the same size.
struct ColumnData {
  PageArray<std::byte> values;
  PageArray<std::uint8_t> validity;
  const void* buffers[2] = {nullptr, nullptr};
};

void release_column(ArrowArray* array) {
  delete static_cast<ColumnData*>(array->private_data);
  array->release = nullptr;
}

struct BatchData {
  const void* no_validity[1] = {nullptr};
  std::vector<ArrowArray> columns;
  std::vector<ArrowArray*> children;
};

void release_batch(ArrowArray* array) {
  auto* data = static_cast<BatchData*>(array->private_data);
  for (std::int64_t child = 0; child < array->n_children; ++child) {
    ArrowArray* column = array->children[child];
    if (column->release != nullptr) column->release(column);
  }
  delete data;
  array->release = nullptr;
}

}  // namespace

void ArrowOut::begin(std::size_t rows, std::size_t columns) {
  drop();
  auto data = std::make_unique<BatchData>();
  data->columns.resize(columns);
  for (ArrowArray& column : data->columns) data->children.push_back(&column);
  slot_ = ArrowArray{};
  slot_.length = static_cast<std::int64_t>(rows);
  slot_.n_buffers = 1;
  slot_.buffers = data->no_validity;
  slot_.children = data->children.data();
  slot_.release = release_batch;
  slot_.private_data = data.release();
}

ArrowOut::Column ArrowOut::add(std::size_t bytes, bool has_validity) {
  const auto rows = static_cast<std::size_t>(slot_.length);
  auto data = std::make_unique<ColumnData>();
  // A column without rows has a buffer too.
  data->values = PageArray<std::byte>::uninitialized(std::max<std::size_t>(bytes, 1));
  if (has_validity)
    data->validity = PageArray<std::uint8_t>::zeroed(std::max<std::size_t>((rows + 7) / 8, 1));
  const Column target{data->values.data(), data->validity.data()};
  data->buffers[0] = target.validity;
  data->buffers[1] = target.values;
  ArrowArray& column = *slot_.children[slot_.n_children];
  column.length = slot_.length;
  column.null_count = has_validity ? -1 : 0;  // -1: whoever wants to know counts
  column.n_buffers = 2;
  column.buffers = data->buffers;
  column.release = release_column;
  column.private_data = data.release();
  ++slot_.n_children;
  return target;
}

void ArrowOut::drop() {
  if (slot_.release != nullptr) slot_.release(&slot_);
}

}  // namespace watersmeet
