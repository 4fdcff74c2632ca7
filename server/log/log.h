// The server's log: one line for an event, on stderr. Any thread; may block for as long as stderr
// does. A line for which there is no memory is lost.
//
//   text: eris: warning: connection cut peer="1.2.3.4:5"
//   json: {"time":"2026-11-28T20:43:03.123Z","level":"warning","text":"connection cut",
//          "peer":"1.2.3.4:5"}
//
// Lines of text have no time: a terminal needs none, and the journal and container runtimes add
// their own. JSON always has one, in UTC.
#ifndef ERIS_SERVER_LOG_LOG_H_
#define ERIS_SERVER_LOG_LOG_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "absl/strings/string_view.h"

namespace eris::server {

enum class LogLevel { kInfo, kWarning, kError };
inline constexpr std::array<absl::string_view, 3> kLogLevelNames = {"info", "warning", "error"};

enum class LogFormat { kText, kJson };

struct LogField {
  absl::string_view key;  // lower case, without the names of the line's own fields above
  std::string value;      // may quote what a client has sent: it is escaped
};

// The form of all lines from now on; lines below `least` are left out. Until it is called: text,
// kInfo.
void SetUpLog(LogFormat format, LogLevel least);

// Only the least level, from now on.
void SetLogLevel(LogLevel least);

// `text` says what has happened, in words that need no field.
void Log(LogLevel level, absl::string_view text,
         std::initializer_list<LogField> fields = {}) noexcept;

// Lines written so far, by level.
std::array<uint64_t, 3> LogLines();

}  // namespace eris::server

#endif  // ERIS_SERVER_LOG_LOG_H_
