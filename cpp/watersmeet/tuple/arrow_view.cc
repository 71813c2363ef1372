#include "watersmeet/tuple/arrow_view.h"

#include <charconv>
#include <string>

#include "watersmeet/base/errors.h"

namespace watersmeet {
namespace {

struct Layout {
  Physical physical;
  std::int64_t width;
};

std::int64_t parse_width(std::string_view digits) {
  std::int64_t width = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), width);
  if (width < 0) throw SchemaError("Arrow format with a width that is no number");
  return width;
}

// Decimals: "d:precision,scale[,bits]", 128 bits by default.
std::int64_t decimal_width(std::string_view format) {
  const std::size_t first = format.find(',');
  const std::size_t second = first == std::string_view::npos ? first : format.find(',', first + 1);
  return second == std::string_view::npos ? 16 : parse_width(format.substr(second + 1)) / 8;
}

Layout layout_of(std::string_view format) {
  if (format.size() == 1) {
    switch (format[0]) {
      case 'n':
        return {Physical::kNull, 0};
      case 'b':
        return {Physical::kBool, 0};
      case 'c':
        return {Physical::kInt8, 0};
      case 'C':
        return {Physical::kUInt8, 0};
      case 's':
        return {Physical::kInt16, 0};
      case 'S':
        return {Physical::kUInt16, 0};
      case 'i':
        return {Physical::kInt32, 0};
      case 'I':
        return {Physical::kUInt32, 0};
      case 'l':
        return {Physical::kInt64, 0};
      case 'L':
        return {Physical::kUInt64, 0};
      case 'f':
        return {Physical::kFloat, 0};
      case 'g':
        return {Physical::kDouble, 0};
      case 'u':
      case 'z':
        return {Physical::kBytes32, 0};
      case 'U':
      case 'Z':
        return {Physical::kBytes64, 0};
      default:
        break;
    }
  }
  if (format.starts_with("w:")) return {Physical::kFixedBytes, parse_width(format.substr(2))};
  if (format.starts_with("d:")) return {Physical::kFixedBytes, decimal_width(format)};
  if (format == "tdD" || format == "tts" || format == "ttm") return {Physical::kInt32, 0};
  if (format.starts_with("td") || format.starts_with("tt") || format.starts_with("ts") ||
      format.starts_with("tD")) {
    return {Physical::kInt64, 0};
  }
  if (format == "+l" || format == "+m") return {Physical::kList32, 0};
  if (format == "+L") return {Physical::kList64, 0};
  if (format.starts_with("+w:")) return {Physical::kFixedList, parse_width(format.substr(3))};
  if (format == "+s") return {Physical::kStruct, 0};
  throw SchemaError("Arrow format '" + std::string(format) + "' cannot be joined on");
}

