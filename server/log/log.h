// The server's log: one line for an event, on stderr. Any thread; may block for as long as stderr
// does.
#ifndef ERIS_SERVER_LOG_LOG_H_
#define ERIS_SERVER_LOG_LOG_H_

#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"

namespace eris::server {

enum class LogLevel { kInfo, kWarning, kError };

struct LogField {
  absl::string_view key;
  std::string value;  // may quote what a client has sent: it is escaped
};

// `text` says what has happened, in words that need no field.
void Log(LogLevel level, absl::string_view text, std::initializer_list<LogField> fields = {});

}  // namespace eris::server

#endif  // ERIS_SERVER_LOG_LOG_H_
