// Standard output of the verbs: buffered, and silent when the reader has closed it. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_OUTPUT_H_
#define ERIS_CLIENTS_CLI_TEXT_OUTPUT_H_

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "clients/json.h"

namespace eris::cli {

// Collects output and writes it in large pieces. After a failed write it drops the rest; verbs that
// print much check open() and stop.
class Output {
 public:
  // `file` must outlive the output; it is not closed.
  explicit Output(std::FILE* file = stdout) : file_(file) {}

  void Write(absl::string_view text);
  // One JSON value and a newline.
  void WriteJson(const Json& value);
  bool open() const { return error_ == 0; }
  // Writes the rest. Returns `code`, also when the reader has closed it (EPIPE); after any other
  // error prints it on stderr and returns kExitRefused.
  int Finish(int code);

 private:
  void Flush();

  std::FILE* const file_;
  std::string buffer_;
  int error_ = 0;  // errno of the write that failed
};

// The number of characters of a UTF-8 text.
size_t CharactersOf(absl::string_view text);

// Rows of text in aligned columns; numbers aligned right.
class TextTable {
 public:
  struct Column {
    std::string title;
    bool right = true;
  };
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns.
  void Add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string ToString() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// "12.3 MiB"
std::string FormatBytes(uint64_t bytes);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_OUTPUT_H_
