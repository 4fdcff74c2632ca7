// The queries that run now, so that they can be listed and cancelled. A query enters before the
// engine knows it and leaves when its call ends. At most kRunningMax are inside, of
// which no client has all; further ones are refused. Any thread; never blocks; independent of gRPC.
#ifndef ERIS_SERVER_GUARD_RUNNING_QUERIES_H_
#define ERIS_SERVER_GUARD_RUNNING_QUERIES_H_

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/mutex.h"
#include "eris/errors.h"
#include "server/guard/scan_stop.h"
#include "server/overload/client_shares.h"

namespace eris::server {

class RunningQueries {
 private:
  struct Query;

 public:
  using Clock = std::chrono::steady_clock;
  static constexpr size_t kRunningMax = 1024;

  // A query inside; leaves in the destructor.
  class Stay {
   public:
    Stay() = default;
    Stay(Stay&& other) noexcept
        : queries_(std::exchange(other.queries_, nullptr)), query_(std::move(other.query_)) {}
    Stay& operator=(Stay&& other) noexcept {
      std::swap(queries_, other.queries_);
      std::swap(query_, other.query_);
      return *this;
    }
    ~Stay() {
      if (queries_ != nullptr) queries_->Leave(query_->id);
    }
    // REQUIRES: not default-constructed.
    void AddRows(uint64_t rows) {
      // relaxed: a number to show; it publishes no data.
      query_->rows_sent.fetch_add(rows, std::memory_order_relaxed);
    }

   private:
    friend class RunningQueries;
    Stay(RunningQueries* queries, std::shared_ptr<Query> query)
        : queries_(queries), query_(std::move(query)) {}
    RunningQueries* queries_ = nullptr;
    std::shared_ptr<Query> query_;
  };

  struct Info {
    uint64_t id = 0;
    std::string peer{};
    std::chrono::milliseconds age{0};
    uint64_t rows_sent = 0;
  };

  RunningQueries() = default;
  RunningQueries(const RunningQueries&) = delete;
  RunningQueries& operator=(const RunningQueries&) = delete;

  // `peer`: the client's address, to show; `client`: whose share it is (client_shares.h). `stop`
  // ends the query. The object outlives the stay. Errors: ResourceExhausted (kRunningMax run
  // already, or the client's share).
  absl::StatusOr<Stay> Enter(std::string peer, std::string client, std::shared_ptr<ScanStop> stop) {
    auto query = std::make_shared<Query>();
    query->peer = std::move(peer);
    query->client = std::move(client);
    query->stop = std::move(stop);
    base::MutexLock lock(&mu_);
    const auto own = static_cast<size_t>(std::count_if(
        queries_.begin(), queries_.end(),
        [&query](const auto& other) { return other.second->client == query->client; }));
    if (!HasShare(own, queries_.size(), kRunningMax)) {
      return Error(ErrorReason::kQueriesRunning,
                   absl::StrCat(queries_.size(), " queries run, ", own,
                                " of them of this client; the limit is ", kRunningMax,
                                ", and no client gets more than are left: try again"),
                   {.limit = absl::StrCat(kRunningMax)});
    }
    query->id = ++entered_;
    queries_.emplace(query->id, query);
    return Stay(this, std::move(query));
  }

  // Oldest first.
  std::vector<Info> List(Clock::time_point now = Clock::now()) const {
    using std::chrono::milliseconds;
    std::vector<Info> all;
    base::MutexLock lock(&mu_);
    for (const auto& [id, query] : queries_) {
      all.push_back({.id = id,
                     .peer = query->peer,
                     .age = std::chrono::duration_cast<milliseconds>(now - query->begin),
                     .rows_sent = query->rows_sent.load(std::memory_order_relaxed)});
    }
    return all;
  }

  // Tells the query to end; does not wait until it has. Errors: NotFound (it does not run).
  absl::Status Cancel(uint64_t id) {
    std::shared_ptr<ScanStop> stop;
    {
      base::MutexLock lock(&mu_);
      const auto found = queries_.find(id);
      if (found == queries_.end()) {
        return Error(ErrorReason::kQueryUnknown, absl::StrCat("no query ", id, " runs"),
                     {.field = "id", .value = absl::StrCat(id)});
      }
      stop = found->second->stop;
    }
    stop->Stop(Error(ErrorReason::kQueryCancelled,
                     absl::StrCat("query ", id, " was cancelled by a client")));
    return absl::OkStatus();
  }

 private:
  struct Query {
    uint64_t id = 0;
    std::string peer{};
    std::string client{};
    std::shared_ptr<ScanStop> stop{};
    Clock::time_point begin = Clock::now();
    // Shared: written by the query's call, read by List.
    std::atomic<uint64_t> rows_sent{0};
  };

  void Leave(uint64_t id) {
    base::MutexLock lock(&mu_);
    queries_.erase(id);
  }

  mutable base::Mutex mu_;
  std::map<uint64_t, std::shared_ptr<Query>> queries_ ABSL_GUARDED_BY(mu_);
  uint64_t entered_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_RUNNING_QUERIES_H_
