#include "server/state/config.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <functional>
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
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/check.h"
#include "base/status_macros.h"

namespace eris::server {
namespace {

constexpr uint64_t kKiB = 1 << 10;
constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kGiB = 1 << 30;
constexpr uint64_t kDayMs = 24u * 3600 * 1000;
constexpr uint64_t kNoLimit = std::numeric_limits<int64_t>::max();  // TOML's integers end there
// A configuration is read into memory whole.
constexpr size_t kConfigFileBytesMax = 1 << 20;

// One key of the file. `field` finds its place in a ServerConfig.
template <class T>
using Field = std::function<T&(ServerConfig&)>;

struct Text {
  Field<std::string> field;
};
struct Flag {
  Field<bool> field;
};
// One of an enum's values, by name.
struct Choice {
  std::vector<absl::string_view> names;  // names[i] is value i's
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
  bool zero_too = false;  // 0 means "none" or "automatic", below min
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
};

static_assert(sizeof(size_t) == sizeof(uint64_t));  // buffer sizes are size_t in Options

const std::vector<Setting>& Settings() {
  using C = ServerConfig;
  const auto u32 = [](uint32_t C::*m) {
    return Field<uint32_t>([m](C& c) -> uint32_t& { return c.*m; });
  };
  const auto u64 = [](uint64_t C::*m) {
    return Field<uint64_t>([m](C& c) -> uint64_t& { return c.*m; });
  };
  const auto text = [](std::string C::*m) {
    return Text{[m](C& c) -> std::string& { return c.*m; }};
  };
  const auto engine32 = [](uint32_t Options::*m) {
    return Field<uint32_t>([m](C& c) -> uint32_t& { return c.engine.*m; });
  };
  const auto engine64 = [](uint64_t Options::*m) {
    return Field<uint64_t>([m](C& c) -> uint64_t& { return c.engine.*m; });
  };
  const auto choice = []<class E>(E Options::*m, std::vector<absl::string_view> names) {
    return Choice{std::move(names), [m](C& c) { return static_cast<size_t>(c.engine.*m); },
                  [m](C& c, size_t value) { c.engine.*m = static_cast<E>(value); }};
  };
  const auto balancer32 = [](uint32_t BalancerOptions::*m) {
    return Field<uint32_t>([m](C& c) -> uint32_t& { return c.engine.balancer.*m; });
  };
  constexpr uint64_t kU32Max = std::numeric_limits<uint32_t>::max();
  static const std::vector<Setting> settings = {
      {"server", "listen", "host:port, [ipv6]:port or unix:/path; port 0 takes a free one",
       text(&C::listen)},
      {"server", "port_file", "the port is written here once calls are answered; empty: nowhere",
       text(&C::port_file)},
      {"server", "drain_timeout_ms", "after SIGTERM, calls under way may go on this long",
       Number{u32(&C::drain_timeout_ms), 0, 3'600'000}},
      {"server", "sample_interval_ms", "write the load to stderr this often; 0: never",
       Number{u32(&C::sample_interval_ms), 100, kDayMs, false, true}},
      {"server", "call_ms_max", "a call or a stream's request may take this long; 0: no limit",
       Number{u32(&C::call_ms_max), 0, kDayMs}},
      {"server", "stall_ms_max", "a client may leave its answer unread this long; 0: no limit",
       Number{u32(&C::stall_ms_max), 0, kDayMs}},
      {"server", "scan_resume_ms",
       "the snapshot of a broken scan of a table is kept; 0: not at all",
       Number{u32(&C::scan_resume_ms), 0, kDayMs}},
      {"server", "receive_message_bytes_max",
       "largest request; 0: an eighth of in_flight_bytes_max, 2 MiB to 40 MiB",
       Number{u64(&C::receive_message_bytes_max), 64 * kKiB, kGiB, true, true}},
      {"server", "in_flight_bytes_max",
       "requests and answers that all calls together may hold; 0: a share of the memory",
       Number{u64(&C::in_flight_bytes_max), kMiB, kNoLimit, true, true}},
      {"server", "calls_per_connection_max", "calls at once on one connection",
       Number{u32(&C::calls_per_connection_max), 1, 65536}},
      {"server", "metadata_bytes_max", "headers of a call",
       Number{u32(&C::metadata_bytes_max), kKiB, kMiB, true}},
      {"server", "callback_threads", "threads that run gRPC's callbacks",
       Number{u32(&C::callback_threads), 0, 16}},
      {"server", "stream_requests_max", "requests in flight on one stream",
       Number{u32(&C::stream_requests_max), 1, 4096}},
      {"server", "stream_bytes_max", "bytes in flight at which a stream stops reading",
       Number{u64(&C::stream_bytes_max), 64 * kKiB, kNoLimit, true}},
      {"server", "keepalive_interval_ms", "a silent connection is asked for a sign of life",
       Number{u32(&C::keepalive_interval_ms), 1000, kDayMs}},
      {"server", "keepalive_timeout_ms", "and closed when none comes within this time",
       Number{u32(&C::keepalive_timeout_ms), 1000, kDayMs}},
      {"server", "client_ping_interval_ms_min", "clients that ping more often are sent away",
       Number{u32(&C::client_ping_interval_ms_min), 0, kDayMs}},
      {"engine", "topology",
       "empty: this machine; else an hwloc synthetic description such as 'numa:4 core:2 pu:1'",
       Text{[](C& c) -> std::string& { return c.engine.topology; }}},
      {"engine", "aeu_count", "how many AEUs; 0: one per core, less network_cores",
       Number{engine32(&Options::aeu_count), 0, kU32Max}, "--aeus"},
      {"engine", "placement",
       "dense fills a NumaNode before the next, sparse goes round, none does not pin",
       choice(&Options::placement, {"dense", "sparse", "none"})},
      {"engine", "aeu_per_hardware_thread", "one AEU per hardware thread instead of per core",
       Flag{[](C& c) -> bool& { return c.engine.aeu_per_hardware_thread; }}, "--hardware-threads"},
      {"engine", "network_cores", "cores on which no AEU is placed",
       Number{engine32(&Options::network_cores), 0, kU32Max}},
      {"engine", "aeu_cpus", "explicit cpu numbers, one AEU each; overrides the four above",
       CpuList{[](C& c) -> std::vector<uint32_t>& { return c.engine.aeu_cpus; }}},
      {"engine", "process_memory_bytes",
       "the whole process; 0: what the system lets it have (machine, cgroups, ulimit)",
       Number{engine64(&Options::process_memory_bytes), 0, kNoLimit, true}, "--process-memory"},
      {"engine", "memory_limit_bytes",
       "of that for data, over all NumaNodes; 0: what the rest leaves, at most 80 %",
       Number{engine64(&Options::memory_limit_bytes), 0, kNoLimit, true}, "--memory-limit"},
      {"engine", "memory_placement",
       "local: on the NumaNode of its AEU; for experiments also interleaved, one_numa_node",
       choice(&Options::memory_placement, {"local", "interleaved", "one_numa_node"})},
      {"engine", "memory_numa_node", "which one, where memory_placement is one_numa_node",
       Number{engine32(&Options::memory_numa_node), 0, kU32Max}},
      {"engine", "memory_spill", "when a NumaNode is full: take the nearest that is not, or refuse",
       Flag{[](C& c) -> bool& { return c.engine.memory_spill; }}},
      {"engine", "huge_pages",
       "auto; or reserved, shared (memory files), advised (anonymous memory) ones, or none",
       choice(&Options::huge_pages, {"auto", "reserved", "shared", "advised", "none"})},
      {"engine", "superblock_bytes",
       "memory comes in pieces of this size, a power of two; an object takes at least one per "
       "NumaNode",
       Number{engine64(&Options::superblock_bytes), 2 * kMiB, 32 * kMiB, true}, "--superblock"},
      {"engine", "memory_decay_ms", "what has been freed goes back to the system after this long",
       Number{engine32(&Options::memory_decay_ms), 8, 3'600'000}},
      {"engine", "memory_kept_bytes_max", "beyond this, per NumaNode, at once",
       Number{engine64(&Options::memory_kept_bytes_max), 0, kNoLimit, true}, "--memory-kept"},
      {"engine", "memory_ready_bytes_max", "made ready ahead of use, per NumaNode",
       Number{engine64(&Options::memory_ready_bytes_max), 0, kNoLimit, true}, "--memory-ready"},
      {"engine", "incoming_buffer_bytes", "each AEU has two",
       Number{engine64(&Options::incoming_buffer_bytes), 64 * kKiB, kGiB, true},
       "--incoming-buffer"},
      {"engine", "outgoing_buffer_bytes", "what a session collects for one AEU",
       Number{engine64(&Options::outgoing_buffer_bytes), 4 * kKiB, kGiB / 2, true},
       "--outgoing-buffer"},
      {"engine", "port_buffers_bytes_max", "all outgoing buffers of one session, or AEU",
       Number{engine64(&Options::port_buffers_bytes_max), 8 * kKiB, kGiB, true}},
      {"engine", "session_in_flight_bytes_max", "keys, values and replies under way per session",
       Number{engine64(&Options::session_in_flight_bytes_max), kKiB, kNoLimit, true}},
      {"engine", "send_wait_ms_max", "a request waits this long for AEUs that take nothing",
       Number{engine32(&Options::send_wait_ms_max), 0, kU32Max}},
      {"engine", "scan_chunks_max",
       "chunks of 32768 rows that all scans share; 0: a share of the memory, at most 128",
       Number{engine32(&Options::scan_chunks_max), 0, kU32Max}},
      {"engine", "version_bytes_max",
       "old rows that snapshots need, over all objects; 0: an eighth of memory_limit_bytes",
       Number{engine64(&Options::version_bytes_max), 0, kNoLimit, true}},
      {"engine", "snapshot_age_ms_max", "a snapshot older than this is given up",
       Number{engine32(&Options::snapshot_age_ms_max), 1, 86'400'000}},
      {"engine", "scan_slice_us",
       "one turn of an AEU spends this long on scans before it looks after other commands",
       Number{engine32(&Options::scan_slice_us), 1, 1'000'000}},
      {"balancer", "enabled", "move ranges between AEUs by the load they have",
       Flag{[](C& c) -> bool& { return c.engine.balancer.enabled; }}},
      {"balancer", "algorithm",
       "one_shot: equal loads at once; moving_average: of window neighbours; size: equal rows",
       Choice{{"one_shot", "moving_average", "size"},
              [](C& c) { return static_cast<size_t>(c.engine.balancer.algorithm) - 1; },
              [](C& c, size_t value) {
                c.engine.balancer.algorithm = static_cast<BalanceAlgorithm>(value + 1);
              }}},
      {"balancer", "window", "of moving_average: neighbours on either side",
       Number{balancer32(&BalancerOptions::window), kBalancerWindow.min, kBalancerWindow.max}},
      {"balancer", "threshold",
       "deviation of the AEUs' loads, in units of their mean, from which on ranges move",
       Real{[](C& c) -> double& { return c.engine.balancer.threshold; }, kBalancerThreshold}},
      {"balancer", "period_ms", "loads are looked at this often",
       Number{balancer32(&BalancerOptions::period_ms), kBalancerPeriodMs.min,
              kBalancerPeriodMs.max}},
      {"balancer", "max_pause_us", "CPU time of one turn of an AEU that a transfer may take",
       Number{balancer32(&BalancerOptions::max_pause_us), kBalancerMaxPauseUs.min,
              kBalancerMaxPauseUs.max}},
      {"balancer", "max_bytes_per_s", "of copies, over the engine; 0: as fast as it goes",
       Number{[](C& c) -> uint64_t& { return c.engine.balancer.max_bytes_per_s; }, 0, kNoLimit,
              true}},
  };
  return settings;
}

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

// "4 GiB", "64KiB", "1048576", "1 TiB". nullopt: not a byte count, or beyond 64 bits.
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

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", text, "\""); }

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

