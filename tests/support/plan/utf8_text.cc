#include "tests/support/plan/utf8_text.h"

#include <cstddef>

#include "tests/support/plan/exact_digits.h"

namespace eris::test {
namespace {

bool Matches(const std::vector<std::string>& text, size_t at, const LikePieces& pattern,
             size_t piece) {
  if (piece == pattern.size()) return at == text.size();
  switch (pattern[piece].kind) {
    case PatternPiece::Kind::kAnyText:
      return Matches(text, at, pattern, piece + 1) ||
             (at < text.size() && Matches(text, at + 1, pattern, piece));
    case PatternPiece::Kind::kAnyCharacter:
      return at < text.size() && Matches(text, at + 1, pattern, piece + 1);
    case PatternPiece::Kind::kCharacter:
      return at < text.size() && text[at] == pattern[piece].character &&
             Matches(text, at + 1, pattern, piece + 1);
  }
  return false;
}

}  // namespace

std::vector<std::string> CharactersOf(const std::string& text) {
  std::vector<std::string> characters;
  for (const char byte : text) {
    const bool continues = (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
    if (continues && !characters.empty()) {
      characters.back().push_back(byte);
    } else {
      characters.emplace_back(1, byte);
    }
  }
  return characters;
}

std::optional<LikePieces> ParsePattern(const std::string& pattern, const std::string& escape) {
  using Kind = PatternPiece::Kind;
  LikePieces pieces;
  const std::vector<std::string> characters = CharactersOf(pattern);
  for (size_t i = 0; i < characters.size(); ++i) {
    if (!escape.empty() && characters[i] == escape) {
      if (++i == characters.size()) return std::nullopt;
      if (characters[i] != "%" && characters[i] != "_" && characters[i] != escape) {
        return std::nullopt;
      }
      pieces.push_back({Kind::kCharacter, characters[i]});
    } else if (characters[i] == "%") {
      pieces.push_back({Kind::kAnyText});
    } else if (characters[i] == "_") {
      pieces.push_back({Kind::kAnyCharacter});
    } else {
      pieces.push_back({Kind::kCharacter, characters[i]});
    }
  }
  return pieces;
}

bool IsLike(const std::string& text, const LikePieces& pattern) {
  return Matches(CharactersOf(text), 0, pattern, 0);
}

std::string PartOfText(const std::string& text, int64_t first, std::optional<int64_t> length) {
  std::string part;
  Int128 number = 0;
  for (const std::string& character : CharactersOf(text)) {
    ++number;
    if (number < first) continue;
    if (length.has_value() && number >= Int128{first} + *length) break;
    part += character;
  }
  return part;
}

}  // namespace eris::test
