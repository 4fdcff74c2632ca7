#include "text/expression_token.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>

#include "absl/numeric/int128.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "eris/key_text.h"
#include "eris/schema.h"
#include "text/cut_text.h"

namespace eris::text {
namespace {

using TokenKind = ExpressionToken::Kind;

constexpr absl::string_view kKeywords[] = {"and",  "or",      "not", "in",   "is",
                                           "null", "between", "as",  "like", "case"};
constexpr size_t kShownBytesMax = 40;

bool IsNameStart(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c)) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}
bool IsDigit(char c) { return absl::ascii_isdigit(static_cast<unsigned char>(c)); }
bool IsNamePart(char c) { return IsNameStart(c) || IsDigit(c) || c == '$'; }

bool IsKeyword(absl::string_view small_letters) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), small_letters) !=
         std::end(kKeywords);
}

// The text between two `quote`s that begin at text[at]; a doubled quote becomes one. nullopt: no
// end.
std::optional<std::string> Unquote(absl::string_view text, size_t at, size_t& end) {
  const char quote = text[at];
  std::string out;
  for (size_t i = at + 1; i < text.size(); ++i) {
    if (text[i] != quote) {
      out += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == quote) {
      out += quote;
      ++i;
    } else {
      end = i + 1;
      return out;
    }
  }
  return std::nullopt;
}

size_t EndOfDigits(absl::string_view text, size_t at) {
  while (at < text.size() && IsDigit(text[at])) ++at;
  return at;
}

// "1994-01-01" that is not followed by more of a number or name.
bool IsDateShape(absl::string_view text) {
  constexpr absl::string_view kShape = "dddd-dd-dd";
  if (text.size() < kShape.size()) return false;
  for (size_t i = 0; i < kShape.size(); ++i) {
    if (kShape[i] == 'd' ? !IsDigit(text[i]) : text[i] != kShape[i]) return false;
  }
  return text.size() == kShape.size() ||
         (!IsNamePart(text[kShape.size()]) && text[kShape.size()] != '.');
}

// Where a number ends, and what it is made of.
struct NumberShape {
  size_t end = 0;
  size_t fraction = 0;  // digits behind the point
  bool has_point = false;
  bool has_exponent = false;
};

NumberShape ShapeOfNumber(absl::string_view text, size_t at) {
  NumberShape shape;
  shape.end = EndOfDigits(text, at);
  shape.has_point = shape.end < text.size() && text[shape.end] == '.';
  if (shape.has_point) {
    const size_t start = shape.end + 1;
    shape.end = EndOfDigits(text, start);
    shape.fraction = shape.end - start;
  }
  if (shape.end < text.size() && (text[shape.end] == 'e' || text[shape.end] == 'E')) {
    size_t digits = shape.end + 1;
    if (digits < text.size() && (text[digits] == '+' || text[digits] == '-')) ++digits;
    shape.has_exponent = EndOfDigits(text, digits) > digits;
    if (shape.has_exponent) shape.end = EndOfDigits(text, digits);
  }
  return shape;
}

absl::Status TakeDouble(absl::string_view digits, ExpressionToken& token) {
  double number = 0;
  const char* const end = digits.data() + digits.size();
  const auto read = std::from_chars(digits.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end) {
    return ExpressionError(token.begin, absl::StrCat("'", CutText(digits, kShownBytesMax),
                                                     "' is outside the range of a double"));
  }
  token.value = number;
  return absl::OkStatus();
}

