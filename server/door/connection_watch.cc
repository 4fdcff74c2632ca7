#include "server/door/connection_watch.h"

#include <sys/socket.h>

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace eris::server {
namespace {

constexpr std::chrono::milliseconds kLookEvery{50};
constexpr uint32_t kQuietLooks = 20;
// Rounds may take a fiftieth of the thread's time.
constexpr int kPauseCosts = 50;
// But not longer: an attacker must not make a look dear and have peace.
constexpr std::chrono::milliseconds kPauseMax{500};
// gRPC's counts are read once this much has come: a header of a call takes at least some 30 bytes,
// so that is at most 2,000 calls.
constexpr uint64_t kBytesPerReading = 64 << 10;
// Each reading takes some 50 us. What is left out comes in the next round.
constexpr uint64_t kReadingsPerRound = 200;

}  // namespace

void ConnectionWatch::Added(Connection& connection) {
  unnumbered_[connection.peer.name].push_back(connection.id);
  if (options_.first_call.count() > 0) {
    first_calls_.emplace_back(connection.accepted + options_.first_call, connection.id);
  }
  FindNumbers();
}

void ConnectionWatch::FindNumbers() {
  if (unnumbered_.empty()) return;
  for (const Channelz::Socket& socket : channelz_.NewSockets()) {
    const auto found = unnumbered_.find(socket.peer);
    if (found == unnumbered_.end()) continue;
    if (Connection* connection = table_.Find(found->second.front())) connection->socket = socket.id;
    found->second.pop_front();
    if (found->second.empty()) unnumbered_.erase(found);
  }
}

void ConnectionWatch::Forget(Connection& connection) {
  if (connection.socket != 0) return;
  const auto found = unnumbered_.find(connection.peer.name);
  if (found == unnumbered_.end()) return;
  auto& ids = found->second;
  ids.erase(std::remove(ids.begin(), ids.end(), connection.id), ids.end());
  if (ids.empty()) unnumbered_.erase(found);
}

void ConnectionWatch::TakeEvents() {
  bool all = false;
  while (!all) {
    all = table_.TakeEvents([this](Connection& connection, ConnectionTable::Event event) {
      if (event == ConnectionTable::Event::kClosed) {
        Forget(connection);
        table_.Remove(connection);
      } else if (!connection.active) {
        connection.active = true;
        connection.quiet_looks = 0;
        active_.push_back(connection.id);
      }
    });
  }
}

std::optional<ConnectionWatch::Clock::duration> ConnectionWatch::Look(Clock::time_point now) {
  FindNumbers();
  LookAtActive(now);
  CutThoseWithoutCall(now);
  GiveBackMemory(now);
  look_cost_ = Clock::now() - now;
  std::optional<Clock::duration> next;
  const auto at_latest = [&](Clock::duration wait) { next = next ? std::min(*next, wait) : wait; };
  if (!active_.empty()) {
    at_latest(std::clamp<Clock::duration>(kPauseCosts * look_cost_, kLookEvery, kPauseMax));
  }
  if (!first_calls_.empty()) at_latest(first_calls_.front().first - now);
  if (give_at_) at_latest(*give_at_ - now);
  return next ? std::optional(std::max<Clock::duration>(*next, std::chrono::milliseconds(1)))
              : std::nullopt;
}

void ConnectionWatch::LookAtActive(Clock::time_point now) {
  looks_left_ = kReadingsPerRound;
  std::vector<uint64_t> still;
  // Begins where the last round may have stopped reading.
  if (active_.size() > kReadingsPerRound) {
    std::rotate(active_.begin(), active_.begin() + kReadingsPerRound, active_.end());
  }
  for (const uint64_t id : active_) {
    Connection* const connection = table_.Find(id);
    if (connection == nullptr || !LookAt(*connection, now)) continue;
    if (connection->quiet_looks < kQuietLooks) {
      still.push_back(id);
      continue;
    }
    connection->active = false;
    table_.AwaitSending(*connection);
  }
  active_ = std::move(still);
}

bool ConnectionWatch::LookAt(Connection& connection, Clock::time_point now) {
  const SocketBytes bytes = BytesOf(connection);
  uint64_t progress = bytes.received;
  std::optional<Channelz::Counts> counts;
  if (connection.socket != 0 && looks_left_ > 0 &&
      (connection.peer.is_unix || bytes.received - connection.judged >= kBytesPerReading)) {
    --looks_left_;
    counts = Channelz::Read(connection.socket);
    connection.judged = bytes.received;
  }
  if (connection.peer.is_unix) {
    progress = counts ? counts->calls_started + counts->messages : connection.seen;
  }
  connection.quiet_looks = progress == connection.seen ? connection.quiet_looks + 1 : 0;
  connection.seen = progress;
  if (!counts) return true;
  const ConnectionCounts all{bytes.received,          bytes.sent,           counts->calls_started,
                             counts->calls_succeeded, counts->calls_failed, counts->messages};
  const std::optional<DoorCause> cause =
      connection.judge.Judge(options_.judge, now, all, [&]() -> uint64_t {
        return options_.served_calls ? options_.served_calls(connection.peer.name) : 0;
      });
  if (!cause) return true;
  Cut(connection, *cause,
      absl::StrCat(all.received_bytes, " bytes received, ", all.messages, " messages, ",
                   all.calls_started, " calls, of which ", all.calls_succeeded, " ended and ",
                   all.calls_failed, " were cancelled"));
  return false;
}

void ConnectionWatch::CutThoseWithoutCall(Clock::time_point now) {
  while (!first_calls_.empty() && first_calls_.front().first <= now) {
    Connection* const connection = table_.Find(first_calls_.front().second);
    first_calls_.pop_front();
    if (connection == nullptr) continue;
    // Without a number its handshake has not ended, which gRPC limits itself.
    const std::optional<Channelz::Counts> counts =
        connection->socket == 0 ? std::nullopt : Channelz::Read(connection->socket);
    if (!counts || counts->calls_started > 0) continue;
    Cut(*connection, DoorCause::kNoCall,
        absl::StrCat("no call within ", options_.first_call.count(), " ms"));
  }
}

void ConnectionWatch::Cut(Connection& connection, DoorCause cause, const std::string& why) {
  ++cut_[static_cast<size_t>(cause)];
  log_.Closed(cause, connection.peer.name, why);
  // The shutdown makes gRPC close it. That then resets it: otherwise a client with more to send
  // would wait for a window that nobody opens, for minutes.
  const linger reset = {1, 0};
  setsockopt(connection.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  shutdown(connection.fd, SHUT_RDWR);
  Forget(connection);
  table_.Remove(connection);
  if (cause != DoorCause::kNoCall) give_at_ = Clock::now() + std::chrono::seconds(1);
}

void ConnectionWatch::GiveBackMemory(Clock::time_point now) {
  if (!give_at_ || *give_at_ > now) return;
  give_at_.reset();
  if (options_.memory_is_free) options_.memory_is_free();
}

}  // namespace eris::server
