// The configuration of `eris serve`: defaults, then a TOML file, then the environment, then the
// command line. One table in config.cc has every option; all of these, --print-config and
// docs/guide/configuration.md come from it. First stage of the server; nothing here runs once it
// serves. Any thread, no state.
//
//   [server]                          [engine]
//   listen = "127.0.0.1:7411"         placement = "sparse"
//   drain_timeout_ms = 5000           memory_limit_bytes = "4 GiB"
//
//   [balancer]                        [security]
//   threshold = 0.2                   tokens_file = "/etc/eris/tokens"
//
// Every key has the name of its field; so do its flag, --memory-limit-bytes, and its environment
// variable, ERIS_MEMORY_LIMIT_BYTES (for the balancer --balancer-..., ERIS_BALANCER_..., and so for
// security). Byte counts are integers or text with KiB, MiB or GiB.
#ifndef ERIS_SERVER_STATE_CONFIG_H_
#define ERIS_SERVER_STATE_CONFIG_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/options.h"
#include "server/access/security_options.h"
#include "server/log/log.h"

namespace eris::server {

struct ServerConfig {
  // The program's version, printed when it begins to serve. Cannot be set in the file.
  std::string version;

  // One or several of host:port, [ipv6]:port and unix:/path, separated by commas. Port 0 takes a
  // free one. The default is local to the machine, others need TLS and roles
  // (server/access/exposure.h).
  std::string listen = "127.0.0.1:7411";
  // The mode of a Unix socket's file, in octal digits. Only programs that may write to it can
  // connect.
  std::string unix_mode = "0600";
  // host:port or [ipv6]:port of a web page that shows the machine; port 0 takes a free one. Empty:
  // none. It asks for no token: every client that reaches it sees names and counters of objects.
  std::string http;
  // If not empty, the port (or the address of a Unix socket) is written to this file once calls are
  // answered; the file appears complete or not at all.
  std::string port_file;

  // How long running calls may continue after SIGTERM before they get UNAVAILABLE. Up to an hour.
  uint32_t drain_timeout_ms = 10'000;
  // The load is written to stderr this often; 0: never. At least 100 otherwise.
  uint32_t sample_interval_ms = 0;

  // The form of the lines on stderr (log.h), and the least level that is written.
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  // A unary data call, or one request of a stream, that takes longer writes a line, at most ten of
  // them in a second. 0: never. Up to a day.
  uint32_t slow_call_ms = 0;

  // A unary data call, or one request of a stream, that takes longer is answered DEADLINE_EXCEEDED,
  // even if the client has set no deadline. 0: no limit. Up to a day.
  uint32_t call_ms_max = 60'000;
  // New lookups and writes are refused with RESOURCE_EXHAUSTED while accepted ones wait longer than
  // this. 0: never. Up to a day.
  uint32_t queue_ms_max = 100;
  // A client that does not read an answer or a chunk for this long loses its call, which gets
  // RESOURCE_EXHAUSTED. 0: no limit. Up to a day.
  uint32_t stall_ms_max = 30'000;
  // If the stream of a table scan has broken, its snapshot is kept for this long, so that the
  // client can continue. 0: not at all. Up to a day.
  uint32_t scan_resume_ms = 30'000;
  // The snapshot of Arrow Flight's shares is kept this long after its last use. Between one second
  // and an hour.
  uint32_t flight_snapshot_ms = 60'000;
  // host:port by which clients reach this server. If not empty, Arrow Flight's endpoints name it.
  std::string advertise;

  // A batch of kBatchKeysMax keys and values takes 16 MiB; with two-part keys, values and expected
  // values slightly more than 32 MiB. Between 64 KiB and 1 GiB. 0: an eighth of
  // in_flight_bytes_max, between 2 MiB and 40 MiB.
  uint64_t receive_message_bytes_max = 0;
  // Memory limit for requests and answers of all calls together; beyond it RESOURCE_EXHAUSTED.
  // Writes get at most three quarters, so that reads have room. At least 1 MiB. 0: the share of the
  // process's memory that the engine leaves for it (MemoryPlan::caller_bytes).
  uint64_t in_flight_bytes_max = 0;
  // Concurrent calls on one connection; further ones wait in the client. Between 1 and 65536.
  uint32_t calls_per_connection_max = 1024;
  // Headers of a call. Between 1 KiB and 1 MiB.
  uint32_t metadata_bytes_max = 16u << 10;
  // Requests in flight on one stream, and the bytes at which it stops reading, never more than a
  // quarter of in_flight_bytes_max. Between 1 and 4096; at least 64 KiB.
  uint32_t stream_requests_max = 64;
  uint64_t stream_bytes_max = 64u << 20;
  // Threads that run gRPC's callbacks. 0: as many as network_cores, or if that is 0 as many as
  // cores that the process may use. Up to 16; gRPC has no more. Fewer make small requests cheaper,
  // but let them wait longer behind large ones.
  uint32_t callback_threads = 0;
  // A silent connection is probed after this time, and closed if there is no response within
  // keepalive_timeout_ms. Both between one second and a day.
  uint32_t keepalive_interval_ms = 60'000;
  uint32_t keepalive_timeout_ms = 20'000;
  // A client that sends pings more often than this is disconnected. Between 0 and a day.
  uint32_t client_ping_interval_ms_min = 10'000;

