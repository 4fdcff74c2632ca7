// Whether bytes are text in UTF-8, as Unicode and RFC 3629 define it: no overlong forms, no
// surrogates, nothing above U+10FFFF. Pure functions, any thread.
#ifndef ERIS_BASE_UTF8_H_
#define ERIS_BASE_UTF8_H_

#include <cstddef>
#include <string_view>

namespace eris::base {

// By the vectors that this processor has: tens of GB/s from a cache, but about 10 ns for a text of
// a few bytes, so look at many short ones together.
bool IsUtf8(std::string_view text);

// The number of bytes that the longest prefix of whole, valid characters has; text.size() if all
// of it is UTF-8. Byte by byte, for messages.
size_t Utf8Bytes(std::string_view text);

}  // namespace eris::base

#endif  // ERIS_BASE_UTF8_H_
