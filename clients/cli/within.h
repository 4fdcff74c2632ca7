// Numbers of the command line that lie within limits.
#ifndef ERIS_CLIENTS_CLI_WITHIN_H_
#define ERIS_CLIENTS_CLI_WITHIN_H_

#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "clients/cli/parse.h"

namespace eris::cli {

// For CLI11's check(): a number from `min` to `max`; where Number is unsigned, digits alone.
// CLI11's own Range takes nan, -1 for 2^64-1, and 010 for 8.
template <class Number>
CLI::Validator Within(Number min, Number max) {
  const std::string limits = absl::StrCat("[", min, " - ", max, "]");
  return CLI::Validator(
      [min, max, limits](std::string& text) -> std::string {
        if constexpr (std::is_floating_point_v<Number>) {
          double number = 0;
          if (absl::SimpleAtod(text, &number) && number >= min && number <= max) return "";
        } else {
          static_assert(std::is_unsigned_v<Number>);
          uint64_t number = 0;
          const bool octal = text.size() > 1 && text[0] == '0';
          if (!octal && ParseU64(text, number) && number >= min && number <= max) return "";
        }
        return absl::StrCat("'", text, "' is no number in ", limits);
      },
      absl::StrCat("in ", limits));
}

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_WITHIN_H_
