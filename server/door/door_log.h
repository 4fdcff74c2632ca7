// The door's lines in the log: one a second for each cause, whatever clients do. Owned by one
// thread.
#ifndef ERIS_SERVER_DOOR_DOOR_LOG_H_
#define ERIS_SERVER_DOOR_DOOR_LOG_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <string>

#include "server/door/door_stats.h"

namespace eris::server {

class DoorLog {
 public:
  // A connection from `peer` has been closed. `why`: figures, in words.
  void Closed(DoorCause cause, const std::string& peer, const std::string& why);
  // No connection can be accepted for some time.
  void NotAccepting(const std::string& why);

 private:
  struct Line {
    std::chrono::steady_clock::time_point last{};
    uint64_t left_out = 0;  // since the last line

    bool IsDue();
  };
  std::array<Line, kDoorCauses> lines_;
  Line not_accepting_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_DOOR_LOG_H_
