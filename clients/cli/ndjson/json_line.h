// One line of NDJSON, which is a JSON object, as its members. Parsed by simdjson. One thread.
#ifndef ERIS_CLIENTS_CLI_NDJSON_JSON_LINE_H_
#define ERIS_CLIENTS_CLI_NDJSON_JSON_LINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"

namespace eris::cli {

// Readable bytes behind a line, whatever they are.
inline constexpr size_t kJsonPadBytes = 64;

enum class JsonKind : uint8_t { kNull, kBoolean, kNumber, kString, kNested };

class JsonLine {
 public:
  JsonLine();
  ~JsonLine();
  JsonLine(const JsonLine&) = delete;
  JsonLine& operator=(const JsonLine&) = delete;

  // Calls `member` for each member, in order. `text`: a string without quotes and escapes; all
  // others, also arrays and objects, as the line has them. Key and text are valid during the call.
  // Returns what is wrong with the line, or empty. Then some members may have been told already.
  // REQUIRES: kJsonPadBytes readable bytes behind the line.
  using Member =
      absl::FunctionRef<void(absl::string_view key, JsonKind kind, absl::string_view text)>;
  std::string Read(absl::string_view line, Member member);

 private:
  struct Parsers;
  const std::unique_ptr<Parsers> parsers_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_NDJSON_JSON_LINE_H_
