#include "watersmeet/slice/node.h"

#include <algorithm>
#include <utility>

#include "watersmeet/slice/boundaries.h"

namespace watersmeet {

void SliceNode::begin(const Run& run, Outlet& next, Prober& prober, std::size_t slices,
                      const RowSet& bounds) {
  run_ = &run;
  next_ = &next;
  prober_ = &prober;
  prober.begin(run);
  slices_ = slices;
  bounds_ = bounds;
  live_.assign(run.config->interleave, std::vector<RowRange>(run.streams()));
  waiting_ends_.clear();
  results_.clear();
  admitted_ = ended_ = 0;
  messages_ = 0;
}

void SliceNode::end() {
  live_.clear();
  waiting_ends_.clear();
  if (prober_ != nullptr) prober_->clear();
}

bool SliceNode::can_admit() const {
  return admitted_ < run_->cycles.size() && admitted_ - ended_ < run_->config->interleave;
}

bool SliceNode::admit() {
  if (!can_admit()) return false;
  const Cycle& cycle = run_->cycles[admitted_];
  Message probe;
  probe.kind = MessageKind::kProbe;
  probe.cycle = admitted_++;
  for (std::size_t stream = 0; stream < run_->streams(); ++stream) probe.rows[stream] = held_[stream].last;
  probe.rows[cycle.stream] = cycle.row + 1;  // its own row is built into the head
  probe_row(probe);
  Message end;
  end.cycle = probe.cycle;
  end.step = 1;
  if (prober_->has_requests()) {
    end.step = 0;  // becomes 1 when it has waited for them
    waiting_ends_.push_back(end);
  } else {
    send(end);
  }
  return true;
}

void SliceNode::handle(const Message& message) {
  switch (message.kind) {
    case MessageKind::kProbe:
      probe_row(message);
      return;
    case MessageKind::kPartial: {
      if (message.origin != place_) send(message);
      const Cycle& cycle = run_->cycles[message.cycle];
      Found partial{message.cycle, std::uint32_t{1} << cycle.stream, message.rows};
      for (std::size_t at = 0; at < message.step; ++at) {
        partial.members |= std::uint32_t{1} << run_->orderings[cycle.stream][at];
      }
      extend(partial, message.step);
      return;
    }
    case MessageKind::kEnd:
      // Partial results that requests here may still lead to have to leave before the END does.
      if (prober_->has_requests()) {
        waiting_ends_.push_back(message);
      } else {
        pass_end(message);
      }
      return;
  }
}

// Rows that move on are in the next slice before the row that moved them ([PSP] property 1).
void SliceNode::probe_row(const Message& message) {
  const Cycle& cycle = run_->cycles[message.cycle];
  for (std::size_t stream = 0; stream < run_->streams(); ++stream) {
    held_[stream].last = std::max(held_[stream].last, message.rows[stream]);
  }
  Message onward = message;
  hand_on(cycle, onward.rows);
  live(message.cycle) = held_;
  if (place_ + 1 < slices_) send(onward);
  extend(first_partial(*run_, message.cycle), 0);
}

// Departs from [PSP]: slices before the tail hand on expired rows, too, and not only those above their bound,
// so that no slice joins a row that has left the window (SPEC P10).
void SliceNode::hand_on(const Cycle& cycle, RowSet& moved) {
  for (std::size_t stream = 0; stream < run_->streams(); ++stream) {
    RowRange& held = held_[stream];
    Seq first = std::clamp(cycle.oldest[stream], held.first, held.last);
    const bool tail = bounds_[stream] == kUnbounded;
    if (!tail && held.last - first > bounds_[stream]) first = held.last - bounds_[stream];
    held.first = first;
    moved[stream] = tail ? 0 : first;
  }
}

void SliceNode::extend(const Found& partial, std::size_t step) {
  const Cycle& cycle = run_->cycles[partial.cycle];
  if (!run_->store->joinable(cycle.stream, cycle.row)) return;
  const std::size_t other = run_->orderings[cycle.stream][step];
  const RowRange& seen = live(partial.cycle)[other];
  prober_->ask(partial, other, seen.first, seen.last);
}

void SliceNode::emit(const Found& found, std::size_t step) {
  if (step + 1 == run_->streams()) {
    results_.push_back(found);
    return;
  }
  Message message;
  message.kind = MessageKind::kPartial;
  message.step = static_cast<std::uint8_t>(step);
  message.origin = static_cast<std::uint16_t>(place_);
  message.cycle = found.cycle;
  message.rows = found.rows;
  send(message);
}

void SliceNode::settle() {
  if (prober_->has_requests()) {
    prober_->settle([this](const Found& found) {
      emit(found, static_cast<std::size_t>(__builtin_popcount(found.members)) - 1);
    });
  }
  std::vector<Message> ends;
  ends.swap(waiting_ends_);
  for (Message& end : ends) {
    if (end.step == 0) {
      end.step = 1;
      send(end);
    } else {
      pass_end(end);
    }
  }
}

// A cycle is closed here when its last END passes: nothing of it can come after (SPEC P7).
void SliceNode::pass_end(const Message& message) {
  const bool last = message.step == rounds();
  if (place_ != 0) {
    send(message);
    return;
  }
  if (last) {
    ++ended_;
    return;
  }
  Message next = message;
  ++next.step;
  send(next);
}

void SliceNode::send(const Message& message) {
  ++messages_;
  next_->send(message);
}

}  // namespace watersmeet
