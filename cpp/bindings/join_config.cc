// The configuration of the two-way joins by name: terms of a predicate, streams, and the choices among ways.
#include "join_config.h"

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "prelude.h"
#include "watersmeet/base/errors.h"

namespace watersmeet::bindings {
namespace {

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

}  // namespace

IndexKind index_kind(const std::string& name) {
  return named<IndexKind>({{"scan", IndexKind::kScan},
                           {"hash", IndexKind::kHash},
                           {"inverted", IndexKind::kInverted},
                           {"inverted-by-id", IndexKind::kInvertedById}},
                          name, "index");
}

MergeKind merge_kind(const std::string& name) {
  return named<MergeKind>({{"auto", MergeKind::kAuto},
                           {"heap", MergeKind::kHeap},
                           {"count", MergeKind::kCount},
                           {"bitmap", MergeKind::kBitmap}},
                          name, "merge");
}

How how_kind(const std::string& name) {
  return named<How>({{"inner", How::kInner},
                     {"left", How::kLeft},
                     {"right", How::kRight},
                     {"full", How::kFull},
                     {"semi", How::kSemi},
                     {"anti", How::kAnti}},
                    name, "how");
}

Order order_kind(const std::string& name) {
  return named<Order>(
      {{"none", Order::kNone}, {"sync-filter", Order::kSyncFilter}, {"filter-order", Order::kFilterOrder}},
      name, "order");
}

void bind_join_config(py::module_& module) {
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
}

}  // namespace watersmeet::bindings
