#include "server/log/log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <new>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/utf8.h"

namespace eris::server {
namespace {

spdlog::level::level_enum LevelOf(LogLevel level) {
  switch (level) {
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarning:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
  }
  return spdlog::level::err;
}

struct Sink {
  spdlog::logger logger{"eris", std::make_shared<spdlog::sinks::stderr_sink_mt>()};
  std::atomic<bool> json{false};
  std::array<std::atomic<uint64_t>, 3> lines{};
};

// Never destroyed: gRPC's threads log until the process has ended.
Sink& TheSink() {
  static Sink* const sink = [] {
    auto* made = new Sink;
    made->logger.set_pattern("%v", spdlog::pattern_time_type::utc);
    return made;
  }();
  return *sink;
}

void AppendJsonText(absl::string_view text, std::string* line) {
  *line += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      absl::StrAppend(line, "\\", absl::string_view(&c, 1));
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      absl::StrAppendFormat(line, "\\u%04x", static_cast<unsigned char>(c));
    } else {
      *line += c;
    }
  }
  *line += '"';
}

// Text that is not UTF-8, which JSON cannot hold, is written with \x escapes.
std::string AsUtf8(absl::string_view text) {
  return base::IsUtf8({text.data(), text.size()}) ? std::string(text) : absl::CHexEscape(text);
}

std::string JsonLine(LogLevel level, absl::string_view text,
                     std::initializer_list<LogField> fields) {
  std::string line =
      absl::StrCat("\"level\":\"", kLogLevelNames[static_cast<size_t>(level)], "\",\"text\":");
  AppendJsonText(AsUtf8(text), &line);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, ",\"", field.key, "\":");
    AppendJsonText(AsUtf8(field.value), &line);
  }
  line += '}';
  return line;
}

std::string TextLine(LogLevel level, absl::string_view text,
                     std::initializer_list<LogField> fields) {
  std::string line = "eris: ";
  if (level != LogLevel::kInfo) {
    absl::StrAppend(&line, kLogLevelNames[static_cast<size_t>(level)], ": ");
  }
  absl::StrAppend(&line, text);
  for (const LogField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=\"", absl::Utf8SafeCEscape(field.value), "\"");
  }
  return line;
}

}  // namespace

void SetUpLog(LogFormat format, LogLevel least) {
  Sink& sink = TheSink();
  const bool json = format == LogFormat::kJson;
  // relaxed: lines of other threads may have the old form for a moment.
  sink.json.store(json, std::memory_order_relaxed);
  sink.logger.set_pattern(json ? "{\"time\":\"%Y-%m-%dT%H:%M:%S.%eZ\",%v" : "%v",
                          spdlog::pattern_time_type::utc);
  SetLogLevel(least);
}

void SetLogLevel(LogLevel least) { TheSink().logger.set_level(LevelOf(least)); }

void Log(LogLevel level, absl::string_view text, std::initializer_list<LogField> fields) noexcept
    try {
  Sink& sink = TheSink();
  if (!sink.logger.should_log(LevelOf(level))) return;
  // relaxed, here and below: counts, and a choice of form; nothing else depends on them.
  const std::string line = sink.json.load(std::memory_order_relaxed)
                               ? JsonLine(level, text, fields)
                               : TextLine(level, text, fields);
  sink.logger.log(LevelOf(level), spdlog::string_view_t(line.data(), line.size()));
  sink.lines[static_cast<size_t>(level)].fetch_add(1, std::memory_order_relaxed);
} catch (const std::bad_alloc&) {
  std::fputs("eris: error: no memory for a line of the log\n", stderr);
}

std::array<uint64_t, 3> LogLines() {
  const Sink& sink = TheSink();
  std::array<uint64_t, 3> lines{};
  for (size_t i = 0; i < lines.size(); ++i) {
    lines[i] = sink.lines[i].load(std::memory_order_relaxed);
  }
  return lines;
}

}  // namespace eris::server