// An integer, or a decimal, which has a point.
absl::Status TakeExact(absl::string_view digits, const NumberShape& shape, ExpressionToken& token) {
  absl::uint128 number = 0;  // of a decimal with its point taken out
  size_t count = 0;
  for (const char c : digits) {
    if (c == '.') continue;
    number = number * 10 + static_cast<uint64_t>(c - '0');
    if (number != 0 && ++count > kExactDigitsMax) break;
  }
  if (count > kExactDigitsMax || shape.fraction > kExactDigitsMax) {
    return ExpressionError(token.begin,
                           absl::StrCat("'", CutText(digits, kShownBytesMax),
                                        "' has too many digits: numbers have at most ",
                                        uint32_t{kExactDigitsMax}, "; a double is written 1e3"));
  }
  const uint64_t low = absl::Uint128Low64(number);
  const bool fits = number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  if (shape.has_point && fits && shape.fraction <= kDecimalScaleMax) {
    token.value = Decimal{static_cast<int64_t>(low), static_cast<uint8_t>(shape.fraction)};
  } else if (shape.has_point || absl::Uint128High64(number) != 0) {
    token.value =
        WideDecimal{{low, absl::Uint128High64(number)}, static_cast<uint8_t>(shape.fraction)};
  } else if (fits) {
    token.value = static_cast<int64_t>(low);
  } else {
    token.value = low;
  }
  return absl::OkStatus();
}

absl::Status TakeNumber(absl::string_view text, ExpressionToken& token) {
  const size_t at = token.begin;
  const NumberShape shape = ShapeOfNumber(text, at);
  size_t end = shape.end;
  if (end < text.size() && (IsNamePart(text[end]) || text[end] == '.')) {
    do {
      ++end;  // a whole character
    } while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80);
    return ExpressionError(at,
                           absl::StrCat("'", CutText(text.substr(at, end - at), kShownBytesMax),
                                        "' is no number: expected digits, a point or an exponent"));
  }
  token.end = end;
  const absl::string_view digits = text.substr(at, end - at);
  return shape.has_exponent ? TakeDouble(digits, token) : TakeExact(digits, shape, token);
}

absl::Status TakeTimestamp(absl::string_view text, ExpressionToken& token) {
  Timestamp time;
  if (!ParseTimestamp(text, time.micros)) {
    return ExpressionError(
        token.begin, absl::StrCat("'", CutText(text, kShownBytesMax), "' is no ", kTimestampRange));
  }
  token.kind = TokenKind::kLiteral;
  token.value = time;
  return absl::OkStatus();
}

absl::Status TakeDate(absl::string_view date, ExpressionToken& token) {
  int32_t days = 0;
  if (!ParseDate(date, days)) {
    return ExpressionError(
        token.begin, absl::StrCat("'", CutText(date, kShownBytesMax), "' is no date YYYY-MM-DD"));
  }
  token.kind = TokenKind::kLiteral;
  token.value = Date{days};
  return absl::OkStatus();
}

// Two hexadecimal digits a byte.
absl::Status TakeHex(absl::string_view digits, ExpressionToken& token) {
  const auto is_digit = [](char c) { return absl::ascii_isxdigit(static_cast<unsigned char>(c)); };
  if (digits.size() % 2 != 0 || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return ExpressionError(token.begin, absl::StrCat("'", CutText(digits, kShownBytesMax),
                                                     "' is no even number of hexadecimal digits"));
  }
  token.kind = TokenKind::kLiteral;
  token.value = Bytes{absl::HexStringToBytes(digits)};
  return absl::OkStatus();
}

// A name, a keyword, date '...', timestamp '...', or bytes: x'00ff'.
absl::Status TakeWord(absl::string_view text, ExpressionToken& token) {
  size_t end = token.begin;
  while (end < text.size() && IsNamePart(text[end])) ++end;
  const absl::string_view word = text.substr(token.begin, end - token.begin);
  const std::string small = absl::AsciiStrToLower(word);
  token.end = end;
  if (small == "x" && end < text.size() && text[end] == '\'') {
    const std::optional<std::string> digits = Unquote(text, end, token.end);
    if (!digits) return ExpressionError(end, "a string that has no end: expected '");
    return TakeHex(*digits, token);
  }
  if (small == "date" || small == "timestamp") {
    size_t quote = end;
    while (quote < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[quote]))) {
      ++quote;
    }
    if (quote < text.size() && text[quote] == '\'') {
      const std::optional<std::string> time = Unquote(text, quote, token.end);
      if (!time) return ExpressionError(quote, "a string that has no end: expected '");
      return small == "date" ? TakeDate(*time, token) : TakeTimestamp(*time, token);
    }
  }
  token.kind = IsKeyword(small) ? TokenKind::kKeyword : TokenKind::kWord;
  token.text = IsKeyword(small) ? small : std::string(word);
  return absl::OkStatus();
}

