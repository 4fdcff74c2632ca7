#include "server/metrics/slow_log.h"

#include <optional>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/log/log.h"

namespace eris::server {
namespace {

std::string Ms(uint64_t ns) { return absl::StrFormat("%.3f", static_cast<double>(ns) / 1e6); }

}  // namespace

void SlowLog::Write(const SlowCall& call) {
  // At the end: where the count is seen, the line is, too.
  const auto count = absl::MakeCleanup([this] { seen_.fetch_add(1, std::memory_order_release); });
  const std::optional<uint64_t> left_out = lines_.Take();
  if (!left_out) return;
  Log(LogLevel::kWarning, "slow call",
      {{"method", std::string(call.method)},
       {"code", call.code},
       {"client", call.client},
       {"object", call.object},
       {"rows", absl::StrCat(call.rows)},
       {"total_ms", Ms(call.total_ns)},
       {"arrival_ms", Ms(call.stage_ns[0])},
       {"execute_ms", Ms(call.stage_ns[1])},
       {"reply_ms", Ms(call.stage_ns[2])},
       {"traceparent", call.traceparent},
       {"lines_left_out", absl::StrCat(*left_out)}});
}

}  // namespace eris::server
