// Moves ranges of one object to and fro between AEUs for as long as it lives, one after another, by
// each kind of transfer in turn: with random borders, many at or close to keys that are in use. A
// thread of its own.
#ifndef ERIS_TESTS_LINEARIZABILITY_MOVER_H_
#define ERIS_TESTS_LINEARIZABILITY_MOVER_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "clients/balancer_client.h"
#include "clients/eris_client.h"

namespace eris {

struct MoverOptions {
  std::string object;
  ColumnType key_type = ColumnType::kUint64;  // of the key's first column
  // In use, encoded; ascending, from 0 to the largest number. At the beginning the range from key i
  // to the next one belongs to AEU i % aeus.
  std::vector<uint64_t> keys;
  uint32_t rows_behind = 0;  // each key
  // Ranges also move by link and by leap; else by copy alone, and from an end of their owner's
  // range.
  bool links = true;
  uint32_t aeus = 4;
  uint32_t aeus_per_numa_node = 2;  // links stay inside one
  uint64_t seed = 1;
  absl::Duration pause;  // between two moves
};

class Mover {
 public:
  Mover(client::Client& client, MoverOptions options);
  // Ends with the move that is under way. The first error of a move.
  absl::Status Stop();

 private:
  void Run();
  // Behind key number `key`: at it, one further, among the rows behind it, or anywhere up to the
  // next key.
  uint64_t DrawBorder(size_t key);
  uint32_t DrawOtherThan(uint32_t owner, uint32_t first, uint32_t count);
  absl::Status MoveOne(TransferKind kind);

  const MoverOptions options_;

  // Owned by the thread.
  std::mt19937_64 random_{options_.seed};
  std::map<uint64_t, uint32_t> owners_;  // by the first key; neighbours may have the same

  client::BalancerClient balancer_;
  std::atomic<bool> stop_{false};
  absl::Status status_;  // read after the thread's end
  std::thread thread_;
};

}  // namespace eris

#endif  // ERIS_TESTS_LINEARIZABILITY_MOVER_H_
