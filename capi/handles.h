// The objects that handles of the C interface point to, and the count of handles that need an
// engine.
#ifndef ERIS_CAPI_HANDLES_H_
#define ERIS_CAPI_HANDLES_H_

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "eris/batch.h"
#include "eris/c/scan.h"
#include "eris/engine.h"
#include "eris/query.h"
#include "eris/schema.h"
#include "eris/session.h"

namespace eris::capi {

enum class HandleKind : uint8_t { kSession, kObject, kScan, kChunk, kSnapshot, kCall, kArrow };
inline constexpr size_t kHandleKinds = 7;

// The handles of one engine that have not been freed, by kind.
using HandleCounts = std::array<std::atomic<int64_t>, kHandleKinds>;

// Counts one handle while it exists. It is the first member, so it ends after all that the handle
// holds.
class Use {
 public:
  Use(HandleCounts& counts, HandleKind kind) : count_(counts[static_cast<size_t>(kind)]) {
    count_.fetch_add(1, std::memory_order_relaxed);  // the engine cannot be closing meanwhile
  }
  // release: pairs with the acquire in OpenHandles (engine.cc), after which eris_engine_close ends
  // what the handle used.
  ~Use() { count_.fetch_sub(1, std::memory_order_release); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  std::atomic<int64_t>& count_;
};

// Takes a session or a scan for one call.
class OneCaller {
 public:
  explicit OneCaller(std::atomic<bool>& busy)
      // acquire, and the release below: calls of several threads, one after the other.
      : busy_(busy), taken_(!busy.exchange(true, std::memory_order_acquire)) {}
  ~OneCaller() {
    if (taken_) busy_.store(false, std::memory_order_release);
  }
  OneCaller(const OneCaller&) = delete;
  OneCaller& operator=(const OneCaller&) = delete;

  // Errors: FailedPrecondition.
  absl::Status status() const {
    if (taken_) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "another call is using this session or scan: it takes one at a time");
  }
  // Leaves it taken: a callback gives it back.
  void Keep() { taken_ = false; }

 private:
  std::atomic<bool>& busy_;
  bool taken_;
};

// Errors: FailedPrecondition (this thread is between eris_defer_callbacks and eris_run_callbacks).
absl::Status CheckNotDeferring();

// An answer with the types of its columns.
struct ResultData {
  BatchResult result{};
  std::vector<ColumnSchema> types{};
  bool lookup = false;
  std::string message{};  // of the status
};

}  // namespace eris::capi

struct eris_engine {
  eris::capi::HandleCounts counts{};
  std::unique_ptr<eris::Engine> engine;
};

struct eris_session {
  eris_session(eris_engine& its, std::unique_ptr<eris::Session> its_session)
      : use(its.counts, eris::capi::HandleKind::kSession),
        engine(its),
        session(std::move(its_session)) {}

  const eris::capi::Use use;
  eris_engine& engine;
  const std::unique_ptr<eris::Session> session;
  std::atomic<bool> busy{false};
};

struct eris_object {
  eris_object(eris_engine& its, eris::Object its_object)
      : use(its.counts, eris::capi::HandleKind::kObject), object(std::move(its_object)) {}

  const eris::capi::Use use;
  const eris::Object object;
};

struct eris_snapshot {
  eris_snapshot(eris_engine& its, std::shared_ptr<eris::Snapshot> its_snapshot)
      : use(its.counts, eris::capi::HandleKind::kSnapshot), snapshot(std::move(its_snapshot)) {}

  const eris::capi::Use use;
  const std::shared_ptr<eris::Snapshot> snapshot;
};

struct eris_scan {
  eris_scan(eris_engine& its, std::unique_ptr<eris::Scan> its_scan)
      : use(its.counts, eris::capi::HandleKind::kScan), engine(its), scan(std::move(its_scan)) {}

  const eris::capi::Use use;
  eris_engine& engine;
  // Shared with a callback under way, which may outlive the scan.
  struct Calls {
    std::atomic<bool> busy{false};
    // A chunk could not be handed out. Owned by the call that has taken `busy`.
    bool lost = false;
  };
  std::unique_ptr<eris::Scan> scan;
  const std::shared_ptr<Calls> calls = std::make_shared<Calls>();
};

struct eris_chunk {
  explicit eris_chunk(eris_engine& its)
      : use(its.counts, eris::capi::HandleKind::kChunk), engine(its) {}

  const eris::capi::Use use;
  eris_engine& engine;
  std::shared_ptr<const eris::Chunk> chunk;
  std::string resume;
};

struct eris_result {
  std::shared_ptr<eris::capi::ResultData> data = std::make_shared<eris::capi::ResultData>();
};

struct eris_call {
  // What the call's end and the handle share.
  struct State {
    std::mutex mu;
    std::condition_variable changed;
    std::unique_ptr<eris_result> result;  // guarded by mu
    bool ended = false;                   // guarded by mu
    bool taken = false;                   // guarded by mu
  };
  explicit eris_call(eris_engine& its) : use(its.counts, eris::capi::HandleKind::kCall) {}

  const eris::capi::Use use;
  std::shared_ptr<State> state;  // nullptr: the answer goes to a callback
  std::shared_ptr<eris::Pending> pending;
};

#endif  // ERIS_CAPI_HANDLES_H_
