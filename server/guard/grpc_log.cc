#include "server/guard/grpc_log.h"

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "server/log/log.h"

namespace eris::server {
namespace {

std::atomic<int64_t> last_line_s{0};
std::atomic<uint64_t> left_out{0};

void OnLog(gpr_log_func_args* args) {
  const LogField place{"place", absl::StrCat(args->file, ":", args->line)};
  if (std::getenv("GRPC_VERBOSITY") != nullptr) {
    return Log(LogLevel::kInfo, "gRPC", {{"message", args->message}, place});
  }
  if (args->severity != GPR_LOG_SEVERITY_ERROR) return;
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::steady_clock::now().time_since_epoch())
                          .count();
  // relaxed: only how many lines there are depends on these, not what other memory holds
  int64_t last = last_line_s.load(std::memory_order_relaxed);
  if (last == now || !last_line_s.compare_exchange_strong(last, now, std::memory_order_relaxed)) {
    left_out.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const uint64_t others = left_out.exchange(0, std::memory_order_relaxed);
  Log(LogLevel::kWarning, "gRPC reports an error",
      {{"message", args->message}, place, {"others_since_last_line", absl::StrCat(others)}});
}

}  // namespace

void InstallGrpcLog() {
  static const bool installed = [] {
    gpr_set_log_function(&OnLog);
    google::protobuf::SetLogHandler(nullptr);
    return true;
  }();
  static_cast<void>(installed);
}

}  // namespace eris::server
