// No index at all: every probe reads the rows of its range, in order.
//
// Keys and numbers are compared 64 at a time by vector code that says which of a block are partners, if any is.
// Sets are filtered by size and by a 64-bit signature (one bit per item, by hash): an item of one set whose bit the other
// lacks is not shared, so shared <= |own| - popcount(own & ~other), and the same seen from the other side. Terms
// accept more shared items wherever they accept fewer, so a pair that fails at that bound fails.

#include <algorithm>
#include <bit>
#include <variant>

#include "watersmeet/base/clones.h"
#include "watersmeet/base/hash.h"
#include "watersmeet/base/sliding_array.h"
#include "watersmeet/index/distance_index.h"
#include "watersmeet/index/index.h"
#include "watersmeet/index/row_output.h"
#include "watersmeet/predicate/verify.h"

namespace watersmeet {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::size_t kStep = 8;  // words of a vector, at most

// Up to kBlock words: where they begin, and which of them pass, the first as the lowest bit.
struct Block {
  std::size_t from;
  std::uint64_t passing;
};

// Which of Count words from `from` on pass.
template <std::size_t Count, class Passes>
[[gnu::always_inline]] inline std::uint64_t passing_of(std::size_t from, Passes passes) {
  std::uint64_t passing = 0;
  for (std::size_t at = 0; at < Count; ++at) passing |= (passes(from + at) ? 1ULL : 0ULL) << at;
  return passing;
}

// The first block at or after `from`, a multiple of kBlock, with a word that passes; the last may be shorter. With none
// left it begins at `size`.
template <class Passes>
[[gnu::always_inline]] inline Block next_block(std::size_t from, std::size_t size, Passes passes) {
  for (; from + kBlock <= size; from += kBlock) {
    std::uint64_t any = 0;
    for (std::size_t at = 0; at < kBlock; ++at) any |= passes(from + at) ? ~0ULL : 0ULL;
    if (any) return {from, passing_of<kBlock>(from, passes)};
  }
  std::uint64_t passing = 0;
  std::size_t at = from;
  for (; at + kStep <= size; at += kStep) passing |= passing_of<kStep>(at, passes) << (at - from);
  if (at < size) {
    // As many steps whatever is left, the last word over again: a loop's length would have to be guessed.
    std::uint64_t rest = 0;
    for (std::size_t step = 0; step < kStep; ++step) {
      rest |= (passes(std::min(at + step, size - 1)) ? 1ULL : 0ULL) << step;
    }
    passing |= (rest & ((1ULL << (size - at)) - 1)) << (at - from);
  }
  return {passing ? from : size, passing};
}

WATERSMEET_CLONES Block next_equal_block(const std::uint64_t* words, std::size_t from, std::size_t size,
                                         std::uint64_t key) {
  return next_block(
      from, size, [=](std::size_t at) __attribute__((always_inline)) { return words[at] == key; });
}

WATERSMEET_CLONES Block next_block_between(const std::int64_t* words, std::size_t from, std::size_t size,
                                           std::int64_t lowest, std::int64_t highest) {
  return next_block(
      from, size, [=](std::size_t at) __attribute__((always_inline)) {
        return static_cast<bool>((words[at] >= lowest) & (words[at] <= highest));
      });
}

WATERSMEET_CLONES Block next_block_near(const std::int64_t* words, std::size_t from, std::size_t size,
                                        double own, double within) {
  return next_block(
      from, size, [=](std::size_t at) __attribute__((always_inline)) {
        const double distance = own - std::bit_cast<double>(words[at]);
        return static_cast<bool>((distance <= within) & (distance >= -within));
      });
}

class ScanIndex final : public Index {
 public:
  ScanIndex(const Window& window, const Term& term) : window_(window), term_(term) {}

  void append(Seq first, Seq last) override {
    if (!uses_signatures()) return;
    if (signatures_.empty()) signatures_.reset(first);
    const auto& sets = std::get<SetColumn>(window_.columns[0]);
    for (Seq row = first; row < last; ++row) signatures_.push_back(signature(sets.set(row)));
  }

  void expire_before(Seq row) override {
    if (uses_signatures()) signatures_.drop_front_to(std::min(row, signatures_.end()));
  }

  void truncate(Seq row) override {
    if (uses_signatures()) signatures_.truncate_to(std::max(row, signatures_.begin()));
  }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    return for_each_request(run, window_, pairs, work, [&](Seq row, LiveRange range) {
      work.comparisons += range.hi - range.lo;
      switch (term_.kind) {
        case TermKind::kEqual:
          return scan_keys(*run.own, row, range, pairs);
        case TermKind::kBand:
          return term_.real ? scan_reals(*run.own, row, range, pairs)
                            : scan_integers(*run.own, row, range, pairs);
        case TermKind::kCompiled:
          return scan_compiled(*run.own, row, range, run.own_is_left, pairs);
        case TermKind::kDot:
        case TermKind::kCosine:
          return scan_weighted(*run.own, row, range, pairs);
        default:
          return scan_sets(*run.own, row, range, run.own_is_left, pairs);
      }
    });
  }

  void trim() override { signatures_.trim(); }
  [[nodiscard]] std::size_t bytes() const override { return signatures_.bytes(); }

 private:
  [[nodiscard]] bool uses_signatures() const { return term_.is_set() && !term_.is_weighted(); }

