// What indexes promise beyond their answers: work that follows from content, early stops, exact undo, memory.
#include <gtest/gtest.h>

#include <array>
#include <functional>

#include "index/random_window.h"
#include "watersmeet/index/index.h"

namespace watersmeet::testing {
namespace {

using Maker = std::function<std::unique_ptr<Index>(const Window&, const Term&)>;

struct Subject {
  const char* name;
  Maker make;
  Term term;
};

std::vector<Subject> subjects() {
  const auto inverted = [](MergeKind merge) -> Maker {
    return
        [merge](const Window& window, const Term& term) { return make_inverted_index(window, term, merge); };
  };
  const Term equal{.kind = TermKind::kEqual};
  const Term overlap{.kind = TermKind::kOverlap, .at_least = 2};
  const Term jaccard{.kind = TermKind::kJaccard, .at_least = 0.4};
  const Term cosine{.kind = TermKind::kCosine, .at_least = 0.6};
  return {{"scan", &make_scan_index, equal},
          {"scan sets", &make_scan_index, overlap},
          {"hash", &make_hash_index, equal},
          {"auto", inverted(MergeKind::kAuto), overlap},
          {"auto jaccard", inverted(MergeKind::kAuto), jaccard},
          {"heap", inverted(MergeKind::kHeap), overlap},
          {"count", inverted(MergeKind::kCount), overlap},
          {"bitmap", inverted(MergeKind::kBitmap), overlap},
          {"cosine", inverted(MergeKind::kAuto), cosine},
          {"cosine heap", inverted(MergeKind::kHeap), cosine},
          {"by id", &make_inverted_by_id_index, overlap}};
}

struct Answer {
  std::vector<Seq> own;
  std::vector<Seq> other;
  Work work;
  bool operator==(const Answer& with) const {
    return own == with.own && other == with.other && work.probes == with.work.probes &&
           work.comparisons == with.work.comparisons && work.postings == with.work.postings &&
           work.lookups == with.work.lookups;
  }
};

Answer ask(Index& index, const Window& own, Seq lo, Seq hi) {
  const std::vector<Seq> los(own.size(), lo);
  const std::vector<Seq> his(own.size(), hi);
  Pairs pairs;
  Work work;
  index.probe({.own = &own, .first = own.begin(), .requests = own.size(), .lo = los.data(), .hi = his.data()},
              pairs, work);
  return {{pairs.own.begin(), pairs.own.end()}, {pairs.other.begin(), pairs.other.end()}, work};
}

// A window that grew, slid and was cut back, with its index told lazily.
class Worn {
 public:
  Worn(const Subject& subject, std::uint64_t seed)
      : random_(seed),
        term_(subject.term),
        shape_{.domain = 40, .max_set = 10},
        window_(make_window(term_, 100)) {
    index_ = subject.make(window_, term_);
    for (int step = 0; step < 30; ++step) {
      append(below(random_, 400));
      if (step % 3 == 0) {
        const Seq end = window_.end();
        append(below(random_, 200));
        index_->truncate(end);
        window_.truncate(end);
      }
      const Seq dead = window_.begin() + below(random_, window_.size() / 3 + 1);
      if (step % 4 != 0) index_->expire_before(dead);
      window_.drop_before(dead);
    }
  }

  void append(std::size_t rows) {
    const Seq first = window_.end();
    append_rows(window_, term_, shape_, rows, random_);
    index_->append(first, window_.end());
  }

  [[nodiscard]] Window own(std::size_t rows) {
    Window own = make_window(term_, 0);
    append_rows(own, term_, shape_, rows, random_);
    return own;
  }
  [[nodiscard]] Window& window() { return window_; }
  [[nodiscard]] Index& index() { return *index_; }

 private:
  Random random_;
  Term term_;
  Shape shape_;
  Window window_;
  std::unique_ptr<Index> index_;
};

TEST(IndexWork, an_index_made_from_the_live_rows_answers_and_works_the_same) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      Worn worn(subject, seed);
      const Window own = worn.own(20);
      const auto fresh = subject.make(worn.window(), subject.term);
      fresh->append(worn.window().begin(), worn.window().end());
      const Seq middle = worn.window().begin() + worn.window().size() / 3;
      for (const auto& [lo, hi] :
           {std::pair<Seq, Seq>{0, ~Seq{0}}, {middle, ~Seq{0}}, {middle, middle + 100}}) {
        EXPECT_TRUE(ask(worn.index(), own, lo, hi) == ask(*fresh, own, lo, hi));
      }
    }
  }
}

TEST(IndexWork, truncation_takes_an_append_back_without_a_trace) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    Worn worn(subject, 9);
    const Window own = worn.own(20);
    const Answer before = ask(worn.index(), own, 0, ~Seq{0});
    const Seq end = worn.window().end();
    worn.append(3'000);
    worn.index().truncate(end);
    worn.window().truncate(end);
    EXPECT_TRUE(ask(worn.index(), own, 0, ~Seq{0}) == before);
  }
}

