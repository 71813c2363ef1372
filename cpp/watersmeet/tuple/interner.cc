#include "watersmeet/tuple/interner.h"

#include <algorithm>
#include <bit>

#include "watersmeet/base/check.h"
#include "watersmeet/base/hash.h"

namespace watersmeet {
namespace {

constexpr Code kNone = ~Code{0};

}  // namespace

std::uint64_t Interner::hash_of(const Entry& entry) const {
  return bytes_mode_ ? entry.word : hash_word(entry.word);
}

template <class Same>
Code Interner::find_or_add(std::uint64_t hash, std::uint64_t word, Same same, std::string_view text) {
  if (live_ >= buckets_.size()) grow();
  for (Code code = buckets_[hash & (buckets_.size() - 1)]; code != kNone; code = entries_[code].next) {
    if (entries_[code].word == word && same(code)) {
      ++entries_[code].references;
      return code;
    }
  }
  Code code = 0;
  if (free_.empty()) {
    code = static_cast<Code>(entries_.size());
    entries_.emplace_back();
    if (bytes_mode_) texts_.emplace_back();
  } else {
    code = free_.back();
    free_.pop_back();
  }
  place(code, word, text);
  ++entries_[code].references;
  return code;
}

Code Interner::intern(std::uint64_t word) {
  return find_or_add(hash_word(word), word, [](Code) { return true; }, {});
}

Code Interner::intern(std::string_view text) {
  const std::uint64_t hash = hash_bytes(text.data(), text.size());
  return find_or_add(
      hash, hash, [&](Code code) { return texts_[code] == text; }, text);
}

void Interner::place(Code code, std::uint64_t word, std::string_view text) {
  Entry& entry = entries_[code];
  entry.word = word;
  entry.references = 0;
  entry.used = true;
  Code& head = buckets_[hash_of(entry) & (buckets_.size() - 1)];
  entry.next = head;
  head = code;
  ++live_;
  if (bytes_mode_) {
    texts_[code].assign(text);
    text_bytes_ += text.size();
  }
}

void Interner::release(Code code) {
  WATERSMEET_CHECK(known(code) && entries_[code].references > 0);
  if (--entries_[code].references == 0) unlink(code);
}

void Interner::unlink(Code code) {
  Code* link = &buckets_[hash_of(entries_[code]) & (buckets_.size() - 1)];
  while (*link != code) link = &entries_[*link].next;
  *link = entries_[code].next;
  entries_[code].used = false;
  free_.push_back(code);
  --live_;
  if (bytes_mode_) {
    text_bytes_ -= texts_[code].size();
    std::string().swap(texts_[code]);
  }
}

void Interner::grow() {
  buckets_.assign(buckets_.empty() ? 64 : buckets_.size() * 2, kNone);
  for (std::size_t code = 0; code < entries_.size(); ++code) {
    Entry& entry = entries_[code];
    if (!entry.used) continue;
    Code& head = buckets_[hash_of(entry) & (buckets_.size() - 1)];
    entry.next = head;
    head = static_cast<Code>(code);
  }
}

void Interner::prefetch(std::uint64_t word) const {
  if (!buckets_.empty()) __builtin_prefetch(&buckets_[hash_word(word) & (buckets_.size() - 1)]);
}

std::size_t Interner::bytes() const {
  return buckets_.capacity() * sizeof(Code) + entries_.capacity() * sizeof(Entry) +
         texts_.capacity() * sizeof(std::string) + free_.capacity() * sizeof(Code) + text_bytes_;
}

void Interner::trim() {
  std::size_t size = entries_.size();
  while (size > 0 && !entries_[size - 1].used) --size;
  if (size < entries_.size()) {
    entries_.resize(size);
    if (bytes_mode_) texts_.resize(size);
    std::erase_if(free_, [size](Code code) { return code >= size; });
  }
  if (entries_.capacity() - size > size / 4 + 64) {
    entries_.shrink_to_fit();
    texts_.shrink_to_fit();
  }
  if (free_.capacity() - free_.size() > free_.size() / 4 + 64) free_.shrink_to_fit();
  if (buckets_.size() > 64 && live_ < buckets_.size() / 4) {
    buckets_.resize(std::bit_ceil(std::max<std::size_t>(64, live_)) / 2);
    buckets_.shrink_to_fit();
    grow();
  }
}

void Interner::save(ByteWriter& writer) const {
  writer.put<std::uint8_t>(bytes_mode_ ? 1 : 0);
  // Up to the last code in use: what was freed behind it must not show in the bytes.
  std::size_t size = entries_.size();
  while (size > 0 && !entries_[size - 1].used) --size;
  writer.put<std::uint64_t>(size);
  writer.put<std::uint64_t>(live_);
  for (std::size_t code = 0; code < size; ++code) {
    if (!entries_[code].used) continue;
    writer.put<Code>(static_cast<Code>(code));
    if (bytes_mode_) {
      writer.put_string(texts_[code]);
    } else {
      writer.put(entries_[code].word);
    }
  }
}

void Interner::load(ByteReader& reader) {
  if ((reader.get<std::uint8_t>() == 1) != bytes_mode_)
    throw SnapshotError("snapshot: items of another type");
  const auto size = reader.get<std::uint64_t>();
  const auto live = reader.get<std::uint64_t>();
  // Codes are dense by construction: far more codes than values means damage, not data.
  if (live > size || size > kNone) throw SnapshotError("snapshot: item codes out of range");
  *this = Interner(bytes_mode_);
  for (std::uint64_t index = 0; index < live; ++index) {
    const auto code = reader.get<Code>();
    if (code >= size || (code >= entries_.size() && code - entries_.size() > (std::size_t{1} << 28))) {
      throw SnapshotError("snapshot: item code out of range");
    }
    if (code >= entries_.size()) {
      entries_.resize(code + std::size_t{1});
      if (bytes_mode_) texts_.resize(entries_.size());
    }
    if (entries_[code].used) throw SnapshotError("snapshot: an item code occurs twice");
    if (live_ >= buckets_.size()) grow();
    if (bytes_mode_) {
      const std::string_view text = reader.get_string();
      place(code, hash_bytes(text.data(), text.size()), text);
    } else {
      place(code, reader.get<std::uint64_t>(), {});
    }
  }
}

void Interner::drop_unreferenced() {
  free_.clear();
  for (std::size_t code = entries_.size(); code-- > 0;) {
    Entry& entry = entries_[code];
    if (!entry.used) {
      free_.push_back(static_cast<Code>(code));
    } else if (entry.references == 0) {
      unlink(static_cast<Code>(code));
    }
  }
}

}  // namespace watersmeet
