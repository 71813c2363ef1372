#include "watersmeet/tuple/payload.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <new>
#include <numeric>
#include <string>
#include <utility>

#include "watersmeet/base/errors.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace watersmeet {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kChunkBytes = std::size_t{1} << 21;  // a huge page
// Rows worked on at once: their records, and the values on the other side, stay in the first-level cache.
constexpr std::size_t kPiece = 128;
// Records of up to so many lines are asked for ahead.
constexpr std::size_t kPrefetchLines = 4;
// Batches of more bytes of records than this are written past the caches, if a record is no longer than that.
constexpr std::size_t kMostCached = std::size_t{1} << 19;
constexpr std::size_t kLongestStreamed = 128;

struct Bytes16 {
  std::uint64_t words[2];
};
struct Bytes32 {
  std::uint64_t words[4];
};

[[nodiscard]] bool bit(const void* bits, std::int64_t place) {
  return ((static_cast<const std::uint8_t*>(bits)[place >> 3] >> (place & 7)) & 1) != 0;
}

void set_bit(std::uint8_t* bits, std::size_t place) {
  bits[place >> 3] = static_cast<std::uint8_t>(bits[place >> 3] | (1U << (place & 7)));
}

[[nodiscard]] bool has_nulls(const ArrowArray& column) {
  return column.null_count != 0 && column.buffers[0] != nullptr;
}

// The values of a column from row `from` of its batch on. Requires: values of so many bytes.
[[nodiscard]] const std::byte* values_at(const ArrowArray& batch, std::size_t column, std::int64_t from,
                                         std::size_t width) {
  const ArrowArray& values = *batch.children[column];
  return static_cast<const std::byte*>(values.buffers[1]) +
         static_cast<std::size_t>(values.offset + batch.offset + from) * width;
}

#if defined(__SSE2__)
// The 8-byte words of two rows of two columns, by row from columns or by column from rows.
struct Square {
  __m128i one;
  __m128i two;

  Square(const std::byte* first, const std::byte* second) {
    const __m128i upper = _mm_loadu_si128(reinterpret_cast<const __m128i*>(first));
    const __m128i lower = _mm_loadu_si128(reinterpret_cast<const __m128i*>(second));
    one = _mm_unpacklo_epi64(upper, lower);
    two = _mm_unpackhi_epi64(upper, lower);
  }
  void store(std::byte* to, std::byte* next) const {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), one);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(next), two);
  }
  // Past the caches. Requires: addresses divisible by 16.
  void stream(std::byte* to, std::byte* next) const {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), one);
    _mm_stream_si128(reinterpret_cast<__m128i*>(next), two);
  }
};
constexpr bool kHasSquares = true;
#else
constexpr bool kHasSquares = false;
#endif

// Copies records past the caches, in which they would displace what is used again sooner. Requires: addresses and
// size divisible by 8.
void stream_out(const std::byte* from, std::size_t bytes, std::byte* to) {
#if defined(__SSE2__)
  const std::byte* const end = from + bytes;
  const auto copy_word = [&] {
    long long word = 0;
    std::memcpy(&word, from, sizeof(word));
    _mm_stream_si64(reinterpret_cast<long long*>(to), word);
    from += sizeof(word);
    to += sizeof(word);
  };
  if (from < end && reinterpret_cast<std::uintptr_t>(to) % sizeof(__m128i) != 0) copy_word();
  for (; end - from >= static_cast<std::ptrdiff_t>(sizeof(__m128i));
       from += sizeof(__m128i), to += sizeof(__m128i)) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
  }
  if (from < end) copy_word();
#else
  std::memcpy(to, from, bytes);
#endif
}

// Calls work(Value{}) with the type that has so many bytes.
template <class Work>
void with_width(std::size_t width, const Work& work) {
  switch (width) {
    case 1:
      return work(std::uint8_t{});
    case 2:
      return work(std::uint16_t{});
    case 4:
      return work(std::uint32_t{});
    case 8:
      return work(std::uint64_t{});
    case 16:
      return work(Bytes16{});
    default:
      return work(Bytes32{});
  }
}

}  // namespace

struct Payload::Piece {
  std::size_t count = 0;
  bool is_whole = true;                          // no row is missing
  std::array<const std::byte*, kPiece> records;  // null where the row is missing
  std::array<const std::uint8_t*, kPiece>
      valid;  // only set where any value ever was null, or a row is missing
};

