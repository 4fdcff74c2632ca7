#include "clients/cli/files/schema_text.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "clients/cli/files/tpch_tables.h"
#include "clients/cli/text/parse.h"
#include "eris/key_text.h"
#include "text/expression_text.h"
#include "text/type_name.h"

namespace eris::cli {
namespace {

// "int32, int64, decimal(SCALE), ...".
std::string TypesText() {
  return absl::StrJoin(kColumnTypes, ", ", [](std::string* out, ColumnType type) {
    absl::StrAppend(out, ColumnTypeName(type), type == ColumnType::kDecimal ? "(SCALE)" : "");
  });
}

absl::StatusOr<ColumnSchema> ParseColumn(absl::string_view text) {
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat(
        "column '", text, "' of the schema: ", why, "; expected NAME:TYPE with a type of ",
        TypesText(), ", and ? behind it if there are nulls"));
  };
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return refuse("has no ':'");
  ColumnSchema column;
  column.name = std::string(absl::StripAsciiWhitespace(text.substr(0, colon)));
  if (column.name.empty()) return refuse("has no name");
  absl::string_view type = absl::StripAsciiWhitespace(text.substr(colon + 1));
  column.nullable = absl::ConsumeSuffix(&type, "?");
  std::optional<uint64_t> scale;
  if (const size_t open = type.find('('); open != type.npos && absl::EndsWith(type, ")")) {
    uint64_t number = 0;
    if (!ParseU64(type.substr(open + 1, type.size() - open - 2), number) ||
        number > kDecimalScaleMax) {
      return refuse(absl::StrCat("its scale is not 0 to ", uint32_t{kDecimalScaleMax}));
    }
    scale = number;
    type = type.substr(0, open);
  }
  const std::optional<ColumnType> found = text::ColumnTypeFromName(type);
  if (!found && absl::StrContains(type, '(')) {
    return refuse("a decimal has its scale alone in parentheses: decimal(2)");
  }
  if (!found) {
    return refuse(absl::StrCat("'", type, "' is no type", text::TypeNameHint(type)));
  }
  column.type = *found;
  if (scale.has_value() != (column.type == ColumnType::kDecimal)) {
    return refuse(scale ? "only a decimal has a scale" : "a decimal has a scale: decimal(2)");
  }
  column.scale = static_cast<uint8_t>(scale.value_or(0));
  return column;
}

std::string NamesText(const Schema& schema) {
  constexpr size_t kNamesMax = 32;
  std::string text;
  for (size_t i = 0; i < std::min(schema.columns.size(), kNamesMax); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", schema.columns[i].name);
  }
  if (schema.columns.size() > kNamesMax) text += ", ...";
  return text;
}

// As the engine does, so that it can be said without a server.
absl::Status CheckSchema(const Schema& schema) {
  if (schema.columns.size() > kTableColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a table of ", schema.columns.size(),
                                                   " columns, must have 1 to ", kTableColumnsMax));
  }
  std::set<absl::string_view> names;
  for (const ColumnSchema& column : schema.columns) {
    if (const std::string problem = CheckName(column.name); !problem.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("the name of a column: ", problem));
    }
    if (column.name.size() > kColumnNameBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat("the name of a column has ",
                                                     column.name.size(), " bytes, not 1 to ",
                                                     kColumnNameBytesMax));
    }
    if (!names.insert(column.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("column ", column.name, " comes twice"));
    }
  }
  if (schema.key.size() > kTableKeyColumnsMax) {
    return absl::InvalidArgumentError(absl::StrCat("a key of ", schema.key.size(),
                                                   " columns; the limit is ", kTableKeyColumnsMax));
  }
  size_t bytes = 0;
  for (const uint32_t number : schema.key) {
    const ColumnSchema& column = schema.columns[number];
    if (std::count(schema.key.begin(), schema.key.end(), number) > 1) {
      return absl::InvalidArgumentError(absl::StrCat("key column ", column.name, " comes twice"));
    }
    if (column.nullable || IsByteString(column.type)) {
      return absl::InvalidArgumentError(
          absl::StrCat("key column ", column.name, " is ",
                       column.nullable ? "nullable" : ColumnTypeName(column.type)));
    }
    bytes += ColumnValueBytes(column.type);
  }
  if (bytes > kTableKeyBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("a key of ", bytes, " bytes; the limit is ", kTableKeyBytesMax));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SetKey(absl::string_view key, Schema& schema) {
  schema.key.clear();
  if (key == "none") return absl::OkStatus();
  for (const absl::string_view part : absl::StrSplit(key, ',')) {
    const absl::string_view name = absl::StripAsciiWhitespace(part);
    const auto found =
        std::find_if(schema.columns.begin(), schema.columns.end(),
                     [&](const ColumnSchema& column) { return column.name == name; });
    if (found == schema.columns.end()) {
      uint64_t number = 0;
      return absl::InvalidArgumentError(
          absl::StrCat("--key: the table has no column '", name, "', its columns are ",
                       NamesText(schema), ParseU64(name, number) ? " (by name, not by number)" : "",
                       "; none: a table without a key"));
    }
    schema.key.push_back(static_cast<uint32_t>(found - schema.columns.begin()));
  }
  return absl::OkStatus();
}

