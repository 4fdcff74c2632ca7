#include "clients/cli/text/option_flags.h"

#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"

namespace eris::cli {
namespace {

const char* GroupOf(const server::ConfigOption& option) {
  if (option.section == "server") return "Server";
  if (option.section == "security") return "Security";
  return option.section == "engine" ? kEngineGroup : "Load balancer";
}

// The engine's booleans are switches: "--no-memory-spill" for "--memory-spill". The others may have
// a value: "--balancer-enabled false".
std::string Negated(const std::string& flag) { return absl::StrCat("!--no-", flag.substr(2)); }

std::string DescriptionOf(const server::ConfigOption& option) {
  std::string text = option.meaning;
  if (!option.limits.empty()) absl::StrAppend(&text, "; ", option.limits);
  if (option.standard == "\"\"" || option.standard == "[]") return text;
  return absl::StrCat(text, "; default ", option.standard);
}

}  // namespace

void OptionFlags::AddTo(Flags& verb, bool engine_alone) {
  for (const server::ConfigOption& option : server::ConfigOptions()) {
    const bool engine = option.section == "engine";
    if (engine_alone && !engine) continue;
    OneFlag& flag = flags_.emplace_back(OneFlag{&option, {}, {}});
    std::string names = option.flag;
    if (!option.alias.empty()) absl::StrAppend(&names, ",", option.alias);
    if (option.type == "BOOLEAN" && engine) {
      absl::StrAppend(&names, ",", Negated(option.flag));
      if (!option.alias.empty()) absl::StrAppend(&names, ",", Negated(option.alias));
      verb.AddSwitch(names, flag.given, DescriptionOf(option)).Group(GroupOf(option));
      continue;
    }
    const Flag added =
        verb.Add(names, flag.text, DescriptionOf(option)).Type(option.type).Group(GroupOf(option));
    if (option.type == "BOOLEAN") {
      added.OptionalValue();
    } else if (!option.choices.empty()) {
      added.Check(OneOf(option.choices));
    }
  }
}

std::string OptionFlags::FirstGiven() const {
  for (const OneFlag& flag : flags_) {
    if (flag.text || flag.given) return flag.option->flag;
  }
  return "";
}

absl::Status OptionFlags::Apply(server::ServerConfig& config) const {
  server::ServerConfig changed = config;
  absl::Status status;
  for (const OneFlag& flag : flags_) {
    const char* variable = std::getenv(flag.option->variable.c_str());
    if (variable == nullptr || *variable == '\0') continue;
    status.Update(server::SetOption(*flag.option, variable, flag.option->variable, &changed));
  }
  for (const OneFlag& flag : flags_) {
    std::optional<std::string> text = flag.text;
    if (flag.given) text = *flag.given ? "true" : "false";
    if (text) status.Update(server::SetOption(*flag.option, *text, flag.option->flag, &changed));
  }
  if (status.ok()) config = std::move(changed);
  return status;
}

absl::Status OptionFlags::Apply(Options& options) const {
  server::ServerConfig config;
  config.engine = options;
  const absl::Status status = Apply(config);
  if (status.ok()) options = std::move(config.engine);
  return status;
}

}  // namespace eris::cli
