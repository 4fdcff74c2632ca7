// The table of all options: their field in a ServerConfig, their possible values, and their
// description. Inside config.h's sources only. Any thread, no state.
#ifndef ERIS_SERVER_STATE_CONFIG_SETTINGS_H_
#define ERIS_SERVER_STATE_CONFIG_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "eris/balancer.h"
#include "server/state/config.h"

namespace eris::server {

inline constexpr uint64_t kKiB = 1 << 10;
inline constexpr uint64_t kMiB = 1 << 20;
inline constexpr uint64_t kGiB = 1 << 30;
inline constexpr uint64_t kDayMs = 24u * 3600 * 1000;
inline constexpr uint64_t kNoLimit =
    std::numeric_limits<int64_t>::max();  // the limit of TOML's integers

// One key of the file. `field` finds its place in a ServerConfig.
template <class T>
using Field = std::function<T&(ServerConfig&)>;

struct Text {
  Field<std::string> field;
  bool list = false;  // may be an array of texts, which are then joined by commas
};
struct Flag {
  Field<bool> field;
};
// One of an enum's values, by name.
struct Choice {
  std::vector<absl::string_view> names;  // names[i] is the name of value i
  std::function<size_t(ServerConfig&)> get;
  std::function<void(ServerConfig&, size_t)> set;
};
struct CpuList {
  Field<std::vector<uint32_t>> field;
};
struct Number {
  std::variant<Field<uint32_t>, Field<uint64_t>> field;
  uint64_t min;
  uint64_t max;
  bool bytes = false;     // may be text with a unit
  bool zero_too = false;  // 0 is also allowed, and means "none" or "automatic"
};
struct Real {
  Field<double> field;
  BalancerLimits<double> limits;
};

struct Setting {
  absl::string_view section;
  absl::string_view key;
  absl::string_view meaning;
  std::variant<Text, Flag, Choice, CpuList, Number, Real> kind;
  absl::string_view alias = "";  // a shorter name of the flag
  bool live = false;             // can be changed while the server runs (live_options.h)
};

// In the order in which they are shown.
const std::vector<Setting>& Settings();
// nullptr: there is no such option.
const Setting* FindSetting(absl::string_view section, absl::string_view key);

// The setting's value, as in the file.
std::string ValueText(const Setting& setting, ServerConfig& config);

inline uint64_t ValueOf(const Number& number, ServerConfig& config) {
  const auto* field32 = std::get_if<Field<uint32_t>>(&number.field);
  return field32 != nullptr ? (*field32)(config) : std::get<Field<uint64_t>>(number.field)(config);
}
inline std::string Quoted(absl::string_view text) { return absl::StrCat("\"", text, "\""); }

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_CONFIG_SETTINGS_H_
