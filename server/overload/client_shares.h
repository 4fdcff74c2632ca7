// Shares of something that is limited, counted in pieces or in bytes: no client takes all of it. A
// client may take one more while it holds fewer than are left. So one client alone gets half, two
// clients a third each, and a new client always finds some. Any thread; never blocks; independent
// of gRPC.
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
// one IPv4 address are one client, and those of one IPv6 network of 64 bits, which one host may
// have for itself: "ipv6:2001:db8::/64" of "ipv6:%5B2001:db8::7%5D:41234". All of a Unix socket are
// one, too.
std::string ClientOfPeer(absl::string_view peer);

// Whether a client that holds `held` of them may take `count` more, if all clients hold `all`: as
// if it took one after the other.
inline bool HasShare(size_t held, size_t all, size_t max, size_t count = 1) {
  return all < max && held + 2 * (count - 1) < max - all;
}

class ClientShares {
 private:
  struct State;

 public:
  // One that is held; given back in the destructor, which may come after the shares' end.
  class Hold {
   public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : state_(std::move(other.state_)), client_(std::move(other.client_)), held_(other.held_) {}
    Hold& operator=(Hold&& other) noexcept {
      std::swap(state_, other.state_);
      std::swap(client_, other.client_);
      std::swap(held_, other.held_);
      return *this;
    }
    ~Hold() {
      if (state_ != nullptr) state_->GiveBack(client_, held_);
    }
    // Takes as many more of the same client's. False: they are not there. REQUIRES: not empty.
    [[nodiscard]] bool TryGrow(size_t more) {
      if (!state_->TryTake(client_, more)) return false;
      held_ += more;
      return true;
    }
    explicit operator bool() const { return state_ != nullptr; }
    size_t held() const { return held_; }

   private:
    friend class ClientShares;
    Hold(std::shared_ptr<State> state, std::string client, size_t held)
        : state_(std::move(state)), client_(std::move(client)), held_(held) {}
    std::shared_ptr<State> state_;
    std::string client_;
    size_t held_ = 0;
  };

  explicit ClientShares(size_t max) : state_(std::make_shared<State>(max)) {}
  ClientShares(const ClientShares&) = delete;
  ClientShares& operator=(const ClientShares&) = delete;

  // Empty: the client has its share, or all are held.
  [[nodiscard]] Hold TryTake(std::string client, size_t count = 1) {
    if (!state_->TryTake(client, count)) return Hold();
    return Hold(state_, std::move(client), count);
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

    bool TryTake(const std::string& client, size_t count) {
      base::MutexLock lock(&mu);
      const auto found = by_client.find(client);
      if (!HasShare(found == by_client.end() ? 0 : found->second, all, max, count)) return false;
      all += count;
      by_client[client] += count;
      return true;
    }
    void GiveBack(const std::string& client, size_t count) {
      base::MutexLock lock(&mu);
      all -= count;
      const auto found = by_client.find(client);
      if ((found->second -= count) == 0) by_client.erase(found);
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
