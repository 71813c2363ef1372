// The two-way join: batches by Arrow's C data interface, results as arrays of row numbers.
#include <algorithm>
#include <atomic>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "join_config.h"
#include "limit.h"
#include "outbox.h"
#include "payload_columns.h"
#include "prelude.h"
#include "two_way.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/two_way_join.h"

namespace watersmeet::bindings {
namespace {

// Results between two looks at Python's signals, and candidates per call of a user's function.
constexpr std::size_t kBlockPairs = std::size_t{1} << 22;
constexpr std::size_t kBlockCandidates = std::size_t{1} << 16;
constexpr std::uint64_t kBlockWork = std::uint64_t{1} << 26;

// Rows of results up to this many are copied out of a buffer that stays; more take their memory with them.
constexpr std::size_t kMostCopied = std::size_t{1} << 16;

[[nodiscard]] std::span<const std::int64_t> signed_rows(const UninitializedVector<RowId>& rows) {
  return {reinterpret_cast<const std::int64_t*>(rows.data()), rows.size()};
}

[[nodiscard]] py::array_t<std::int64_t> copied(const UninitializedVector<RowId>& rows) {
  const std::span<const std::int64_t> numbers = signed_rows(rows);
  return py::array_t<std::int64_t>(static_cast<py::ssize_t>(numbers.size()), numbers.data());
}

class Join {
 public:
  Join(std::vector<TermConfig> terms, std::array<StreamConfig, kSides> streams, const py::int_& lower,
       const py::int_& upper, const std::string& how, const std::string& order, std::size_t threads,
       bool share_all)
      : join_({std::move(terms), std::move(streams), to_wide(lower), to_wide(upper), how_kind(how),
               order_kind(order), threads, share_all}) {}

  // Returns: rows of results, left and right, and the numbers of late rows or None.
  py::tuple push(std::size_t stream, const py::object& batch, const py::object& keep) {
    const Turn turn(busy_);
    const ArrowBatch given(batch);
    run<true>(keep, [&] { join_.begin_push(checked_stream(stream), given.schema(), given.array()); });
    py::tuple rows = pairs();
    return py::make_tuple(rows[0], rows[1], late());
  }

  // The same for a plain join, with the results as a batch of two columns in `outbox`. Its memory is taken before the
  // change is final: where there is none, nothing has changed. Requires: all such batches of a stream are of one
  // schema.
  // Returns: its address, or None without results, and the numbers of late rows or None.
  py::tuple push_into(std::size_t stream, const py::object& batch, const py::object& keep, Outbox& outbox) {
    const Turn turn(busy_);
    ArrowInbox& given = inboxes_[checked_stream(stream)];
    given.take(batch);
    bool any = false;
    run<true>(
        keep, [&] { join_.begin_push(stream, given.schema(), given.array()); },
        [&] {
          any = !join_.plain_results().left.empty();
          if (!any) return;
          const Outbox::PairColumns columns = outbox.room_for_pairs(join_.plain_results().left.size());
          join_.copy_plain_results(columns.left, columns.right);
        });
    given.empty();
    forget(out_.left);
    forget(out_.right);
    return py::make_tuple(any ? py::object(py::int_(outbox.address())) : py::none(), late());
  }

