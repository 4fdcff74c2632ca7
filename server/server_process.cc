#include "server/server_process.h"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "server/admin/load_sampler.h"
#include "server/calls/control_loop.h"
#include "server/exit_code.h"
#include "server/http/http_server.h"
#include "server/log/log.h"
#include "server/rpc_server.h"
#include "server/service_manager.h"
#include "server/state/server_state.h"

namespace eris::server {
namespace {

// Connections that still have a call after the drain (for example health watchers) are cut after
// this.
constexpr absl::Duration kShutdownTimeout = absl::Milliseconds(500);

void TuneProcess() {
  // Debian builds Abseil, whose locks gRPC uses, with deadlock detection on. Without it small calls
  // go from 77 to 86 k/s.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  std::signal(SIGPIPE, SIG_IGN);
}

absl::Status WritePortFile(const std::string& path, const std::string& address) {
  // Renamed into place, so that a script that waits for the file never reads an incomplete port.
  const std::string temporary = absl::StrCat(path, ".", getpid());
  const bool is_unix = address.rfind("unix:", 0) == 0;
  const std::string text = is_unix ? address : address.substr(address.rfind(':') + 1);
  std::FILE* file = std::fopen(temporary.c_str(), "we");
  if (file == nullptr) return absl::ErrnoToStatus(errno, absl::StrCat("port file ", temporary));
  std::fprintf(file, "%s\n", text.c_str());
  if (std::fclose(file) != 0 || std::rename(temporary.c_str(), path.c_str()) != 0) {
    const int error = errno;
    std::remove(temporary.c_str());
    return absl::ErrnoToStatus(error, absl::StrCat("port file ", path));
  }
  return absl::OkStatus();
}

// Prints a note if a described topology has more AEUs than this machine has cpus.
void NoteStandIns(const Options& options, size_t aeus) {
  const size_t cpus = std::thread::hardware_concurrency();
  if (options.topology.empty() || aeus <= cpus) return;
  Log(LogLevel::kInfo,
      absl::StrCat("note: ", aeus, " AEUs of topology '", options.topology, "' share ", cpus,
                   " cpus of this machine: its shape is imitated, not its speed"));
}

// The server goes on if the manager cannot be reached. A manager that waits for the message reports
// that it is missing.
void Tell(const std::string& state) {
  const absl::Status told = TellServiceManager(state);
  if (told.ok()) return;
  Log(LogLevel::kWarning, "the service manager has not been told",
      {{"why", std::string(told.message())}});
}

// Tells the manager how long the drain, and the end after it, may take: until then it must not kill
// the server.
std::string StoppingText(const ServerConfig& config) {
  constexpr uint64_t kAfterDrainUs = 20'000'000;
  return absl::StrCat("STOPPING=1\nEXTEND_TIMEOUT_USEC=",
                      uint64_t{config.drain_timeout_ms} * 1000 + kAfterDrainUs);
}

void LogNotes(Engine& engine, const Options& options) {
  for (const std::string& note : engine.Notes()) {
    Log(LogLevel::kInfo, absl::StrCat("note: ", note));
  }
  NoteStandIns(options, engine.Stats().aeus.size());
}

int Fail(const absl::Status& status) {
  Log(LogLevel::kError, status.message());
  return ExitCodeOfStart(status);
}

}  // namespace

int RunServerProcess(const ServerConfig& config, const EngineOpener& open_engine) {
  if (const absl::Status status = ValidateConfig(config); !status.ok()) return Fail(status);
  SetUpLog(config.log_format, config.log_level);
  TuneProcess();
  if (!config.file.empty()) Log(LogLevel::kInfo, "configuration read", {{"file", config.file}});
  ControlLoop loop;  // before the engine: a signal while it opens is then a drain, not a kill
  Options options = config.engine;
  options.caller_bytes = config.in_flight_bytes_max;
  auto engine = open_engine(options);
  if (!engine.ok()) return Fail(engine.status());
  LogNotes(**engine, config.engine);
  auto server = RpcServer::Start(config, engine->get(), loop.io());
  if (!server.ok()) return Fail(server.status());
  (*server)->state().live.SetListener([&loop](const ServerConfig& changed) {
    loop.SetTimes(std::chrono::milliseconds(changed.drain_timeout_ms),
                  std::chrono::milliseconds(changed.sample_interval_ms));
  });
  std::unique_ptr<HttpServer> page;
  if (!config.http.empty()) {
    auto started = HttpServer::Start(config.http, &(*server)->state());
    if (!started.ok()) return Fail(started.status());
    page = *std::move(started);
    Log(LogLevel::kInfo, absl::StrCat("page: http://", page->address(), "/"));
  }
  const MemoryPlan plan = (*engine)->Memory({.parts = false}).plan;
  if (plan.process_bytes > 0) {  // an engine in tests has none
    Log(LogLevel::kInfo, absl::StrCat("memory: ", PlanText(plan)));
  }
  if (!config.port_file.empty()) {
    const absl::Status status = WritePortFile(config.port_file, (*server)->address());
    if (!status.ok()) return Fail(status);
  }
  const std::string version =
      config.version.empty() ? "" : absl::StrCat(", version ", config.version);
  std::printf("eris: serving on %s (pid %d%s)\n",
              absl::StrJoin((*server)->addresses(), ", ").c_str(), static_cast<int>(getpid()),
              version.c_str());
  std::fflush(stdout);
  Tell(absl::StrCat("READY=1\nSTATUS=serving on ", (*server)->address()));

  LoadSampler sampler(engine->get());
  loop.Run({.begin_drain =
                [&] {
                  Tell(StoppingText((*server)->state().live.config()));  // its timeout is live
                  (*server)->BeginDrain([&loop] { loop.Drained(); });
                },
            .end_calls = [&] { (*server)->EndCalls(); },
            .sample = [&] { sampler.Sample(); }},
           std::chrono::milliseconds(config.drain_timeout_ms),
           std::chrono::milliseconds(config.sample_interval_ms));
  loop.AwaitDrained();
  page.reset();
  (*server)->Shutdown(kShutdownTimeout);
  server->reset();
  (*engine)->Close();
  Log(LogLevel::kInfo, "stopped");
  return kServerDrained;
}

}  // namespace eris::server
