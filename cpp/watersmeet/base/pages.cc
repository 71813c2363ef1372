#include "watersmeet/base/pages.h"

#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

// Sanitizers watch malloc, not mmap.
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define WATERSMEET_HUGE_PAGES 1
#include <sys/mman.h>

#include <array>
#include <mutex>
#include <vector>
#endif

namespace watersmeet {
namespace {

constexpr std::size_t kHugePage = std::size_t{1} << 21;
constexpr std::size_t kLine = 64;

// Blocks from here on are kept for reuse. malloc gives those below kMedium back to the system rarely, but takes longer
// for an aligned block of some kilobytes than a small batch takes to fill it.
[[maybe_unused]] constexpr std::size_t kSmall = std::size_t{1} << 10;
[[maybe_unused]] constexpr std::size_t kMedium = std::size_t{1} << 16;

[[maybe_unused]] bool is_large(std::size_t bytes) { return bytes >= kHugePage; }

#if defined(WATERSMEET_HUGE_PAGES)
constexpr std::size_t kMostLarge = std::size_t{512} << 20;
constexpr std::size_t kMostMedium = std::size_t{16} << 20;

// What a block of at least kSmall really takes: whole huge pages, or the next of eight sizes per doubling, so
// that arrays of nearly the same length can follow one another in a block.
std::size_t rounded(std::size_t bytes) {
  const std::size_t step = is_large(bytes) ? kHugePage : std::bit_floor(bytes) / 8;  // a power of two
  return (bytes + step - 1) & ~(step - 1);
}

// A mapping can start anywhere: one page more is asked for, and both ends are cut off.
void* map_aligned(std::size_t bytes) {
  void* mapped = mmap(nullptr, bytes + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  auto* start = static_cast<char*>(mapped);
  const std::size_t skipped = (kHugePage - reinterpret_cast<std::uintptr_t>(start) % kHugePage) % kHugePage;
  if (skipped > 0) munmap(start, skipped);
  if (skipped < kHugePage) munmap(start + skipped + bytes, kHugePage - skipped);
  madvise(start + skipped, bytes, MADV_HUGEPAGE);  // only advice: its failure does not matter
  return start + skipped;
}

// Blocks given back and not yet asked for again. The system clears every page it hands out, which costs more than
// most arrays are worth; arrays that grow by doubling let go of blocks that the next array can use.
class Shelf {
 public:
  using Free = void (*)(void* address, std::size_t bytes);

  Shelf(std::size_t most_bytes, Free free) : most_(most_bytes), free_(free) {}

  // Takes a block of exactly this size off the shelf; null if there is none.
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    for (std::size_t at = blocks_.size(); at-- > 0;) {
      if (blocks_[at].bytes != bytes) continue;
      void* address = blocks_[at].address;
      blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
      kept_ -= bytes;
      return address;
    }
    return nullptr;
  }

  // Keeps a block, in place of the oldest ones if need be.
  void put(void* address, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    if (bytes > most_) {
      free_(address, bytes);
      return;
    }
    std::size_t dropped = 0;
    for (; kept_ + bytes > most_; ++dropped) {
      free_(blocks_[dropped].address, blocks_[dropped].bytes);
      kept_ -= blocks_[dropped].bytes;
    }
    blocks_.erase(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(dropped));
    blocks_.push_back({address, bytes});
    kept_ += bytes;
  }

  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    for (const Block& block : blocks_) free_(block.address, block.bytes);
    blocks_.clear();
    kept_ = 0;
  }

 private:
  struct Block {
    void* address;
    std::size_t bytes;
  };
  const std::size_t most_;
  const Free free_;
  std::mutex mutex_;
  std::vector<Block> blocks_;
  std::size_t kept_ = 0;
};

// The same for small blocks: a few of each size, found without a search.
class Drawers {
 public:
  void* take(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    Drawer& drawer = drawers_[place(bytes)];
    return drawer.size == 0 ? nullptr : drawer.blocks[--drawer.size];
  }
  void put(void* address, std::size_t bytes) noexcept {
    const std::lock_guard lock(mutex_);
    Drawer& drawer = drawers_[place(bytes)];
    if (drawer.size == drawer.blocks.size()) return std::free(address);
    drawer.blocks[drawer.size++] = address;
  }
  void clear() noexcept {
    const std::lock_guard lock(mutex_);
    for (Drawer& drawer : drawers_) {
      while (drawer.size > 0) std::free(drawer.blocks[--drawer.size]);
    }
  }

 private:
  struct Drawer {
    std::array<void*, 4> blocks;
    std::size_t size = 0;
  };
  // Of a rounded size: eight per doubling.
  static std::size_t place(std::size_t bytes) {
    const auto doubling = static_cast<std::size_t>(std::bit_width(bytes) - std::bit_width(kSmall));
    return 8 * doubling + (bytes / (std::bit_floor(bytes) / 8) - 8);
  }

  std::mutex mutex_;
  std::array<Drawer, 8 * (std::bit_width(kMedium) - std::bit_width(kSmall)) + 1>
      drawers_;  // kMedium itself too
};

// Never destroyed: arrays of other static objects may outlive them.
Shelf& large_blocks() {
  static Shelf& only =
      *new Shelf(kMostLarge, [](void* address, std::size_t bytes) { munmap(address, bytes); });
  return only;
}
Shelf& medium_blocks() {
  static Shelf& only = *new Shelf(kMostMedium, [](void* address, std::size_t) { std::free(address); });
  return only;
}
Drawers& small_blocks() {
  static Drawers& only = *new Drawers();
  return only;
}

void* take_kept(std::size_t bytes) {
  if (is_large(bytes)) return large_blocks().take(bytes);
  return bytes > kMedium ? medium_blocks().take(bytes) : small_blocks().take(bytes);
}
#endif

}  // namespace

std::size_t allocated_bytes(std::size_t bytes) {
#if defined(WATERSMEET_HUGE_PAGES)
  if (bytes >= kSmall) return rounded(bytes);
#endif
  return (bytes + kLine - 1) / kLine * kLine;
}

void release_kept_pages() noexcept {
#if defined(WATERSMEET_HUGE_PAGES)
  large_blocks().clear();
  medium_blocks().clear();
  small_blocks().clear();
#endif
}

void* allocate_pages(std::size_t bytes, bool zeroed) {
  if (bytes == 0) return nullptr;
  std::size_t taken = (bytes + kLine - 1) / kLine * kLine;
#if defined(WATERSMEET_HUGE_PAGES)
  if (bytes >= kSmall) {
    taken = rounded(bytes);
    void* kept = take_kept(taken);
    if (kept != nullptr && zeroed) std::memset(kept, 0, bytes);
    if (kept != nullptr) return kept;
    if (is_large(taken)) return map_aligned(taken);
  }
#endif
  void* address = std::aligned_alloc(kLine, taken);
  if (address == nullptr) throw std::bad_alloc();
  if (zeroed) std::memset(address, 0, bytes);
  return address;
}

void free_pages(void* address, [[maybe_unused]] std::size_t bytes) noexcept {
  if (address == nullptr) return;
#if defined(WATERSMEET_HUGE_PAGES)
  if (bytes >= kSmall) {
    const std::size_t taken = rounded(bytes);
    if (is_large(taken)) {
      madvise(address, taken, MADV_FREE);  // the system takes the pages back only where it needs them
      large_blocks().put(address, taken);
    } else if (taken > kMedium) {
      medium_blocks().put(address, taken);
    } else {
      small_blocks().put(address, taken);
    }
    return;
  }
#endif
  std::free(address);
}

}  // namespace watersmeet
