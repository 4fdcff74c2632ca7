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
constexpr std::chrono::seconds kStaleAfter{1};
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
      if (connection.cut) return;  // until gRPC has closed it, too
      if (event == ConnectionTable::Event::kClosed) {
        Remove(connection);
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
  CutUnfinished(now);
  CutThoseWithoutCall(now);
  GiveBackMemory(now);
  look_cost_ = Clock::now() - now;
  std::optional<Clock::duration> next;
  const auto at_latest = [&](Clock::duration wait) { next = next ? std::min(*next, wait) : wait; };
  if (!active_.empty()) {
    at_latest(std::clamp<Clock::duration>(kPauseCosts * look_cost_, kLookEvery, kPauseMax));
  }
  if (!unfinished_.Greediest().empty()) at_latest(kStaleAfter);
  if (!first_calls_.empty()) at_latest(first_calls_.front().first - now);
  if (give_at_) at_latest(*give_at_ - now);
  return next ? std::optional(std::max<Clock::duration>(*next, std::chrono::milliseconds(1)))
              : std::nullopt;
}

void ConnectionWatch::LookAtActive(Clock::time_point now) {
  looks_left_ = kReadingsPerRound;
  served_calls_.BeginRound();
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
  if (connection.cut) return AwaitEnd(connection);
  const SocketBytes bytes = BytesOf(connection);
  uint64_t progress = bytes.received;
  std::optional<Channelz::Counts> counts;
  if (connection.socket != 0 && looks_left_ > 0 &&
      (connection.peer.is_unix || connection.unfinished > 0 ||
       bytes.received - connection.judged >= kBytesPerReading)) {
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
  const std::optional<DoorCause> cause = connection.judge.Judge(
      options_.judge, now, all, [&] { return served_calls_.Of(connection.peer.name); });
  if (!cause) {
    Note(connection, all, now);
    return true;
  }
  Cut(connection, *cause,
      absl::StrCat(all.received_bytes, " bytes received, ", all.messages, " messages, ",
                   all.calls_started, " calls, of which ", all.calls_succeeded, " ended and ",
                   all.calls_failed, " were cancelled"));
  return true;
}

void ConnectionWatch::CutThoseWithoutCall(Clock::time_point now) {
  while (!first_calls_.empty() && first_calls_.front().first <= now) {
    Connection* const connection = table_.Find(first_calls_.front().second);
    first_calls_.pop_front();
    if (connection == nullptr || connection->cut) continue;
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
  if (cause != DoorCause::kNoCall) give_at_ = Clock::now() + std::chrono::seconds(1);
  SetUnfinished(connection, 0);
  if (connection.socket == 0) return Remove(connection);  // gRPC ends handshakes by itself
  connection.cut = true;
  connection.quiet_looks = 0;
  if (!std::exchange(connection.active, true)) active_.push_back(connection.id);
}

bool ConnectionWatch::AwaitEnd(Connection& connection) {
  // gRPC 1.51 sometimes misses that the socket was shut down while it was reading. Then it would
  // keep it, with all that has come, until the next keepalive. Shutting it down again makes the
  // kernel tell it once more, also if it is closed.
  shutdown(connection.fd, SHUT_RDWR);
  if (looks_left_ == 0) return true;
  --looks_left_;
  if (Channelz::Read(connection.socket)) return true;
  give_at_ = Clock::now() + std::chrono::seconds(1);
  Remove(connection);
  return false;
}

void ConnectionWatch::Remove(Connection& connection) {
  SetUnfinished(connection, 0);
  Forget(connection);
  table_.Remove(connection);
}

void ConnectionWatch::SetUnfinished(Connection& connection, uint64_t bytes) {
  unfinished_.Change(connection.peer.owner, connection.unfinished, bytes);
  connection.unfinished = bytes;
}

void ConnectionWatch::Note(Connection& connection, const ConnectionCounts& counts,
                           Clock::time_point now) {
  if (counts.messages != connection.messages) {
    connection.messages = counts.messages;
    connection.message_at = now;
  }
  const uint64_t bytes = connection.judge.Unfinished(counts);
  SetUnfinished(connection, bytes > options_.judge.unused_bytes_max ? bytes : 0);
}

void ConnectionWatch::CutUnfinished(Clock::time_point now) {
  while (looks_left_ > 0) {
    const std::string owner = unfinished_.Greediest();
    if (owner.empty()) return;
    Connection* stalest = nullptr;
    table_.ForEach([&](Connection& one) {
      if (one.unfinished == 0 || one.cut || one.peer.owner != owner) return;
      if (stalest == nullptr || one.message_at < stalest->message_at) stalest = &one;
    });
    if (stalest == nullptr || now - stalest->message_at < kStaleAfter) return;
    // It may have become complete since it was looked at.
    --looks_left_;
    const std::optional<Channelz::Counts> counts = Channelz::Read(stalest->socket);
    if (counts && counts->messages != stalest->messages) {
      stalest->messages = counts->messages;
      stalest->message_at = now;
      SetUnfinished(*stalest, 0);
      continue;
    }
    Cut(*stalest, DoorCause::kUnusedBytes,
        absl::StrCat(stalest->unfinished, " bytes of unfinished requests, those of all ",
                     unfinished_.all(), ", more than ", unfinished_.max()));
  }
}

void ConnectionWatch::GiveBackMemory(Clock::time_point now) {
  if (!give_at_ || *give_at_ > now) return;
  give_at_.reset();
  if (options_.memory_is_free) options_.memory_is_free();
}

}  // namespace eris::server
