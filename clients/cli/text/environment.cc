#include "clients/cli/text/environment.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "server/state/config.h"
#include "text/nearest.h"

namespace eris::cli {
namespace {

// Variables read by other verbs, by the project's tests, and by ./dev and the programs it runs.
constexpr absl::string_view kOthers[] = {"ERIS_SERVER",
                                         "ERIS_TLS_CA",
                                         "ERIS_TLS_CERT",
                                         "ERIS_TLS_KEY",
                                         "ERIS_TOKEN",
                                         "ERIS_TOKEN_FILE",
                                         "ERIS_SYSTEM_ROOT",
                                         "ERIS_SEED",
                                         "ERIS_EXPLORE",
                                         "ERIS_SWEEP",
                                         "ERIS_FUZZ_PLANT",
                                         "ERIS_PROGRAM",
                                         "ERIS_PROPERTY_CASES",
                                         "ERIS_OTHER_SERVER",
                                         "ERIS_PLANTED_EARLY_TABLE",
                                         "ERIS_ONLY_CHECKS",
                                         "ERIS_LINEARIZABLE_ROUNDS",
                                         "ERIS_TABLE_FAULTS",
                                         "ERIS_FLAGS_TEST_SERVER",
                                         "ERIS_TURN_POINTS",
                                         "ERIS_TEXT_TRY",
                                         "ERIS_JOBS",
                                         "ERIS_COMMIT",
                                         "ERIS_COMPILER_LAUNCHER"};
// The same, as prefixes.
constexpr absl::string_view kOtherPrefixes[] = {"ERIS_TEST_", "ERIS_SIM_",   "ERIS_LAB_",
                                                "ERIS_DEMO_", "ERIS_BENCH_", "ERIS_CCACHE"};

// Kubernetes sets such variables for a service named eris: ERIS_SERVICE_HOST, ERIS_PORT,
// ERIS_PORT_7411_TCP_ADDR.
bool IsOfKubernetes(absl::string_view name) {
  constexpr absl::string_view kPort = "ERIS_PORT_";
  return absl::StartsWith(name, "ERIS_SERVICE_") || name == "ERIS_PORT" ||
         (absl::StartsWith(name, kPort) && name.size() > kPort.size() &&
          absl::ascii_isdigit(name[kPort.size()]));
}

bool IsOfOthers(absl::string_view name) {
  const auto begins = [&](absl::string_view prefix) { return absl::StartsWith(name, prefix); };
  return std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers) ||
         std::any_of(std::begin(kOtherPrefixes), std::end(kOtherPrefixes), begins) ||
         IsOfKubernetes(name);
}

}  // namespace

std::vector<std::string> EnvironmentNames() {
  std::vector<std::string> names;
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    const absl::string_view text = *variable;
    names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

absl::Status CheckEnvironment(const std::vector<std::string>& names) {
  std::vector<std::string> known;
  for (const server::ConfigOption& option : server::ConfigOptions()) {
    known.push_back(option.variable);
  }
  for (const std::string& name : names) {
    if (!absl::StartsWith(name, "ERIS_") || IsOfOthers(name) ||
        std::find(known.begin(), known.end(), name) != known.end()) {
      continue;
    }
    const std::string nearest = text::NearestOf(known, name);
    return absl::InvalidArgumentError(absl::StrCat(
        "the environment has ", name, ", which is no option",
        nearest.empty() ? "; `eris serve --print-options` lists them, `unset` removes it"
                        : absl::StrCat("; did you mean ", nearest, "?")));
  }
  return absl::OkStatus();
}

}  // namespace eris::cli
