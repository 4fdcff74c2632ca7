#include "clients/cli/doctor/finding.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace eris::cli {

Finding Unreadable(absl::string_view check, absl::string_view file) {
  return {.check = std::string(check),
          .verdict = Verdict::kUnknown,
          .found = absl::StrCat(file, " cannot be read")};
}

absl::string_view NameOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "ok";
    case Verdict::kWarn:
      return "warn";
    case Verdict::kBad:
      return "bad";
    case Verdict::kUnknown:
      return "unknown";
  }
  return "unknown";
}

bool AnyIs(const std::vector<Finding>& findings, Verdict verdict) {
  return std::any_of(findings.begin(), findings.end(),
                     [verdict](const Finding& finding) { return finding.verdict == verdict; });
}

std::string ToText(const std::vector<Finding>& findings) {
  std::string text;
  const auto add = [&text](absl::string_view title, const std::string& what) {
    if (!what.empty()) absl::StrAppendFormat(&text, "         %-8s%s\n", title, what);
  };
  size_t counts[4] = {};
  for (const Finding& finding : findings) {
    ++counts[static_cast<size_t>(finding.verdict)];
    absl::StrAppendFormat(&text, "%-8s %s: %s\n", NameOf(finding.verdict), finding.check,
                          finding.found);
    if (finding.verdict == Verdict::kOk) continue;
    add("change:", finding.change);
    add("why:", finding.why);
    add("undo:", finding.undo);
  }
  absl::StrAppend(&text, counts[0], " ok, ", counts[1], " warn, ", counts[2], " bad, ", counts[3],
                  " unknown\n");
  return text;
}

Json ToJson(const std::vector<Finding>& findings) {
  Json json = Json::Array();
  for (const Finding& finding : findings) {
    json.push_back({{"check", finding.check},
                    {"verdict", NameOf(finding.verdict)},
                    {"found", finding.found},
                    {"change", finding.change},
                    {"why", finding.why},
                    {"undo", finding.undo}});
  }
  return json;
}

}  // namespace eris::cli
