// The two-way join: configuration by name, batches by Arrow's C data interface, results as arrays of row
// numbers.
#include <atomic>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "prelude.h"
#include "watersmeet/base/errors.h"
#include "watersmeet/join/two_way_join.h"

namespace watersmeet::bindings {
namespace {

// Results between two looks at Python's signals, and candidates per call of a user's function.
constexpr std::size_t kBlockPairs = std::size_t{1} << 22;
constexpr std::size_t kBlockCandidates = std::size_t{1} << 16;
constexpr std::uint64_t kBlockWork = std::uint64_t{1} << 26;

template <class Value>
[[nodiscard]] Value named(const std::map<std::string_view, Value>& values, const std::string& name,
                          const char* argument) {
  const auto found = values.find(name);
  if (found == values.end()) throw ConfigError(std::string(argument) + "='" + name + "' is unknown");
  return found->second;
}

[[nodiscard]] TermKind term_kind(const std::string& name) {
  return named<TermKind>({{"equal", TermKind::kEqual},
                          {"band", TermKind::kBand},
                          {"distance", TermKind::kDistance},
                          {"compiled", TermKind::kCompiled},
                          {"overlap", TermKind::kOverlap},
                          {"subset", TermKind::kSubset},
                          {"superset", TermKind::kSuperset},
                          {"same_set", TermKind::kSameSet},
                          {"jaccard", TermKind::kJaccard},
                          {"dot", TermKind::kDot},
                          {"cosine", TermKind::kCosine}},
                         name, "kind");
}

[[nodiscard]] Coding coding(const std::string& name) {
  return named<Coding>({{"word", Coding::kWord},
                        {"real", Coding::kReal},
                        {"bytes", Coding::kBytes},
                        {"composite", Coding::kComposite}},
                       name, "coding");
}

[[nodiscard]] Metric metric_kind(const std::string& name) {
  return named<Metric>({{"mean-abs", Metric::kMeanAbs},
                        {"l2", Metric::kL2},
                        {"cosine", Metric::kCosine},
                        {"hamming", Metric::kHamming}},
                       name, "metric");
}

[[nodiscard]] Element element_kind(const std::string& name) {
  return named<Element>({{"byte", Element::kByte},
                         {"float", Element::kFloat},
                         {"real", Element::kReal},
                         {"word", Element::kWord}},
                        name, "element");
}

[[nodiscard]] IndexKind index_kind(const std::string& name) {
  return named<IndexKind>({{"scan", IndexKind::kScan},
                           {"hash", IndexKind::kHash},
                           {"inverted", IndexKind::kInverted},
                           {"inverted-by-id", IndexKind::kInvertedById}},
                          name, "index");
}

[[nodiscard]] MergeKind merge_kind(const std::string& name) {
  return named<MergeKind>({{"auto", MergeKind::kAuto},
                           {"heap", MergeKind::kHeap},
                           {"count", MergeKind::kCount},
                           {"bitmap", MergeKind::kBitmap}},
                          name, "merge");
}

[[nodiscard]] How how_kind(const std::string& name) {
  return named<How>({{"inner", How::kInner},
                     {"left", How::kLeft},
                     {"right", How::kRight},
                     {"full", How::kFull},
                     {"semi", How::kSemi},
                     {"anti", How::kAnti}},
                    name, "how");
}

[[nodiscard]] Order order_kind(const std::string& name) {
  return named<Order>(
      {{"none", Order::kNone}, {"sync-filter", Order::kSyncFilter}, {"filter-order", Order::kFilterOrder}},
      name, "order");
}

// Bounds of time may exceed 64 bits; beyond 2^66 nothing is left to tell apart.
[[nodiscard]] Wide to_wide(const py::int_& value) {
  const py::object high = value.attr("__rshift__")(64);
  const py::object low = value.attr("__and__")(py::int_(UINT64_MAX));
  int overflow = 0;
  const long long top = PyLong_AsLongLongAndOverflow(high.ptr(), &overflow);
  const std::int64_t held = overflow != 0 ? (overflow > 0 ? 4 : -4) : std::clamp<std::int64_t>(top, -4, 4);
  return (Wide{held} << 64) + Wide{low.cast<std::uint64_t>()};
}

[[nodiscard]] TermConfig make_term(const std::string& kind, const std::string& code,
                                   std::array<std::size_t, kSides> columns, std::string label,
                                   double at_least, std::uint64_t within_integer, double within_real,
                                   const std::string& metric, double at_most, const std::string& element,
                                   std::size_t width,
                                   const std::tuple<std::uintptr_t, std::uintptr_t, bool>& function) {
  TermConfig config;
  config.term.kind = term_kind(kind);
  config.term.at_least = at_least;
  config.term.within_integer = within_integer;
  config.term.within_real = within_real;
  config.coding = coding(code);
  config.term.real = config.term.kind == TermKind::kBand && config.coding == Coding::kReal;
  config.term.metric = metric_kind(metric);
  config.term.at_most = at_most;
  config.term.element = element_kind(element);
  config.term.width = width;
  config.term.function = reinterpret_cast<CompiledTest>(std::get<0>(function));
  config.term.user_data = reinterpret_cast<void*>(std::get<1>(function));
  config.term.swapped = std::get<2>(function);
  if (config.term.kind == TermKind::kCompiled && config.term.function == nullptr) {
    throw ConfigError("function: expected the address of a function");
  }
  config.columns = columns;
  config.label = std::move(label);
  return config;
}

// One caller at a time, and none from within a user's function: the Python side guards, this makes sure.
class Turn {
 public:
  explicit Turn(std::atomic_flag& busy) : busy_(busy) {
    if (busy_.test_and_set()) throw ConfigError("this join is in the middle of another call");
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { busy_.clear(); }

 private:
  std::atomic_flag& busy_;
};

class Join {
 public:
  Join(std::vector<TermConfig> terms, std::array<StreamConfig, kSides> streams, const py::int_& lower,
       const py::int_& upper, const std::string& how, const std::string& order, std::size_t threads,
       bool share_all)
      : join_({std::move(terms), std::move(streams), to_wide(lower), to_wide(upper), how_kind(how),
               order_kind(order), threads, share_all}) {}

