// Arguments of put, get and erase: those of the command line, and for "-" the lines of standard
// input. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_KEY_INPUT_H_
#define ERIS_CLIENTS_CLI_TEXT_KEY_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <istream>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "text/cut_text.h"

namespace eris::cli {

// Keys that a verb sends in one request.
inline constexpr size_t kKeysPerRequest = 65536;

class ArgumentReader {
 public:
  // `input` is read for an argument "-"; blank lines are skipped.
  ArgumentReader(std::vector<std::string> arguments, std::istream& input)
      : arguments_(std::move(arguments)), input_(input) {}

  // The next argument or line; false after the last.
  bool Next(std::string& text) {
    while (next_ < arguments_.size()) {
      if (arguments_[next_] != "-") {
        text = arguments_[next_++];
        from_input_ = false;
        return true;
      }
      from_input_ = true;
      while (std::getline(input_, text)) {
        ++line_;
        if (!text.empty() && text.back() == '\r') text.pop_back();
        if (text.find_first_not_of(" \t") != std::string::npos) return true;
      }
      ++next_;
    }
    return false;
  }

  // Whether the last one was a line of the input.
  bool from_input() const { return from_input_; }

  // What is wrong with the last one, `text`; of a line of the input with its number and its text.
  absl::Status Named(const absl::Status& status, absl::string_view text) const {
    constexpr size_t kShownBytesMax = 200;
    if (status.ok() || !from_input_) return status;
    const absl::string_view shown = text::CutText(text, kShownBytesMax);
    return absl::Status(status.code(), absl::StrCat("line ", line_, " of the input, '", shown,
                                                    shown.size() < text.size() ? "...': " : "': ",
                                                    status.message()));
  }

  // Hands each argument or line to `take(text)`, whose errors are then named, and calls
  // `send(last)` behind it and once at the end. Stops at the first error, and when `output` has
  // lost its reader.
  template <class Output, class Take, class Send>
  absl::Status ForEach(const Output& output, const Take& take, const Send& send) {
    absl::Status status;
    std::string text;
    for (bool more = true; more && status.ok() && output.open();) {
      more = Next(text);
      if (more) status = Named(take(text), text);
      if (status.ok()) status = send(/*last=*/!more);
    }
    return status;
  }

 private:
  const std::vector<std::string> arguments_;
  std::istream& input_;
  size_t next_ = 0;
  uint64_t line_ = 0;  // of the input, read last
  bool from_input_ = false;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_KEY_INPUT_H_
