#include "server/door/door_log.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "server/log/log.h"

namespace eris::server {

bool DoorLog::Line::IsDue() {
  const auto now = std::chrono::steady_clock::now();
  if (last.time_since_epoch().count() > 0 && now - last < std::chrono::seconds(1)) {
    ++left_out;
    return false;
  }
  last = now;
  return true;
}

void DoorLog::Closed(DoorCause cause, const std::string& peer, const std::string& why) {
  const size_t at = static_cast<size_t>(cause);
  Line& line = lines_[at];
  if (!line.IsDue()) return;
  Log(LogLevel::kWarning, "a connection was closed",
      {{"cause", std::string(kDoorCauseNames[at])},
       {"peer", peer},
       {"why", why},
       {"others_since_last_line", absl::StrCat(std::exchange(line.left_out, 0))}});
}

void DoorLog::NotAccepting(const std::string& why) {
  if (!not_accepting_.IsDue()) return;
  Log(LogLevel::kWarning, "no connection is accepted; it is tried again every 100 ms",
      {{"why", why}});
}

}  // namespace eris::server