  py::tuple push(std::size_t stream, const py::object& batch, const py::object& keep) {
    const Turn turn(busy_);
    const py::tuple capsules = batch.attr("__arrow_c_array__")();
    const auto* schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsules[0].ptr(), "arrow_schema"));
    const auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules[1].ptr(), "arrow_array"));
    if (schema == nullptr || array == nullptr) throw py::error_already_set();
    Released out = run(keep, [&] { join_.begin_push(checked(stream), *schema, *array); });
    return py::make_tuple(to_array(std::move(out.left)), to_array(std::move(out.right)),
                          to_array(std::move(out.late)));
  }

  // Takes rows whose results are known already: they enter their window and look for nobody.
  void refill(std::size_t stream, const py::object& batch) {
    const Turn turn(busy_);
    const py::tuple capsules = batch.attr("__arrow_c_array__")();
    const auto* schema = static_cast<ArrowSchema*>(PyCapsule_GetPointer(capsules[0].ptr(), "arrow_schema"));
    const auto* array = static_cast<ArrowArray*>(PyCapsule_GetPointer(capsules[1].ptr(), "arrow_array"));
    if (schema == nullptr || array == nullptr) throw py::error_already_set();
    if (join_.config().how != How::kInner) {
      throw ConfigError("refill: whether a row has a partner is only known by looking; expected how='inner'");
    }
    Released nothing;
    const py::gil_scoped_release release;
    join_.begin_push(checked(stream), *schema, *array);
    join_.commit(nothing);
  }

  py::tuple advance(std::size_t stream, Timestamp to, const py::object& keep) {
    const Turn turn(busy_);
    return pairs(run(keep, [&] { join_.begin_advance(checked(stream), to); }));
  }

  py::tuple finish(const py::object& keep) {
    const Turn turn(busy_);
    return pairs(run(keep, [&] { join_.begin_finish(); }));
  }

  py::tuple poll(const py::object& keep) {
    const Turn turn(busy_);
    return pairs(run(keep, [&] { join_.begin_poll(); }));
  }

  void set_lateness(std::size_t stream, Duration lateness) {
    const Turn turn(busy_);
    if (!join_.config().streams[checked(stream)].lateness.has_value() || lateness < 0) {
      throw ConfigError("lateness=" + std::to_string(lateness) +
                        ": expected 0 or more, and a stream that has one");
    }
    join_.set_lateness(stream, lateness);
  }

  void set_idle(std::size_t stream, bool idle) {
    const Turn turn(busy_);
    join_.set_idle(checked(stream), idle);
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

  void set_synchronised(bool synchronised) {
    const Turn turn(busy_);
    join_.set_synchronised(synchronised);
  }

  void reindex(std::size_t stream, const std::string& index, const std::string& merge) {
    const Turn turn(busy_);
    const IndexKind kind = index_kind(index);
    const MergeKind merging = merge_kind(merge);
    const py::gil_scoped_release release;
    join_.reindex(checked(stream), kind, merging);
  }

  [[nodiscard]] RowId first_needed(std::size_t stream) {
    const Turn turn(busy_);
    return join_.first_needed(checked(stream));
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
      streams.append(stream_statistics(stream));
      directions.append(direction_statistics(stream));
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
    ByteReader reader(body);
    join_.load(reader);
  }

 private:
  [[nodiscard]] static std::size_t checked(std::size_t stream) {
    if (stream >= kSides) throw ConfigError("stream=" + std::to_string(stream) + ": expected 0 or 1");
    return stream;
  }

  static py::tuple pairs(Released out) {
    return py::make_tuple(to_array(std::move(out.left)), to_array(std::move(out.right)));
  }

  // One change, from its beginning to commit; anything thrown on the way, also by Python, takes it back.
  template <class Begin>
  Released run(const py::object& keep, Begin begin) {
    const bool filtered = !keep.is_none();
    Released out;
    py::gil_scoped_release release;
    begin();
    try {
      Pairs found;
      while (join_.probing()) {
        const std::size_t own_stream = join_.probing_stream();
        join_.probe(filtered ? kBlockCandidates : kBlockPairs, kBlockWork, found);
        if (filtered && found.size() > 0) filter(own_stream, keep, found);
        join_.accept(own_stream, found);
        if (join_.probing()) check_signals();
      }
    } catch (...) {
      join_.roll_back();
      throw;
    }
    join_.commit(out);
    return out;
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
    const py::object verdict = own_stream == 0 ? keep(own_ids, other_ids) : keep(other_ids, own_ids);
    const auto mask = verdict.cast<py::array_t<bool>>();
    if (mask.ndim() != 1 || static_cast<std::size_t>(mask.size()) != found.size()) {
      throw SchemaError("keep: expected one boolean per candidate");
    }
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

  [[nodiscard]] py::dict stream_statistics(std::size_t stream) const {
    const Side& side = join_.side(stream);
    py::dict counts;
    counts["rows"] = side.counts.rows;
    counts["bad_rows"] = side.counts.bad_rows;
    counts["late_rows"] = side.counts.late_rows;
    counts["window_rows"] = side.window.size();
    counts["window_bytes"] = side.bytes();
    counts["expired_rows"] = side.counts.expired_rows;
    counts["pending_rows"] = side.stage.waiting.size();
    counts["watermark"] = side.watermark == kMinTimestamp ? py::object(py::none()) : py::int_(side.watermark);
    return counts;
  }

  [[nodiscard]] py::dict direction_statistics(std::size_t stream) const {
    const DirectionCounts& direction = join_.direction(stream);
    py::dict counts;
    counts["probes"] = direction.work.probes;
    counts["comparisons"] = direction.work.comparisons;
    counts["postings"] = direction.work.postings;
    counts["lookups"] = direction.work.lookups;
    counts["due"] = direction.due;
    counts["done"] = direction.done;
    counts["shed"] = direction.due - direction.done;
    return counts;
  }

  TwoWayJoin join_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace

void bind_join(py::module_& module) {
  py::class_<TermConfig>(module, "Term")
      .def(py::init(&make_term), py::arg("kind"), py::kw_only(), py::arg("coding"), py::arg("columns"),
           py::arg("label"), py::arg("at_least") = 0.0, py::arg("within_integer") = std::uint64_t{0},
           py::arg("within_real") = 0.0, py::arg("metric") = "mean-abs", py::arg("at_most") = 0.0,
           py::arg("element") = "byte", py::arg("width") = std::size_t{0},
           py::arg("function") = std::tuple<std::uintptr_t, std::uintptr_t, bool>{0, 0, false});
  py::class_<StreamConfig>(module, "StreamConfig")
      .def(py::init([](std::string name, std::string time_column, std::int64_t time_multiplier,
                       std::optional<std::uint64_t> window_rows, std::optional<Duration> freshness,
                       Duration basic_span, std::optional<Duration> lateness, bool raise_late,
                       const std::string& index, const std::string& merge, bool lazy_expiry) {
             return StreamConfig{std::move(name),   std::move(time_column),
                                 time_multiplier,   window_rows,
                                 freshness,         basic_span,
                                 lateness,          raise_late,
                                 index_kind(index), merge_kind(merge),
                                 lazy_expiry};
           }),
           py::arg("name"), py::kw_only(), py::arg("time_column"),
           py::arg("time_multiplier") = std::int64_t{1}, py::arg("window_rows") = py::none(),
           py::arg("freshness") = py::none(), py::arg("basic_span") = Duration{0},
           py::arg("lateness") = py::none(), py::arg("raise_late") = false, py::arg("index") = "scan",
           py::arg("merge") = "auto", py::arg("lazy_expiry") = false);
  py::class_<Join>(module, "Join")
      .def(py::init<std::vector<TermConfig>, std::array<StreamConfig, kSides>, const py::int_&,
                    const py::int_&, const std::string&, const std::string&, std::size_t, bool>(),
           py::arg("terms"), py::arg("streams"), py::kw_only(), py::arg("lower"), py::arg("upper"),
           py::arg("how") = "inner", py::arg("order") = "none", py::arg("threads") = std::size_t{1},
           py::arg("share_all") = false)
      .def("push", &Join::push, py::arg("stream"), py::arg("batch"), py::arg("keep") = py::none())
      .def("refill", &Join::refill, py::arg("stream"), py::arg("batch"))
      .def("advance", &Join::advance, py::arg("stream"), py::arg("to"), py::arg("keep") = py::none())
      .def("finish", &Join::finish, py::arg("keep") = py::none())
      .def("poll", &Join::poll, py::arg("keep") = py::none())
      .def("set_lateness", &Join::set_lateness, py::arg("stream"), py::arg("lateness"))
      .def("set_idle", &Join::set_idle, py::arg("stream"), py::arg("idle"))
      .def("holds", &Join::holds, py::arg("left"), py::arg("right"))
      .def("progress", &Join::progress)
      .def("set_synchronised", &Join::set_synchronised, py::arg("synchronised"))
      .def("reindex", &Join::reindex, py::arg("stream"), py::kw_only(), py::arg("index"),
           py::arg("merge") = "auto")
      .def("first_needed", &Join::first_needed, py::arg("stream"))
      .def("statistics", &Join::statistics)
      .def("snapshot", &Join::snapshot)
      .def("load", &Join::load, py::arg("body"));
}

}  // namespace watersmeet::bindings
