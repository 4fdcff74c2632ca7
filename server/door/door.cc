#include "server/door/door.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "base/status_macros.h"
#include "server/door/connection_table.h"
#include "server/door/connection_watch.h"
#include "server/door/descriptors.h"
#include "server/door/door_log.h"
#include "server/door/listener.h"
#include "server/door/peer.h"

namespace eris::server {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// After that many the thread looks after other work.
constexpr int kAcceptsPerTurn = 64;
// Where accepting fails for a reason that passes, and that no event reports.
constexpr std::chrono::milliseconds kAcceptAgain{100};
// After something has happened to a connection.
constexpr std::chrono::milliseconds kLookSoon{50};

bool IsOutOfDescriptors(int error) { return error == EMFILE || error == ENFILE; }

}  // namespace

// Kept by its handlers in the io_context, too.
class Door::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(const DoorOptions& options, asio::io_context* io)
      : options_(options), io_(*io), events_(*io), look_timer_(*io), accept_timer_(*io) {}

  absl::Status Listen(const std::vector<Address>& addresses, grpc::ServerBuilder* builder);
  void Begin(ServedCalls served_calls);
  void Stop();
  DoorStats Read() const;
  const std::vector<std::string>& addresses() const { return addresses_; }

 private:
  using Acceptor = grpc::experimental::ExternalConnectionAcceptor;

  // One listening socket.
  struct Entrance {
    Entrance(asio::io_context& io, int fd, Acceptor* grpc_in) : socket(io, fd), grpc(*grpc_in) {}
    asio::posix::stream_descriptor socket;  // owned by a Listener
    Acceptor& grpc;
  };

  // Handlers of io's thread. Each takes the mutex, and does nothing once the door has stopped.
  template <class Work>
  auto Handler(Work work);
  void AwaitConnections(Entrance& entrance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AwaitEvents() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  void Accept(Entrance& entrance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Accepts one connection. 0, or the error.
  int AcceptOne(Entrance& entrance) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same after `error`, with a descriptor of the reserve, and closes it. Returns `error` if the
  // reserve is empty.
  int AcceptAndClose(Entrance& entrance, int error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void AcceptLater(int error) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Refuse(DoorCause cause, const std::string& peer, const std::string& why)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void HandOver(Entrance& entrance, int fd, Peer peer) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Looks at the connections after `wait`, or earlier if that is planned.
  void LookWithin(ConnectionWatch::Clock::duration wait) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Immutable once Begin has been called.
  const DoorOptions options_;
  asio::io_context& io_;
  std::vector<std::unique_ptr<Acceptor>> acceptors_;  // by address
  std::vector<std::string> addresses_;

  mutable base::Mutex mu_;
  bool stopped_ ABSL_GUARDED_BY(mu_) = false;
  std::vector<Listener> listeners_ ABSL_GUARDED_BY(mu_);  // by address
  std::vector<std::unique_ptr<Entrance>> entrances_ ABSL_GUARDED_BY(mu_);
  asio::posix::stream_descriptor events_ ABSL_GUARDED_BY(mu_);  // owned by table_
  asio::steady_timer look_timer_ ABSL_GUARDED_BY(mu_);
  std::optional<ConnectionWatch::Clock::time_point> look_at_ ABSL_GUARDED_BY(mu_);
  asio::steady_timer accept_timer_ ABSL_GUARDED_BY(mu_);
  DescriptorReserve reserve_ ABSL_GUARDED_BY(mu_);
  DoorLog log_ ABSL_GUARDED_BY(mu_);
  ConnectionTable table_ ABSL_GUARDED_BY(mu_);
  std::optional<ConnectionWatch> watch_ ABSL_GUARDED_BY(mu_);
  uint64_t accepted_ ABSL_GUARDED_BY(mu_) = 0;
  std::array<uint64_t, kDoorCauses> refused_ ABSL_GUARDED_BY(mu_) = {};
};

template <class Work>
auto Door::Impl::Handler(Work work) {
  return [self = shared_from_this(), work = std::move(work)](const error_code& error) {
    if (error) return;
    base::MutexLock lock(&self->mu_);
    if (!self->stopped_) work(*self);
  };
}

absl::Status Door::Impl::Listen(const std::vector<Address>& addresses,
                                grpc::ServerBuilder* builder) {
  base::MutexLock lock(&mu_);
  if (table_.epoll_fd() < 0) return absl::UnavailableError("no descriptor for an epoll set");
  for (const Address& address : addresses) {
    ERIS_ASSIGN_OR_RETURN(
        Listener listener,
        Listener::Open(address.listen, {.unix_mode = options_.unix_mode,
                                        .user_timeout_ms = options_.user_timeout_ms}));
    addresses_.push_back(listener.address());
    listeners_.push_back(std::move(listener));
  }
  using Builder = grpc::ServerBuilder::experimental_type;
  for (const Address& address : addresses) {
    acceptors_.push_back(builder->experimental().AddExternalConnectionAcceptor(
        Builder::ExternalConnectionType::FROM_FD, address.credentials));
  }
  return absl::OkStatus();
}

void Door::Impl::Begin(ServedCalls served_calls) {
  base::MutexLock lock(&mu_);
  watch_.emplace(&table_, &log_,
                 ConnectionWatch::Options{options_.judge, options_.first_call,
                                          std::move(served_calls), options_.memory_is_free});
  events_.assign(table_.epoll_fd());
  AwaitEvents();
  for (size_t i = 0; i < listeners_.size(); ++i) {
    for (const int fd : listeners_[i].sockets()) {
      entrances_.push_back(std::make_unique<Entrance>(io_, fd, acceptors_[i].get()));
      AwaitConnections(*entrances_.back());
    }
  }
}

void Door::Impl::Stop() {
  base::MutexLock lock(&mu_);
  if (std::exchange(stopped_, true)) return;
  for (const auto& entrance : entrances_) entrance->socket.release();
  listeners_.clear();  // no further connection is accepted
  if (events_.is_open()) events_.release();
  look_timer_.cancel();
  accept_timer_.cancel();
  table_.CutAll();
}

DoorStats Door::Impl::Read() const {
  base::MutexLock lock(&mu_);
  DoorStats stats;
  stats.open = table_.size();
  stats.connections_max = options_.connections.connections_max;
  stats.accepted = accepted_;
  for (size_t i = 0; i < kDoorCauses; ++i) {
    stats.closed[i] = refused_[i] + (watch_ ? watch_->cut(static_cast<DoorCause>(i)) : 0);
  }
  return stats;
}

void Door::Impl::AwaitConnections(Entrance& entrance) {
  entrance.socket.async_wait(asio::posix::stream_descriptor::wait_read,
                             Handler([&entrance](Impl& self) {
                               self.mu_.AssertHeld();
                               self.Accept(entrance);
                             }));
}

void Door::Impl::AwaitEvents() {
  events_.async_wait(asio::posix::stream_descriptor::wait_read, Handler([](Impl& self) {
                       self.mu_.AssertHeld();
                       self.watch_->TakeEvents();
                       self.LookWithin(kLookSoon);
                       self.AwaitEvents();
                     }));
}

void Door::Impl::Accept(Entrance& entrance) {
  for (int i = 0; i < kAcceptsPerTurn; ++i) {
    int error = AcceptOne(entrance);
#ifdef ERIS_PLANTED_LISTENER_GIVES_UP
    if (IsOutOfDescriptors(error)) return;
#endif
    if (IsOutOfDescriptors(error)) error = AcceptAndClose(entrance, error);
    if (error == EAGAIN || error == EWOULDBLOCK) break;
    // Some errors are of the connection, which has gone: the next one may be good.
    if (error == 0 || error == EINTR || error == ECONNABORTED || error == EPROTO) continue;
    return AcceptLater(error);
  }
  AwaitConnections(entrance);
}

int Door::Impl::AcceptOne(Entrance& entrance) {
  const int fd =
      accept4(entrance.socket.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd < 0) return errno;
  std::optional<Peer> peer = PeerOf(fd);
  if (!peer) {
    close(fd);
    return 0;
  }
  const uint64_t own = table_.CountOf(peer->owner);
  if (const auto cause = options_.connections.Refuse(table_.size(), own)) {
    Refuse(*cause, peer->name,
           absl::StrCat(table_.size(), " connections, of which ", own, " of ", peer->owner));
    close(fd);
    return 0;
  }
  HandOver(entrance, fd, *std::move(peer));
  return 0;
}

void Door::Impl::Refuse(DoorCause cause, const std::string& peer, const std::string& why) {
  ++refused_[static_cast<size_t>(cause)];
  log_.Closed(cause, peer, why);
}

int Door::Impl::AcceptAndClose(Entrance& entrance, int error) {
  if (!reserve_.Release()) return error;
  const int fd = accept4(entrance.socket.native_handle(), nullptr, nullptr, SOCK_CLOEXEC);
  const int failed = fd < 0 ? errno : 0;
  if (fd >= 0) {
    const std::optional<Peer> peer = PeerOf(fd);
    close(fd);
    Refuse(DoorCause::kDescriptors, peer ? peer->name : "",
           absl::StrCat("no file descriptor is left, with ", table_.size(), " connections"));
  }
  reserve_.Refill();
  return failed;
}

void Door::Impl::AcceptLater(int error) {
  log_.NotAccepting(std::strerror(error));
  accept_timer_.expires_after(kAcceptAgain);
  accept_timer_.async_wait(Handler([](Impl& self) {
    self.mu_.AssertHeld();
    self.reserve_.Refill();
    for (const auto& entrance : self.entrances_) {
      error_code ignored;
      entrance->socket.cancel(ignored);  // one that waits does so once more
      self.AwaitConnections(*entrance);
    }
  }));
}

void Door::Impl::HandOver(Entrance& entrance, int fd, Peer peer) {
  const int watched = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  const std::string name = peer.name;
  Connection* const connection = watched < 0 ? nullptr : table_.Add(watched, std::move(peer));
  if (connection == nullptr) {
    Refuse(DoorCause::kDescriptors, name,
           absl::StrCat("it cannot be watched, with ", table_.size(),
                        " connections: ", std::strerror(errno)));
    close(fd);
    return;
  }
  ++accepted_;
  Acceptor::NewConnectionParameters parameters;
  parameters.listener_fd = -1;
  parameters.fd = fd;
  entrance.grpc.HandleNewConnection(&parameters);  // owns fd
  watch_->Added(*connection);
  LookWithin(kLookSoon);
}

void Door::Impl::LookWithin(ConnectionWatch::Clock::duration wait) {
  const auto at = ConnectionWatch::Clock::now() + wait;
  if (look_at_ && *look_at_ <= at) return;
  look_at_ = at;
  look_timer_.expires_at(at);
  look_timer_.async_wait(Handler([](Impl& self) {
    self.mu_.AssertHeld();
    self.look_at_.reset();
    const auto next = self.watch_->Look(ConnectionWatch::Clock::now());
    if (next) self.LookWithin(*next);
  }));
}

Door::Door(std::shared_ptr<Impl> impl) : impl_(std::move(impl)) {}
Door::~Door() { impl_->Stop(); }

absl::StatusOr<std::unique_ptr<Door>> Door::Open(const std::vector<Address>& addresses,
                                                 const DoorOptions& options,
                                                 boost::asio::io_context* io,
                                                 grpc::ServerBuilder* builder) {
  auto impl = std::make_shared<Impl>(options, io);
  ERIS_RETURN_IF_ERROR(impl->Listen(addresses, builder));
  return std::unique_ptr<Door>(new Door(std::move(impl)));
}

void Door::Begin(ServedCalls served_calls) { impl_->Begin(std::move(served_calls)); }
void Door::Stop() { impl_->Stop(); }
const std::vector<std::string>& Door::addresses() const { return impl_->addresses(); }
DoorStats Door::Read() const { return impl_->Read(); }

}  // namespace eris::server
