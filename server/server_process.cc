#include "server/server_process.h"

#include <malloc.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "server/control_loop.h"
#include "server/load_sampler.h"
#include "server/rpc_server.h"

namespace eris::server {
namespace {

// Connections that still have a call after the drain (health watchers, say) are cut after this.
constexpr absl::Duration kShutdownTimeout = absl::Milliseconds(500);

void TuneProcess() {
  // Debian builds Abseil, which gRPC locks with, with its deadlock detector on: off, small calls
  // go 77 -> 86 k/s.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // Messages of half a megabyte would be mapped and unmapped one by one, and page faults be the top
  // symbol: keeping their memory is worth 40-75 % there. 32 MiB is the most that glibc takes.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 256 << 20);
  std::signal(SIGPIPE, SIG_IGN);
}

absl::Status WritePortFile(const std::string& path, const std::string& address) {
  // Renamed into place, so that a script that waits for the file never reads half a port.
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

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "eris: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace

int RunServerProcess(const ServerConfig& config, const EngineOpener& open_engine) {
  if (const absl::Status status = ValidateConfig(config); !status.ok()) return Fail(status);
  TuneProcess();
  ControlLoop loop;  // before the engine: a signal that comes while it opens is a drain, not a kill
  auto engine = open_engine(config.engine);
  if (!engine.ok()) return Fail(engine.status());
  for (const std::string& note : (*engine)->Notes()) {
    std::fprintf(stderr, "eris: note: %s\n", note.c_str());
  }
  auto server = RpcServer::Start(config, engine->get(), loop.io());
  if (!server.ok()) return Fail(server.status());
  if (!config.port_file.empty()) {
    const absl::Status status = WritePortFile(config.port_file, (*server)->address());
    if (!status.ok()) return Fail(status);
  }
  std::printf("eris: serving on %s (pid %d)\n", (*server)->address().c_str(),
              static_cast<int>(getpid()));
  std::fflush(stdout);

  LoadSampler sampler(engine->get());
  loop.Run({.begin_drain = [&] { (*server)->BeginDrain([&loop] { loop.Drained(); }); },
            .end_calls = [&] { (*server)->EndCalls(); },
            .sample = [&] { sampler.Sample(); }},
           std::chrono::milliseconds(config.drain_timeout_ms),
           std::chrono::milliseconds(config.sample_interval_ms));
  loop.AwaitDrained();
  (*server)->Shutdown(kShutdownTimeout);
  server->reset();
  (*engine)->Close();
  std::fprintf(stderr, "eris: stopped\n");
  return 0;
}

}  // namespace eris::server