absl::StatusOr<Schema> ParseSchema(absl::string_view text, absl::string_view key) {
  Schema schema;
  if (absl::string_view name = text; absl::ConsumePrefix(&name, "tpch:")) {
    schema = TpchSchema(name);
    if (schema.columns.empty()) {
      return absl::InvalidArgumentError(absl::StrCat("'", name, "' is no table of TPC-H"));
    }
  } else {
    for (const absl::string_view part : absl::StrSplit(text, ',')) {
      absl::StatusOr<ColumnSchema> column = ParseColumn(absl::StripAsciiWhitespace(part));
      if (!column.ok()) return column.status();
      schema.columns.push_back(*std::move(column));
    }
  }
  if (!key.empty()) {
    if (absl::Status status = SetKey(key, schema); !status.ok()) return status;
  }
  if (absl::Status status = CheckSchema(schema); !status.ok()) return status;
  return schema;
}

absl::StatusOr<KeyTypes> ParseKeyTypes(absl::string_view text) {
  const size_t comma = text.find(',');
  const bool two = comma != text.npos;
  const auto read = [&](absl::string_view part) {
    const auto type = text::ColumnTypeFromName(absl::StripAsciiWhitespace(part));
    return type && std::count(std::begin(kKeyTypes), std::end(kKeyTypes), *type) > 0 ? type
                                                                                     : std::nullopt;
  };
  const std::optional<ColumnType> first = read(text.substr(0, comma));
  const std::optional<ColumnType> second = two ? read(text.substr(comma + 1)) : std::nullopt;
  if (!first || two != second.has_value()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "'", text,
        "' is no type of keys: uint64, int64, float64, date or timestamp, or two of them as in "
        "uint64,date"));
  }
  return KeyTypes(*first, second);
}

std::string CheckKeyTypes(const std::string& text) {
  return std::string(ParseKeyTypes(text).status().message());
}

std::string ColumnTypeText(const ColumnSchema& column) {
  const bool sum = column.type == ColumnType::kInt128;
  std::string text = sum ? "decimal128" : ColumnTypeName(column.type);
  if (sum || column.type == ColumnType::kDecimal) {
    absl::StrAppend(&text, "(", uint32_t{column.scale}, ")");
  }
  if (column.nullable) text += '?';
  return text;
}

std::string SchemaText(const Schema& schema) {
  std::string text;
  for (const ColumnSchema& column : schema.columns) {
    absl::StrAppend(&text, text.empty() ? "" : ",", column.name, ":", ColumnTypeText(column));
  }
  return text;
}

std::string KeyNamesText(const Schema& schema) {
  std::string text;
  for (const uint32_t column : schema.key) {
    absl::StrAppend(&text, text.empty() ? "" : ",", schema.columns[column].name);
  }
  return text;
}

std::string KeyTypesText(const Schema& schema) {
  std::string text;
  for (const uint32_t column : schema.key) {
    absl::StrAppend(&text, text.empty() ? "" : ",", ColumnTypeText(schema.columns[column]));
  }
  return text.empty() ? "-" : text;
}

std::string KeyForm(const Schema& schema) {
  return absl::StrCat(schema.key.size(), ": ",
                      absl::StrReplaceAll(KeyNamesText(schema), {{",", "/"}}), " (",
                      KeyTypesText(schema), ")");
}

std::string ValuesText(const Schema& schema) {
  const size_t count = schema.columns.size() - schema.key.size();
  for (uint32_t i = 0; count == 1 && i < schema.columns.size(); ++i) {
    if (std::count(schema.key.begin(), schema.key.end(), i) == 0) {
      return ColumnTypeText(schema.columns[i]);
    }
  }
  return absl::StrCat(count, " columns");
}

std::string ColumnRangeText(const ColumnSchema& column, bool key, uint64_t string_bytes_max) {
  switch (column.type) {
    case ColumnType::kFloat64:
      if (!key) return "number within the range of 64-bit floats";
      return std::string(KeyTypeRange(column.type));
    case ColumnType::kDecimal: {
      std::string text = "decimal from ";
      text::AppendDecimal(std::numeric_limits<int64_t>::min(), column.scale, &text);
      text += " to ";
      text::AppendDecimal(std::numeric_limits<int64_t>::max(), column.scale, &text);
      absl::StrAppend(&text, " with ", uint32_t{column.scale}, " digits behind the point");
      return text;
    }
    case ColumnType::kString:
      return absl::StrCat("string of at most ", string_bytes_max, " bytes");
    case ColumnType::kBytes:
      return absl::StrCat("value of at most ", string_bytes_max,
                          " bytes, as they are or in hexadecimal digits behind \\x");
    case ColumnType::kDate:
    case ColumnType::kTimestamp:
      return std::string(KeyTypeRange(column.type));
    default:
      break;
  }
  return VisitColumnType(column.type, []<class T>(ColumnTraits<T>) -> std::string {
    if constexpr (std::is_integral_v<T>) {
      return absl::StrCat("number from ", std::numeric_limits<T>::min(), " to ",
                          std::numeric_limits<T>::max());
    } else {
      return "number";
    }
  });
}

}  // namespace eris::cli
