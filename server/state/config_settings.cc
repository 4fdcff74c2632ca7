#include "server/state/config_settings.h"

#include <utility>

namespace eris::server {

static_assert(sizeof(size_t) == sizeof(uint64_t));  // buffer sizes are size_t in Options

namespace {

using C = ServerConfig;

// Members of a ServerConfig and of its parts, as places.
Field<uint32_t> U32(uint32_t C::*m) {
  return [m](C& c) -> uint32_t& { return c.*m; };
}
Field<uint64_t> U64(uint64_t C::*m) {
  return [m](C& c) -> uint64_t& { return c.*m; };
}
Text TextOf(std::string C::*m) {
  return {[m](C& c) -> std::string& { return c.*m; }};
}
Text SecurityText(std::string SecurityOptions::*m) {
  return {[m](C& c) -> std::string& { return c.security.*m; }};
}
Field<uint32_t> Engine32(uint32_t Options::*m) {
  return [m](C& c) -> uint32_t& { return c.engine.*m; };
}
Field<uint64_t> Engine64(uint64_t Options::*m) {
  return [m](C& c) -> uint64_t& { return c.engine.*m; };
}
template <class E>
Choice ChoiceOf(E C::*m, std::vector<absl::string_view> names) {
  return {std::move(names), [m](C& c) { return static_cast<size_t>(c.*m); },
          [m](C& c, size_t value) { c.*m = static_cast<E>(value); }};
}
template <class E>
Choice EngineChoice(E Options::*m, std::vector<absl::string_view> names) {
  return {std::move(names), [m](C& c) { return static_cast<size_t>(c.engine.*m); },
          [m](C& c, size_t value) { c.engine.*m = static_cast<E>(value); }};
}
Field<uint32_t> Balancer32(uint32_t BalancerOptions::*m) {
  return [m](C& c) -> uint32_t& { return c.engine.balancer.*m; };
}

constexpr uint64_t kU32Max = std::numeric_limits<uint32_t>::max();

// How many connections there may be, and what they may do.
std::vector<Setting> ConnectionSettings() {
  return {
      {"server", "connections_max",
       "connections; 0: what the limit of file descriptors allows, at most 16384",
       Number{U32(&C::connections_max), 1, 1'000'000, false, true}},
      {"server", "connections_per_address_max",
       "of one IPv4 address, IPv6 network (/64) or user of a Unix socket; 0: as many as "
       "are left",
       Number{U32(&C::connections_per_address_max), 1, 1'000'000, false, true}},
      {"server", "handshake_ms_max", "a connection must have begun HTTP/2 after this time",
       Number{U32(&C::handshake_ms_max), 100, kDayMs}},
      {"server", "first_call_ms_max", "a connection without any call is closed; 0: never",
       Number{U32(&C::first_call_ms_max), 100, kDayMs, false, true}},
      {"server", "connection_idle_ms_max",
       "a connection without a running call for this long is sent away; 0: never",
       Number{U32(&C::connection_idle_ms_max), 1000, kDayMs, false, true}},
      {"server", "connection_age_ms_max",
       "an older connection is sent away when its calls have ended; 0: never",
       Number{U32(&C::connection_age_ms_max), 1000, kDayMs, false, true}},
      {"server", "unused_bytes_max",
       "a connection that sends more without a complete message is cut; 0: never",
       Number{U64(&C::unused_bytes_max), 64 * kKiB, kNoLimit, true, true}},
      {"server", "cancelled_calls_max",
       "a connection that cancels more calls in a second is cut; 0: never",
       Number{U32(&C::cancelled_calls_max), 1, 1'000'000, false, true}},
  };
}

std::vector<Setting> ServerSettings() {
  return {
      {"server", "listen",
       "host:port, [ipv6]:port or unix:/path, or several, with commas between them; port 0 takes a "
       "free one",
       Text{[](C& c) -> std::string& { return c.listen; }, true}},
      {"server", "unix_mode", "mode of a Unix socket's file, in octal digits",
       TextOf(&C::unix_mode)},
      {"server", "http", "host:port of a web page that shows the machine; empty: none",
       TextOf(&C::http)},
      {"server", "port_file", "the port is written here once calls are answered; empty: nowhere",
       TextOf(&C::port_file)},
      {"server", "drain_timeout_ms", "after SIGTERM, calls under way may go on this long",
       Number{U32(&C::drain_timeout_ms), 0, 3'600'000}, "", true},
      {"server", "sample_interval_ms", "write the load to stderr this often; 0: never",
       Number{U32(&C::sample_interval_ms), 100, kDayMs, false, true}, "", true},
      {"server", "call_ms_max", "a call or a stream's request may take this long; 0: no limit",
       Number{U32(&C::call_ms_max), 0, kDayMs}, "", true},
      {"server", "queue_ms_max",
       "new lookups and writes are refused while accepted ones wait longer; 0: never",
       Number{U32(&C::queue_ms_max), 0, kDayMs}, "", true},
      {"server", "stall_ms_max", "a client may leave its answer unread this long; 0: no limit",
       Number{U32(&C::stall_ms_max), 0, kDayMs}, "", true},
      {"server", "scan_resume_ms",
       "the snapshot of a broken scan of a table is kept; 0: not at all",
       Number{U32(&C::scan_resume_ms), 0, kDayMs}, "", true},
      {"server", "flight_snapshot_ms",
       "the snapshot of Arrow Flight's shares is kept this long after its last use",
       Number{U32(&C::flight_snapshot_ms), 1000, 3'600'000}, "", true},
      {"server", "advertise",
       "host:port by which clients reach this server: Arrow Flight's endpoints name it; empty: "
       "none",
       TextOf(&C::advertise)},
      {"server", "receive_message_bytes_max",
       "largest request; 0: an eighth of in_flight_bytes_max, 2 MiB to 40 MiB",
       Number{U64(&C::receive_message_bytes_max), 64 * kKiB, kGiB, true, true}},
      {"server", "in_flight_bytes_max",
       "requests and answers that all calls together may hold; 0: a share of the memory",
       Number{U64(&C::in_flight_bytes_max), kMiB, kNoLimit, true, true}},
      {"server", "calls_per_connection_max", "calls at once on one connection",
       Number{U32(&C::calls_per_connection_max), 1, 65536}},
      {"server", "metadata_bytes_max", "headers of a call",
       Number{U32(&C::metadata_bytes_max), kKiB, kMiB, true}},
      {"server", "callback_threads", "threads that run gRPC's callbacks",
       Number{U32(&C::callback_threads), 0, 16}},
      {"server", "stream_requests_max", "requests in flight on one stream",
       Number{U32(&C::stream_requests_max), 1, 4096}, "", true},
      {"server", "stream_bytes_max", "bytes in flight at which a stream stops reading",
       Number{U64(&C::stream_bytes_max), 64 * kKiB, kNoLimit, true}, "", true},
      {"server", "keepalive_interval_ms", "a silent connection is asked for a sign of life",
       Number{U32(&C::keepalive_interval_ms), 1000, kDayMs}},
      {"server", "keepalive_timeout_ms", "and closed when none comes within this time",
       Number{U32(&C::keepalive_timeout_ms), 1000, kDayMs}},
      {"server", "client_ping_interval_ms_min", "clients that ping more often are sent away",
       Number{U32(&C::client_ping_interval_ms_min), 0, kDayMs}},
  };
}

std::vector<Setting> LogSettings() {
  return {
      {"server", "log_format", "lines on stderr as text, or as JSON with the time",
       ChoiceOf(&C::log_format, {"text", "json"})},
      {"server", "log_level", "lines below this level are left out",
       ChoiceOf(&C::log_level, {kLogLevelNames.begin(), kLogLevelNames.end()}), "", true},
      {"server", "slow_call_ms",
       "a call or a stream's request that takes longer writes a line; 0: never",
       Number{U32(&C::slow_call_ms), 0, kDayMs}, "", true},
  };
}

// Which AEUs there are, and where.
std::vector<Setting> PlacementSettings() {
  return {
      {"engine", "topology",
       "empty: this machine; else an hwloc synthetic description such as 'numa:4 core:2 pu:1'",
       Text{[](C& c) -> std::string& { return c.engine.topology; }}},
      {"engine", "aeu_count", "how many AEUs; 0: one per core, less network_cores",
       Number{Engine32(&Options::aeu_count), 0, kU32Max}, "--aeus"},
      {"engine", "placement",
       "dense fills a NumaNode before the next, sparse goes round, none does not pin",
       EngineChoice(&Options::placement, {"dense", "sparse", "none"})},
      {"engine", "aeu_per_hardware_thread", "one AEU per hardware thread instead of per core",
       Flag{[](C& c) -> bool& { return c.engine.aeu_per_hardware_thread; }}, "--hardware-threads"},
      {"engine", "network_cores", "cores on which no AEU is placed",
       Number{Engine32(&Options::network_cores), 0, kU32Max}},
      {"engine", "aeu_cpus", "explicit cpu numbers, one AEU each; overrides the four above",
       CpuList{[](C& c) -> std::vector<uint32_t>& { return c.engine.aeu_cpus; }}},
  };
}

std::vector<Setting> MemorySettings() {
  return {
      {"engine", "process_memory_bytes",
       "the whole process; 0: what the system lets it have (machine, cgroups, ulimit)",
       Number{Engine64(&Options::process_memory_bytes), 0, kNoLimit, true}, "--process-memory"},
      {"engine", "memory_limit_bytes",
       "of that for data, over all NumaNodes; 0: what the rest leaves, at most 80 %",
       Number{Engine64(&Options::memory_limit_bytes), 0, kNoLimit, true}, "--memory-limit"},
      {"engine", "memory_placement",
       "local: on the NumaNode of its AEU; for experiments also interleaved, one_numa_node",
       EngineChoice(&Options::memory_placement, {"local", "interleaved", "one_numa_node"})},
      {"engine", "memory_numa_node", "which one, where memory_placement is one_numa_node",
       Number{Engine32(&Options::memory_numa_node), 0, kU32Max}},
      {"engine", "memory_spill", "when a NumaNode is full: take the nearest that is not, or refuse",
       Flag{[](C& c) -> bool& { return c.engine.memory_spill; }}},
      {"engine", "huge_pages",
       "auto; or reserved, shared (memory files), advised (anonymous memory) ones, or none",
       EngineChoice(&Options::huge_pages, {"auto", "reserved", "shared", "advised", "none"})},
      {"engine", "superblock_bytes",
       "memory comes in pieces of this size, a power of two; an object takes at least one per "
       "NumaNode",
       Number{Engine64(&Options::superblock_bytes), 2 * kMiB, 32 * kMiB, true}, "--superblock"},
      {"engine", "memory_decay_ms", "what has been freed goes back to the system after this long",
       Number{Engine32(&Options::memory_decay_ms), 8, 3'600'000}},
      {"engine", "memory_kept_bytes_max",
       "beyond this, per NumaNode, at once; 0: its share of a sixteenth of memory_limit_bytes, at "
       "least 64 MiB",
       Number{Engine64(&Options::memory_kept_bytes_max), 0, kNoLimit, true}, "--memory-kept"},
      {"engine", "memory_ready_bytes_max", "made ready ahead of use, per NumaNode",
       Number{Engine64(&Options::memory_ready_bytes_max), 0, kNoLimit, true}, "--memory-ready"},
  };
}

// Buffers, and what requests, scans and snapshots may take.
std::vector<Setting> TrafficSettings() {
  return {
      {"engine", "incoming_buffer_bytes", "each AEU has two",
       Number{Engine64(&Options::incoming_buffer_bytes), 64 * kKiB, kGiB, true},
       "--incoming-buffer"},
      {"engine", "outgoing_buffer_bytes", "what a session collects for one AEU",
       Number{Engine64(&Options::outgoing_buffer_bytes), 4 * kKiB, kGiB / 2, true},
       "--outgoing-buffer"},
      {"engine", "port_buffers_bytes_max", "all outgoing buffers of one session, or AEU",
       Number{Engine64(&Options::port_buffers_bytes_max), 8 * kKiB, kGiB, true}},
      {"engine", "session_in_flight_bytes_max", "keys, values and replies under way per session",
       Number{Engine64(&Options::session_in_flight_bytes_max), kKiB, kNoLimit, true}},
      {"engine", "send_wait_ms_max", "a request waits this long for AEUs that take nothing",
       Number{Engine32(&Options::send_wait_ms_max), 0, kU32Max}},
      {"engine", "scan_chunks_max",
       "chunks of 32768 rows that all scans share; 0: a share of the memory, at most 128",
       Number{Engine32(&Options::scan_chunks_max), 0, kU32Max}},
      {"engine", "version_bytes_max",
       "old rows that snapshots need, over all objects; 0: an eighth of memory_limit_bytes",
       Number{Engine64(&Options::version_bytes_max), 0, kNoLimit, true}},
      {"engine", "query_bytes_max",
       "rows and groups of all queries over several objects; 0: a quarter of memory_limit_bytes",
       Number{Engine64(&Options::query_bytes_max), 0, kNoLimit, true}},
      {"engine", "task_scheduling",
       "which AEU runs free tasks of queries: own: its own; las: the nearest one; nls: any",
       EngineChoice(&Options::task_scheduling, {"own", "las", "nls"}), "", true},
      {"engine", "snapshot_age_ms_max", "a snapshot older than this is given up",
       Number{Engine32(&Options::snapshot_age_ms_max), 1, 86'400'000}},
      {"engine", "scan_slice_us",
       "one turn of an AEU spends this long on scans before it looks after other commands",
       Number{Engine32(&Options::scan_slice_us), 1, 1'000'000}},
  };
}

std::vector<Setting> BalancerSettings() {
  std::vector<Setting> settings = {
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
       Number{Balancer32(&BalancerOptions::window), kBalancerWindow.min, kBalancerWindow.max}},
      {"balancer", "threshold",
       "deviation of the AEUs' loads, in units of their mean, from which on ranges move",
       Real{[](C& c) -> double& { return c.engine.balancer.threshold; }, kBalancerThreshold}},
      {"balancer", "period_ms", "loads are looked at this often",
       Number{Balancer32(&BalancerOptions::period_ms), kBalancerPeriodMs.min,
              kBalancerPeriodMs.max}},
      {"balancer", "max_pause_us", "CPU time of one turn of an AEU that a transfer may take",
       Number{Balancer32(&BalancerOptions::max_pause_us), kBalancerMaxPauseUs.min,
              kBalancerMaxPauseUs.max}},
      {"balancer", "max_bytes_per_s",
       "of copies and of what follows leaps, over the engine; 0: as fast as it goes",
       Number{[](C& c) -> uint64_t& { return c.engine.balancer.max_bytes_per_s; }, 0, kNoLimit,
              true}},
  };
  for (Setting& setting : settings) setting.live = true;
  return settings;
}

std::vector<Setting> SecuritySettings() {
  return {
      {"security", "tokens_file",
       "file of tokens with their roles and objects (`eris token`); empty: every caller may do "
       "everything",
       SecurityText(&SecurityOptions::tokens_file)},
      {"security", "tls_cert", "the server's certificate and its issuers, PEM; empty: no TLS",
       SecurityText(&SecurityOptions::tls_cert)},
      {"security", "tls_key", "its private key, PEM", SecurityText(&SecurityOptions::tls_key)},
      {"security", "tls_client_ca",
       "authorities of clients' certificates, PEM; if set, each client must have one",
       SecurityText(&SecurityOptions::tls_client_ca)},
      {"security", "open", "serve beyond this machine without TLS or without roles",
       Flag{[](C& c) -> bool& { return c.security.open; }}},
  };
}

}  // namespace

const std::vector<Setting>& Settings() {
  static const std::vector<Setting> settings = [] {
    std::vector<Setting> all;
    for (const auto section :
         {ServerSettings, LogSettings, ConnectionSettings, PlacementSettings, MemorySettings,
          TrafficSettings, BalancerSettings, SecuritySettings}) {
      for (Setting& setting : section()) all.push_back(std::move(setting));
    }
    return all;
  }();
  return settings;
}

const Setting* FindSetting(absl::string_view section, absl::string_view key) {
  for (const Setting& setting : Settings()) {
    if (setting.section == section && setting.key == key) return &setting;
  }
  return nullptr;
}

}  // namespace eris::server
