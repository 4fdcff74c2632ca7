#include "server/flight/flight_query.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "eris/errors.h"
#include "eris/expression.h"
#include "eris/key_text.h"
#include "text/expression_text.h"

namespace eris::server {
namespace {

using nlohmann::json;

constexpr char kFields[] = "object, columns, filter, group_by, aggregates, range, limit and shares";
constexpr size_t kNameShownMax = 64;

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

absl::Status TakeText(const std::string& field, const json& value, absl::string_view wanted,
                      std::string& text) {
  text = value.is_string() ? value.get<std::string>() : "";
  return text.empty() ? Refused(field, wanted) : absl::OkStatus();
}

// `what`: "names", "texts".
absl::Status TakeTexts(const std::string& field, const json& value, absl::string_view what,
                       std::vector<std::string>& texts) {
  const bool all_texts =
      value.is_array() && !value.empty() && value.size() <= kTableColumnsMax &&
      std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_string(); });
  if (!all_texts) {
    return Refused(field, absl::StrCat("a list of 1 to ", kTableColumnsMax, " ", what));
  }
  for (const json& one : value) texts.push_back(one.get<std::string>());
  return absl::OkStatus();
}

// A key, or a list of its parts. A number is the text that it has in JSON.
absl::Status TakeBound(const json& value, std::vector<std::string>& parts) {
  const auto take = [&parts](const json& one) {
    if (!one.is_number() && !one.is_string()) return false;
    parts.push_back(one.is_string() ? one.get<std::string>() : one.dump());
    return true;
  };
  // What is no key is not copied: it may be as deep as the command is long.
  const bool taken = !value.is_array() ? take(value)
                                       : !value.empty() && value.size() <= 2 &&
                                             std::all_of(value.begin(), value.end(), take);
  if (taken) return absl::OkStatus();
  return Refused("range", "an object whose lo and hi are keys, or lists of their parts");
}

absl::Status TakeRange(const json& value, FlightQuery& query) {
  if (!value.is_object() || value.size() != value.count("lo") + value.count("hi")) {
    return Refused("range", "an object with lo, hi or both");
  }
  if (value.contains("lo")) ERIS_RETURN_IF_ERROR(TakeBound(value["lo"], query.lo));
  return value.contains("hi") ? TakeBound(value["hi"], query.hi) : absl::OkStatus();
}

