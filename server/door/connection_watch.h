// Watches the connections that have been handed to gRPC (connection_judge.h has the rules). One
// that sends is looked at twenty times a second, until it has been silent for a second. Then the
// kernel tells when it sends again, so that silent connections cost nothing. Used under the door's
// mutex, on its io_context's thread.
#ifndef ERIS_SERVER_DOOR_CONNECTION_WATCH_H_
#define ERIS_SERVER_DOOR_CONNECTION_WATCH_H_

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/door/calls_by_peer.h"
#include "server/door/channelz.h"
#include "server/door/connection_judge.h"
#include "server/door/connection_table.h"
#include "server/door/door_log.h"
#include "server/door/door_stats.h"
#include "server/door/unfinished_bytes.h"

namespace eris::server {

class ConnectionWatch {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    JudgeLimits judge;
    std::chrono::milliseconds first_call{0};  // 0: no limit
    std::function<CallsByPeer::Counts()> served_calls;
    // Called a second after connections were cut: gRPC has freed what they made it hold.
    std::function<void()> memory_is_free;
  };

  // REQUIRES: as Channelz.
  ConnectionWatch(ConnectionTable* table, DoorLog* log, Options options)
      : table_(*table),
        log_(*log),
        options_(std::move(options)),
        served_calls_(options_.served_calls),
        unfinished_(options_.judge.unused_bytes_max == 0 ? 0 : options_.judge.arriving_bytes_max) {}

  // Finds gRPC's number of a connection that it has just been given. One with TLS gets it later.
  void Added(Connection& connection);
  // Reads the table's events.
  void TakeEvents();
  // Looks at what is due. Returns the time after which to call it again; nullopt: after Added or
  // TakeEvents at the earliest.
  std::optional<Clock::duration> Look(Clock::time_point now);

  uint64_t cut(DoorCause cause) const { return cut_[static_cast<size_t>(cause)]; }

 private:
  void FindNumbers();
  void Forget(Connection& connection);
  // The connection may no longer exist when this returns.
  void Cut(Connection& connection, DoorCause cause, const std::string& why);
  // Whether gRPC has still to close a connection that was cut. False: it no longer exists.
  bool AwaitEnd(Connection& connection);
  // False: it no longer exists.
  bool LookAt(Connection& connection, Clock::time_point now);
  void LookAtActive(Clock::time_point now);
  // Notes what `counts`, which have been judged, tell of unfinished messages.
  void Note(Connection& connection, const ConnectionCounts& counts, Clock::time_point now);
  void SetUnfinished(Connection& connection, uint64_t bytes);
  // While unfinished messages of all together take too much: the owner that has the most loses the
  // connection whose last complete message is the oldest, but none that has had one for a second.
  void CutUnfinished(Clock::time_point now);
  void Remove(Connection& connection);
  void CutThoseWithoutCall(Clock::time_point now);
  void GiveBackMemory(Clock::time_point now);

  ConnectionTable& table_;
  DoorLog& log_;
  const Options options_;
  CallsByPeer served_calls_;
  UnfinishedBytes unfinished_;
  Channelz channelz_;
  std::map<std::string, std::deque<uint64_t>> unnumbered_;  // ids by Peer::name, oldest first
  std::vector<uint64_t> active_;
  std::deque<std::pair<Clock::time_point, uint64_t>> first_calls_;  // deadlines and ids
  std::array<uint64_t, kDoorCauses> cut_{};
  Clock::duration look_cost_{};  // of the last round
  uint64_t looks_left_ = 0;      // at gRPC's counts, in this round
  std::optional<Clock::time_point> give_at_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_CONNECTION_WATCH_H_