  // The same with the results as a batch of all columns of both streams' payload, of which `batch_payload` are those of
  // this batch. Its rows enter `own_payload` when their results are known, so that their values are read once for both.
  py::tuple push_gathered(std::size_t stream, const py::object& batch, const py::object& batch_payload,
                          PayloadColumns& own_payload, PayloadColumns& other_payload, Outbox& outbox) {
    const Turn turn(busy_);
    ArrowInbox& given = inboxes_[checked_stream(stream)];
    given.take(batch);
    const ArrowBatch columns(batch_payload);
    Payload& own = own_payload.payload();
    const Payload& other = other_payload.payload();
    const std::int64_t first = own.end();
    bool any = false;
    run<true>(
        py::none(), [&] { join_.begin_push(stream, given.schema(), given.array()); },
        [&] {
          const auto left = signed_rows(join_.plain_results().left);
          const auto right = signed_rows(join_.plain_results().right);
          const auto own_rows = stream == 0 ? left : right;
          const auto other_rows = stream == 0 ? right : left;
          any = !left.empty();
          try {
            if (!any) return own.append(columns.array());
            outbox.begin(left.size(), own.columns() + other.columns());
            if (stream == 1) other.gather(other_rows, false, outbox.out());
            if (own_rows.front() >= first && std::ranges::is_sorted(own_rows)) {
              own.append_and_gather(columns.array(), own_rows, outbox.out());
            } else {  // rows that had waited
              own.append(columns.array());
              own.gather(own_rows, false, outbox.out());
            }
            if (stream == 0) other.gather(other_rows, false, outbox.out());
          } catch (...) {
            own.truncate(first);
            throw;
          }
        });
    given.empty();
    forget(out_.left);
    forget(out_.right);
    return py::make_tuple(any ? py::object(py::int_(outbox.address())) : py::none(), late());
  }

  // The same where results wait for their turn, so that what a push releases is only known when it is final. If there
  // is no memory for the batch then, the results are given as arrays, in memory that they have already.
  // Returns: the address or None, the late rows or None, how many results, the rows of at most `samples` of them
  // (left, right, left, ...), and the two arrays or None.
  py::tuple push_in_order(std::size_t stream, const py::object& batch, const py::object& keep, Outbox& outbox,
                          std::size_t samples) {
    const Turn turn(busy_);
    ArrowInbox& given = inboxes_[checked_stream(stream)];
    given.take(batch);
    run<true>(keep, [&] { join_.begin_push(stream, given.schema(), given.array()); });
    given.empty();
    const std::size_t count = out_.left.size();
    py::object address = py::none();
    py::object owed = py::none();
    py::list sampled;
    if (count > 0) {
      try {
        address = py::int_(outbox.pairs(signed_rows(out_.left), signed_rows(out_.right)));
        samples = std::min(samples, count);
        for (std::size_t sample = 0; sample < samples; ++sample) {
          const std::size_t place = sample * count / samples;
          sampled.append(out_.left[place]);
          sampled.append(out_.right[place]);
        }
        forget(out_.left);
        forget(out_.right);
      } catch (const std::bad_alloc&) {
        owed =
            py::make_tuple(to_array(std::exchange(out_.left, {})), to_array(std::exchange(out_.right, {})));
      }
    }
    return py::make_tuple(address, late(), count, sampled, owed);
  }

  // Takes rows whose results are known already: they enter their window and look for nobody.
  void refill(std::size_t stream, const py::object& batch) {
    const Turn turn(busy_);
    const ArrowBatch given(batch);
    if (join_.config().how != How::kInner) {
      throw ConfigError("refill: whether a row has a partner is only known by looking; expected how='inner'");
    }
    Released nothing;
    const py::gil_scoped_release release;
    join_.begin_push(checked_stream(stream), given.schema(), given.array());
    join_.commit(nothing);
  }

  py::tuple advance(std::size_t stream, Timestamp to, const py::object& keep) {
    const Turn turn(busy_);
    run(keep, [&] { join_.begin_advance(checked_stream(stream), to); });
    return pairs();
  }

  py::tuple finish(const py::object& keep, std::optional<std::size_t> stream) {
    const Turn turn(busy_);
    run(keep, [&] { stream.has_value() ? join_.begin_end(checked_stream(*stream)) : join_.begin_finish(); });
    return pairs();
  }

  py::tuple poll(const py::object& keep) {
    const Turn turn(busy_);
    run(keep, [&] { join_.begin_poll(); });
    return pairs();
  }

  void set_lateness(std::size_t stream, Duration lateness) {
    const Turn turn(busy_);
    if (!join_.config().streams[checked_stream(stream)].lateness.has_value() || lateness < 0) {
      throw ConfigError("lateness=" + std::to_string(lateness) +
                        ": expected 0 or more, and a stream that has one");
    }
    join_.set_lateness(stream, lateness);
  }