// All that it needs is its own: what is written in between could be anything of another's, for all a compiler knows.
class Payload::Finder {
 public:
  explicit Finder(const Payload& payload)
      : payload_(payload),
        bases_(payload.bases_.at(payload.bases_.begin())),
        held_(payload.first()),
        count_(static_cast<std::uint64_t>(payload.end_ - held_)),
        shift_(payload.shift_),
        mask_((std::int64_t{1} << payload.shift_) - 1),
        stride_(payload.stride_),
        lines_(std::min(payload.stride_, kPrefetchLines * kLine)),
        nullable_(payload.nullable_) {}

  void look_for(std::int64_t row, std::size_t at, Piece& piece) const {
    const std::int64_t place = row - held_;
    if (static_cast<std::uint64_t>(place) >= count_) [[unlikely]]
      return miss(row, at, piece);
    const auto record_place = static_cast<std::size_t>(row & mask_);
    const std::byte* record = bases_[place >> shift_] + record_place * stride_;
    piece.records[at] = record;
    for (std::size_t byte = 0; byte < lines_; byte += kLine) __builtin_prefetch(record + byte);
    if (!nullable_) return;
    const Chunk& chunk = payload_.chunks_[static_cast<std::size_t>(place >> shift_)];
    piece.valid[at] =
        chunk.valid.empty() ? nullptr : chunk.valid.data() + record_place * payload_.widths_.size();
  }

 private:
  static void miss(std::int64_t row, std::size_t at, Piece& piece) {
    if (row >= 0 || piece.is_whole) throw SchemaError("row " + std::to_string(row) + " is not kept");
    piece.records[at] = nullptr;
    piece.valid[at] = nullptr;
  }

  const Payload& payload_;
  const std::byte* const* const bases_;
  const std::int64_t held_;
  const std::uint64_t count_;
  const int shift_;
  const std::int64_t mask_;
  const std::size_t stride_;
  const std::size_t lines_;
  const bool nullable_;
};

Payload::Payload(std::vector<std::size_t> widths, std::int64_t first, std::size_t chunk_bytes)
    : widths_(std::move(widths)),
      offsets_(widths_.size()),
      chunk_bytes_(chunk_bytes == 0 ? kChunkBytes : chunk_bytes),
      end_(first) {
  std::vector<std::size_t> order(widths_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [this](std::size_t column) { return widths_[column]; });
  for (const std::size_t column : order) {  // widest first, so that every value is aligned
    const std::size_t width = std::max<std::size_t>(widths_[column], 1);  // a bit is kept as a byte
    if (width > 32 || !std::has_single_bit(width)) throw SchemaError("payload of an odd width");
    offsets_[column] = stride_;
    stride_ += width;
  }
  stride_ = std::max<std::size_t>((stride_ + 7) / 8 * 8, 8);
  for (std::size_t at = 0; at < order.size(); ++at) {
    const bool is_pair = at + 1 < order.size() && widths_[order[at]] == 8 && widths_[order[at + 1]] == 8;
    if (is_pair) {
      pairs_.push_back({order[at], order[at + 1]});
      ++at;
    } else {
      singles_.push_back(order[at]);
    }
  }
  shift_ = std::max(0, static_cast<int>(std::bit_width(chunk_bytes_ / stride_)) - 1);
  first_chunk_ = first >> shift_;
  bases_.reset(static_cast<std::uint64_t>(first_chunk_));
}

// A small join stays within its first chunk, and needs only the pages that it touches: no huge ones.
Payload::Chunk Payload::new_chunk() {
  if (!spare_.empty()) {
    Chunk chunk = std::move(spare_.back());
    spare_.pop_back();
    chunk.valid.clear();
    return chunk;
  }
  const std::size_t bytes = std::max(stride_ << shift_, chunk_bytes_);
  const bool on_pages = !chunks_.empty() && bytes >= kChunkBytes;
  void* memory = on_pages ? allocate_pages(bytes, false)
                          : std::aligned_alloc(kLine, (bytes + kLine - 1) / kLine * kLine);
  if (memory == nullptr) throw std::bad_alloc();
  return {{static_cast<std::byte*>(memory), Free{on_pages ? bytes : 0}}, {}};
}

// Keeps a chunk for reuse, unless there are some already.
void Payload::retire(Chunk&& chunk) {
  if (spare_.size() < 2) spare_.push_back(std::move(chunk));
}