  // Connections in all, and from one IPv4 address, IPv6 network (/64) or user of a Unix socket;
  // further ones are closed at once. 0: as many as the limit of file descriptors allows, at most
  // 16384; and a share (door/connection_limits.h): one address alone gets half.
  uint32_t connections_max = 0;
  uint32_t connections_per_address_max = 0;
  // A connection must have begun HTTP/2 (and TLS) after this time. Between 100 ms and a day.
  uint32_t handshake_ms_max = 10'000;
  // A connection without any call is closed after this time. 0: never. Up to a day.
  uint32_t first_call_ms_max = 60'000;
  // A connection without a running call for this long is told to go away (clients then connect
  // anew); and one that is older than that, when its running calls have ended, but not later than
  // call_ms_max after. 0: never. At least a second.
  uint32_t connection_idle_ms_max = 3'600'000;
  uint32_t connection_age_ms_max = 0;
  // A connection is cut when it has sent more than this without a complete message (see
  // door/connection_judge.h for what is allowed in addition). 0: never. At least 64 KiB.
  uint64_t unused_bytes_max = 1u << 20;
  // A connection is cut when it cancels more calls than this within a second (as there). 0: never.
  uint32_t cancelled_calls_max = 2000;

  // Section [security].
  SecurityOptions security;

  // The engine's options: section [engine]; and [balancer], whose limits are checked here like
  // those of [server].
  Options engine;

  // Where values come from that are no defaults: "server.listen" -> "eris.toml:3". Not an option.
  std::map<std::string, std::string> origins;
  // The configuration file that was read; empty: none. Not an option.
  std::string file;
};

// Applies TOML text on top of `config`. `source` names it in messages. On an error `config` is
// unchanged. Errors: InvalidArgument (syntax, unknown section or key, wrong type, value outside its
// limits; the message names source, line, key, value and limits).
absl::Status ApplyConfigText(absl::string_view text, absl::string_view source,
                             ServerConfig* config);

// The same from a file. Errors also: NotFound, PermissionDenied or Unavailable (it cannot be read).
absl::Status ApplyConfigFile(const std::string& path, ServerConfig* config);

// As ApplyConfigText and ApplyConfigFile, but goes on after an error and applies the rest. Returns
// every error with its line, at most kConfigProblemsMax: first those of the text in the order of
// its lines, then what ValidateConfig refuses.
inline constexpr size_t kConfigProblemsMax = 100;
std::vector<std::string> CheckConfigText(absl::string_view text, absl::string_view source,
                                         ServerConfig* config);
// Errors: as ApplyConfigFile, if the file cannot be read.
absl::StatusOr<std::vector<std::string>> CheckConfigFile(const std::string& path,
                                                         ServerConfig* config);

// Checks the limits stated above, for values that are not from a file. The engine checks its own
// options when it opens. Errors: InvalidArgument (names origin, field, value and limits).
absl::Status ValidateConfig(const ServerConfig& config);

// Every key with its value in `config` and its description, as a TOML file.
std::string ConfigText(ServerConfig config);

// One row of the table of options.
struct ConfigOption {
  std::string section;               // "engine"
  std::string key;                   // "memory_limit_bytes"
  std::string flag;                  // "--memory-limit-bytes"
  std::string alias;                 // a shorter name of the flag, "--memory-limit", or empty
  std::string variable;              // "ERIS_MEMORY_LIMIT_BYTES"
  std::string type;                  // placeholder of the value in help texts, e.g. "BYTES"
  std::vector<std::string> choices;  // for a type with few values
  std::string limits;                // "1 to 4096", or empty
  std::string standard;              // the default
  std::string meaning;
  bool live = false;  // can be changed while the server runs

  std::string name() const { return section + "." + key; }
};
const std::vector<ConfigOption>& ConfigOptions();

// Finds an option by its name: "server.call_ms_max", or the key alone if only one section has it.
// Errors: InvalidArgument (no such option; names the one that was probably meant).
absl::StatusOr<const ConfigOption*> FindOption(absl::string_view name);

// The option's value in `config`, as in the file.
std::string ValueText(const ConfigOption& option, const ServerConfig& config);
// Where it comes from: "default", "eris.toml:3", "ERIS_LISTEN", "--listen".
std::string OriginOf(const ConfigOption& option, const ServerConfig& config);

// Sets an option from a command line or the environment: as in the file, but without quotes, and
// lists as 0,2,4. `source` names the place in messages. On an error `config` is unchanged. Errors:
// InvalidArgument (names source, key, value and limits).
absl::Status SetOption(const ConfigOption& option, absl::string_view text, absl::string_view source,
                       ServerConfig* config);

// All options as a table of docs/guide/configuration.md.
std::string OptionsTable();

}  // namespace eris::server

#endif  // ERIS_SERVER_STATE_CONFIG_H_
