// What connections have received of messages that are not complete, by owner (Peer::owner): gRPC
// holds it, and ends calls of any client when all of it is too much. Pure; owned by one thread.
#ifndef ERIS_SERVER_DOOR_UNFINISHED_BYTES_H_
#define ERIS_SERVER_DOOR_UNFINISHED_BYTES_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace eris::server {

class UnfinishedBytes {
 public:
  // `arriving_max`: what gRPC may hold of all requests; 0: no limit.
  explicit UnfinishedBytes(uint64_t arriving_max) : max_(arriving_max / 2) {}

  // A connection of `owner` that had `before` bytes has `now`.
  void Change(const std::string& owner, uint64_t before, uint64_t now) {
    if (before == now) return;
    all_ += now - before;
    const auto found = owners_.try_emplace(owner, 0).first;
    found->second += now - before;
    if (found->second == 0) owners_.erase(found);
  }
  // The one that has the most, if all have more than half of the limit together; empty: they have
  // not.
  std::string Greediest() const {
    if (max_ == 0 || all_ <= max_) return "";
    return std::max_element(owners_.begin(), owners_.end(),
                            [](const auto& a, const auto& b) { return a.second < b.second; })
        ->first;
  }
  uint64_t all() const { return all_; }
  uint64_t max() const { return max_; }

 private:
  const uint64_t max_;
  uint64_t all_ = 0;
  std::unordered_map<std::string, uint64_t> owners_;  // only those that have some
};

}  // namespace eris::server

#endif  // ERIS_SERVER_DOOR_UNFINISHED_BYTES_H_
