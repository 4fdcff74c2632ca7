#include "server/flight/flight_query.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/expression.h"

namespace eris::server {
namespace {

using nlohmann::json;

constexpr char kFields[] = "object, columns, limit and shares";

absl::Status Refused(absl::string_view field, absl::string_view wanted) {
  return absl::InvalidArgumentError(
      absl::StrCat("the command's field \"", field, "\" must be ", wanted));
}

absl::Status TakeNumber(const std::string& field, const json& value, uint64_t most,
                        uint64_t& number) {
  const bool whole = value.is_number_unsigned();
  number = whole ? value.get<uint64_t>() : 0;
  if (number >= 1 && number <= most) return absl::OkStatus();
  return Refused(field, absl::StrCat("a whole number from 1 to ", most));
}

absl::Status TakeColumnNames(const json& value, std::vector<std::string>& columns) {
  const bool all_names =
      value.is_array() && !value.empty() && value.size() <= kTableColumnsMax &&
      std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_string(); });
  if (!all_names) {
    return Refused("columns", absl::StrCat("a list of 1 to ", kTableColumnsMax, " names"));
  }
  for (const json& one : value) columns.push_back(one.get<std::string>());
  return absl::OkStatus();
}

absl::Status TakeField(const std::string& field, const json& value, FlightQuery& query) {
  if (field == "object") {
    if (!value.is_string()) return Refused(field, "the name of an object");
    query.object = value.get<std::string>();
    return absl::OkStatus();
  }
  if (field == "columns") return TakeColumnNames(value, query.columns);
  if (field == "limit") return TakeNumber(field, value, ~uint64_t{0}, query.limit);
  if (field == "shares") {
    uint64_t shares = 0;
    ERIS_RETURN_IF_ERROR(TakeNumber(field, value, kFlightSharesMax, shares));
    query.shares = static_cast<uint32_t>(shares);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the command has a field \"", field.substr(0, 64),
                                                 "\", which is unknown; there are ", kFields));
}

absl::StatusOr<FlightQuery> FromCommand(const std::string& command) {
  if (command.size() > kFlightCommandBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a command of ", command.size(), " bytes, must have at most ", kFlightCommandBytesMax));
  }
  const json parsed = json::parse(command, nullptr, /*allow_exceptions=*/false);
  if (!parsed.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the command must be a JSON object with ", kFields));
  }
  FlightQuery query;
  for (const auto& [field, value] : parsed.items()) {
    ERIS_RETURN_IF_ERROR(TakeField(field, value, query));
  }
  if (query.object.empty()) return Refused("object", "the name of an object");
  if (query.limit > 0 && query.shares > 0) {
    return absl::InvalidArgumentError(
        "the command has a limit and shares: a limit is for all rows together, so it has one "
        "endpoint");
  }
  return query;
}

// Engines answer either all columns of an index or its key.
absl::Status CheckIndexColumns(const FlightQuery& query, const Schema& schema) {
  const std::vector<std::string>& names = query.columns;
  bool fits = names.size() == schema.columns.size() || names.size() == schema.key.size();
  for (size_t i = 0; fits && i < names.size(); ++i) fits = names[i] == schema.columns[i].name;
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("\"", query.object,
                   "\" is an index: columns must be its key, or all columns, in their order"));
}

const ColumnSchema* FindColumn(const Schema& schema, const std::string& name) {
  for (const ColumnSchema& column : schema.columns) {
    if (column.name == name) return &column;
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<FlightQuery> FlightQueryFrom(const flight::FlightDescriptor& descriptor) {
  if (descriptor.type() == flight::FlightDescriptor::CMD) return FromCommand(descriptor.cmd());
  if (descriptor.type() != flight::FlightDescriptor::PATH || descriptor.path_size() != 1) {
    return absl::InvalidArgumentError(
        "the descriptor must be a path of one part, an object's name, or a command in JSON");
  }
  return FlightQuery{.object = descriptor.path(0)};
}

absl::StatusOr<Query> QueryOf(const FlightQuery& query, const Object& object) {
  if (object.kind() == ObjectKind::kHash) {
    return absl::FailedPreconditionError(
        absl::StrCat("\"", query.object, "\" is a hash, which cannot be scanned"));
  }
  Query out{.limit = query.limit};
  if (query.columns.empty()) return out;
  for (const std::string& name : query.columns) {
    if (FindColumn(object.schema(), name) == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", name.substr(0, 64), "\" is none of \"", query.object, "\""));
    }
    if (std::count(query.columns.begin(), query.columns.end(), name) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("column \"", name.substr(0, 64), "\" is asked for twice"));
    }
    out.columns.push_back({expressions::Column(name), name});
  }
  if (object.kind() == ObjectKind::kIndex) {
    ERIS_RETURN_IF_ERROR(CheckIndexColumns(query, object.schema()));
  }
  return out;
}

Schema AnswerSchema(const Query& query, const Object& object) {
  if (query.columns.empty()) return object.schema();
  Schema schema;
  for (const NamedExpression& column : query.columns) {
    schema.columns.push_back(*FindColumn(object.schema(), column.name));
  }
  return schema;
}

}  // namespace eris::server
