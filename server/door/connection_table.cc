#include "server/door/connection_table.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace eris::server {

ConnectionTable::ConnectionTable() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

ConnectionTable::~ConnectionTable() {
  for (const auto& [id, connection] : connections_) close(connection->fd);
  if (epoll_ >= 0) close(epoll_);
}

void ConnectionTable::Watch(Connection& connection, int operation, uint32_t events) {
  epoll_event event = {};
  event.events = events;
  event.data.u64 = connection.id;
  // It fails only without memory. Then its end is not seen, and the next look at it finds it.
  static_cast<void>(epoll_ctl(epoll_, operation, connection.fd, &event));
}

Connection* ConnectionTable::Add(int fd, Peer peer) {
  const uint64_t id = ++last_id_;
  epoll_event event = {};
  event.events = EPOLLIN | EPOLLONESHOT;
  event.data.u64 = id;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    close(fd);
    return nullptr;
  }
  ++owners_[peer.owner];
  auto added = std::make_unique<Connection>(id, fd, std::move(peer));
  return connections_.emplace(id, std::move(added)).first->second.get();
}

bool ConnectionTable::TakeEvents(absl::FunctionRef<void(Connection&, Event)> visit) {
  std::array<epoll_event, 128> events;
  const int count = epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    Connection* const connection = Find(events[i].data.u64);
    if (connection == nullptr) continue;
    if ((events[i].events & (EPOLLHUP | EPOLLERR)) != 0) {
      visit(*connection, Event::kClosed);
      continue;
    }
    // From now on only its end is reported, which epoll adds by itself.
    Watch(*connection, EPOLL_CTL_MOD, EPOLLONESHOT);
    visit(*connection, Event::kSends);
  }
  return count < static_cast<int>(events.size());
}

void ConnectionTable::AwaitSending(Connection& connection) {
  Watch(connection, EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
}

void ConnectionTable::Remove(Connection& connection) {
  const auto owner = owners_.find(connection.peer.owner);
  if (--owner->second == 0) owners_.erase(owner);
  // Explicitly: gRPC's descriptor may still be open, and would keep it in the set.
  epoll_ctl(epoll_, EPOLL_CTL_DEL, connection.fd, nullptr);
  close(connection.fd);
  connections_.erase(connection.id);
}

void ConnectionTable::CutAll() {
  for (const auto& [id, connection] : connections_) {
    shutdown(connection->fd, SHUT_RDWR);
    close(connection->fd);
  }
  connections_.clear();
  owners_.clear();
}

void ConnectionTable::ForEach(absl::FunctionRef<void(Connection&)> visit) {
  for (const auto& [id, connection] : connections_) visit(*connection);
}

Connection* ConnectionTable::Find(uint64_t id) {
  const auto found = connections_.find(id);
  return found == connections_.end() ? nullptr : found->second.get();
}

uint64_t ConnectionTable::CountOf(const std::string& owner) const {
  const auto found = owners_.find(owner);
  return found == owners_.end() ? 0 : found->second;
}

SocketBytes BytesOf(const Connection& connection) {
  tcp_info info = {};
  socklen_t length = sizeof info;
  if (connection.peer.is_unix ||
      getsockopt(connection.fd, IPPROTO_TCP, TCP_INFO, &info, &length) != 0) {
    return {};
  }
  return {info.tcpi_bytes_received, info.tcpi_bytes_acked};
}

}  // namespace eris::server
