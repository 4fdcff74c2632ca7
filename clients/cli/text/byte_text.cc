#include "clients/cli/text/byte_text.h"

#include <simdjson.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "clients/json.h"
#include "eris/batch.h"

namespace eris::cli {
namespace {

// The bytes of the character that begins there; 0: not UTF-8.
size_t CharacterBytes(absl::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t length = first >> 5 == 0x6 ? 2 : first >> 4 == 0xe ? 3 : first >> 3 == 0x1e ? 4 : 0;
  if (length == 0 || length > text.size()) return 0;
  uint32_t point = first & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[i]);
    if (next >> 6 != 0x2) return 0;
    point = point << 6 | (next & 0x3f);
  }
  constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = point >= 0xd800 && point < 0xe000;
  return point < kLeast[length] || point > 0x10ffff || surrogate ? 0 : length;
}

// Reads at most one byte more than a value may have, so that a longer one is refused as too long.
absl::StatusOr<std::string> FromFile(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rbe"),
                                                             &std::fclose);
  std::string content(size_t{kValueBytesMax} + 1, '\0');
  if (file != nullptr) content.resize(std::fread(content.data(), 1, content.size(), file.get()));
  if (file == nullptr || std::ferror(file.get()) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("file '", path, "' cannot be read: ", std::strerror(errno)));
  }
  if (content.size() > kValueBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat("file '", path, "' has more than ",
                                                   kValueBytesMax, " bytes, the most of a value"));
  }
  return content;
}

// Long arguments are cut in messages.
absl::string_view Head(absl::string_view text) { return text.substr(0, 60); }

}  // namespace

bool IsUtf8(absl::string_view text) {
  return text.empty() || simdjson::validate_utf8(text.data(), text.size());
}

absl::StatusOr<std::string> ParseByteText(ByteFormat format, absl::string_view text) {
  std::string bytes;
  switch (format) {
    case ByteFormat::kText:
      return std::string(text.data(), text.size());
    case ByteFormat::kHex:
      for (const char c : text) {
        if (absl::ascii_isxdigit(static_cast<unsigned char>(c)) && text.size() % 2 == 0) continue;
        return absl::InvalidArgumentError(
            absl::StrCat("'", Head(text), "' is no even number of hexadecimal digits"));
      }
      return absl::HexStringToBytes(text);
    case ByteFormat::kBase64:
      if (absl::Base64Unescape(text, &bytes)) return bytes;
      return absl::InvalidArgumentError(absl::StrCat("'", Head(text), "' is no base64"));
  }
  return bytes;
}

absl::StatusOr<std::string> ParseByteArgument(ByteFormat format, absl::string_view text) {
  if (text.empty() || text[0] != '@') return ParseByteText(format, text);
  text.remove_prefix(1);
  if (!text.empty() && text[0] == '@') return ParseByteText(format, text);
  return FromFile(std::string(text.data(), text.size()));
}

std::string ShowBytes(ByteFormat format, absl::string_view bytes) {
  if (format == ByteFormat::kHex) return absl::BytesToHexString(bytes);
  if (format == ByteFormat::kBase64) return absl::Base64Escape(bytes);
  std::string shown;
  while (!bytes.empty()) {
    const size_t length = CharacterBytes(bytes);
    const auto first = static_cast<unsigned char>(bytes[0]);
    if (first == '\n') {
      shown += "\\n";
    } else if (first == '\t') {
      shown += "\\t";
    } else if (length == 0 || first < 0x20 || first == 0x7f) {
      absl::StrAppendFormat(&shown, "\\x%02x", first);
    } else {
      shown.append(bytes.data(), length);
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return shown;
}

std::string ToJsonMember(ByteFormat format, absl::string_view name, absl::string_view bytes) {
  if (format == ByteFormat::kText && !IsUtf8(bytes)) {
    return absl::StrCat(Json(absl::StrCat(name, "_base64")).Dump(), ": \"",
                        absl::Base64Escape(bytes), "\"");
  }
  const std::string shown = format == ByteFormat::kText ? std::string(bytes.data(), bytes.size())
                                                        : ShowBytes(format, bytes);
  return absl::StrCat(Json(name).Dump(), ": ", Json(shown).Dump());
}

}  // namespace eris::cli
