// Shares of something that is limited: no client takes all of it. A client may take one more while
// it holds fewer than are left. So one client alone gets half, two clients a third each, and a new
// client always finds some. Any thread; never blocks; independent of gRPC.
#ifndef ERIS_SERVER_OVERLOAD_CLIENT_SHARES_H_
#define ERIS_SERVER_OVERLOAD_CLIENT_SHARES_H_

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/string_view.h"
#include "base/mutex.h"

namespace eris::server {

// The client behind gRPC's name of a peer: "ipv4:10.0.0.7" of "ipv4:10.0.0.7:41234". Connections of
// one address are one client. All of a Unix socket are one, too.
inline std::string ClientOfPeer(absl::string_view peer) {
  const bool has_port = peer.substr(0, 5) == "ipv4:" || peer.substr(0, 5) == "ipv6:";
  return std::string(has_port ? peer.substr(0, peer.rfind(':')) : peer);
}

// Whether a client that holds `held` of them may take one more, if all clients hold `all`.
inline bool HasShare(size_t held, size_t all, size_t max) { return all < max && held < max - all; }

class ClientShares {
 private:
  struct State;

 public:
  // One that is held; given back in the destructor, which may come after the shares' end.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : state_(std::move(other.state_)), client_(std::move(other.client_)) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(client_, other.client_);
      return *this;
    }
    ~Hold() {
      if (state_ != nullptr) state_->GiveBack(client_);
    }
    explicit operator bool() const { return state_ != nullptr; }

   private:
    friend class ClientShares;
    Hold(std::shared_ptr<State> state, std::string client)
        : state_(std::move(state)), client_(std::move(client)) {}
    std::shared_ptr<State> state_;
    std::string client_;
  };

  explicit ClientShares(size_t max) : state_(std::make_shared<State>(max)) {}
  ClientShares(const ClientShares&) = delete;
  ClientShares& operator=(const ClientShares&) = delete;

  // Empty: the client has its share, or all are held.
  [[nodiscard]] Hold TryTake(std::string client) {
    if (!state_->TryTake(client)) return Hold();
    return Hold(state_, std::move(client));
  }

  size_t max() const { return state_->max; }
  size_t held() const {
    base::MutexLock lock(&state_->mu);
    return state_->all;
  }
  size_t held_by(const std::string& client) const {
    base::MutexLock lock(&state_->mu);
    const auto found = state_->by_client.find(client);
    return found == state_->by_client.end() ? 0 : found->second;
  }

 private:
  struct State {
    explicit State(size_t max_in) : max(max_in) {}

    bool TryTake(const std::string& client) {
      base::MutexLock lock(&mu);
      const auto found = by_client.find(client);
      if (!HasShare(found == by_client.end() ? 0 : found->second, all, max)) return false;
      ++all;
      ++by_client[client];
      return true;
    }
    void GiveBack(const std::string& client) {
      base::MutexLock lock(&mu);
      --all;
      const auto found = by_client.find(client);
      if (--found->second == 0) by_client.erase(found);
    }

    const size_t max;
    mutable base::Mutex mu;
    size_t all ABSL_GUARDED_BY(mu) = 0;
    std::map<std::string, size_t> by_client ABSL_GUARDED_BY(mu);  // only those that hold some
  };
  const std::shared_ptr<State> state_;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_OVERLOAD_CLIENT_SHARES_H_
