// The tokens of an expression's text, for expression_text.cc. Any thread, no state except the
// position in the text.
#ifndef ERIS_TEXT_EXPRESSION_TOKEN_H_
#define ERIS_TEXT_EXPRESSION_TOKEN_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/expression.h"

namespace eris::text {

// The digits that an exact number may have, leading zeros aside: 128 bits hold every such number.
// Which scales are possible the engine says (kWideScaleMax).
inline constexpr uint8_t kExactDigitsMax = 38;
static_assert(kExactDigitsMax >= kWideScaleMax);

struct ExpressionToken {
  enum class Kind {
    kEnd,
    kWord,     // an identifier; a keyword has lower-case `text`
    kKeyword,  // one of those listed in expression_text.h
    kQuoted,   // a column in double quotes: `text` without them
    kLiteral,  // see `value`; a number is not negative
    kSymbol,   // see `text`: ( ) , + - * / = != < <= > >=
  };
  Kind kind = Kind::kEnd;
  std::string text{};
  Value value{};
  size_t begin = 0;  // in the whole text
  size_t end = 0;

  bool IsSymbol(absl::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool IsKeyword(absl::string_view word) const { return kind == Kind::kKeyword && text == word; }
  // Whether it is that word, which is no keyword, in letters of any case.
  bool IsWord(absl::string_view small_letters) const;
  // For messages: "')'", "'and'", "the end".
  std::string Shown(absl::string_view whole) const;
};

// The token at text[at] or after the blanks there. Errors: InvalidArgument with the position.
absl::StatusOr<ExpressionToken> NextExpressionToken(absl::string_view text, size_t at);

// "at character 13: ..."
absl::Status ExpressionError(size_t at, absl::string_view message);

// Whether a column of that name needs no double quotes.
bool IsPlainName(absl::string_view name);

}  // namespace eris::text

#endif  // ERIS_TEXT_EXPRESSION_TOKEN_H_
