#include "capi/queries.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "capi/columns.h"
#include "capi/guard.h"
#include "capi/handles.h"
#include "text/expression_text.h"

namespace eris::capi {
namespace {

// Reads a text that is given with one of text/'s functions.
template <class T, class Parse>
absl::Status ReadText(const char* member, const char* given, Parse parse, T& out) {
  if (given == nullptr) return absl::OkStatus();
  auto read = parse(given);
  if (!read.ok()) return Within(member, read.status());
  out = *std::move(read);
  return absl::OkStatus();
}

}  // namespace

absl::Status Within(const char* member, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(member, ": ", status.message()));
}

absl::StatusOr<std::optional<ValueRange>> ValuesFrom(const eris_value_range* values) {
  if (values == nullptr) return std::optional<ValueRange>();
  return std::optional<ValueRange>({values->lo, values->last});
}

absl::StatusOr<AggregateOptions> AggregateFrom(const eris_aggregate_options* given) {
  ERIS_ASSIGN_OR_RETURN(const eris_aggregate_options from, ReadSized("options", given));
  AggregateOptions options;
  ERIS_ASSIGN_OR_RETURN(options.range, RangeFrom(from.range));
  ERIS_ASSIGN_OR_RETURN(options.values, ValuesFrom(from.values));
  options.count_only = from.count_only != 0;
  if (from.snapshot != nullptr) options.snapshot = from.snapshot->snapshot;
  return options;
}

eris_aggregate_result AggregateOut(const RangeAggregate& from) {
  return {.struct_size = sizeof(eris_aggregate_result),
          .count = from.count,
          .min = from.min,
          .max = from.max,
          .sum_low = from.sum_low,
          .sum_high = from.sum_high,
          .first_key = from.first_key,
          .last_key = from.last_key,
          .first_second = from.first_second,
          .last_second = from.last_second};
}

absl::StatusOr<Query> QueryFrom(const eris_query* given) {
  ERIS_ASSIGN_OR_RETURN(const eris_query from, ReadSized("query", given));
  ERIS_RETURN_IF_ERROR(CheckNumber("backward", from.backward, 0, 1));
  Query to;
  ERIS_ASSIGN_OR_RETURN(to.range, RangeFrom(from.range));
  ERIS_ASSIGN_OR_RETURN(to.values, ValuesFrom(from.values));
  to.direction = from.backward != 0 ? ScanDirection::kBackward : ScanDirection::kForward;
  ERIS_RETURN_IF_ERROR(ReadText("filter", from.filter, text::ParseExpression, to.filter));
  ERIS_RETURN_IF_ERROR(ReadText("columns", from.columns, text::ParseColumns, to.columns));
  ERIS_RETURN_IF_ERROR(ReadText("group_by", from.group_by, text::ParseNames, to.group_by));
  ERIS_RETURN_IF_ERROR(
      ReadText("aggregates", from.aggregates, text::ParseAggregates, to.aggregates));
  if (from.share != nullptr) {
    to.share = TableShare{
        .aeu = AeuId{from.share->aeu}, .index = from.share->index, .count = from.share->count};
  }
  to.limit = from.limit;
  if (from.snapshot != nullptr) to.snapshot = from.snapshot->snapshot;
  if (from.resume_bytes > 0) {
    ERIS_RETURN_IF_ERROR(Need({{"resume", from.resume}}));
    ERIS_RETURN_IF_ERROR(
        CheckNumber("resume_bytes", static_cast<int64_t>(from.resume_bytes), 0, kResumeBytesMax));
    to.resume.assign(static_cast<const char*>(from.resume), from.resume_bytes);
  }
  return to;
}

}  // namespace eris::capi