uint64_t ValueOf(const Number& number, ServerConfig& config) {
  const auto* field32 = std::get_if<Field<uint32_t>>(&number.field);
  return field32 != nullptr ? (*field32)(config) : std::get<Field<uint64_t>>(number.field)(config);
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

// Each Assign puts a TOML value into its field, or says what is wrong with it.
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
  const std::optional<double> number = value.value<double>();  // of an integer, too
  if (!number || value.is_string() || value.is_boolean()) return Wrong(Print(value), "a number");
  ERIS_RETURN_IF_ERROR(CheckReal(real, *number));
  real.field(*config) = *number;
  return absl::OkStatus();
}

// Each Read puts what a command line says into `out`, as the TOML value that it would be. Text that
// is none becomes a text, which Assign refuses with the reason.
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

// The value of a setting, as the file has it.
std::string TextOf(const Setting& setting, ServerConfig& config) {
  if (const auto* text = std::get_if<Text>(&setting.kind)) return Quoted(text->field(config));
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

// "64 KiB" where that is exact.
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

const Setting* Find(absl::string_view section, absl::string_view key) {
  for (const Setting& setting : Settings()) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
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
    const Setting* setting = Find(section, key);
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
  if (absl::StartsWith(listen, "unix:")) return absl::OkStatus();
  const size_t colon = listen.rfind(':');
  uint32_t port = 0;
  if (colon == absl::string_view::npos || colon == 0 ||
      !absl::SimpleAtoi(listen.substr(colon + 1), &port) || port > 65535) {
    return absl::InvalidArgumentError(
        absl::StrCat("server.listen is ", Quoted(listen),
                     ", must be host:port with a port between 0 and 65535, or unix:/path"));
  }
  return absl::OkStatus();
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
  return CheckListen(config.listen);
}

std::string ConfigText(ServerConfig config) {
  std::string out;
  absl::string_view section;
  for (const Setting& setting : Settings()) {
    if (setting.section != section) {
      absl::StrAppend(&out, section.empty() ? "" : "\n", "[", setting.section, "]\n");
      section = setting.section;
    }
    absl::StrAppend(&out, "# ", setting.meaning, "\n", setting.key, " = ", TextOf(setting, config),
                    "\n");
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
      const std::string name =
          absl::StrCat(setting.section == "balancer" ? "balancer_" : "", setting.key);
      option.flag = absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}}));
      option.alias = std::string(setting.alias);
      option.variable = absl::StrCat("ERIS_", absl::AsciiStrToUpper(name));
      const auto* number = std::get_if<Number>(&setting.kind);
      const bool bytes = number != nullptr && number->bytes;
      option.standard = bytes ? BytesText(ValueOf(*number, defaults)) : TextOf(setting, defaults);
      option.meaning = std::string(setting.meaning);
      all.push_back(std::move(option));
    }
    return all;
  }();
  return options;
}

absl::Status SetOption(const ConfigOption& option, absl::string_view text, absl::string_view source,
                       ServerConfig* config) {
  const Setting* setting = Find(option.section, option.key);
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
                    option.standard, "` | ", limits, " | ", option.meaning, " |\n");
  }
  return out;
}

}  // namespace eris::server
