#include "engine/reads/query_checks.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "engine/objects/object_kinds.h"
#include "engine/reads/resume_token.h"
#include "storage/key.h"

namespace eris::engine {
namespace {

absl::Status CheckDirection(ScanDirection direction) {
  if (direction == ScanDirection::kForward || direction == ScanDirection::kBackward) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("scan direction ", static_cast<int>(direction), " is neither 0 nor 1"));
}

// "a, b": the names of the first `count` columns.
std::string NamesText(const Schema& schema, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", schema.columns[i].name);
  }
  return text;
}

// How many of the index's columns are returned: all, or the key columns, which are first.
absl::StatusOr<size_t> ColumnsOf(const ObjectEntry& index, const Query& query) {
  const auto& columns = index.schema.columns;
  if (query.columns.empty()) return columns.size();
  const size_t keys = index.schema.key.size();
  for (const NamedExpression& asked : query.columns) {
    const size_t arguments = asked.expression.arguments.size();
    if (asked.expression.kind != Expression::Kind::kColumn || arguments == 0) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("column \"", asked.expression.column, "\" of the query has ", arguments,
                     arguments == 1 ? " argument" : " arguments", ", a column takes none"));
  }
  bool fits = query.columns.size() == columns.size() || query.columns.size() == keys;
  for (size_t i = 0; i < query.columns.size() && fits; ++i) {
    const NamedExpression& asked = query.columns[i];
    fits = asked.expression.kind == Expression::Kind::kColumn &&
           asked.expression.column == columns[i].name &&
           (asked.name.empty() || asked.name == columns[i].name);
  }
  if (fits) return query.columns.size();
  return absl::InvalidArgumentError(
      absl::StrCat("a scan of index \"", index.name, "\" hands out its columns as they are, all (",
                   NamesText(index.schema, columns.size()), ") or those of the key (",
                   NamesText(index.schema, keys), ")"));
}

absl::Status CheckIndexQuery(const ObjectEntry& index, const Query& query) {
  const char* const what = query.filter                ? "a filter"
                           : !query.aggregates.empty() ? "aggregates"
                           : !query.group_by.empty()   ? "groups"
                           : query.share               ? "a share of a table"
                                                       : nullptr;
  if (what == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the query has ", what, ", which are of tables; \"", index.name, "\" is an index"));
}

std::string TypeText(const ColumnSchema& column) {
  const bool scaled = column.type == ColumnType::kDecimal ||
                      (column.type == ColumnType::kInt128 && column.scale > 0);
  return absl::StrCat(ColumnTypeName(column.type),
                      scaled ? absl::StrCat("(", uint32_t{column.scale}, ")") : "");
}

// For example "a int64, b decimal(2)".
std::string ColumnsText(const std::vector<ColumnSchema>& columns) {
  constexpr size_t kShownMax = 16;
  std::string text;
  for (size_t i = 0; i < std::min(columns.size(), kShownMax); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", columns[i].name, " ", TypeText(columns[i]));
  }
  if (columns.size() > kShownMax) text += ", ...";
  return text;
}

absl::Status CheckIndexTarget(const Schema& result, const ObjectEntry& target) {
  ERIS_RETURN_IF_ERROR(CheckU64Values(target));
  ERIS_RETURN_IF_ERROR(CheckOnePart(target, "be the target of a scan"));
  const auto is_u64 = [](const ColumnSchema& column) { return column.type == ColumnType::kUint64; };
  if (target.key_types.first == ColumnType::kUint64 && result.columns.size() == 2 &&
      std::all_of(result.columns.begin(), result.columns.end(), is_u64)) {
    return absl::OkStatus();
  }
  if (target.key_types.first != ColumnType::kUint64) {
    return absl::FailedPreconditionError(absl::StrCat(
        "keys of object \"", target.name, "\" are ", ColumnTypeName(target.key_types.first),
        ": only an index or a hash of uint64 keys can be the target of a scan"));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("object \"", target.name, "\" takes two columns of uint64, key and value; ",
                   "the scan hands out ", ColumnsText(result.columns)));
}

}  // namespace

absl::Status CheckRange(absl::string_view what, const KeyRange& range) {
  if (!range.hi && range.hi_second != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " without hi: hi_second is ", range.hi_second, ", must be 0"));
  }
  if (!range.Inverted()) return absl::OkStatus();
  if (*range.hi != range.lo) {
    return absl::InvalidArgumentError(
        absl::StrCat("inverted ", what, ": hi ", *range.hi, " is below lo ", range.lo));
  }
  return absl::InvalidArgumentError(absl::StrCat("inverted ", what, ": lo and hi are both ",
                                                 range.lo, ", hi_second ", range.hi_second,
                                                 " is below lo_second ", range.lo_second));
}

