// The options as text: the file for a configuration, the documentation's table.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "base/check.h"
#include "server/state/config.h"
#include "server/state/config_settings.h"
#include "text/nearest.h"

namespace eris::server {
namespace {

// As a basic string of TOML.
std::string TomlText(absl::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (absl::ascii_iscntrl(static_cast<unsigned char>(c))) {
      absl::StrAppend(&out, "\\u00", absl::Hex(static_cast<unsigned char>(c), absl::kZeroPad2));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

// For example "64 KiB" if that is exact.
std::string BytesText(uint64_t bytes) {
  if (bytes > 0 && bytes % kGiB == 0) return absl::StrCat(bytes / kGiB, " GiB");
  if (bytes > 0 && bytes % kMiB == 0) return absl::StrCat(bytes / kMiB, " MiB");
  if (bytes > 0 && bytes % kKiB == 0) return absl::StrCat(bytes / kKiB, " KiB");
  return absl::StrCat(bytes);
}

// Type, choices and limits.
ConfigOption DescribedBy(const std::variant<Text, Flag, Choice, CpuList, Number, Real>& kind) {
  ConfigOption option;
  if (std::holds_alternative<Text>(kind)) option.type = "TEXT";
  if (std::holds_alternative<Flag>(kind)) {
    option.type = "BOOLEAN";
    option.choices = {"true", "false"};
  }
  if (const auto* choice = std::get_if<Choice>(&kind)) {
    option.type = "TEXT";
    for (const absl::string_view name : choice->names) option.choices.emplace_back(name);
  }
  if (std::holds_alternative<CpuList>(kind)) option.type = "CPU,...";
  if (const auto* real = std::get_if<Real>(&kind)) {
    option.type = "FLOAT";
    option.limits = absl::StrCat(real->limits.min, " to ", real->limits.max);
  }
  if (const auto* number = std::get_if<Number>(&kind)) {
    const auto text = [&](uint64_t value) {
      return number->bytes ? BytesText(value) : absl::StrCat(value);
    };
    const bool any = number->max == kNoLimit || number->max == std::numeric_limits<uint32_t>::max();
    option.type = number->bytes ? "BYTES" : "UINT";
    if (!any) {
      option.limits = absl::StrCat(text(number->min), " to ", text(number->max));
    } else if (number->min > 0) {
      option.limits = absl::StrCat("at least ", text(number->min));
    }
    if (number->zero_too) option.limits = absl::StrCat("0, or ", option.limits);
  }
  return option;
}

}  // namespace

std::string ValueText(const Setting& setting, ServerConfig& config) {
  if (const auto* text = std::get_if<Text>(&setting.kind)) return TomlText(text->field(config));
  if (const auto* flag = std::get_if<Flag>(&setting.kind)) {
    return flag->field(config) ? "true" : "false";
  }
  if (const auto* choice = std::get_if<Choice>(&setting.kind)) {
    return Quoted(choice->names[choice->get(config)]);
  }
  if (const auto* list = std::get_if<CpuList>(&setting.kind)) {
    return absl::StrCat("[", absl::StrJoin(list->field(config), ", "), "]");
  }
  if (const auto* real = std::get_if<Real>(&setting.kind)) {
    return absl::StrCat(real->field(config));
  }
  return absl::StrCat(ValueOf(std::get<Number>(setting.kind), config));
}

std::string ConfigText(ServerConfig config) {
  std::string out;
  absl::string_view section;
  for (const Setting& setting : Settings()) {
    if (setting.section != section) {
      absl::StrAppend(&out, section.empty() ? "" : "\n", "[", setting.section, "]\n");
      section = setting.section;
    }
    absl::StrAppend(&out, "# ", setting.meaning, "\n", setting.key, " = ",
                    ValueText(setting, config), "\n");
  }
  return out;
}

const std::vector<ConfigOption>& ConfigOptions() {
  static const std::vector<ConfigOption> options = [] {
    ServerConfig defaults;
    std::vector<ConfigOption> all;
    for (const Setting& setting : Settings()) {
      ConfigOption option = DescribedBy(setting.kind);
      option.section = std::string(setting.section);
      option.key = std::string(setting.key);
      const std::string prefix = setting.section == "balancer" || setting.section == "security"
                                     ? absl::StrCat(setting.section, "_")
                                     : "";
      const std::string name = absl::StrCat(prefix, setting.key);
      option.flag = absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}}));
      option.alias = std::string(setting.alias);
      option.variable = absl::StrCat("ERIS_", absl::AsciiStrToUpper(name));
      const auto* number = std::get_if<Number>(&setting.kind);
      const bool bytes = number != nullptr && number->bytes;
      option.standard =
          bytes ? BytesText(ValueOf(*number, defaults)) : ValueText(setting, defaults);
      option.meaning = std::string(setting.meaning);
      option.live = setting.live;
      all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

absl::StatusOr<const ConfigOption*> FindOption(absl::string_view name) {
  std::vector<std::string> names;
  const ConfigOption* by_key = nullptr;
  int keys = 0;
  for (const ConfigOption& option : ConfigOptions()) {
    if (option.name() == name) return &option;
    if (option.key == name) by_key = &option, ++keys;
    names.push_back(option.name());
    names.push_back(option.key);
  }
  if (keys == 1) return by_key;
  const std::string nearest = text::NearestOf(names, std::string(name));
  return absl::InvalidArgumentError(
      absl::StrCat("unknown option '", name, "'",
                   nearest.empty() ? "; `eris config get` lists them"
                                   : absl::StrCat("; did you mean ", nearest, "?")));
}

std::string ValueText(const ConfigOption& option, const ServerConfig& config) {
  const Setting* setting = FindSetting(option.section, option.key);
  ERIS_CHECK(setting != nullptr);
  ServerConfig copy = config;
  return ValueText(*setting, copy);
}

std::string OriginOf(const ConfigOption& option, const ServerConfig& config) {
  const auto origin = config.origins.find(option.name());
  return origin == config.origins.end() ? "default" : origin->second;
}

std::string OptionsTable() {
  std::string out;
  absl::string_view section;
  for (const ConfigOption& option : ConfigOptions()) {
    if (option.section != section) {
      absl::StrAppend(&out, section.empty() ? "" : "\n", "### [", option.section,
                      "]\n\n| key | flag | environment | default | limits | meaning |\n",
                      "|---|---|---|---|---|---|\n");
      section = option.section;
    }
    const std::string flags = absl::StrCat(
        "`", option.flag, "`", option.alias.empty() ? "" : absl::StrCat(", `", option.alias, "`"));
    const std::string limits =
        option.choices.empty() ? option.limits : absl::StrJoin(option.choices, ", ");
    absl::StrAppend(&out, "| `", option.key, "` | ", flags, " | `", option.variable, "` | `",
                    option.standard, "` | ", limits, " | ", option.meaning,
                    option.live ? " (live)" : "", " |\n");
  }
  return out;
}

}  // namespace eris::server