// [Gedik] Fig. 4: lists in time order let a probe stop at a time bound; identifier order does not.
TEST(IndexWork, postings_outside_the_range_are_not_read) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    Worn worn(subject, 4);
    const Window own = worn.own(20);
    const std::uint64_t all = ask(worn.index(), own, 0, ~Seq{0}).work.postings;
    const Seq end = worn.window().end();
    const std::uint64_t none = ask(worn.index(), own, end, ~Seq{0}).work.postings;
    const std::uint64_t one = ask(worn.index(), own, end - 1, end).work.postings;
    EXPECT_EQ(none, 0U);
    if (subject.name == std::string("by id")) {
      EXPECT_EQ(one, all);
    } else {
      const bool bitmaps =
          subject.name == std::string("bitmap") || std::string(subject.name).starts_with("auto");
      EXPECT_LE(one, own.size() * 10 * (bitmaps ? 8 : 1));  // of a bitmap, a block of 512 rows: 8 words
    }
  }
}

// A basic window holds few rows, but popular items are as popular there as in the whole window.
TEST(IndexWork, a_metered_probe_of_a_short_range_reads_bitmaps_where_they_are_shorter) {
  const Term term{.kind = TermKind::kOverlap, .at_least = 2};
  Random random(2);
  const Shape shape{.domain = 20, .max_set = 8};
  Window window = make_window(term, 0);
  append_rows(window, term, shape, 4'000, random);
  Window own = make_window(term, 0);
  append_rows(own, term, shape, 20, random);
  const std::vector<Seq> lo(own.size(), 1'000);
  const std::vector<Seq> hi(own.size(), 1'400);
  std::array<Work, 2> work;
  std::array<Pairs, 2> pairs;
  for (const auto& [at, merge] : {std::pair{0U, MergeKind::kAuto}, {1U, MergeKind::kCount}}) {
    const auto index = make_inverted_index(window, term, merge);
    index->append(window.begin(), window.end());
    index->probe({.own = &own,
                  .first = own.begin(),
                  .requests = own.size(),
                  .lo = lo.data(),
                  .hi = hi.data(),
                  .is_metered = true},
                 pairs[at], work[at]);
  }
  EXPECT_TRUE(
      std::equal(pairs[0].other.begin(), pairs[0].other.end(), pairs[1].other.begin(), pairs[1].other.end()));
  EXPECT_LT(3 * work[0].postings, work[1].postings);
}

TEST(IndexWork, a_run_stops_after_the_request_that_reached_its_limit) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    Worn worn(subject, 6);
    const Window own = worn.own(20);
    const std::vector<Seq> lo(own.size(), 0);
    const std::vector<Seq> hi(own.size(), ~Seq{0});
    std::vector<std::uint32_t> found(own.size());
    Pairs pairs;
    Work work;
    ProbeRun run{.own = &own,
                 .first = own.begin(),
                 .requests = own.size(),
                 .lo = lo.data(),
                 .hi = hi.data(),
                 .found = found.data(),
                 .max_pairs = 1};
    std::size_t served = 0;
    std::size_t calls = 0;
    while (served < own.size()) {
      const std::size_t before = pairs.size();
      run.first = own.begin() + served;
      run.requests = own.size() - served;
      run.found = found.data() + served;
      const std::size_t more = worn.index().probe(run, pairs, work);
      ASSERT_GT(more, 0U);
      for (std::size_t at = served; at + 1 < served + more; ++at) EXPECT_EQ(found[at], 0U);
      EXPECT_TRUE(pairs.size() > before || served + more == own.size());
      served += more;
      ++calls;
    }
    const Answer whole = ask(worn.index(), own, 0, ~Seq{0});
    EXPECT_TRUE(std::equal(pairs.other.begin(), pairs.other.end(), whole.other.begin(), whole.other.end()));
    EXPECT_EQ(work.units(), whole.work.units());
    EXPECT_GT(calls, 1U);
  }
}

TEST(IndexWork, memory_stays_bounded_while_a_window_slides) {
  for (const Subject& subject : subjects()) {
    SCOPED_TRACE(subject.name);
    Random random(1);
    Window window = make_window(subject.term, 0);
    const auto index = subject.make(window, subject.term);
    std::size_t early = 0;
    for (std::uint64_t step = 0; step < 60; ++step) {
      // Items come and go: each code is used for a while only.
      const Seq first = window.end();
      for (int row = 0; row < 500; ++row) {
        append_row(window, subject.term, {.domain = 30 + 10 * (step % 7), .max_set = 6}, random);
      }
      window.close_append(first);
      index->append(first, window.end());
      if (window.size() > 2'000) {
        index->expire_before(window.end() - 2'000);
        window.drop_before(window.end() - 2'000);
      }
      if (step == 14) early = index->bytes();
    }
    EXPECT_LE(index->bytes(), 2 * early + 1024);
    index->expire_before(window.end());
    window.drop_before(window.end());
    const Seq end = window.end();
    for (int row = 0; row < 100; ++row)
      append_row(window, subject.term, {.domain = 30, .max_set = 6}, random);
    window.close_append(end);
    index->append(end, window.end());
    EXPECT_LE(index->bytes(), early + 1024);
  }
}

}  // namespace
}  // namespace watersmeet::testing
