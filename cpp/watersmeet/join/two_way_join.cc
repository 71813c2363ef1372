#include "watersmeet/join/two_way_join.h"

#include <algorithm>
#include <utility>

#include "watersmeet/base/check.h"
#include "watersmeet/base/errors.h"

namespace watersmeet {

TwoWayJoin::TwoWayJoin(JoinConfig config)
    : config_(std::move(config)),
      bounds_(config_.lower, config_.upper),
      terms_(config_.terms),
      synchronised_(config_.has_count_window() || config_.order == Order::kSyncFilter) {
  if (config_.threads > 1) shared_ = std::make_unique<SharedProbes>(config_.threads);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream] = std::make_unique<Side>(config_.streams[stream], terms_, config_.tracks(stream));
  }
}

// --- a change begins -----------------------------------------------------------------------------

void TwoWayJoin::begin() {
  if (shared_ != nullptr) shared_->forget();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    side.stage.begin_change();
    Before& before = before_[stream];
    before.watermark = side.watermark;
    before.newest = side.newest;
    before.ended = side.ended;
    before.idle = side.idle;
    before.counts = side.counts;
    before.direction = directions_[stream];
    if (measures_ages_) before.ages = ages_[stream];  // large: not for a small batch to copy in vain
    last_due_[stream] = 0;
    Fresh& fresh = fresh_[stream];
    fresh.first = side.window.end();
    fresh.indexed = false;
    fresh.probed = 0;
    fresh.visible.clear();
    fresh.lo.clear();
    fresh.hi.clear();
    matched_[stream].clear();
    in_step_[stream].clear();
  }
  plain_.left.clear();
  plain_.right.clear();
  plain_.late.clear();
  found_.clear();
  bad_.clear();
  phase_ = kSides;
  unindexed_ = kSides;
}

template <class Change>
void TwoWayJoin::change(Change apply) {
  begin();
  try {
    move_watermarks();
    apply();
    prepare_probes();
  } catch (...) {
    roll_back();
    throw;
  }
}

void TwoWayJoin::begin_push(std::size_t stream, const ArrowSchema& schema, const ArrowArray& array) {
  change([&] { take_batch(stream, schema, array); });
}

void TwoWayJoin::begin_advance(std::size_t stream, Timestamp to) {
  change([&] {
    Side& side = *sides_[stream];
    if (to > side.newest) side.idle = false;
    side.newest = std::max(side.newest, to);
    move_watermarks();
    admit_all();
  });
}

void TwoWayJoin::begin_finish() {
  change([&] {
    for (const auto& side : sides_) side->ended = true;
    admit_all();
  });
}

void TwoWayJoin::begin_end(std::size_t stream) {
  change([&] {
    sides_[stream]->ended = true;
    admit_all();
  });
}

void TwoWayJoin::begin_poll() {
  change([&] { admit_all(); });
}

// --- a change ends -------------------------------------------------------------------------------

void TwoWayJoin::commit(Released& out) {
  WATERSMEET_CHECK(unindexed_ == kSides || fresh_[unindexed_].probed == 0);
  try {
    index_now();  // of rows that look for nobody
  } catch (...) {
    roll_back();
    throw;
  }
  mark_matches();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    if (config_.tracks(stream)) settle(stream);
  }
  emit_bad_rows();
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    sides_[stream]->expire_before(first_alive(stream), terms_);
    sides_[stream]->stage.commit(terms_);
    drop_absent(stream);
  }
  const std::size_t before = out.left.size();
  release(out);
  results_ += out.left.size() - before;
}

void TwoWayJoin::roll_back() {
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    Side& side = *sides_[stream];
    side.take_back(fresh_[stream].first, fresh_[stream].indexed, terms_);
    side.stage.roll_back(terms_);
    const Before& before = before_[stream];
    side.watermark = before.watermark;
    side.newest = before.newest;
    side.ended = before.ended;
    side.idle = before.idle;
    side.counts = before.counts;
    directions_[stream] = before.direction;
    if (measures_ages_) ages_[stream] = before.ages;
  }
  phase_ = kSides;
  unindexed_ = kSides;
}

// --- state ---------------------------------------------------------------------------------------

std::size_t TwoWayJoin::bytes() const {
  return sides_[0]->bytes() + sides_[1]->bytes() + terms_.bytes() + hold_.bytes() +
         timeless_.capacity() * sizeof(Result) + scratch_bytes() +
         (shared_ == nullptr ? 0 : shared_->bytes());
}

void TwoWayJoin::save(ByteWriter& writer) const {
  writer.put(results_);
  writer.put<std::uint8_t>(synchronised_ ? 1 : 0);
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    writer.put(directions_[stream]);
    writer.put(needed_[stream]);
    writer.put(results_at_look_[stream]);
    writer.put(ages_[stream]);
  }
  terms_.save(writer);
  for (const auto& side : sides_) side->save(writer, terms_);
  hold_.save(writer);
  writer.put_array(timeless_.data(), timeless_.size());
}

void TwoWayJoin::load(ByteReader& reader) {
  results_ = reader.get<std::uint64_t>();
  synchronised_ = reader.get<std::uint8_t>() != 0;
  for (std::size_t stream = 0; stream < kSides; ++stream) {
    directions_[stream] = reader.get<DirectionCounts>();
    needed_[stream] = reader.get<RowId>();
    results_at_look_[stream] = reader.get<std::uint64_t>();
    ages_[stream] = reader.get<MatchAges>();
  }
  terms_.load(reader);
  for (const auto& side : sides_) side->load(reader, terms_);
  hold_.load(reader);
  timeless_ = reader.get_array<Result>();
  terms_.finish_load();
  reader.expect_end();
}

}  // namespace watersmeet
