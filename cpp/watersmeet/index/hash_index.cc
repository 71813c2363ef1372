// Hash index for equal keys, over buckets of rows (hash_buckets.h).
//
// Requests go through three stages a fixed distance apart: one asks for the bucket, the next for the keys of the rows
// in it that have the right tag, the last writes the partners.

#include <algorithm>
#include <bit>
#include <vector>

#include "watersmeet/index/hash_buckets.h"
#include "watersmeet/index/index.h"
#include "watersmeet/index/pair_writer.h"
#include "watersmeet/index/row_output.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace watersmeet {
namespace {

using Bucket = HashBuckets::Bucket;
using Place = HashBuckets::Place;

constexpr std::size_t kStage = 12;  // requests between two stages
constexpr std::uint32_t kAllSlots = (1U << HashBuckets::kSlots) - 1;

// The slots whose row has this tag and stands in places [lo, hi), one bit each.
std::uint32_t slots_with(const Bucket& bucket, std::uint32_t tag, Place lo, Place hi) {
#if defined(__SSE2__)
  // Unsigned place - lo < hi - lo, as a signed comparison of both shifted by half the range.
  const __m128i half = _mm_set1_epi32(INT32_MIN);
  const __m128i from = _mm_add_epi32(_mm_set1_epi32(static_cast<int>(lo)), half);
  const __m128i size = _mm_xor_si128(_mm_set1_epi32(static_cast<int>(hi - lo)), half);
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag));
  const auto passing = [&](const std::uint32_t* tags, const Place* places) {
    const __m128i offset = _mm_sub_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(places)), from);
    const __m128i same = _mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(tags)), wanted);
    return _mm_and_si128(same, _mm_cmplt_epi32(offset, size));
  };
  // The upper half takes `next` and `chain` for a slot, which is cut off.
  const __m128i words = _mm_packs_epi32(passing(bucket.tags, bucket.places), passing(bucket.tags + 4, bucket.places + 4));
  return static_cast<std::uint32_t>(_mm_movemask_epi8(_mm_packs_epi16(words, words))) & kAllSlots;
#else
  std::uint32_t found = 0;
  for (std::uint32_t slot = 0; slot < HashBuckets::kSlots; ++slot) {
    const bool passes = (bucket.tags[slot] == tag) & (bucket.places[slot] - lo < hi - lo);
    found |= (passes ? 1U : 0U) << slot;
  }
  return found;
#endif
}

class HashIndex final : public Index {
 public:
  explicit HashIndex(const Window& window) : window_(window), buckets_(window) {}

  void append(Seq first, Seq last) override { buckets_.append(first, last); }
  void append_on(Lanes& lanes, Seq first, Seq last) override { buckets_.append_on(lanes, first, last); }
  void expire_before(Seq row) override { buckets_.drop_front_to(row); }
  void truncate(Seq row) override { buckets_.truncate_to(row); }

  std::size_t probe(const ProbeRun& run, Pairs& pairs, Work& work) override {
    PairWriter writer(pairs);
    return run.rows == nullptr ? probe_rows(run, writer, work) : probe_plan(run, writer, work);
  }

  [[nodiscard]] bool looks_up() const override { return true; }
  [[nodiscard]] std::size_t bytes() const override {
    return buckets_.bytes();
  }

 private:
  // One look-up: the rows at places [lo, hi) whose key is `key`.
  struct Wanted {
    std::uint64_t key;
    Place lo;
    Place hi;
  };

  // One request per row.
  std::size_t probe_rows(const ProbeRun& run, PairWriter& writer, Work& work) {
    const std::size_t count = run.requests;
    const std::uint64_t* own_keys = std::get<KeyColumn>(run.own->columns[0]).words.at(run.first);
    const std::uint8_t* joinable = run.own->joinable.at(run.first);
    const KeyView view(window_, buckets_);
    Limits limits(run, writer, work);
    for (std::size_t step = 0; step < count + 2 * kStage; ++step) {
      if (step < count) __builtin_prefetch(&buckets_.bucket(own_keys[step]));
      if (const std::size_t at = step - kStage; at < count) view.prefetch(own_keys[at]);
      const std::size_t at = step - 2 * kStage;
      if (at >= count) continue;
      const std::size_t before = writer.size();
      const LiveRange range = live_range(run, at, window_);
      if (joinable[at] && !range.empty()) {
        ++work.lookups;
        const Wanted wanted{own_keys[at], buckets_.place(range.lo), buckets_.place(range.hi)};
        view.write(wanted, run.first + at, writer);
      }
      if (limits.reached(at, before)) return at + 1;
    }
    return count;
  }

  // Several requests per row: its partners are found once for all that follow one another.
  std::size_t probe_plan(const ProbeRun& run, PairWriter& writer, Work& work) {
    const auto& keys = std::get<KeyColumn>(run.own->columns[0]).words;
    const KeyView view(window_, buckets_);
    Limits limits(run, writer, work);
    std::vector<Seq> partners;  // of the row that asks several times
    Seq collected = ~Seq{0};
    for (std::size_t at = 0; at < run.requests; ++at) {
      const Seq row = run.rows[at];
      const std::size_t before = writer.size();
      const LiveRange range = live_range(run, at, window_);
      if (at + kStage < run.requests) __builtin_prefetch(&buckets_.bucket(keys[run.rows[at + kStage]]));
      if (run.own->joinable[row] && !range.empty()) {
        ++work.lookups;
        if (row != collected) {
          partners.clear();
          const Wanted wanted{keys[row], buckets_.place(window_.begin()), buckets_.place(window_.end())};
          view.for_each(wanted, [&](Place place) { partners.push_back(buckets_.row(place)); });
          std::reverse(partners.begin(), partners.end());
          collected = row;
        }
        auto next = std::lower_bound(partners.begin(), partners.end(), range.lo);
        for (; next != partners.end() && *next < range.hi; ++next) writer.add(row, *next);
      }
      if (limits.reached(at, before)) return at + 1;
    }
    return run.requests;
  }

