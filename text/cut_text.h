// Cuts text, but never inside a character. Pure; any thread.
#ifndef ERIS_TEXT_CUT_TEXT_H_
#define ERIS_TEXT_CUT_TEXT_H_

#include <cstddef>

#include "absl/strings/string_view.h"

namespace eris::text {

// The first characters of UTF-8 text that take at most `bytes_max` bytes; for other bytes exactly
// that many.
inline absl::string_view CutText(absl::string_view text, size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  constexpr size_t kCharacterBytesMax = 4;
  const auto continues = [&](size_t at) {
    return (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  size_t end = bytes_max;
  while (end > 0 && bytes_max - end < kCharacterBytesMax && continues(end)) --end;
  return text.substr(0, continues(end) ? bytes_max : end);
}

}  // namespace eris::text

#endif  // ERIS_TEXT_CUT_TEXT_H_