void Payload::append(const ArrowArray& batch) {
  make_room(batch);
  for (std::int64_t from = 0; from < batch.length;) {
    const std::size_t count = stretch_at(batch, from);
    append_stretch(batch, from, count);
    from += static_cast<std::int64_t>(count);
    end_ += static_cast<std::int64_t>(count);
  }
}

void Payload::append_and_gather(const ArrowArray& batch, std::span<const std::int64_t> rows, ArrowOut& out) {
  const std::int64_t first = end_;
  if (!rows.empty() && (rows.front() < first || rows.back() >= first + batch.length)) {
    throw SchemaError("row " + std::to_string(rows.front()) + " is not in the batch");
  }
  make_room(batch);
  std::vector<ArrowOut::Column> targets;
  for (std::size_t column = 0; column < widths_.size(); ++column) {
    targets.push_back(new_column(column, rows.size(), has_nulls(*batch.children[column]), out));
  }
  std::vector<Words> words;
  for (std::size_t column = 0; column < widths_.size(); ++column) {
    if (widths_[column] == 8) words.push_back({values_at(batch, column, 0, 8), targets[column].values});
  }
  std::size_t begin = 0;
  for (std::int64_t from = 0; from < batch.length;) {
    const std::size_t count = stretch_at(batch, from);
    append_stretch(batch, from, count);
    from += static_cast<std::int64_t>(count);
    end_ += static_cast<std::int64_t>(count);
    std::size_t end = begin;
    while (end < rows.size() && rows[end] < end_) ++end;
    copy_words(words, first, rows.subspan(begin, end - begin), begin);
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      copy_column(batch, column, first, rows.subspan(begin, end - begin), begin, targets[column]);
    }
    begin = end;
  }
}

// Checks a batch and takes memory for its rows.
void Payload::make_room(const ArrowArray& batch) {
  if (batch.n_children != static_cast<std::int64_t>(widths_.size())) {
    throw SchemaError("payload with another number of columns");
  }
  for (std::int64_t column = 0; column < batch.n_children && batch.length > 0; ++column) {
    const ArrowArray& values = *batch.children[column];
    if (values.n_buffers != 2 || values.buffers[1] == nullptr)
      throw SchemaError("payload without its values");
  }
  while (((end_ + batch.length - 1) >> shift_) - first_chunk_ >= static_cast<std::int64_t>(chunks_.size())) {
    chunks_.push_back(new_chunk());
    bases_.push_back(chunks_.back().records.get());
  }
}

// How many of the batch's rows from `from` on go into one chunk at once.
std::size_t Payload::stretch_at(const ArrowArray& batch, std::int64_t from) const {
  const std::int64_t chunk_rows = std::int64_t{1} << shift_;
  const std::int64_t room = chunk_rows - (end_ & (chunk_rows - 1));
  return static_cast<std::size_t>(std::min({room, batch.length - from, static_cast<std::int64_t>(kPiece)}));
}

// Copies the values of these rows, numbered from `first`, straight from their batch: columns of 8 bytes, two rows at a
// time.
void Payload::copy_words(std::span<const Words> words, std::int64_t first, std::span<const std::int64_t> rows,
                         std::size_t begin) {
  std::size_t at = 0;
#if defined(__SSE2__)
  for (; at + 2 <= rows.size(); at += 2) {
    const std::size_t one = 8 * static_cast<std::size_t>(rows[at] - first);
    const std::size_t two = 8 * static_cast<std::size_t>(rows[at + 1] - first);
    for (const Words& column : words) {
      const __m128i upper = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(column.from + one));
      const __m128i lower = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(column.from + two));
      _mm_storeu_si128(reinterpret_cast<__m128i*>(column.to + 8 * (begin + at)),
                       _mm_unpacklo_epi64(upper, lower));
    }
  }
#endif
  for (; at < rows.size(); ++at) {
    const std::size_t place = 8 * static_cast<std::size_t>(rows[at] - first);
    for (const Words& column : words) std::memcpy(column.to + 8 * (begin + at), column.from + place, 8);
  }
}

