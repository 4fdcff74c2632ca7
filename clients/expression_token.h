// The words of an expression's text: what expression_text.cc parses. Any thread, no state but the
// place in the text.
#ifndef ERIS_CLIENTS_EXPRESSION_TOKEN_H_
#define ERIS_CLIENTS_EXPRESSION_TOKEN_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/expression.h"

namespace eris::client {

struct ExpressionToken {
  enum class Kind {
    kEnd,
    kWord,     // an identifier, in small letters in `text` if it is a keyword
    kKeyword,  // one of those that expression_text.h names
    kQuoted,   // a column in double quotes: `text` without them
    kLiteral,  // `value`; a number is not negative
    kSymbol,   // `text`: ( ) , + - * = != < <= > >=
  };
  Kind kind = Kind::kEnd;
  std::string text{};
  Value value{};
  size_t begin = 0;  // in the whole text
  size_t end = 0;

  bool IsSymbol(absl::string_view symbol) const { return kind == Kind::kSymbol && text == symbol; }
  bool IsKeyword(absl::string_view word) const { return kind == Kind::kKeyword && text == word; }
  // "')'", "'and'", "the end": for messages.
  std::string Shown(absl::string_view whole) const;
};

// The token at, or behind blanks after, text[at]. Errors: InvalidArgument with the position.
absl::StatusOr<ExpressionToken> NextExpressionToken(absl::string_view text, size_t at);

// "at character 13: ..."
absl::Status ExpressionError(size_t at, absl::string_view message);

// Whether a column of that name needs no double quotes.
bool IsPlainName(absl::string_view name);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_EXPRESSION_TOKEN_H_
