// How many calls the server serves for each peer. Counting looks at all calls, so it is done at
// most once in each round of looks at connections, and only if somebody asks. Owned by one thread;
// no gRPC of its own.
#ifndef ERIS_SERVER_DOOR_CALLS_BY_PEER_H_
#define ERIS_SERVER_DOOR_CALLS_BY_PEER_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

namespace eris::server {

class CallsByPeer {
 public:
  using Counts = std::unordered_map<std::string, uint64_t>;  // by Peer::name; none are 0

  // `count` may be empty: then there are no calls.
  explicit CallsByPeer(std::function<Counts()> count) : count_(std::move(count)) {}

  // What was counted is out of date.
  void BeginRound() { counts_.reset(); }

  // As of the first question of the round.
  uint64_t Of(const std::string& peer) {
    if (!counts_) counts_ = count_ ? count_() : Counts();
    const auto found = counts_->find(peer);
    return found == counts_->end() ? 0 : found->second;
  }

 private:
  const std::function<Counts()> count_;
  std::optional<Counts> counts_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_CALLS_BY_PEER_H_
