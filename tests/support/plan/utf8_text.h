// Texts as lists of characters of UTF-8: patterns of LIKE by recursion, and parts of texts. Pure
// functions, any thread.
#ifndef ERIS_TESTS_SUPPORT_PLAN_UTF8_TEXT_H_
#define ERIS_TESTS_SUPPORT_PLAN_UTF8_TEXT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace eris::test {

// A character is a byte with the bytes behind it that continue it (10xxxxxx).
std::vector<std::string> CharactersOf(const std::string& text);

struct PatternPiece {
  enum class Kind : uint8_t { kCharacter, kAnyCharacter, kAnyText };
  Kind kind = Kind::kCharacter;
  std::string character{};
};
using LikePieces = std::vector<PatternPiece>;

// nullopt: the escape is before another character than %, _ and itself, or at the end. `escape`
// empty: there is none.
std::optional<LikePieces> ParsePattern(const std::string& pattern, const std::string& escape);
bool IsLike(const std::string& text, const LikePieces& pattern);

// `length` characters from the `first` one on, which counts from 1; those outside the text are left
// out. nullopt: up to the end.
std::string PartOfText(const std::string& text, int64_t first, std::optional<int64_t> length);

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_PLAN_UTF8_TEXT_H_