  void set_idle(std::size_t stream, bool idle) {
    const Turn turn(busy_);
    join_.set_idle(checked_stream(stream), idle);
  }

  [[nodiscard]] bool holds(RowId left, RowId right) {
    const Turn turn(busy_);
    const py::gil_scoped_release release;
    return join_.holds(left, right);
  }

  // What a driver looks at after every change: (results held, their bytes, per stream: rows in time, newest
  // row or promise, watermark, the time up to which it is processed, rows waiting).
  [[nodiscard]] py::tuple progress() const {
    py::tuple streams(kSides);
    for (std::size_t stream = 0; stream < kSides; ++stream) {
      const Side& side = join_.side(stream);
      const auto low = static_cast<Timestamp>(std::min(side.low(), Wide{kMaxTimestamp}));
      streams[stream] = py::make_tuple(side.counts.rows - side.counts.late_rows - side.counts.bad_rows,
                                       side.newest, side.watermark, low, side.stage.waiting.size());
    }
    return py::make_tuple(join_.held(), join_.held_bytes(), streams);
  }

  void set_room(std::size_t room, bool may_evict) {
    const Turn turn(busy_);
    limit_.set(room, may_evict);
  }

  void evict(std::size_t stream, std::size_t rows) {
    const Turn turn(busy_);
    const py::gil_scoped_release release;
    join_.evict(checked_stream(stream), rows);
  }

  void note_thinned(std::size_t stream, std::uint64_t rows, std::uint64_t kept, Timestamp first,
                    Timestamp last) {
    const Turn turn(busy_);
    join_.note_thinned(checked_stream(stream), rows, kept, first, last);
  }

  void trim() {
    const Turn turn(busy_);
    const py::gil_scoped_release release;
    join_.forget_unneeded();
    Limit::trim(join_);
  }

  // Rows compared one by one, in both directions; cheap enough to be asked before every push.
  [[nodiscard]] std::uint64_t comparisons() const {
    return join_.direction(0).work.comparisons + join_.direction(1).work.comparisons;
  }
  [[nodiscard]] std::uint64_t results() const { return join_.results(); }

  [[nodiscard]] std::size_t bytes() const { return join_.bytes(); }
  [[nodiscard]] std::size_t waiting_bytes() const { return join_.waiting_bytes(); }

  void measure_ages() { join_.measure_ages(); }

  // Per direction: pairs met, pairs with rows given up, results, and results looked at, by cell of age; the sums of
  // results per row and of their squares; and where each cell ends, as a share of the window's span.
  [[nodiscard]] py::tuple ages() const {
    std::array<double, MatchAges::kCells> edges = {};
    constexpr Wide kWhole = Wide{1} << 62;
    for (std::size_t cell = 0; cell < edges.size(); ++cell) {
      edges[cell] = static_cast<double>(MatchAges::edge(cell, kWhole)) / static_cast<double>(kWhole);
    }
    py::tuple directions(kSides);
    for (std::size_t stream = 0; stream < kSides; ++stream) {
      const MatchAges& ages = join_.ages(stream);
      directions[stream] = py::make_tuple(ages.met, ages.absent, ages.matches, ages.sampled,
                                          std::array{ages.row_results, ages.row_squares}, edges);
    }
    return directions;
  }

  void set_synchronised(bool synchronised) {
    const Turn turn(busy_);
    join_.set_synchronised(synchronised);
  }

  void reindex(std::size_t stream, const std::string& index, const std::string& merge) {
    const Turn turn(busy_);
    const IndexKind kind = index_kind(index);
    const MergeKind merging = merge_kind(merge);
    const py::gil_scoped_release release;
    const Thrift thrift(limit_.is_set());
    join_.reindex(checked_stream(stream), kind, merging);
  }

