#include "clients/cli/results/comparison.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "clients/cli/text/output.h"

namespace eris::cli {
namespace {

// These may differ, and the same thing was measured: which program it was and where, and for how
// long. Options of an embedded engine are what comparisons are made for.
bool Matters(const std::string& name) {
  static constexpr const char* kSame[] = {"target",   "version", "commit",    "object",
                                          "seed",     "seconds", "requests",  "warm-up",
                                          "interval", "replace", "aeu-count", "memory-limit-bytes"};
  return std::none_of(std::begin(kSame), std::end(kSame),
                      [&](const char* one) { return name == one; });
}

std::optional<std::string> SettingOf(const BenchResult& result, const std::string& name) {
  for (const auto& [its, value] : result.settings) {
    if (its == name) return value;
  }
  return std::nullopt;
}

void AddSetting(const std::string& name, const BenchResult& a, const BenchResult& b,
                Comparison& out) {
  Comparison::Setting setting{name, SettingOf(a, name), SettingOf(b, name), Matters(name)};
  if (setting.a != setting.b) out.settings.push_back(std::move(setting));
}

const BenchMetric* FindMetric(const BenchResult& result, const BenchMetric& wanted) {
  for (const BenchMetric& one : result.metrics) {
    if (one.SameAs(wanted)) return &one;
  }
  return nullptr;
}

std::string Shown(const std::optional<std::string>& value) {
  return !value ? "not given" : value->empty() ? "''" : *value;
}

// Four digits, and all digits before the point.
std::string NumberText(const std::optional<double>& value) {
  if (!value) return "-";
  const int decimals = *value < 10 ? 3 : *value < 100 ? 2 : *value < 1000 ? 1 : 0;
  return absl::StrFormat("%.*f", decimals, *value);
}

Json JsonOf(const std::optional<std::string>& value) { return value ? Json(*value) : Json(); }
Json JsonOf(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

}  // namespace

std::optional<double> Comparison::Figure::ratio() const {
  if (!a || !b || *a == 0) return std::nullopt;
  return *b / *a;
}

bool Comparison::comparable() const {
  return std::none_of(settings.begin(), settings.end(),
                      [](const Setting& one) { return one.matters; });
}

absl::StatusOr<Comparison> Compare(const BenchResult& a, const BenchResult& b) {
  if (a.sweep != b.sweep) {
    return absl::InvalidArgumentError(absl::StrCat((a.sweep ? a : b).name, " is a sweep, ",
                                                   (a.sweep ? b : a).name,
                                                   " is a single run: compare two of a kind"));
  }
  Comparison out{.a = a.name, .b = b.name, .settings = {}, .figures = {}};
  for (const auto& [name, value] : a.settings) AddSetting(name, a, b, out);
  for (const auto& [name, value] : b.settings) {
    if (!SettingOf(a, name)) AddSetting(name, a, b, out);
  }
  for (const BenchMetric& one : a.metrics) {
    Comparison::Figure figure{one.run, one.operation, one.name, one.value, std::nullopt};
    if (const BenchMetric* other = FindMetric(b, one)) figure.b = other->value;
    out.figures.push_back(std::move(figure));
  }
  for (const BenchMetric& one : b.metrics) {
    if (FindMetric(a, one) != nullptr) continue;
    out.figures.push_back({one.run, one.operation, one.name, std::nullopt, one.value});
  }
  return out;
}

std::string ToText(const Comparison& comparison) {
  std::string out = absl::StrCat("A: ", comparison.a, "\nB: ", comparison.b, "\n\n");
  if (comparison.settings.empty()) {
    absl::StrAppend(&out, "all settings are the same\n\n");
  } else {
    TextTable settings({{"SETTING", false}, {"A", false}, {"B", false}});
    for (const Comparison::Setting& one : comparison.settings) {
      settings.Add({one.name, Shown(one.a), Shown(one.b)});
    }
    absl::StrAppend(&out, settings.ToString(), "\n");
  }
  TextTable figures(
      {{"RUN", false}, {"OPERATION", false}, {"METRIC", false}, {"A"}, {"B"}, {"B/A"}});
  for (const Comparison::Figure& one : comparison.figures) {
    const std::optional<double> ratio = one.ratio();
    figures.Add({one.run.empty() ? "-" : one.run, one.operation, one.name, NumberText(one.a),
                 NumberText(one.b), ratio ? absl::StrFormat("%.3f", *ratio) : "-"});
  }
  return out + figures.ToString();
}

Json ToJson(const Comparison& comparison) {
  Json out{{"a", comparison.a},
           {"b", comparison.b},
           {"comparable", comparison.comparable()},
           {"settings", Json::Array()},
           {"figures", Json::Array()}};
  for (const Comparison::Setting& one : comparison.settings) {
    out["settings"].push_back(
        {{"name", one.name}, {"a", JsonOf(one.a)}, {"b", JsonOf(one.b)}, {"matters", one.matters}});
  }
  for (const Comparison::Figure& one : comparison.figures) {
    out["figures"].push_back({{"run", one.run.empty() ? Json() : Json(one.run)},
                              {"operation", one.operation},
                              {"metric", one.name},
                              {"a", JsonOf(one.a)},
                              {"b", JsonOf(one.b)},
                              {"ratio", JsonOf(one.ratio())}});
  }
  return out;
}

std::vector<std::string> Warnings(const Comparison& comparison, const BenchResult& a,
                                  const BenchResult& b) {
  std::vector<std::string> warnings;
  std::vector<std::string> others;
  for (const Comparison::Setting& one : comparison.settings) {
    if (one.matters)
      others.push_back(absl::StrCat(one.name, " ", Shown(one.a), " and ", Shown(one.b)));
  }
  if (!others.empty()) {
    warnings.push_back(absl::StrCat("not comparable: other ", absl::StrJoin(others, ", other ")));
  }
  for (const BenchResult* one : {&a, &b}) {
    if (one->wrong + one->failed == 0) continue;
    warnings.push_back(absl::StrCat(one->name, " has ", one->wrong, " wrong answers and ",
                                    one->failed,
                                    " failed requests: its figures are not to be trusted"));
  }
  return warnings;
}

}  // namespace eris::cli