std::int64_t buffers_needed(Physical physical) {
  switch (physical) {
    case Physical::kNull:
      return 0;
    case Physical::kStruct:
    case Physical::kFixedList:
      return 1;
    case Physical::kBytes32:
    case Physical::kBytes64:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

ArrowView::ArrowView(const ArrowSchema& schema, const ArrowArray& array)
    : ArrowView(schema, array, 0, array.length) {}

ArrowView::ArrowView(const ArrowSchema& schema, const ArrowArray& array, std::int64_t first,
                     std::int64_t length)
    : schema_(&schema), array_(&array), length_(length), offset_(array.offset + first) {
  if (schema.format == nullptr) throw SchemaError("Arrow schema without a format");
  if (schema.dictionary != nullptr) throw SchemaError("dictionary-encoded columns must be decoded first");
  const Layout layout = layout_of(schema.format);
  physical_ = layout.physical;
  width_ = layout.width;
  if (first < 0 || length < 0 || array.offset < 0 || first + length > array.length) {
    throw SchemaError("Arrow array with a negative or impossible length or offset");
  }
  if (array.n_buffers < buffers_needed(physical_)) throw SchemaError("Arrow array with too few buffers");
  if (physical_ == Physical::kNull) return;
  if (array.null_count != 0) validity_ = static_cast<const std::uint8_t*>(array.buffers[0]);
  const bool ragged = physical_ == Physical::kBytes32 || physical_ == Physical::kBytes64 ||
                      physical_ == Physical::kList32 || physical_ == Physical::kList64;
  if (ragged) {
    offsets_ = array.buffers[1];
    if (physical_ == Physical::kBytes32 || physical_ == Physical::kBytes64) values_ = array.buffers[2];
  } else if (buffers_needed(physical_) == 2) {
    values_ = array.buffers[1];
  }
  const bool needs_child = is_list();
  if (needs_child && (array.n_children < 1 || schema.n_children < 1)) {
    throw SchemaError("Arrow list array without values");
  }
  if (length_ == 0) return;
  if ((ragged && offsets_ == nullptr) || (!ragged && buffers_needed(physical_) == 2 && values_ == nullptr)) {
    throw SchemaError("Arrow array without its data buffer");
  }
  if (ragged || is_list()) check_offsets();
}

void ArrowView::check_offsets() const {
  std::int64_t limit = INT64_MAX;
  if (is_list()) {
    limit = array_->children[0]->length;
  }
  std::int64_t previous = physical_ == Physical::kFixedList ? list_edge(0) : 0;
  for (std::int64_t row = 0; row <= length_; ++row) {
    const std::int64_t edge = list_edge(row);
    if (edge < previous || edge > limit)
      throw SchemaError("Arrow array with offsets out of order or out of range");
    previous = edge;
    if (physical_ == Physical::kFixedList && row > 0) {
      if (list_edge(length_) > limit)
        throw SchemaError("Arrow array with fewer list values than its rows need");
      break;
    }
  }
}

std::int64_t ArrowView::list_edge(std::int64_t row) const {
  const std::int64_t index = offset_ + row;
  switch (physical_) {
    case Physical::kList32:
    case Physical::kBytes32:
      return static_cast<const std::int32_t*>(offsets_)[index];
    case Physical::kList64:
    case Physical::kBytes64:
      return static_cast<const std::int64_t*>(offsets_)[index];
    default:
      return index * width_;
  }
}

std::int64_t ArrowView::integer(std::int64_t row) const {
  switch (physical_) {
    case Physical::kInt8:
      return values<std::int8_t>()[row];
    case Physical::kInt16:
      return values<std::int16_t>()[row];
    case Physical::kInt32:
      return values<std::int32_t>()[row];
    case Physical::kUInt8:
      return values<std::uint8_t>()[row];
    case Physical::kUInt16:
      return values<std::uint16_t>()[row];
    case Physical::kUInt32:
      return values<std::uint32_t>()[row];
    case Physical::kInt64:
    case Physical::kUInt64:
      return values<std::int64_t>()[row];
    case Physical::kBool: {
      const std::int64_t bit = offset_ + row;
      return (static_cast<const std::uint8_t*>(values_)[bit >> 3] >> (bit & 7)) & 1;
    }
    default:
      throw SchemaError("an integer column was expected");
  }
}

double ArrowView::real(std::int64_t row) const {
  if (physical_ == Physical::kDouble) return values<double>()[row];
  if (physical_ == Physical::kFloat) return static_cast<double>(values<float>()[row]);
  if (physical_ == Physical::kUInt64) return static_cast<double>(values<std::uint64_t>()[row]);
  return static_cast<double>(integer(row));
}

std::string_view ArrowView::bytes(std::int64_t row) const {
  const auto* data = static_cast<const char*>(values_);
  if (physical_ == Physical::kFixedBytes) {
    return {data + (offset_ + row) * width_, static_cast<std::size_t>(width_)};
  }
  const std::int64_t begin = list_edge(row);
  const std::int64_t size = list_edge(row + 1) - begin;
  return size == 0 ? std::string_view() : std::string_view(data + begin, static_cast<std::size_t>(size));
}

ArrowView ArrowView::child(std::int64_t index) const {
  if (index < 0 || index >= array_->n_children || index >= schema_->n_children) {
    throw SchemaError("Arrow array without the child it should have");
  }
  // Fields of a struct share its rows; values of a list are addressed by its offsets.
  if (physical_ == Physical::kStruct)
    return {*schema_->children[index], *array_->children[index], offset_, length_};
  return {*schema_->children[index], *array_->children[index]};
}

}  // namespace watersmeet