  [[nodiscard]] RowId first_needed(std::size_t stream) {
    const Turn turn(busy_);
    return join_.first_needed(checked_stream(stream));
  }

  [[nodiscard]] py::dict statistics() const {
    py::dict all;
    all["results"] = join_.results();
    all["held"] = join_.held();
    all["held_bytes"] = join_.held_bytes();
    all["bytes"] = join_.bytes();
    py::list streams;
    py::list directions;
    for (std::size_t stream = 0; stream < kSides; ++stream) {
      streams.append(counts_of(join_.side(stream), join_.side(stream).stage.waiting.size()));
      directions.append(counts_of(join_.direction(stream)));
    }
    all["streams"] = streams;
    all["directions"] = directions;
    return all;
  }

  [[nodiscard]] py::bytes snapshot() {
    const Turn turn(busy_);
    ByteWriter writer;
    {
      const py::gil_scoped_release release;
      join_.save(writer);
    }
    return writer.bytes();
  }

  void load(const py::bytes& bytes) {
    const Turn turn(busy_);
    const std::string_view body(bytes);
    const py::gil_scoped_release release;
    const Thrift thrift(limit_.is_set());
    ByteReader reader(body);
    join_.load(reader);
  }

 private:
  // A large batch of results leaves no large buffer behind.
  static void forget(UninitializedVector<RowId>& rows) {
    if (rows.capacity() > 4 * kMostCopied) {
      rows = {};
    } else {
      rows.clear();
    }
  }

  // The results, as arrays: both are there before either leaves its buffer.
  [[nodiscard]] py::tuple pairs() {
    const bool large = out_.left.size() > kMostCopied;
    py::tuple arrays = large ? py::make_tuple(to_array(std::exchange(out_.left, {})),
                                              to_array(std::exchange(out_.right, {})))
                             : py::make_tuple(copied(out_.left), copied(out_.right));
    forget(out_.left);
    forget(out_.right);
    return arrays;
  }

  [[nodiscard]] py::object late() {
    if (out_.late.empty()) return py::none();
    return to_array(std::exchange(out_.late, {}));
  }

  // One change, from its beginning to commit; anything thrown on the way, also by Python, takes it back. Results go to
  // out_, and stay there until they are handed over: if that fails, the next call gives them too.
  // limited: whether it must fit under the memory limit; what only lets rows go on need not.
  template <bool limited = false, class Begin>
  void run(const py::object& keep, Begin begin) {
    run<limited>(keep, begin, [] {});
  }
  // The same; `prepare` is called when all results are found, and may still call the change off by throwing.
  template <bool limited = false, class Begin, class Prepare>
  void run(const py::object& keep, Begin begin, Prepare prepare) {
    const bool filtered = !keep.is_none();
    const py::gil_scoped_release release;
    const Thrift thrift(limit_.is_set());
    begin();
    try {
      if (limited) limit_.check(join_);
      while (join_.probing()) {
        const std::size_t own_stream = join_.probing_stream();
        join_.probe(filtered ? kBlockCandidates : kBlockPairs, kBlockWork, found_);
        if (filtered && found_.size() > 0) filter(own_stream, keep, found_);
        join_.accept(own_stream, found_);
        if (join_.probing()) check_signals();
      }
      if (limited) limit_.check(join_);
      prepare();
    } catch (...) {
      join_.roll_back();
      if (limit_.is_set()) Limit::trim(join_);
      throw;
    }
    join_.commit(out_);
    forget(found_.own);
    forget(found_.other);
  }

  static void check_signals() {
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }

