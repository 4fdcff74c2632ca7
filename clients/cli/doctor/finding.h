// What `eris doctor` says about one thing, and all of it as text or JSON. Plain values, no state.
#ifndef ERIS_CLIENTS_CLI_DOCTOR_FINDING_H_
#define ERIS_CLIENTS_CLI_DOCTOR_FINDING_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "clients/json.h"

namespace eris::cli {

enum class Verdict {
  kOk,
  kWarn,     // costs speed, or may later
  kBad,      // makes the engine fail or keeps it from its work
  kUnknown,  // cannot be told: a file is missing or unreadable
};

struct Finding {
  std::string check{};  // its name: "autonuma"
  Verdict verdict = Verdict::kOk;
  std::string found{};
  // Empty if there is nothing to change.
  std::string change{};  // a command or an option
  std::string why{};
  std::string undo{};
};

// kUnknown, because `file` cannot be read.
Finding Unreadable(absl::string_view check, absl::string_view file);

absl::string_view NameOf(Verdict verdict);
// Whether any finding has that verdict.
bool AnyIs(const std::vector<Finding>& findings, Verdict verdict);

// A line for each, followed by what to do if it is no kOk.
std::string ToText(const std::vector<Finding>& findings);
Json ToJson(const std::vector<Finding>& findings);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_DOCTOR_FINDING_H_
