#include "server/state/config.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include <toml++/toml.h>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "server/state/config_settings.h"
#include "server/state/host_port.h"

namespace eris::server {
namespace {

// A configuration is read into memory completely.
constexpr size_t kConfigFileBytesMax = 1 << 20;

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// For example "4 GiB", "64KiB", "1048576", "1 TiB". nullopt: not a byte count, or beyond 64 bits.
std::optional<uint64_t> ParseBytes(absl::string_view text) {
  uint64_t unit = 1;
  if (absl::ConsumeSuffix(&text, "KiB")) {
    unit = kKiB;
  } else if (absl::ConsumeSuffix(&text, "MiB")) {
    unit = kMiB;
  } else if (absl::ConsumeSuffix(&text, "GiB")) {
    unit = kGiB;
  } else if (absl::ConsumeSuffix(&text, "TiB")) {
    unit = kGiB << 10;
  }
  uint64_t count = 0;
  if (!absl::SimpleAtoi(absl::StripAsciiWhitespace(text), &count)) return std::nullopt;
  if (count > std::numeric_limits<uint64_t>::max() / unit) return std::nullopt;
  return count * unit;
}

// "a", "b" or "c"
std::string Alternatives(const std::vector<absl::string_view>& names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i) {
    const absl::string_view separator = i == 0 ? "" : i + 1 < names.size() ? ", " : " or ";
    absl::StrAppend(&text, separator, Quoted(names[i]));
  }
  return text;
}

// The message after "<where>: <key>: ".
absl::Status Wrong(absl::string_view value, absl::string_view wanted) {
  return absl::InvalidArgumentError(absl::StrCat("is ", value, ", must be ", wanted));
}

absl::Status CheckNumber(const Number& number, uint64_t value) {
  if (value >= number.min && value <= number.max) return absl::OkStatus();
  if (value == 0 && number.zero_too) return absl::OkStatus();
  const absl::string_view zero = number.zero_too ? "0, or " : "";
  if (number.max == kNoLimit)
    return Wrong(absl::StrCat(value), absl::StrCat(zero, "at least ", number.min));
  return Wrong(absl::StrCat(value),
               absl::StrCat(zero, "between ", number.min, " and ", number.max));
}

absl::Status CheckReal(const Real& real, double value) {
  if (real.limits.Hold(value)) return absl::OkStatus();
  return Wrong(absl::StrCat(value),
               absl::StrCat("between ", real.limits.min, " and ", real.limits.max));
}

std::string Print(const toml::node& value) {
  if (value.is_table()) return "a table";
  if (value.is_array()) return "an array";
  std::ostringstream out;
  value.visit([&](const auto& v) { out << v; });
  return out.str();
}

// Each Assign puts a TOML value into its field, or returns the error.
absl::Status Assign(const Text& text, const toml::node& value, ServerConfig* config) {
  const auto* string = value.as_string();
  if (string == nullptr) return Wrong(Print(value), "a text in quotes");
  text.field(*config) = string->get();
  return absl::OkStatus();
}

absl::Status Assign(const Flag& flag, const toml::node& value, ServerConfig* config) {
  const auto* boolean = value.as_boolean();
  if (boolean == nullptr) return Wrong(Print(value), "true or false");
  flag.field(*config) = boolean->get();
  return absl::OkStatus();
}

absl::Status Assign(const Choice& choice, const toml::node& value, ServerConfig* config) {
  const auto* string = value.as_string();
  for (size_t i = 0; string != nullptr && i < choice.names.size(); ++i) {
    if (View(string->get()) != choice.names[i]) continue;
    choice.set(*config, i);
    return absl::OkStatus();
  }
  return Wrong(Print(value), Alternatives(choice.names));
}

absl::Status Assign(const CpuList& list, const toml::node& value, ServerConfig* config) {
  constexpr int64_t kCpuMax = 1 << 20;
  const auto* array = value.as_array();
  if (array == nullptr) return Wrong(Print(value), "an array of cpu numbers");
  std::vector<uint32_t> cpus;
  for (const toml::node& element : *array) {
    const auto* cpu = element.as_integer();
    if (cpu == nullptr || cpu->get() < 0 || cpu->get() > kCpuMax) {
      return Wrong(absl::StrCat("an array with ", Print(element)),
                   absl::StrCat("cpu numbers between 0 and ", kCpuMax));
    }
    cpus.push_back(static_cast<uint32_t>(cpu->get()));
  }
  list.field(*config) = std::move(cpus);
  return absl::OkStatus();
}

absl::Status Assign(const Number& number, const toml::node& value, ServerConfig* config) {
  std::optional<uint64_t> count;
  if (const auto* integer = value.as_integer()) {
    if (integer->get() < 0) {
      return Wrong(Print(value), absl::StrCat("at least ", number.zero_too ? 0 : number.min));
    }
    count = static_cast<uint64_t>(integer->get());
  } else if (const auto* string = value.as_string(); string != nullptr && number.bytes) {
    count = ParseBytes(View(string->get()));
  }
  if (!count) {
    return Wrong(Print(value),
                 number.bytes ? "an integer, or a text such as \"64 KiB\", \"16 MiB\", \"4 GiB\""
                              : "an integer");
  }
  ERIS_RETURN_IF_ERROR(CheckNumber(number, *count));
  if (const auto* field32 = std::get_if<Field<uint32_t>>(&number.field)) {
    (*field32)(*config) = static_cast<uint32_t>(*count);
  } else {
    std::get<Field<uint64_t>>(number.field)(*config) = *count;
  }
  return absl::OkStatus();
}

absl::Status Assign(const Real& real, const toml::node& value, ServerConfig* config) {
  const std::optional<double> number = value.value<double>();  // converts an integer too
  if (!number || value.is_string() || value.is_boolean()) return Wrong(Print(value), "a number");
  ERIS_RETURN_IF_ERROR(CheckReal(real, *number));
  real.field(*config) = *number;
  return absl::OkStatus();
}

// Each Read converts the text of a command line to a TOML value in `out`. Invalid text becomes a
// TOML string, which Assign refuses with the reason.
void Read(const Text&, absl::string_view text, toml::array& out) {
  out.push_back(std::string(text));
}
void Read(const Choice&, absl::string_view text, toml::array& out) {
  out.push_back(std::string(text));
}
void Read(const Flag&, absl::string_view text, toml::array& out) {
  bool value = false;
  if (absl::SimpleAtob(text, &value)) return out.push_back(value);
  out.push_back(std::string(text));
}
void Read(const Number& number, absl::string_view text, toml::array& out) {
  int64_t value = 0;
  if (!number.bytes && absl::SimpleAtoi(text, &value)) return out.push_back(value);
  out.push_back(std::string(text));
}
void Read(const Real&, absl::string_view text, toml::array& out) {
  double value = 0;
  if (absl::SimpleAtod(text, &value)) return out.push_back(value);
  out.push_back(std::string(text));
}
void Read(const CpuList&, absl::string_view text, toml::array& out) {
  toml::array cpus;
  for (const absl::string_view cpu : absl::StrSplit(text, ',', absl::SkipEmpty())) {
    int64_t value = 0;
    if (absl::SimpleAtoi(cpu, &value)) {
      cpus.push_back(value);
    } else {
      cpus.push_back(std::string(cpu));
    }
  }
  out.push_back(std::move(cpus));
}

std::string Where(absl::string_view source, const toml::source_region& region) {
  return absl::StrCat(source, ":", region.begin.line);
}

absl::Status ApplySection(absl::string_view section, const toml::table& table,
                          absl::string_view source, ServerConfig* config) {
  for (auto&& [name, node] : table) {
    const toml::node& value = node;  // a lambda cannot capture a binding
    const absl::string_view key = View(name.str());
    const std::string where = Where(source, name.source());
    const Setting* setting = FindSetting(section, key);
    if (setting == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": unknown key ", key, " in section [", section, "]"));
    }
    const absl::Status status =
        std::visit([&](const auto& kind) { return Assign(kind, value, config); }, setting->kind);
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(where, ": ", section, ".", key, " ", status.message()));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckListen(absl::string_view listen) {
  if (absl::StartsWith(listen, "unix:") || ParseHostPort(listen)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("server.listen is ", Quoted(listen),
                   ", must be host:port with a port between 0 and 65535, or unix:/path"));
}

