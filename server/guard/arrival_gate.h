// Limits how many requests arrive at the same time. gRPC reads a message completely as soon as a
// call asks for it, and its size is not known before. So only as many calls ask as there is room
// for messages of the largest size. A waiting call costs only its first packets, which its
// connection's window limits. A small request has arrived when its turn comes: it is read at once,
// and the turn passes on.
//
// A place is also held by a call whose message never comes, and gRPC does not tell it from one
// whose message comes slowly. So no client gets all places (client_shares.h). The calls of one
// client wait in their order, and clients take turns. Any thread; never blocks.
#ifndef ERIS_SERVER_GUARD_ARRIVAL_GATE_H_
#define ERIS_SERVER_GUARD_ARRIVAL_GATE_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "base/mutex.h"
#include "server/overload/client_shares.h"

namespace eris::server {

class ArrivalGate {
 public:
  class Waiter {
   public:
    // `client`: whose share its place counts in.
    explicit Waiter(std::string client) : client_(std::move(client)) {}
    virtual ~Waiter() = default;
    // Begins to read; Leave follows when the read has ended. False: it no longer wants to read. Any
    // thread, at most once.
    virtual bool OnTurn() = 0;
    // False: OnTurn would return false. Must not call the gate.
    virtual bool Wanted() const = 0;
    const std::string& client() const { return client_; }

   private:
    const std::string client_;
  };

  explicit ArrivalGate(uint32_t places) : places_(places) {}
  ArrivalGate(const ArrivalGate&) = delete;
  ArrivalGate& operator=(const ArrivalGate&) = delete;

  // Its turn comes at once, or later: see above.
  void Enter(std::shared_ptr<Waiter> waiter) {
    {
      base::MutexLock lock(&mu_);
      const auto client = clients_.try_emplace(waiter->client()).first;
      Client& own = client->second;
      if (!own.waiting.empty() || !HasShare(own.reading, reading_, places_)) {
        if (own.waiting.empty()) turns_.push_back(client);
        own.waiting.push_back(std::move(waiter));
        ++waiting_;
        return;
      }
      ++own.reading;
      ++reading_;
    }
    if (!waiter->OnTurn()) Leave(waiter->client());  // outside the lock: it calls gRPC
  }

  // A call of `client` has read.
  void Leave(const std::string& client) {
    GiveBack(client);
    while (const std::shared_ptr<Waiter> next = TakeNext()) {
      if (!next->OnTurn()) GiveBack(next->client());
    }
  }

  // Reports that a waiting one is no longer wanted. When that may be true of half of the waiting
  // ones they are removed, so that calls that come and go leave nothing behind.
  void Forget() {
    std::list<std::shared_ptr<Waiter>> gone;  // destroyed outside the lock
    base::MutexLock lock(&mu_);
    if (++unwanted_ <= waiting_ / 2) return;
    unwanted_ = 0;
    for (auto turn = turns_.begin(); turn != turns_.end();) {
      const Clients::iterator client = *turn;
      std::list<std::shared_ptr<Waiter>>& waiting = client->second.waiting;
      for (auto next = waiting.begin(); next != waiting.end();) {
        const auto waiter = next++;
        if ((*waiter)->Wanted()) continue;
        gone.splice(gone.end(), waiting, waiter);
        --waiting_;
      }
      turn = waiting.empty() ? turns_.erase(turn) : std::next(turn);
      EraseIfUnused(client);
    }
  }

  // Number of waiting ones, wanted or not. For tests.
  size_t waiting() const {
    base::MutexLock lock(&mu_);
    return waiting_;
  }

 private:
  struct Client {
    size_t reading = 0;  // the places that it holds
    std::list<std::shared_ptr<Waiter>> waiting{};
  };
  using Clients = std::map<std::string, Client>;

  void GiveBack(const std::string& name) {
    base::MutexLock lock(&mu_);
    const auto client = clients_.find(name);
    --client->second.reading;
    --reading_;
    EraseIfUnused(client);
  }

  // Takes a place for the first waiting one whose client may have one. nullptr: there is none. It
  // looks at no more clients than hold places, and at one more.
  std::shared_ptr<Waiter> TakeNext() {
    base::MutexLock lock(&mu_);
    for (auto turn = turns_.begin(); turn != turns_.end(); ++turn) {
      if (reading_ >= places_) return nullptr;
      Client& client = (*turn)->second;
      if (!HasShare(client.reading, reading_, places_)) continue;
      std::shared_ptr<Waiter> next = std::move(client.waiting.front());
      client.waiting.pop_front();
      --waiting_;
      ++client.reading;
      ++reading_;
      if (client.waiting.empty()) {
        turns_.erase(turn);
      } else {
        turns_.splice(turns_.end(), turns_, turn);
      }
      return next;
    }
    return nullptr;
  }

  void EraseIfUnused(Clients::iterator client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (client->second.reading == 0 && client->second.waiting.empty()) clients_.erase(client);
  }

  const size_t places_;
  mutable base::Mutex mu_;
  size_t reading_ ABSL_GUARDED_BY(mu_) = 0;  // of all clients; at most places_
  size_t waiting_ ABSL_GUARDED_BY(mu_) = 0;
  Clients clients_ ABSL_GUARDED_BY(mu_);  // those that read or wait
  // Those that wait. The first one whose share allows it has the next turn.
  std::list<Clients::iterator> turns_ ABSL_GUARDED_BY(mu_);
  size_t unwanted_ ABSL_GUARDED_BY(mu_) = 0;  // upper limit of the unwanted ones among them
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_ARRIVAL_GATE_H_
