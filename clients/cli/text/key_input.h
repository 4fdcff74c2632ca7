// Arguments of put, get and erase: those of the command line, and for "-" the lines of standard
// input. One thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_KEY_INPUT_H_
#define ERIS_CLIENTS_CLI_TEXT_KEY_INPUT_H_

#include <cstddef>
#include <istream>
#include <string>
#include <vector>

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
        if (!text.empty() && text.back() == '\r') text.pop_back();
        if (text.find_first_not_of(" \t") != std::string::npos) return true;
      }
      ++next_;
    }
    return false;
  }

  // Whether the last one was a line of the input.
  bool from_input() const { return from_input_; }

 private:
  const std::vector<std::string> arguments_;
  std::istream& input_;
  size_t next_ = 0;
  bool from_input_ = false;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_KEY_INPUT_H_
