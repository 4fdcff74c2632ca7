#include "server/tables/table_messages.h"

#include <xxhash.h>

#include <limits>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/key_encoding.h"
#include "wire/keys.h"
#include "wire/tables.h"

namespace eris::server {
namespace {

// The first eight bytes of the keys that begin with that value.
absl::StatusOr<uint64_t> HeadFrom(absl::string_view name, const ColumnSchema& column,
                                  const v1::Key& key) {
  constexpr int kNarrowShift = 32;  // narrow values stand at the top of the word
  const auto refuse = [&](absl::string_view expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, " is ", wire::FieldOf(key), ", must be ", expected, ": the first key column \"",
        column.name, "\" is ", v1::ColumnType_Name(wire::ToProto(column.type))));
  };
  switch (column.type) {
    case ColumnType::kInt64:
    case ColumnType::kDecimal:
      if (!key.has_i64()) return refuse("i64");
      return KeyFromInt64(key.i64());
    case ColumnType::kInt32:
      if (!key.has_i64()) return refuse("i64");
      if (key.i64() < std::numeric_limits<int32_t>::min() ||
          key.i64() > std::numeric_limits<int32_t>::max()) {
        return absl::InvalidArgumentError(absl::StrCat(name, " is ", key.i64(), ", no INT32"));
      }
      return KeyFromDate(static_cast<int32_t>(key.i64())) << kNarrowShift;
    case ColumnType::kDate:
      if (!key.has_date32()) return refuse("date32");
      return KeyFromDate(key.date32()) << kNarrowShift;
    case ColumnType::kFloat64:
      if (!key.has_f64()) return refuse("f64");
      if (IsNan(key.f64())) return absl::InvalidArgumentError(absl::StrCat(name, " is NaN"));
      return KeyFromFloat64(key.f64());
    default:
      if (!key.has_u64()) return refuse("u64");
      return key.u64();
  }
}

}  // namespace

absl::StatusOr<TableOptions> TableOptionsFrom(const Schema& schema,
                                              const v1::CreateTableRequest& request) {
  TableOptions options;
  const bool has_range = request.has_expected_start() || request.has_expected_end();
  if (!has_range && request.split_keys().empty()) return options;
  if (!schema.clustered()) {
    return absl::InvalidArgumentError("expected bounds or split_keys of a table without a key");
  }
  if (has_range && !request.split_keys().empty()) {
    return absl::InvalidArgumentError("expected bounds and split_keys, must be one of them");
  }
  const ColumnSchema& first = schema.columns[schema.key[0]];
  if (request.has_expected_start()) {
    ERIS_ASSIGN_OR_RETURN(options.expected.lo,
                          HeadFrom("expected_start", first, request.expected_start()));
  }
  if (request.has_expected_end()) {
    ERIS_ASSIGN_OR_RETURN(options.expected.hi,
                          HeadFrom("expected_end", first, request.expected_end()));
  }
  for (const v1::Key& key : request.split_keys()) {
    const std::string name = absl::StrCat("split_keys[", options.split_points.size(), "]");
    ERIS_ASSIGN_OR_RETURN(options.split_points.emplace_back(), HeadFrom(name, first, key));
  }
  return options;
}

uint64_t QueryFingerprint(absl::string_view table, const v1::TableQuery& message) {
  v1::TableQuery query = message;
  query.clear_limit();
  // Made by this program both times, so equal queries are equal bytes.
  const std::string bytes = query.SerializeAsString();
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), XXH3_64bits(table.data(), table.size()));
}

}  // namespace eris::server
