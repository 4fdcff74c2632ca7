// What gRPC counts of each connection of a server (its channelz). One thread; each call takes some
// tens of microseconds.
#ifndef ERIS_SERVER_DOOR_CHANNELZ_H_
#define ERIS_SERVER_DOOR_CHANNELZ_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace eris::server {

class Channelz {
 public:
  struct Socket {
    int64_t id = 0;
    std::string peer;  // as Peer::name
  };
  struct Counts {
    uint64_t calls_started = 0;    // also those whose headers are incomplete
    uint64_t calls_succeeded = 0;  // both sides have ended the call
    uint64_t calls_failed = 0;     // others that have ended: reset by the client, or refused early
    uint64_t messages = 0;         // complete ones that have been received
  };

  // REQUIRES: a server of this process has been built; the last one is meant.
  Channelz();

  // Sockets that have come since the last call, in the order in which they came.
  std::vector<Socket> NewSockets();
  // nullopt: it has been closed.
  static std::optional<Counts> Read(int64_t socket);

 private:
  int64_t server_ = 0;
  int64_t next_ = 0;  // sockets from this id on are new
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_CHANNELZ_H_