  // Leaves in `found` the pairs that the user's function keeps.
  void filter(std::size_t own_stream, const py::object& keep, Pairs& found) {
    UninitializedVector<RowId> own(found.size());
    UninitializedVector<RowId> other(found.size());
    join_.row_ids(own_stream, found.own, own.data());
    join_.row_ids(1 - own_stream, found.other, other.data());
    const py::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    auto own_ids = to_array(std::move(own));
    auto other_ids = to_array(std::move(other));
    const auto mask = own_stream == 0 ? verdicts(keep, own_ids, other_ids, found.size())
                                      : verdicts(keep, other_ids, own_ids, found.size());
    const auto kept_rows = mask.unchecked<1>();
    std::size_t kept = 0;
    for (std::size_t at = 0; at < found.size(); ++at) {
      if (!kept_rows(static_cast<py::ssize_t>(at))) continue;
      found.own[kept] = found.own[at];
      found.other[kept++] = found.other[at];
    }
    found.own.resize(kept);
    found.other.resize(kept);
  }

  TwoWayJoin join_;
  std::array<ArrowInbox, kSides> inboxes_;
  Pairs found_;
  Released out_;
  Limit limit_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace

void bind_join(py::module_& module) {
  module.def("release_memory", [] {
    const py::gil_scoped_release release;
    Limit::release();
  });
  py::class_<Join>(module, "Join")
      .def(py::init<std::vector<TermConfig>, std::array<StreamConfig, kSides>, const py::int_&,
                    const py::int_&, const std::string&, const std::string&, std::size_t, bool>(),
           py::arg("terms"), py::arg("streams"), py::kw_only(), py::arg("lower"), py::arg("upper"),
           py::arg("how") = "inner", py::arg("order") = "none", py::arg("threads") = std::size_t{1},
           py::arg("share_all") = false)
      .def("push", &Join::push, py::arg("stream"), py::arg("batch"), py::arg("keep") = py::none())
      .def("push_into", &Join::push_into, py::arg("stream"), py::arg("batch"), py::arg("keep"),
           py::arg("outbox"))
      .def("push_gathered", &Join::push_gathered, py::arg("stream"), py::arg("batch"),
           py::arg("batch_payload"), py::arg("own_payload"), py::arg("other_payload"), py::arg("outbox"))
      .def("push_in_order", &Join::push_in_order, py::arg("stream"), py::arg("batch"), py::arg("keep"),
           py::arg("outbox"), py::kw_only(), py::arg("samples"))
      .def("refill", &Join::refill, py::arg("stream"), py::arg("batch"))
      .def("advance", &Join::advance, py::arg("stream"), py::arg("to"), py::arg("keep") = py::none())
      .def("finish", &Join::finish, py::arg("keep") = py::none(), py::arg("stream") = py::none())
      .def("poll", &Join::poll, py::arg("keep") = py::none())
      .def("set_lateness", &Join::set_lateness, py::arg("stream"), py::arg("lateness"))
      .def("set_idle", &Join::set_idle, py::arg("stream"), py::arg("idle"))
      .def("holds", &Join::holds, py::arg("left"), py::arg("right"))
      .def("progress", &Join::progress)
      .def("set_room", &Join::set_room, py::arg("room"), py::kw_only(), py::arg("may_evict"))
      .def("evict", &Join::evict, py::arg("stream"), py::arg("rows"))
      .def("note_thinned", &Join::note_thinned, py::arg("stream"), py::arg("rows"), py::kw_only(),
           py::arg("kept"), py::arg("first"), py::arg("last"))
      .def("trim", &Join::trim)
      .def_property_readonly("comparisons", &Join::comparisons)
      .def_property_readonly("results", &Join::results)
      .def_property_readonly("memory_bytes", &Join::bytes)
      .def_property_readonly("waiting_bytes", &Join::waiting_bytes)
      .def("measure_ages", &Join::measure_ages)
      .def("ages", &Join::ages)
      .def("set_synchronised", &Join::set_synchronised, py::arg("synchronised"))
      .def("reindex", &Join::reindex, py::arg("stream"), py::kw_only(), py::arg("index"),
           py::arg("merge") = "auto")
      .def("first_needed", &Join::first_needed, py::arg("stream"))
      .def("statistics", &Join::statistics)
      .def("snapshot", &Join::snapshot)
      .def("load", &Join::load, py::arg("body"));
}

}  // namespace watersmeet::bindings
