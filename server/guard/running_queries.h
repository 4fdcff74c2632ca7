// The queries that run now, so that they can be listed and cancelled. A query enters before the
// engine knows it and leaves when its call ends. At most kRunningMax are inside; further ones are
// refused. Any thread; never blocks; independent of gRPC.
#ifndef ERIS_SERVER_GUARD_RUNNING_QUERIES_H_
#define ERIS_SERVER_GUARD_RUNNING_QUERIES_H_

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
#include "server/guard/scan_stop.h"

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

  // `peer`: the client's address, to show. `stop` ends the query. The object outlives the stay.
  // Errors: ResourceExhausted (kRunningMax run already).
  absl::StatusOr<Stay> Enter(std::string peer, std::shared_ptr<ScanStop> stop) {
    auto query = std::make_shared<Query>();
    query->peer = std::move(peer);
    query->stop = std::move(stop);
    base::MutexLock lock(&mu_);
    if (queries_.size() >= kRunningMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat(queries_.size(), " queries run, the limit is ", kRunningMax, ": try again"));
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
        return absl::NotFoundError(absl::StrCat("no query ", id, " runs"));
      }
      stop = found->second->stop;
    }
    stop->Stop(absl::CancelledError(absl::StrCat("query ", id, " was cancelled by a client")));
    return absl::OkStatus();
  }

 private:
  struct Query {
    uint64_t id = 0;
    std::string peer{};
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
