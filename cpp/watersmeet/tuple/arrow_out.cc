#include "watersmeet/tuple/arrow_out.h"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

namespace watersmeet {
namespace {

// Arrow recommends 64, for vector instructions.
constexpr std::size_t kAlignment = 64;

void* allocate(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment;
  void* memory = std::aligned_alloc(kAlignment, rounded);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

// One column: it frees its own buffers, so that it may be taken apart from its batch.
struct ColumnData {
  const void* buffers[2] = {nullptr, nullptr};

  ColumnData() = default;
  ColumnData(const ColumnData&) = delete;
  ColumnData& operator=(const ColumnData&) = delete;
  ~ColumnData() {
    for (const void* buffer : buffers) std::free(const_cast<void*>(buffer));
  }
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
  void* values = allocate(bytes);
  data->buffers[1] = values;
  void* validity = nullptr;
  if (has_validity) {
    validity = allocate((rows + 7) / 8);
    std::memset(validity, 0, (rows + 7) / 8);
    data->buffers[0] = validity;
  }
  ArrowArray& column = *slot_.children[slot_.n_children];
  column.length = slot_.length;
  column.null_count = has_validity ? -1 : 0;  // -1: whoever wants to know counts
  column.n_buffers = 2;
  column.buffers = data->buffers;
  column.release = release_column;
  column.private_data = data.release();
  ++slot_.n_children;
  return {static_cast<std::byte*>(values), static_cast<std::uint8_t*>(validity)};
}

void ArrowOut::drop() {
  if (slot_.release != nullptr) slot_.release(&slot_);
}

}  // namespace watersmeet
