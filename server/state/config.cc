#include "server/state/config.h"

#include <algorithm>
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
#include "text/nearest.h"

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
  const auto* array = text.list ? value.as_array() : nullptr;
  std::string joined;
  for (size_t i = 0; array != nullptr && i < array->size(); ++i) {
    const auto* element = array->get(i)->as_string();
    if (element == nullptr) {
      return Wrong(absl::StrCat("an array with ", Print(*array->get(i))), "texts in quotes");
    }
    absl::StrAppend(&joined, i > 0 ? "," : "", View(element->get()));
  }
  const auto* string = value.as_string();
  if (string == nullptr && array == nullptr) return Wrong(Print(value), "a text in quotes");
  text.field(*config) = string != nullptr ? string->get() : joined;
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

// Applies what it can read, and collects the errors.
class ConfigReader {
 public:
  ConfigReader(absl::string_view source, ServerConfig* config) : source_(source), config_(config) {}

  void Read(absl::string_view text) {
    std::string rest(text);
    toml::table root;
    while (problems_.size() < kConfigProblemsMax && !Parse(rest, &root)) {
    }
    for (const auto& [name, value] : root) ReadSection(name, value);
  }

  // In the order of the lines.
  std::vector<std::string> Problems() && {
    std::stable_sort(problems_.begin(), problems_.end(),
                     [](const Problem& a, const Problem& b) { return a.line < b.line; });
    std::vector<std::string> texts;
    for (Problem& problem : problems_) {
      if (texts.size() < kConfigProblemsMax) texts.push_back(std::move(problem.text));
    }
    return texts;
  }

 private:
  struct Problem {
    uint32_t line;
    std::string text;
  };

  // False: a line has an error, and is now empty: parse again.
  bool Parse(std::string& text, toml::table* root) {
    try {  // toml++ reports syntax errors by exception; none leaves this function
      *root = toml::parse(std::string_view(text));
      return true;
    } catch (const toml::parse_error& error) {
      Add(error.source(), View(error.description()));
      return !Blank(text, error.source().begin.line);
    }
  }

  // Removes a line's text. False: it has none.
  static bool Blank(std::string& text, uint32_t line) {
    size_t begin = 0;
    for (uint32_t at = 1; at < line; ++at) {
      begin = text.find('\n', begin);
      if (begin == text.npos) return false;
      ++begin;
    }
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (begin >= end) return false;
    text.erase(begin, end - begin);
    return true;
  }

  void ReadSection(const toml::key& name, const toml::node& value) {
    static const std::vector<std::string> kSections = {"server", "engine", "balancer", "security"};
    const std::string section(name.str());
    if (std::find(kSections.begin(), kSections.end(), section) == kSections.end()) {
      const std::string nearest = text::NearestOf(kSections, section);
      return Add(
          name.source(),
          absl::StrCat("unknown ", value.is_table() ? "section [" : "key ", section,
                       value.is_table() ? "]" : "",
                       nearest.empty() || !value.is_table()
                           ? "; the sections are [server], [engine], [balancer] and [security]"
                           : absl::StrCat("; did you mean [", nearest, "]?")));
    }
    const toml::table* table = value.as_table();
    if (table == nullptr) {
      return Add(name.source(), absl::StrCat(section, " must be a section"));
    }
    for (const auto& [key, element] : *table) ReadKey(section, key, element);
  }

  void ReadKey(const std::string& section, const toml::key& name, const toml::node& value) {
    const absl::string_view key = View(name.str());
    const Setting* setting = FindSetting(section, key);
    if (setting == nullptr) {
      return Add(name.source(), absl::StrCat("unknown key ", key, " in section [", section, "]",
                                             MeantKey(section, key)));
    }
    const absl::Status status =
        std::visit([&](const auto& kind) { return Assign(kind, value, config_); }, setting->kind);
    if (status.ok()) {
      config_->origins[absl::StrCat(section, ".", key)] = Where(source_, name.source());
    } else {
      Add(name.source(), absl::StrCat(section, ".", key, " ", status.message()));
    }
  }

  static std::string MeantKey(absl::string_view section, absl::string_view key) {
    std::vector<std::string> names;
    for (const Setting& setting : Settings()) {
      if (setting.key == key) return absl::StrCat("; it belongs in [", setting.section, "]");
      if (setting.section == section) names.emplace_back(setting.key);
    }
    const std::string nearest = text::NearestOf(names, std::string(key));
    return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
  }

  void Add(const toml::source_region& region, absl::string_view what) {
    problems_.push_back({region.begin.line, absl::StrCat(Where(source_, region), ": ", what)});
  }

  const absl::string_view source_;
  ServerConfig* const config_;
  std::vector<Problem> problems_;
};