  static std::uint64_t signature(std::span<const Code> items) {
    std::uint64_t bits = 0;
    for (const Code item : items) bits |= 1ULL << (hash_word(item) & 63);
    return bits;
  }

  // Finds blocks with `next`. No branch depends on a single row: where one row in a few matches, guessing which would
  // take longer than comparing all of them.
  template <class Next>
  void scan_words(Seq own_row, LiveRange range, Pairs& pairs, Next next) {
    const std::size_t size = static_cast<std::size_t>(range.hi - range.lo);
    const std::uint8_t* joinable = window_.joinable.at(range.lo);
    std::uint32_t found[kBlock];
    for (Block block = next(0, size); block.from < size;) {
      std::size_t count = 0;
      for (std::uint64_t left = block.passing; left != 0; left &= left - 1) {
        const auto at = static_cast<std::uint32_t>(std::countr_zero(left));
        found[count] = at;
        count += joinable[block.from + at] != 0 ? 1 : 0;
      }
      add_partners(pairs, own_row, range.lo + block.from, {found, count});
      if (size - block.from <= kBlock) break;
      block = next(block.from + kBlock, size);
    }
  }

  void scan_keys(const Window& own, Seq own_row, LiveRange range, Pairs& pairs) {
    const std::uint64_t key = std::get<KeyColumn>(own.columns[0]).words[own_row];
    const std::uint64_t* words = std::get<KeyColumn>(window_.columns[0]).words.at(range.lo);
    scan_words(own_row, range, pairs,
               [=](std::size_t from, std::size_t size) { return next_equal_block(words, from, size, key); });
  }

  void scan_integers(const Window& own, Seq own_row, LiveRange range, Pairs& pairs) {
    const std::int64_t number = std::get<NumberColumn>(own.columns[0]).words[own_row];
    const std::int64_t* words = std::get<NumberColumn>(window_.columns[0]).words.at(range.lo);
    // As far as int64 goes, in unsigned words, which cannot overflow.
    const auto word = static_cast<std::uint64_t>(number);
    const std::uint64_t below = std::min(term_.within_integer, word - static_cast<std::uint64_t>(INT64_MIN));
    const std::uint64_t above = std::min(term_.within_integer, static_cast<std::uint64_t>(INT64_MAX) - word);
    const auto lowest = static_cast<std::int64_t>(word - below);
    const auto highest = static_cast<std::int64_t>(word + above);
    scan_words(own_row, range, pairs, [=](std::size_t from, std::size_t size) {
      return next_block_between(words, from, size, lowest, highest);
    });
  }

  void scan_reals(const Window& own, Seq own_row, LiveRange range, Pairs& pairs) {
    const double number = std::get<NumberColumn>(own.columns[0]).real(own_row);
    const std::int64_t* words = std::get<NumberColumn>(window_.columns[0]).words.at(range.lo);
    scan_words(own_row, range, pairs, [=, within = term_.within_real](std::size_t from, std::size_t size) {
      return next_block_near(words, from, size, number, within);
    });
  }

  void scan_sets(const Window& own, Seq own_row, LiveRange range, bool own_is_left, Pairs& pairs) {
    const auto& sets = std::get<SetColumn>(window_.columns[0]);
    const std::span<const Code> own_set = std::get<SetColumn>(own.columns[0]).set(own_row);
    const std::uint64_t own_bits = signature(own_set);
    const std::uint64_t* signatures = signatures_.at(range.lo);
    for (Seq row = range.lo; row < range.hi; ++row) {
      const std::uint64_t bits = signatures[row - range.lo];
      const std::size_t other_size = sets.set_size(row);
      const std::size_t bound =
          std::min(own_set.size() - static_cast<std::size_t>(std::popcount(own_bits & ~bits)),
                   other_size - static_cast<std::size_t>(std::popcount(bits & ~own_bits)));
      const std::size_t left = own_is_left ? own_set.size() : other_size;
      const std::size_t right = own_is_left ? other_size : own_set.size();
      if (!accepts_overlap(term_, bound, left, right) || !window_.joinable[row]) continue;
      if (accepts_overlap(term_, count_shared(own_set, sets.set(row)), left, right)) pairs.add(own_row, row);
    }
  }

  void scan_compiled(const Window& own, Seq own_row, LiveRange range, bool own_is_left, Pairs& pairs) {
    for (Seq row = range.lo; row < range.hi; ++row) {
      if (!window_.joinable[row]) continue;
      if (satisfies(term_, own.columns[0], own_row, window_.columns[0], row, own_is_left))
        pairs.add(own_row, row);
    }
  }

  void scan_weighted(const Window& own, Seq own_row, LiveRange range, Pairs& pairs) {
    const auto& own_sets = std::get<SetColumn>(own.columns[0]);
    const auto& sets = std::get<SetColumn>(window_.columns[0]);
    for (Seq row = range.lo; row < range.hi; ++row) {
      if (window_.joinable[row] && satisfies_weighted(term_, own_sets, own_row, sets, row))
        pairs.add(own_row, row);
    }
  }

  const Window& window_;
  const Term term_;
  SlidingArray<std::uint64_t> signatures_;  // one per indexed row; unweighted sets only
};

}  // namespace

std::unique_ptr<Index> make_scan_index(const Window& window, const Term& term) {
  if (term.kind == TermKind::kDistance) return make_distance_index(window, term);
  return std::make_unique<ScanIndex>(window, term);
}

}  // namespace watersmeet