absl::Status TakeQuoted(absl::string_view text, ExpressionToken& token) {
  const bool is_name = text[token.begin] == '"';
  std::optional<std::string> inside = Unquote(text, token.begin, token.end);
  if (!inside) {
    return ExpressionError(token.begin, is_name ? "a column name that has no end: expected \""
                                                : "a string that has no end: expected '");
  }
  if (is_name) {
    if (inside->empty()) return ExpressionError(token.begin, "a column name is empty");
    token.kind = TokenKind::kQuoted;
    token.text = *std::move(inside);
  } else {
    token.kind = TokenKind::kLiteral;
    token.value = *std::move(inside);
  }
  return absl::OkStatus();
}

absl::Status TakeSymbol(absl::string_view text, ExpressionToken& token) {
  const absl::string_view rest = text.substr(token.begin);
  token.kind = TokenKind::kSymbol;
  for (const absl::string_view two : {"<=", ">=", "!=", "<>", "=="}) {
    if (rest.substr(0, 2) != two) continue;
    token.end = token.begin + 2;
    token.text = two == "<>" ? "!=" : two == "==" ? "=" : std::string(two);
    return absl::OkStatus();
  }
  constexpr absl::string_view kOne = "(),+-*/%=<>";
  if (kOne.find(rest[0]) == kOne.npos) {
    return ExpressionError(token.begin, absl::StrCat("'", absl::CEscape(rest.substr(0, 1)),
                                                     "' belongs to no expression"));
  }
  token.end = token.begin + 1;
  token.text = std::string(rest.substr(0, 1));
  return absl::OkStatus();
}

}  // namespace

bool ExpressionToken::IsWord(absl::string_view small_letters) const {
  return kind == TokenKind::kWord && absl::AsciiStrToLower(text) == small_letters;
}

std::string ExpressionToken::Shown(absl::string_view whole) const {
  if (kind == TokenKind::kEnd) return "the end";
  return absl::StrCat("'", CutText(whole.substr(begin, end - begin), kShownBytesMax), "'");
}

absl::StatusOr<ExpressionToken> NextExpressionToken(absl::string_view text, size_t at) {
  while (at < text.size() && absl::ascii_isspace(static_cast<unsigned char>(text[at]))) ++at;
  ExpressionToken token;
  token.begin = token.end = at;
  if (at == text.size()) return token;
  absl::Status status;
  const char c = text[at];
  if (IsDateShape(text.substr(at))) {
    token.end = at + 10;
    status = TakeDate(text.substr(at, 10), token);
  } else if (IsDigit(c) || (c == '.' && at + 1 < text.size() && IsDigit(text[at + 1]))) {
    token.kind = TokenKind::kLiteral;
    status = TakeNumber(text, token);
  } else if (IsNameStart(c)) {
    status = TakeWord(text, token);
  } else if (c == '\'' || c == '"') {
    status = TakeQuoted(text, token);
  } else {
    status = TakeSymbol(text, token);
  }
  if (!status.ok()) return status;
  return token;
}

absl::Status ExpressionError(size_t at, absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("at character ", at + 1, ": ", message));
}

bool IsPlainName(absl::string_view name) {
  if (name.empty() || !IsNameStart(name[0])) return false;
  for (const char c : name) {
    if (!IsNamePart(c)) return false;
  }
  return !IsKeyword(absl::AsciiStrToLower(name));
}

}  // namespace eris::text
