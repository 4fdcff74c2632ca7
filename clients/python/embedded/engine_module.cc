// The module eris_embedded._engine: names of the engine for Python. The package eris checks and
// converts what users give (clients/python/eris/columns.py); here arrays have the columns' types
// already.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "clients/python/embedded/columns.h"
#include "clients/python/embedded/python_engine.h"
#include "clients/python/embedded/status_error.h"
#include "eris/expression.h"
#include "text/expression_text.h"

namespace eris::python {
namespace {

using namespace nb::literals;  // NOLINT: names of arguments

using Bound = std::optional<nb::tuple>;
using Values = std::optional<std::pair<uint64_t, uint64_t>>;

ObjectKind KindNamed(const std::string& name) {
  if (name == "index") return ObjectKind::kIndex;
  if (name == "hash") return ObjectKind::kHash;
  if (name == "table") return ObjectKind::kTable;
  if (name == "heap table") return ObjectKind::kHeapTable;
  throw StatusError(absl::InvalidArgumentError("kinds are index, hash, table and heap table"));
}

void Create(PythonEngine& engine, const std::string& name, const std::string& kind,
            const nb::list& columns, std::vector<uint32_t> key, const Bound& lo, const Bound& hi,
            const nb::list& split, std::string beside) {
  CreateOptions options{.kind = KindNamed(kind)};
  options.schema = {.columns = SchemaIn(columns), .key = std::move(key)};
  for (const uint32_t column : options.schema.key) {
    if (column >= options.schema.columns.size()) throw nb::index_error();
  }
  const std::vector<ColumnSchema> parts = KeyOf(options.schema);
  const bool table = options.kind == ObjectKind::kTable;
  options.expected = RangeFrom(parts, lo, hi, table);
  for (const nb::handle point : split) {
    uint64_t second = 0;
    ReadBound(parts, nb::cast<nb::tuple>(point), table, options.split_points.emplace_back(),
              second);
  }
  options.beside = std::move(beside);
  engine.Create(name, options);
}

std::optional<Expression> FilterFrom(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  absl::StatusOr<Expression> filter = text::ParseExpression(*text);
  if (filter.ok()) return *std::move(filter);
  throw StatusError(
      absl::Status(filter.status().code(), absl::StrCat("filter: ", filter.status().message())));
}

std::optional<ValueRange> ValuesFrom(const Values& values) {
  if (!values) return std::nullopt;
  return ValueRange{values->first, values->second};
}

std::unique_ptr<Stream> OpenScan(PythonEngine& engine, const HeldObject& object,
                                 const std::vector<std::string>& columns, const Bound& lo,
                                 const Bound& hi, const Values& values, bool backward,
                                 const std::optional<std::string>& filter, uint64_t limit,
                                 const HeldSnapshot* snapshot) {
  Query query{.direction = backward ? ScanDirection::kBackward : ScanDirection::kForward,
              .values = ValuesFrom(values),
              .limit = limit};
  if (object.object.kind() == ObjectKind::kIndex) {
    query.range = RangeFrom(KeyOf(object.object.schema()), lo, hi);
  }
  query.filter = FilterFrom(filter);
  for (const std::string& name : columns) {
    query.columns.push_back({expressions::Column(name), name});
  }
  if (snapshot != nullptr) {
    query.snapshot = snapshot->snapshot;
    if (query.snapshot == nullptr) {
      throw StatusError(absl::FailedPreconditionError("the snapshot has been released"));
    }
  }
  return engine.OpenScan(object, std::move(query));
}

// Rows of a table.
uint64_t Count(PythonEngine& engine, const HeldObject& object,
               const std::optional<std::string>& filter) {
  Query query;
  query.filter = FilterFrom(filter);
  query.aggregates = {{.function = AggregateFunction::kCount, .name = "count"}};
  const std::unique_ptr<Stream> stream = engine.OpenScan(object, std::move(query));
  const std::unique_ptr<Rows> rows = stream->Next();
  return rows->Uint64(0);
}

// (count, min, max, sum, first key, last key); but for the count None without a row, or if only the
// count is wanted.
nb::tuple Aggregate(PythonEngine& engine, const HeldObject& object, const Bound& lo,
                    const Bound& hi, const Values& values, bool count_only) {
  const std::vector<ColumnSchema> key = KeyOf(object.object.schema());
  const RangeAggregate got = engine.Aggregate(
      object,
      {.range = RangeFrom(key, lo, hi), .values = ValuesFrom(values), .count_only = count_only});
  if (got.count == 0 || count_only) {
    return nb::make_tuple(got.count, nb::none(), nb::none(), nb::none(), nb::none(), nb::none());
  }
  const auto parts = [&](uint64_t first, uint64_t second) {
    if (key.size() == 1) return nb::make_tuple(KeyPart(key[0].type, first));
    return nb::make_tuple(KeyPart(key[0].type, first), KeyPart(key[1].type, second));
  };
  const nb::object high = nb::cast(got.sum_high) * nb::cast(uint64_t{1} << 63) * nb::cast(2);
  return nb::make_tuple(got.count, got.min, got.max, high + nb::cast(got.sum_low),
                        parts(got.first_key, got.first_second),
                        parts(got.last_key, got.last_second));
}

nb::object BytesOf(std::string BatchResult::*bits, nb::handle answer) {
  return BytesOut(nb::cast<Answer&>(answer).result.*bits, answer);
}

nb::tuple AnswerColumn(nb::handle self, size_t i) {
  const auto& answer = nb::cast<const Answer&>(self);
  if (i >= answer.result.columns.size() || i >= answer.types.size()) throw nb::index_error();
  const ColumnBuffers& from = answer.result.columns[i];
  const ColumnView view{.values = from.values.data(),
                        .offsets = reinterpret_cast<const uint32_t*>(from.offsets.data())};
  return ColumnOut(answer.types[i], view, answer.result.count, self);
}

void BindAnswers(nb::module_& m) {
  nb::class_<HeldObject>(m, "Object", "An object that is open.")
      .def_prop_ro("id", [](const HeldObject& its) { return its.object.id().value; });
  nb::class_<Answer>(m, "Answer", "Of a lookup or a write. Arrays are views of it.")
      .def_prop_ro("code", [](const Answer& its) { return its.result.status.raw_code(); })
      .def_prop_ro("message",
                   [](const Answer& its) { return std::string(its.result.status.message()); })
      .def_prop_ro("refused", [](const Answer& its) { return its.result.refused; })
      .def_prop_ro("existed", [](nb::handle its) { return BytesOf(&BatchResult::existed, its); })
      .def_prop_ro("applied", [](nb::handle its) { return BytesOf(&BatchResult::applied, its); })
      .def_prop_ro("executed", [](nb::handle its) { return BytesOf(&BatchResult::executed, its); })
      .def("column", &AnswerColumn, "index"_a, "(values, offsets or None).");
}

void BindReads(nb::module_& m) {
  nb::class_<HeldSnapshot>(m, "Snapshot", "One moment of all objects.")
      .def("release", [](HeldSnapshot& its) {
        // Taken with the GIL, since another thread may be about to use it; ended without.
        auto engine = std::move(its.engine);
        auto snapshot = std::move(its.snapshot);
        nb::gil_scoped_release release;
        snapshot.reset();
        engine.reset();
      });
  nb::class_<Rows>(m, "Rows", "Some rows of a scan. Arrays are views of it.")
      .def("__len__", &Rows::rows)
      .def_prop_ro("columns", &Rows::columns)
      .def(
          "column",
          [](nb::handle self, size_t i) { return nb::cast<const Rows&>(self).Column(i, self); },
          "index"_a, "(values, offsets or None).");
  nb::class_<Stream>(m, "Stream", "A scan under way.")
      .def("next", &Stream::Next, "The next rows; None at the end.")
      .def(
          "__arrow_c_stream__", [](Stream& its, const nb::object&) { return its.ArrowStream(); },
          "requested_schema"_a = nb::none());
}

}  // namespace

NB_MODULE(_engine, m) {
  TranslateStatusErrors();
  BindAnswers(m);
  BindReads(m);
  nb::class_<PythonEngine>(m, "Engine", "An engine in this process.")
      .def(
          "__init__",
          [](PythonEngine* self, uint64_t memory_limit_bytes, uint32_t aeus,
             std::vector<uint32_t> cpus, std::string topology) {
            Options options;
            options.memory_limit_bytes = memory_limit_bytes;
            options.aeu_count = aeus;
            options.aeu_cpus = std::move(cpus);
            options.topology = std::move(topology);
            new (self) PythonEngine(options);
          },
          "memory_limit_bytes"_a = 0, "aeus"_a = 0, "cpus"_a = std::vector<uint32_t>{},
          "topology"_a = "")
      .def("close", &PythonEngine::Close)
      .def("create", &Create, "name"_a, "kind"_a, "columns"_a, "key"_a, "lo"_a.none(),
           "hi"_a.none(), "split"_a, "beside"_a)
      .def("drop", &PythonEngine::Drop, "name"_a)
      .def("describe", &PythonEngine::Describe, "name"_a)
      .def("list", &PythonEngine::List)
      .def("open", &PythonEngine::Open, "name"_a)
      .def("lookup", &PythonEngine::Lookup, "object"_a, "keys"_a)
      .def("write", &PythonEngine::Write, "object"_a, "mode"_a, "columns"_a, "expected"_a)
      .def("scan", &OpenScan, "object"_a, "columns"_a, "lo"_a.none(), "hi"_a.none(),
           "values"_a.none(), "backward"_a, "filter"_a.none(), "limit"_a, "snapshot"_a.none())
      .def("count", &Count, "object"_a, "filter"_a.none())
      .def("aggregate", &Aggregate, "object"_a, "lo"_a.none(), "hi"_a.none(), "values"_a.none(),
           "count_only"_a)
      .def("snapshot", &PythonEngine::TakeSnapshot);
}

}  // namespace eris::python