// The same for one column of another width, and for the marks of any.
void Payload::copy_column(const ArrowArray& batch, std::size_t column, std::int64_t first,
                          std::span<const std::int64_t> rows, std::size_t begin,
                          ArrowOut::Column target) const {
  const ArrowArray& values = *batch.children[column];
  const std::int64_t shift = values.offset + batch.offset - first;
  if (widths_[column] == 0) {
    auto* bits = reinterpret_cast<std::uint8_t*>(target.values);
    for (std::size_t at = 0; at < rows.size(); ++at) {
      if (bit(values.buffers[1], rows[at] + shift)) set_bit(bits, begin + at);
    }
  } else if (widths_[column] != 8) {
    with_width(widths_[column], [&](auto value) {
      constexpr std::size_t kWidth = sizeof(value);
      const std::byte* source = values_at(batch, column, 0, kWidth);
      std::byte* to = target.values + begin * kWidth;
      for (const std::int64_t row : rows) {
        std::memcpy(to, source + static_cast<std::size_t>(row - first) * kWidth, kWidth);
        to += kWidth;
      }
    });
  }
  if (target.validity == nullptr) return;
  for (std::size_t at = 0; at < rows.size(); ++at) {
    if (bit(values.buffers[0], rows[at] + shift)) set_bit(target.validity, begin + at);
  }
}

// Takes `count` rows, which lie in one chunk, from row `from` of the batch on.
void Payload::append_stretch(const ArrowArray& batch, std::int64_t from, std::size_t count) {
  Chunk& chunk = chunks_[static_cast<std::size_t>((end_ >> shift_) - first_chunk_)];
  const auto place = static_cast<std::size_t>(end_ & ((std::int64_t{1} << shift_) - 1));
  std::byte* records = chunk.records.get() + place * stride_;
  for (std::size_t column = 0; column < widths_.size(); ++column) {
    if (has_nulls(*batch.children[column]) || !chunk.valid.empty())
      write_nulls(batch, from, count, column, chunk);
  }
  // A batch that fits the second-level cache is looked at again from there, by its own results.
  const bool streams =
      static_cast<std::size_t>(batch.length) * stride_ > kMostCached && stride_ <= kLongestStreamed;
  if (streams && kHasSquares && singles_.empty()) return stream_pairs(batch, from, count, records);
  alignas(kLine) std::array<std::byte, kPiece * kLongestStreamed> piece;
  std::byte* const target = streams ? piece.data() : records;
  for (const Pair& pair : pairs_) write_pair(batch, from, count, pair, target + offsets_[pair.first]);
  for (const std::size_t column : singles_) {
    write_values(batch, from, count, column, target + offsets_[column]);
  }
  if (streams) stream_out(piece.data(), count * stride_, records);
}

// Writes whole records of pairs past the caches, straight from the columns.
void Payload::stream_pairs([[maybe_unused]] const ArrowArray& batch, [[maybe_unused]] std::int64_t from,
                           [[maybe_unused]] std::size_t count, [[maybe_unused]] std::byte* records) const {
#if defined(__SSE2__)
  struct Source {
    const std::byte* first;
    const std::byte* second;
  };
  std::array<Source, kLongestStreamed / 16> sources;
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    sources[pair] = {values_at(batch, pairs_[pair].first, from, 8),
                     values_at(batch, pairs_[pair].second, from, 8)};
  }
  const std::size_t squares = count / 2;
  for (std::size_t square = 0; square < squares; ++square, records += 2 * stride_) {
    for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
      const Square words(sources[pair].first + 16 * square, sources[pair].second + 16 * square);
      words.stream(records + 16 * pair, records + stride_ + 16 * pair);
    }
  }
  if (count % 2 == 0) return;
  for (std::size_t pair = 0; pair < pairs_.size(); ++pair) {
    std::memcpy(records + 16 * pair, sources[pair].first + 16 * squares, 8);
    std::memcpy(records + 16 * pair + 8, sources[pair].second + 16 * squares, 8);
  }
#endif
}

void Payload::write_pair(const ArrowArray& batch, std::int64_t from, std::size_t count, const Pair& pair,
                         std::byte* record) const {
  const std::byte* first = values_at(batch, pair.first, from, 8);
  const std::byte* second = values_at(batch, pair.second, from, 8);
  std::size_t row = 0;
#if defined(__SSE2__)
  for (; row + 2 <= count; row += 2, record += 2 * stride_) {
    Square(first + 8 * row, second + 8 * row).store(record, record + stride_);
  }
#endif
  for (; row < count; ++row, record += stride_) {
    std::memcpy(record, first + 8 * row, 8);
    std::memcpy(record + 8, second + 8 * row, 8);
  }
}

