#include "clients/cli/ndjson/json_line.h"

#include <simdjson.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace eris::cli {
namespace {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;
using simdjson::ondemand::json_type;

static_assert(simdjson::SIMDJSON_PADDING <= kJsonPadBytes);

// Arrays and objects inside each other, in one value: Check calls itself for each of them. Less
// than the depth of simdjson, 1,024, which its development checks assert.
constexpr size_t kDepthMax = 1000;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// simdjson looks at a number only where it is asked for its value, which may be too large for it.
bool IsNumber(absl::string_view text) {
  size_t at = 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[at]))) ++at;
    return at - begin;
  };
  const auto takes = [&](char a, char b) {
    const bool is = at < text.size() && (text[at] == a || text[at] == b);
    at += is ? 1 : 0;
    return is;
  };
  takes('-', '-');
  const size_t begin = at;
  const size_t whole = digits();
  if (whole == 0 || (whole > 1 && text[begin] == '0')) return false;
  if (takes('.', '.') && digits() == 0) return false;
  if (takes('e', 'E')) {
    takes('+', '-');
    if (digits() == 0) return false;
  }
  return at == text.size();
}

// A number, true, false or null: `text` is the token.
error_code CheckScalar(json_type type, absl::string_view text) {
  const bool good = type == json_type::number ? IsNumber(text)
                    : type == json_type::null ? text == "null"
                                              : text == "true" || text == "false";
  if (good) return simdjson::SUCCESS;
  return type == json_type::number ? simdjson::NUMBER_ERROR
         : type == json_type::null ? simdjson::N_ATOM_ERROR
                                   : simdjson::T_ATOM_ERROR;
}

template <class Value>
error_code TokenOf(Value& value, json_type type, absl::string_view& text) {
  std::string_view token;
  if (const error_code error =
          simdjson::simdjson_result<std::string_view>(value.raw_json_token()).get(token)) {
    return error;
  }
  text = absl::StripTrailingAsciiWhitespace(View(token));
  return CheckScalar(type, text);
}

// Whether all that is in a value is JSON: simdjson passes over what is not asked for. `depth`: the
// number of arrays and objects around the value.
error_code Check(ondemand::value value, size_t depth) {
  json_type type;
  if (const error_code error = value.type().get(type)) return error;
  if (depth == kDepthMax && (type == json_type::array || type == json_type::object)) {
    return simdjson::DEPTH_ERROR;
  }
  if (type == json_type::array) {
    ondemand::array array;
    if (const error_code error = value.get_array().get(array)) return error;
    for (auto each : array) {
      ondemand::value element;
      if (const error_code error = each.get(element)) return error;
      if (const error_code error = Check(element, depth + 1)) return error;
    }
    return simdjson::SUCCESS;
  }
  if (type == json_type::object) {
    ondemand::object object;
    if (const error_code error = value.get_object().get(object)) return error;
    for (auto each : object) {
      std::string_view key;
      ondemand::value member;
      if (const error_code error = each.unescaped_key().get(key)) return error;
      if (const error_code error = each.value().get(member)) return error;
      if (const error_code error = Check(member, depth + 1)) return error;
    }
    return simdjson::SUCCESS;
  }
  if (type == json_type::string) {
    std::string_view text;
    return value.get_string().get(text);
  }
  absl::string_view text;
  return TokenOf(value, type, text);
}

}  // namespace

struct JsonLine::Parsers {
  error_code ReadValue(ondemand::value value, JsonKind& kind, absl::string_view& text);
  error_code Read(absl::string_view line, Member member);

  ondemand::parser line;
  ondemand::parser nested;
};

JsonLine::JsonLine() : parsers_(std::make_unique<Parsers>()) {}
JsonLine::~JsonLine() = default;

error_code JsonLine::Parsers::ReadValue(ondemand::value value, JsonKind& kind,
                                        absl::string_view& text) {
  json_type type;
  if (const error_code error = value.type().get(type)) return error;
  std::string_view got;
  switch (type) {
    case json_type::string: {
      kind = JsonKind::kString;
      const error_code error = value.get_string().get(got);
      text = View(got);
      return error;
    }
    case json_type::number:
      kind = JsonKind::kNumber;
      return TokenOf(value, type, text);
    case json_type::boolean:
      kind = JsonKind::kBoolean;
      return TokenOf(value, type, text);
    case json_type::null:
      kind = JsonKind::kNull;
      return TokenOf(value, type, text);
    default:
      break;
  }
  kind = JsonKind::kNested;
  if (type == json_type::array) {
    ondemand::array array;
    if (const error_code error = value.get_array().get(array)) return error;
    if (const error_code error = array.raw_json().get(got)) return error;
  } else {
    ondemand::object object;
    if (const error_code error = value.get_object().get(object)) return error;
    if (const error_code error = object.raw_json().get(got)) return error;
  }
  text = View(got);
  ondemand::document document;
  ondemand::value root;
  if (const error_code error =
          nested.iterate(got.data(), got.size(), got.size() + simdjson::SIMDJSON_PADDING)
              .get(document)) {
    return error;
  }
  if (const error_code error = document.get_value().get(root)) return error;
  return Check(root, 0);
}

error_code JsonLine::Parsers::Read(absl::string_view text, Member member) {
  ondemand::document document;
  ondemand::object object;
  if (const error_code error =
          line.iterate(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING)
              .get(document)) {
    return error;
  }
  if (const error_code error = document.get_object().get(object)) return error;
  for (auto each : object) {
    std::string_view key;
    ondemand::value value;
    if (const error_code error = each.unescaped_key().get(key)) return error;
    if (const error_code error = each.value().get(value)) return error;
    JsonKind kind = JsonKind::kNull;
    absl::string_view shown;
    if (const error_code error = ReadValue(value, kind, shown)) return error;
    member(View(key), kind, shown);
  }
  // More behind the object.
  return document.current_location().error() == simdjson::OUT_OF_BOUNDS ? simdjson::SUCCESS
                                                                        : simdjson::TAPE_ERROR;
}

std::string JsonLine::Read(absl::string_view line, Member member) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line[0] != '{') {
    const bool array = !line.empty() && line[0] == '[';
    return absl::StrCat(
        "no JSON object",
        array ? " but an array: one object a line is read, as `jq -c '.[]'` writes" : "");
  }
  const error_code error = parsers_->Read(line, member);
  if (error == simdjson::SUCCESS) return "";
  if (error == simdjson::DEPTH_ERROR) {
    return absl::StrCat("no JSON object that is read: a value has more than ", kDepthMax,
                        " arrays and objects inside each other");
  }
  return absl::StrCat("no JSON object", line.back() == '}' ? "" : ", which must end on its line",
                      ": ", simdjson::error_message(error));
}

}  // namespace eris::cli
