#include "clients/cli/text/output.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_format.h"
#include "clients/cli/text/exit_code.h"

namespace eris::cli {
namespace {
constexpr size_t kFlushBytes = 64 << 10;
}

void Output::Write(absl::string_view text) {
  if (!open()) return;
  buffer_.append(text.data(), text.size());
  if (buffer_.size() >= kFlushBytes) Flush();
}

void Output::WriteJson(const Json& value) { Write(value.DumpLines() + "\n"); }

void Output::Flush() {
  if (open() && (std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size() ||
                 std::fflush(file_) != 0)) {
    error_ = errno;
  }
  buffer_.clear();
}

int Output::Finish(int code) {
  Flush();
  if (open() || error_ == EPIPE) return code;
  std::fprintf(stderr, "eris: cannot write the output: %s\n", std::strerror(error_));
  return kExitRefused;
}

size_t CharactersOf(absl::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string TextTable::ToString() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(CharactersOf(column.title));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], CharactersOf(row[i]));
  }
  std::string text;
  auto add_line = [&](auto cell) {
    std::string line;
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string& value = cell(i);
      const std::string pad(widths[i] - CharactersOf(value), ' ');
      if (i > 0) line += "  ";
      line += columns_[i].right ? pad + value : value + pad;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add_line([&](size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    add_line([&](size_t i) -> const std::string& { return row[i]; });
  }
  return text;
}

std::string FormatBytes(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return absl::StrFormat("%d B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return absl::StrFormat("%.1f %s", value, kUnits[unit]);
}

}  // namespace eris::cli
