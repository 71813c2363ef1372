// Memory for large arrays that are read at random: on huge pages where the system has them.
//
// Random reads of a table of many megabytes spend as long finding the page as the line, and a table on 2 MB pages
// needs 512 times fewer of them. Small blocks come from malloc. Zeroed memory is untouched until it is used, so
// that a large table costs nothing when it is made, unless it takes a block that was used before. Blocks given
// back are kept for reuse, since the system clears every page it hands out: up to 512 MB on huge pages, which
// the system may take when it is short of memory, up to 16 MB of blocks from 64 kB on, and four of each smaller size.
// Threads    any.
// Errors     std::bad_alloc.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace watersmeet {

// At least `bytes` of memory, aligned to cache lines. Null for 0 bytes.
[[nodiscard]] void* allocate_pages(std::size_t bytes, bool zeroed);
// What allocate_pages() takes for so many bytes: whole pages for large arrays.
[[nodiscard]] std::size_t allocated_bytes(std::size_t bytes);
// Gives the blocks kept for reuse back to the system.
void release_kept_pages() noexcept;
// Requires: the address and size of one allocate_pages().
void free_pages(void* address, std::size_t bytes) noexcept;

// An owned array of a fixed number of trivial elements.
template <class T>
class PageArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  PageArray() = default;
  [[nodiscard]] static PageArray zeroed(std::size_t size) { return PageArray(size, true); }
  [[nodiscard]] static PageArray uninitialized(std::size_t size) { return PageArray(size, false); }

  PageArray(PageArray&& from) noexcept
      : data_(std::exchange(from.data_, nullptr)), size_(std::exchange(from.size_, 0)) {}
  PageArray& operator=(PageArray&& from) noexcept {
    std::swap(data_, from.data_);
    std::swap(size_, from.size_);
    return *this;
  }
  PageArray(const PageArray&) = delete;
  PageArray& operator=(const PageArray&) = delete;
  ~PageArray() { free_pages(data_, size_ * sizeof(T)); }

  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t bytes() const { return allocated_bytes(size_ * sizeof(T)); }
  [[nodiscard]] T& operator[](std::size_t at) { return data_[at]; }
  [[nodiscard]] const T& operator[](std::size_t at) const { return data_[at]; }

 private:
  PageArray(std::size_t size, bool zero)
      : data_(static_cast<T*>(allocate_pages(size * sizeof(T), zero))), size_(size) {}

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace watersmeet