absl::Status CheckRangeParts(const ObjectEntry& object, const KeyRange& range) {
  if (object.key_types.two_parts() || (range.lo_second == 0 && range.hi_second == 0)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "keys of object \"", object.name, "\" have one part, the range has second parts: lo_second ",
      range.lo_second, ", hi_second ", range.hi_second));
}

absl::Status CheckValues(const std::optional<ValueRange>& values) {
  if (!values || !values->Inverted()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("inverted range of values: last ", values->last, " is below lo ", values->lo));
}

absl::Status CheckU64Values(const ObjectEntry& object) {
  if (object.value_type == ColumnType::kUint64) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("values of object \"", object.name,
                                                    "\" are byte strings, this call is for u64"));
}

absl::StatusOr<ScanState::Request> IndexRequestOf(ObjectRef object, const Query& query) {
  ERIS_RETURN_IF_ERROR(CheckRange("range", query.range));
  ERIS_RETURN_IF_ERROR(CheckValues(query.values));
  ERIS_RETURN_IF_ERROR(CheckDirection(query.direction));
  ERIS_RETURN_IF_ERROR(CheckKeyOrder(*object, "be scanned"));
  ERIS_RETURN_IF_ERROR(CheckRangeParts(*object, query.range));
  ERIS_RETURN_IF_ERROR(CheckIndexQuery(*object, query));
  if (query.values) ERIS_RETURN_IF_ERROR(CheckU64Values(*object));
  ERIS_ASSIGN_OR_RETURN(const size_t columns, ColumnsOf(*object, query));
  ScanState::Request request{
      .object = std::move(object),
      .schema = {},
      .range = query.range,
      .query = {.direction = query.direction, .values = query.values.value_or(ValueRange{})},
      .limit = query.limit,
      .snapshot = query.snapshot,
      .fingerprint = FingerprintOf(query)};
  request.schema = request.object->schema;
  request.query.keys_only = columns < request.schema.columns.size();
  request.schema.columns.resize(columns);
  if (query.resume.empty()) return request;
  ERIS_ASSIGN_OR_RETURN(const IndexResume resume, IndexResumeFrom(query.resume));
  const storage::Range whole = storage::Range::FromPublic(query.range);
  const storage::Range rest = storage::Range::FromPublic(resume.rest);
  const bool inside = whole.lo <= rest.lo && (!whole.hi || (rest.hi && *rest.hi <= *whole.hi));
  if (resume.object != request.object->route.object() || resume.query != request.fingerprint ||
      !inside || !CheckRangeParts(*request.object, resume.rest).ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the resume token is not one of this query of index \"", request.object->name, "\""));
  }
  request.range = resume.rest;
  return request;
}

absl::Status CheckTableQuery(const ObjectEntry& table, const Query& query) {
  const char* const what = query.range != KeyRange{}                    ? "a range of keys"
                           : query.direction != ScanDirection::kForward ? "a direction"
                           : query.values                               ? "a range of values"
                                                                        : nullptr;
  if (what == nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the query has ", what, ", which is of indexes; \"", table.name, "\" is a table"));
}

absl::Status CheckShare(const Query& query, uint32_t aeus) {
  if (!query.share) return absl::OkStatus();
  const TableShare& share = *query.share;
  if (share.aeu.value >= aeus) {
    return absl::InvalidArgumentError(
        absl::StrCat("a share of AEU ", share.aeu.value, ", the engine has ", aeus));
  }
  if (share.count == 0 || share.count > kTableSharesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a share of ", share.count, " parts, must be between 1 and ", kTableSharesMax));
  }
  if (share.index >= share.count) {
    return absl::InvalidArgumentError(absl::StrCat("a share's index is ", share.index,
                                                   ", must be below its count, ", share.count));
  }
  if (query.snapshot != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "a share of a table needs a snapshot: rows move from AEU to AEU, and only as of one moment "
      "do all shares together have each of them once");
}

absl::Status CheckTarget(const Schema& result, const ObjectEntry& target) {
  if (!target.is_table()) return CheckIndexTarget(result, target);
  const storage::TableLayout& layout = *target.layout;
  if (layout.columns() != result.columns.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("table \"", target.name, "\" has ", layout.columns(), " columns, ",
                     ColumnsText(layout.schema().columns), "; the scan hands out ",
                     result.columns.size(), ", ", ColumnsText(result.columns)));
  }
  for (uint32_t i = 0; i < layout.columns(); ++i) {
    const ColumnSchema& from = result.columns[i];
    const ColumnSchema& to = layout.column(i);
    if (from.type == to.type && from.scale == to.scale) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "column ", i + 1, " of the scan, \"", from.name, "\", is ", TypeText(from), "; column ",
        i + 1, " of table \"", target.name, "\", \"", to.name, "\", is ", TypeText(to)));
  }
  return absl::OkStatus();
}

}  // namespace eris::engine