absl::StatusOr<std::string> ReadConfigFile(const std::string& path) {
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
  return text;
}

absl::Status CheckListen(absl::string_view listen) {
  for (const std::string& one : SplitListen(listen)) {
    if (absl::StartsWith(one, "unix:") || ParseHostPort(one)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("server.listen is ", Quoted(listen),
                     ", must be host:port with a port between 0 and 65535, or unix:/path, or "
                     "several of these with commas between them"));
  }
  return absl::OkStatus();
}

absl::Status CheckUnixMode(absl::string_view mode) {
  if (ParseMode(mode)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("server.unix_mode is ", Quoted(mode),
                                                 ", must be octal digits from 0 to 0777, such as "
                                                 "\"0660\""));
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

absl::Status CheckSecurity(const SecurityOptions& security) {
  if (security.tls_cert.empty() != security.tls_key.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "security.", security.tls_key.empty() ? "tls_cert is set without security.tls_key"
                                              : "tls_key is set without security.tls_cert"));
  }
  if (security.tls_client_ca.empty() || security.has_tls()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "security.tls_client_ca is set without security.tls_cert and security.tls_key");
}

// With the place that the value comes from.
void AddIfBad(const ServerConfig& config, const std::string& name, const absl::Status& status,
              std::vector<absl::Status>& out) {
  if (status.ok()) return;
  const auto origin = config.origins.find(name);
  const std::string where =
      origin == config.origins.end() ? "" : absl::StrCat(origin->second, ": ");
  out.push_back(absl::InvalidArgumentError(absl::StrCat(where, status.message())));
}

std::vector<absl::Status> InvalidValues(const ServerConfig& config) {
  std::vector<absl::Status> invalid;
  ServerConfig copy = config;
  for (const Setting& setting : Settings()) {
    if (setting.section == "engine") continue;
    absl::Status status;
    if (const auto* number = std::get_if<Number>(&setting.kind)) {
      status = CheckNumber(*number, ValueOf(*number, copy));
    } else if (const auto* real = std::get_if<Real>(&setting.kind)) {
      status = CheckReal(*real, real->field(copy));
    }
    const std::string name = absl::StrCat(setting.section, ".", setting.key);
    if (!status.ok())
      status = absl::InvalidArgumentError(absl::StrCat(name, " ", status.message()));
    AddIfBad(config, name, status, invalid);
  }
  AddIfBad(config, "server.listen", CheckListen(config.listen), invalid);
  AddIfBad(config, "server.unix_mode", CheckUnixMode(config.unix_mode), invalid);
  AddIfBad(config, "server.advertise", CheckAdvertise(config.advertise), invalid);
  AddIfBad(config, "server.http", CheckHttp(config.http), invalid);
  // The one that is set, not the one that is missing.
  const char* set = !config.security.tls_cert.empty()  ? "security.tls_cert"
                    : !config.security.tls_key.empty() ? "security.tls_key"
                                                       : "security.tls_client_ca";
  AddIfBad(config, set, CheckSecurity(config.security), invalid);
  return invalid;
}

}  // namespace

absl::Status ApplyConfigText(absl::string_view text, absl::string_view source,
                             ServerConfig* config) {
  ServerConfig changed = *config;
  ConfigReader reader(source, &changed);
  reader.Read(text);
  const std::vector<std::string> problems = std::move(reader).Problems();
  if (!problems.empty()) return absl::InvalidArgumentError(problems.front());
  *config = std::move(changed);
  return absl::OkStatus();
}

absl::Status ApplyConfigFile(const std::string& path, ServerConfig* config) {
  ERIS_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(path));
  return ApplyConfigText(text, path, config);
}

std::vector<std::string> CheckConfigText(absl::string_view text, absl::string_view source,
                                         ServerConfig* config) {
  ConfigReader reader(source, config);
  reader.Read(text);
  std::vector<std::string> problems = std::move(reader).Problems();
  for (absl::Status& status : InvalidValues(*config)) {
    if (problems.size() < kConfigProblemsMax) problems.emplace_back(status.message());
  }
  return problems;
}

absl::StatusOr<std::vector<std::string>> CheckConfigFile(const std::string& path,
                                                         ServerConfig* config) {
  ERIS_ASSIGN_OR_RETURN(const std::string text, ReadConfigFile(path));
  return CheckConfigText(text, path, config);
}

absl::Status ValidateConfig(const ServerConfig& config) {
  const std::vector<absl::Status> invalid = InvalidValues(config);
  return invalid.empty() ? absl::OkStatus() : invalid.front();
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
  if (status.ok()) {
    config->origins[option.name()] = std::string(source);
    return status;
  }
  return absl::InvalidArgumentError(
      absl::StrCat(source, ": ", option.name(), " ", status.message()));
}

}  // namespace eris::server