void Payload::write_values(const ArrowArray& batch, std::int64_t from, std::size_t count, std::size_t column,
                           std::byte* record) const {
  if (widths_[column] == 0) {
    const ArrowArray& values = *batch.children[column];
    const std::int64_t first = values.offset + batch.offset + from;
    for (std::size_t row = 0; row < count; ++row, record += stride_) {
      *record = std::byte{bit(values.buffers[1], first + static_cast<std::int64_t>(row))};
    }
    return;
  }
  with_width(widths_[column], [&](auto value) {
    const std::byte* source = values_at(batch, column, from, sizeof(value));
    for (std::size_t row = 0; row < count; ++row, record += stride_, source += sizeof(value)) {
      std::memcpy(record, source, sizeof(value));
    }
  });
}

void Payload::write_nulls(const ArrowArray& batch, std::int64_t from, std::size_t count, std::size_t column,
                          Chunk& chunk) {
  const ArrowArray& values = *batch.children[column];
  if (chunk.valid.empty()) chunk.valid.assign(widths_.size() << shift_, 1);
  nullable_ = true;
  const auto place = static_cast<std::size_t>(end_ & ((std::int64_t{1} << shift_) - 1));
  const std::int64_t first = values.offset + batch.offset + from;
  for (std::size_t row = 0; row < count; ++row) {
    const bool valid = !has_nulls(values) || bit(values.buffers[0], first + static_cast<std::int64_t>(row));
    chunk.valid[(place + row) * widths_.size() + column] = valid ? 1 : 0;
  }
}

void Payload::truncate(std::int64_t end) {
  end_ = end;
  const auto needed = static_cast<std::size_t>(
      std::max<std::int64_t>(0, ((end + (std::int64_t{1} << shift_) - 1) >> shift_) - first_chunk_));
  while (chunks_.size() > needed) {
    retire(std::move(chunks_.back()));
    chunks_.pop_back();
    bases_.truncate_to(bases_.end() - 1);
  }
}

void Payload::drop_before(std::int64_t row) {
  while (!chunks_.empty() && (first_chunk_ + 1) << shift_ <= std::min(row, end_)) {
    retire(std::move(chunks_.front()));
    chunks_.pop_front();
    ++first_chunk_;
    bases_.drop_front_to(bases_.begin() + 1);
  }
}

std::size_t Payload::bytes() const {
  const std::size_t rows = chunks_.empty() ? 0 : static_cast<std::size_t>(end_ - first());
  std::size_t marks = 0;
  for (const Chunk& chunk : chunks_) marks += chunk.valid.capacity();
  const std::size_t chunks = chunks_.size() + spare_.size();
  return (chunks > 1 ? chunks * std::max(stride_ << shift_, chunk_bytes_) : rows * stride_) + marks;
}

void Payload::find(std::span<const std::int64_t> rows, Piece& piece) const {
  const Finder finder(*this);
  piece.count = rows.size();
  for (std::size_t at = 0; at < rows.size(); ++at) finder.look_for(rows[at], at, piece);
}

// Adds a column for so many rows, bits of values all 0.
ArrowOut::Column Payload::new_column(std::size_t column, std::size_t rows, bool has_validity,
                                     ArrowOut& out) const {
  const std::size_t width = widths_[column];
  const std::size_t bytes = width == 0 ? (rows + 7) / 8 : width * rows;
  const ArrowOut::Column target = out.add(bytes, has_validity);
  if (width == 0) std::memset(target.values, 0, bytes);
  return target;
}

