// Characters of UTF-8 in a text. What is cut off is never a part of a character. Pure functions,
// any thread.
#ifndef ERIS_STORAGE_TABLE_UTF8_TEXT_H_
#define ERIS_STORAGE_TABLE_UTF8_TEXT_H_

#include <cstdint>
#include <string_view>

namespace eris::storage {

// A byte that goes on with a character.
inline bool GoesOn(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) == 0x80; }

// Where the character at `at` ends. REQUIRES: at < text.size().
inline size_t EndOfCharacter(std::string_view text, size_t at) {
  for (++at; at < text.size() && GoesOn(text[at]);) ++at;
  return at;
}

// The first characters of the text, of at most `bytes_max` bytes together.
inline std::string_view CutAtCharacter(std::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  while (bytes_max > 0 && GoesOn(text[bytes_max])) --bytes_max;
  return text.substr(0, bytes_max);
}

// `count` characters of the text from the one with number `first` on, which counts from 1. Numbers
// below 1 are those of characters that are not there. REQUIRES: count >= 0.
inline std::string_view CharactersOf(std::string_view text, int64_t first, int64_t count) {
  int64_t last = 0;  // the number of the first character behind
  if (__builtin_add_overflow(first, count, &last)) last = INT64_MAX;
  size_t begin = 0;
  int64_t number = 1;
  for (; number < first && begin < text.size(); ++number) begin = EndOfCharacter(text, begin);
  size_t end = begin;
  for (; number < last && end < text.size(); ++number) end = EndOfCharacter(text, end);
  return text.substr(begin, end - begin);
}

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_UTF8_TEXT_H_
