// One client of the load: batches on the load's keys, one call after another and over streams. Each
// operation has its time at the earliest, which is the same for all clients, so that operations
// overlap. Run is called by one thread.
#ifndef ERIS_TESTS_LINEARIZABILITY_LOAD_CLIENT_H_
#define ERIS_TESTS_LINEARIZABILITY_LOAD_CLIENT_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "clients/eris_client.h"
#include "tests/linearizability/loaded_object.h"

namespace eris {

struct LoadClientOptions {
  std::string server;
  uint32_t id = 0;
  uint32_t operations = 0;
  uint64_t seed = 1;
};

// What the clients share. relaxed, both: a bound, and progress that only the main thread waits for.
struct LoadProgress {
  std::array<std::atomic<uint32_t>, kKeyCount> hasty_writes{};  // by key
  std::atomic<uint64_t> operations{0};                          // begun
};

class LoadClient {
 public:
  // The calls, a stream of writes and one of gets.
  static constexpr uint32_t kLanes = 3;

  // `object` and `progress` outlive it.
  LoadClient(const LoadClientOptions& options, const LoadedObject& object, LoadProgress& progress);
  ~LoadClient();

  // Blocks until all operations are answered. Number i begins at begin_ns + i * interval_ns or
  // later.
  void Run(int64_t begin_ns, int64_t interval_ns);
  // The rest: after Run.
  const std::vector<Operation>& done() const { return done_; }
  uint64_t streamed() const { return streamed_; }
  uint64_t doubled() const { return doubled_; }  // keys that are in a batch already

 private:
  struct Lane {
    std::unique_ptr<LoadedStream> stream;  // nullptr: calls
    std::vector<Verb> verbs;
    uint64_t orders = 0;  // given
  };

  // Adds a batch of at most `room` operations to done_.
  absl::Span<Operation> Draw(uint32_t lane, uint32_t room);
  void Call(absl::Span<Operation> batch);
  // nullptr, mostly: the write has all the time that it needs.
  std::unique_ptr<client::Client> DrawHasty(absl::Span<const Operation> batch);
  void Failed(const absl::Status& status);

  // Immutable after construction.
  const LoadClientOptions options_;
  const LoadedObject& object_;
  LoadProgress& progress_;
  const Rows rows_ = RowsBehind(0, kKeyCount - 1);

  // Owned by Run's thread.
  std::mt19937_64 random_;
  uint64_t last_read_[kKeyCount]{};  // by calls
  uint64_t streamed_ = 0, doubled_ = 0;

  std::atomic<uint32_t> failures_{0};  // relaxed: only the first one is printed
  // Room for all from the beginning: streams answer where operations lie.
  std::vector<Operation> done_;
  std::unique_ptr<client::Client> client_;
  std::array<Lane, kLanes> lanes_;  // last: readers of streams use the others
};

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_LOAD_CLIENT_H_