void Payload::gather(std::span<const std::int64_t> rows, bool may_miss, ArrowOut& out) const {
  const bool missing = may_miss && std::ranges::any_of(rows, [](std::int64_t row) { return row < 0; });
  std::vector<ArrowOut::Column> targets;
  for (std::size_t column = 0; column < widths_.size(); ++column) {
    targets.push_back(new_column(column, rows.size(), missing || nullable_, out));
  }
  std::vector<PairTarget> pair_targets;
  for (const Pair& pair : pairs_)
    pair_targets.push_back({targets[pair.first].values, targets[pair.second].values});
  std::array<Piece, 2> pieces;  // one is on its way from memory while the other is copied
  for (Piece& piece : pieces) piece.is_whole = !missing;
  const auto piece_rows = [&](std::size_t begin) {
    return rows.subspan(std::min(begin, rows.size()),
                        std::min(kPiece, rows.size() - std::min(begin, rows.size())));
  };
  find(piece_rows(0), pieces[0]);
  std::size_t turn = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += kPiece, turn ^= 1) {
    const Piece& piece = pieces[turn];
    const auto next_rows = piece_rows(begin + kPiece);
    if (missing || pairs_.empty()) {
      find(next_rows, pieces[turn ^ 1]);
      for (const Pair& pair : pairs_) {
        gather_values(piece, pair.first, begin, targets[pair.first].values);
        gather_values(piece, pair.second, begin, targets[pair.second].values);
      }
    } else {
      gather_words(piece, begin, pair_targets, next_rows, pieces[turn ^ 1]);
    }
    for (const std::size_t column : singles_) gather_values(piece, column, begin, targets[column].values);
    for (std::size_t column = 0; column < widths_.size(); ++column) {
      if (targets[column].validity != nullptr)
        gather_validity(piece, column, begin, targets[column].validity);
    }
  }
}

// Copies the columns in pairs to the rows from `begin` on, two rows at a time, and finds as many of the next piece:
// asked for all at once, more lines would be under way than a core can have.
void Payload::gather_words(const Piece& piece, std::size_t begin, std::span<const PairTarget> targets,
                           std::span<const std::int64_t> next_rows, Piece& next) const {
  const Finder finder(*this);
  const std::size_t first_offset = offsets_[pairs_.front().first];  // pair after pair follow it
  const std::size_t count = piece.count;
  const std::size_t next_count = next_rows.size();
  next.count = next_count;
  std::size_t at = 0;
#if defined(__SSE2__)
  for (; at + 2 <= count; at += 2) {
    if (at < next_count) finder.look_for(next_rows[at], at, next);
    if (at + 1 < next_count) finder.look_for(next_rows[at + 1], at + 1, next);
    const std::byte* one = piece.records[at] + first_offset;
    const std::byte* two = piece.records[at + 1] + first_offset;
    const std::size_t place = 8 * (begin + at);
    for (const PairTarget& target : targets) {
      Square(one, two).store(target.first + place, target.second + place);
      one += 16;
      two += 16;
    }
  }
#endif
  for (; at < count; ++at) {
    if (at < next_count) finder.look_for(next_rows[at], at, next);
    const std::byte* one = piece.records[at] + first_offset;
    const std::size_t place = 8 * (begin + at);
    for (const PairTarget& target : targets) {
      std::memcpy(target.first + place, one, 8);
      std::memcpy(target.second + place, one + 8, 8);
      one += 16;
    }
  }
}

// Copies one column of a piece, of any width, to the rows from `begin` on.
void Payload::gather_values(const Piece& piece, std::size_t column, std::size_t begin,
                            std::byte* values) const {
  const std::size_t offset = offsets_[column];
  if (widths_[column] == 0) {
    auto* bits = reinterpret_cast<std::uint8_t*>(values);
    for (std::size_t at = 0; at < piece.count; ++at) {
      const std::byte* record = piece.records[at];
      if (record != nullptr && record[offset] != std::byte{0}) set_bit(bits, begin + at);
    }
    return;
  }
  with_width(widths_[column], [&](auto value) {
    std::byte* to = values + begin * sizeof(value);
    if (piece.is_whole) {
      for (std::size_t at = 0; at < piece.count; ++at, to += sizeof(value)) {
        std::memcpy(to, piece.records[at] + offset, sizeof(value));
      }
      return;
    }
    for (std::size_t at = 0; at < piece.count; ++at, to += sizeof(value)) {
      const std::byte* record = piece.records[at];
      value = {};
      if (record != nullptr) std::memcpy(&value, record + offset, sizeof(value));
      std::memcpy(to, &value, sizeof(value));
    }
  });
}

void Payload::gather_validity(const Piece& piece, std::size_t column, std::size_t begin,
                              std::uint8_t* bits) const {
  for (std::size_t at = 0; at < piece.count; ++at) {
    const std::uint8_t* valid = nullable_ ? piece.valid[at] : nullptr;
    const bool is_there = piece.records[at] != nullptr && (valid == nullptr || valid[column] != 0);
    if (is_there) set_bit(bits, begin + at);
  }
}

}  // namespace watersmeet