  // Counts what a request found, and says whether the run has to stop after it.
  class Limits {
   public:
    Limits(const ProbeRun& run, const PairWriter& writer, Work& work)
        : run_(run), writer_(writer), work_(work), pairs_(writer.size()), units_(work.units()) {}

    [[nodiscard]] bool reached(std::size_t at, std::size_t pairs_before) {
      const std::size_t found = writer_.size() - pairs_before;
      ++work_.probes;
      work_.comparisons += found;
      if (run_.found != nullptr) run_.found[at] = static_cast<std::uint32_t>(found);
      return writer_.size() - pairs_ >= run_.max_pairs || work_.units() - units_ >= run_.max_work;
    }

   private:
    const ProbeRun& run_;
    const PairWriter& writer_;
    Work& work_;
    const std::size_t pairs_;
    const std::uint64_t units_;
  };

  // The live rows of the window by place.
  class KeyView {
   public:
    KeyView(const Window& window, const HashBuckets& buckets)
        : buckets_(buckets),
          keys_(std::get<KeyColumn>(window.columns[0]).words.at(window.begin())),
          oldest_(buckets.place(window.begin())),
          wide_(buckets.has_wide_keys()) {}

    // Asks for what the look-up will read besides the bucket.
    void prefetch(std::uint64_t key) const {
      const Bucket& bucket = buckets_.bucket(key);
      if (bucket.chain >= oldest_) {
        __builtin_prefetch(&buckets_.previous(bucket.chain));
        __builtin_prefetch(key_of(bucket.chain));
      }
      if (!wide_) return;
      if (const std::uint32_t slots = slots_with(bucket, HashBuckets::tag(key), oldest_, ~Place{0}); slots != 0) {
        __builtin_prefetch(key_of(bucket.places[std::countr_zero(slots)]));
      }
    }

    // Writes the rows wanted, oldest first. One partner or none is the rule, and needs no branch.
    void write(const Wanted& wanted, Seq own_row, PairWriter& writer) const {
      const Bucket& bucket = buckets_.bucket(wanted.key);
      const std::uint32_t slots = slots_with(bucket, HashBuckets::tag(wanted.key), wanted.lo, wanted.hi);
      if ((slots & (slots - 1)) != 0 || bucket.chain >= wanted.lo) {
        const std::size_t before = writer.size();
        for_each(wanted, [&](Place place) { writer.add(own_row, buckets_.row(place)); });
        writer.reverse_from(before);
        return;
      }
      const Place place = bucket.places[std::countr_zero(slots | 1U << (HashBuckets::kSlots - 1))];
      const bool found = slots != 0;
      if (wide_ || wanted.key >> 32 != 0) {
        if (found && *key_of(place) == wanted.key) writer.add(own_row, buckets_.row(place));
      } else {
        writer.add_if(own_row, buckets_.row(place), found);
      }
    }

    // Visits the rows wanted, newest first. Requires: wanted.lo is live.
    template <class Visit>
    void for_each(const Wanted& wanted, Visit visit) const {
      const Bucket& bucket = buckets_.bucket(wanted.key);
      const std::uint32_t slots = slots_with(bucket, HashBuckets::tag(wanted.key), wanted.lo, wanted.hi);
      // Slots from `next` on are older than those before it.
      const std::uint32_t newer = slots & ((1U << bucket.next) - 1);
      for (std::uint32_t part : {newer, slots & ~newer}) {
        while (part != 0) {
          const int slot = 31 - std::countl_zero(part);
          part ^= 1U << slot;
          if (is_equal(bucket.places[slot], wanted.key)) visit(bucket.places[slot]);
        }
      }
      for (Place place = bucket.chain; place >= wanted.lo;) {
        const Place previous = buckets_.previous(place);
        if (place < wanted.hi && *key_of(place) == wanted.key) visit(place);
        place = previous;
      }
    }

   private:
    // Requires: the tags are equal.
    [[nodiscard]] bool is_equal(Place place, std::uint64_t key) const {
      return (!wide_ && key >> 32 == 0) || *key_of(place) == key;
    }
    [[nodiscard]] const std::uint64_t* key_of(Place place) const { return keys_ + (place - oldest_); }

    const HashBuckets& buckets_;
    const std::uint64_t* keys_;
    const Place oldest_;
    const bool wide_;
  };

  const Window& window_;
  HashBuckets buckets_;
};

}  // namespace

std::unique_ptr<Index> make_hash_index(const Window& window, const Term& term) {
  if (term.kind != TermKind::kEqual) return make_scan_index(window, term);
  return std::make_unique<HashIndex>(window);
}

}  // namespace watersmeet