absl::Status CheckAdvertise(absl::string_view advertise) {
  const std::optional<HostPort> at = ParseHostPort(advertise);
  if (advertise.empty() || (at && at->port > 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("server.advertise is ", Quoted(advertise),
                   ", must be host:port with a port between 1 and 65535, or empty"));
}

absl::Status CheckHttp(absl::string_view http) {
  if (http.empty() || ParseHostPort(http)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("server.http is ", Quoted(http),
                   ", must be host:port with a port between 0 and 65535, or empty"));
}

}  // namespace

absl::Status ApplyConfigText(absl::string_view text, absl::string_view source,
                             ServerConfig* config) {
  toml::table root;
  try {  // toml++ reports syntax errors by exception; none leaves this function
    root = toml::parse(std::string_view(text.data(), text.size()));
  } catch (const toml::parse_error& error) {
    return absl::InvalidArgumentError(
        absl::StrCat(Where(source, error.source()), ": ", View(error.description())));
  }
  ServerConfig changed = *config;
  for (const auto& [name, value] : root) {
    const absl::string_view section = View(name.str());
    const std::string where = Where(source, name.source());
    if (section != "server" && section != "engine" && section != "balancer") {
      return absl::InvalidArgumentError(absl::StrCat(
          where, ": unknown ", value.is_table() ? "section [" : "key ", section,
          value.is_table() ? "]" : "", "; the sections are [server], [engine] and [balancer]"));
    }
    const toml::table* table = value.as_table();
    if (table == nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(where, ": ", section, " must be a section"));
    }
    ERIS_RETURN_IF_ERROR(ApplySection(section, *table, source, &changed));
  }
  *config = std::move(changed);
  return absl::OkStatus();
}