absl::Status TakeField(const std::string& field, const json& value, FlightQuery& query) {
  if (field == "object") return TakeText(field, value, "the name of an object", query.object);
  if (field == "columns") return TakeTexts(field, value, "names or texts", query.columns);
  if (field == "filter") return TakeText(field, value, "a text such as a < 5", query.filter);
  if (field == "group_by") return TakeTexts(field, value, "names", query.group_by);
  if (field == "aggregates") {
    if (!value.is_string()) return TakeTexts(field, value, "texts", query.aggregates);
    return TakeText(field, value, "texts such as count(*)", query.aggregates.emplace_back());
  }
  if (field == "range") return TakeRange(value, query);
  if (field == "limit") return TakeNumber(field, value, ~uint64_t{0}, query.limit);
  if (field == "shares") {
    uint64_t shares = 0;
    ERIS_RETURN_IF_ERROR(TakeNumber(field, value, kFlightSharesMax, shares));
    query.shares = static_cast<uint32_t>(shares);
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("the command has a field \"",
                                                 field.substr(0, kNameShownMax),
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
  if (!query.group_by.empty() && query.aggregates.empty()) {
    return absl::InvalidArgumentError("the command has group_by without aggregates");
  }
  if (!query.columns.empty() && !query.aggregates.empty()) {
    return absl::InvalidArgumentError(
        "the command has columns and aggregates: the answer's columns are those of group_by, then "
        "the aggregates");
  }
  return query;
}

// Adds the field to an error of its text.
absl::Status InField(absl::string_view field, const absl::Status& status) {
  return WithText(status, absl::StrCat("the command's field \"", field, "\": ", status.message()));
}

bool HasColumn(const Schema& schema, const std::string& name) {
  return std::any_of(schema.columns.begin(), schema.columns.end(),
                     [&name](const ColumnSchema& column) { return column.name == name; });
}

// A column's name, which needs no quotes here, or an expression.
absl::StatusOr<NamedExpression> ColumnOf(const std::string& text, const Schema& schema) {
  if (HasColumn(schema, text)) return NamedExpression{expressions::Column(text), text};
  absl::StatusOr<std::vector<NamedExpression>> columns = text::ParseColumns(text);
  if (!columns.ok()) return InField("columns", columns.status());
  if (columns->size() == 1) return std::move(columns->front());
  return absl::InvalidArgumentError(
      absl::StrCat("the command's field \"columns\": '", text.substr(0, kNameShownMax), "' has ",
                   columns->size(), " columns, each must have a text of its own"));
}

// A bound of a range; second parts that are not given are below all others.
absl::Status TakeKey(const std::vector<std::string>& parts, const KeyTypes& types, uint64_t& first,
                     uint64_t& second) {
  if (parts.size() > (types.two_parts() ? 2 : 1)) {
    return InField("range", absl::InvalidArgumentError(absl::StrCat("a key of ", parts.size(),
                                                                    " parts, the object's have ",
                                                                    KeyPartsText(types))));
  }
  for (size_t i = 0; i < parts.size(); ++i) {
    const ColumnType type = i == 0 ? types.first : *types.second;
    const absl::StatusOr<uint64_t> key = KeyFromText(type, parts[i]);
    if (!key.ok()) return InField("range", key.status());
    (i == 0 ? first : second) = *key;
  }
  return absl::OkStatus();
}

absl::StatusOr<KeyRange> RangeOf(const FlightQuery& asked, const Object& object) {
  KeyRange range;
  if (asked.lo.empty() && asked.hi.empty()) return range;
  if (object.kind() != ObjectKind::kIndex) {
    return absl::InvalidArgumentError(
        absl::StrCat("the command's field \"range\" is of indexes; \"", object.name(),
                     "\" is a table: filter by its columns"));
  }
  const KeyTypes types = KeyTypesOf(object.schema());
  ERIS_RETURN_IF_ERROR(TakeKey(asked.lo, types, range.lo, range.lo_second));
  if (!asked.hi.empty()) {
    ERIS_RETURN_IF_ERROR(TakeKey(asked.hi, types, range.hi.emplace(), range.hi_second));
  }
  if (!range.Inverted()) return range;
  return Refused("range", "no inverted range: hi is below lo");
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

absl::StatusOr<Query> QueryOf(const FlightQuery& asked, const Object& object) {
  if (object.kind() == ObjectKind::kHash) {
    return absl::FailedPreconditionError(
        absl::StrCat("\"", asked.object, "\" is a hash, which cannot be scanned"));
  }
  Query query{.group_by = asked.group_by, .limit = asked.limit};
  ERIS_ASSIGN_OR_RETURN(query.range, RangeOf(asked, object));
  if (!asked.filter.empty()) {
    absl::StatusOr<Expression> filter = text::ParseExpression(asked.filter);
    if (!filter.ok()) return InField("filter", filter.status());
    query.filter = *std::move(filter);
  }
  for (const std::string& text : asked.columns) {
    ERIS_ASSIGN_OR_RETURN(query.columns.emplace_back(), ColumnOf(text, object.schema()));
  }
  for (const std::string& text : asked.aggregates) {
    absl::StatusOr<std::vector<AggregateColumn>> some = text::ParseAggregates(text);
    if (!some.ok()) return InField("aggregates", some.status());
    std::move(some->begin(), some->end(), std::back_inserter(query.aggregates));
  }
  return query;
}

}  // namespace eris::server
