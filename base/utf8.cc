#include "base/utf8.h"

#include <simdjson.h>

#include <cstdint>

namespace eris::base {
namespace {

// Bytes of the valid character that begins the text; 0: none does.
size_t CharacterBytes(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return 1;
  const size_t bytes = first < 0xc2   ? 0
                       : first < 0xe0 ? 2
                       : first < 0xf0 ? 3
                       : first < 0xf5 ? 4
                                      : 0;
  if (bytes == 0 || text.size() < bytes) return 0;
  // The second byte's range excludes overlong forms, surrogates, and what is above U+10FFFF.
  const uint8_t lowest = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const uint8_t highest = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < lowest || byte(1) > highest) return 0;
  for (size_t i = 2; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  return text.empty() || simdjson::validate_utf8(text.data(), text.size());
}

size_t Utf8Bytes(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t bytes = CharacterBytes(text.substr(at));
    if (bytes == 0) break;
    at += bytes;
  }
  return at;
}

}  // namespace eris::base