absl::Status ApplyConfigFile(const std::string& path, ServerConfig* config) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    return absl::ErrnoToStatus(errno, absl::StrCat("configuration file ", path));
  }
  std::string text(kConfigFileBytesMax + 1, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  const bool failed = std::ferror(file) != 0;
  const int error = errno;
  std::fclose(file);
  if (failed) return absl::ErrnoToStatus(error, absl::StrCat("configuration file ", path));
  if (text.size() > kConfigFileBytesMax) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": longer than ", kConfigFileBytesMax, " bytes"));
  }
  return ApplyConfigText(text, path, config);
}

absl::Status ValidateConfig(const ServerConfig& config) {
  ServerConfig copy = config;
  for (const Setting& setting : Settings()) {
    if (setting.section == "engine") continue;
    absl::Status status;
    if (const auto* number = std::get_if<Number>(&setting.kind)) {
      status = CheckNumber(*number, ValueOf(*number, copy));
    } else if (const auto* real = std::get_if<Real>(&setting.kind)) {
      status = CheckReal(*real, real->field(copy));
    }
    if (!status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(setting.section, ".", setting.key, " ", status.message()));
    }
  }
  ERIS_RETURN_IF_ERROR(CheckListen(config.listen));
  ERIS_RETURN_IF_ERROR(CheckAdvertise(config.advertise));
  return CheckHttp(config.http);
}

absl::Status SetOption(const ConfigOption& option, absl::string_view text, absl::string_view source,
                       ServerConfig* config) {
  const Setting* setting = FindSetting(option.section, option.key);
  ERIS_CHECK(setting != nullptr);
  const absl::Status status = std::visit(
      [&](const auto& kind) {
        toml::array one;  // owns the value
        Read(kind, text, one);
        return Assign(kind, *one.get(0), config);
      },
      setting->kind);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": ", option.section, ".", option.key, " ", status.message()));
}

}  // namespace eris::server
