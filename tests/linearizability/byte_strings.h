// Byte strings that follow from a value, so that a string that is not whole, or is made of two, is
// found where it is read. Pure functions; any thread.
#ifndef ERIS_TESTS_LINEARIZABILITY_BYTE_STRINGS_H_
#define ERIS_TESTS_LINEARIZABILITY_BYTE_STRINGS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"

namespace eris {

// REQUIRES: value < 2^56. One value in four is a short string, which the engine keeps in a word of
// its own; the others are up to 200 bytes long, one in 64 several KiB.
inline std::string StringOf(uint64_t value) {
  const uint64_t mixed = value * 0x9e3779b97f4a7c15u;
  std::string text(reinterpret_cast<const char*>(&value), 7);
  if (mixed >> 62 == 0) return text;
  const size_t length = 8 + (mixed >> 32) % ((mixed >> 8) % 64 == 0 ? 8192 : 192);
  while (text.size() < length) {
    text.push_back(static_cast<char>(mixed >> (text.size() % 8 * 8)));
  }
  return text;
}

// False: no value has that string.
inline bool ValueOf(absl::string_view text, uint64_t& value) {
  value = 0;
  if (text.size() >= 7) text.copy(reinterpret_cast<char*>(&value), 7);
  return text == StringOf(value);
}

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_BYTE_STRINGS_H_
