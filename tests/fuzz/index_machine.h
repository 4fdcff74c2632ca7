// Runs commands on the partitions that together own all keys, and on a std::map. After each one the
// partitions must hold what the map holds, be sound (storage/tree_check.h), and hold every byte
// that their cache counts as used. Property tests, the fuzzer and replays of what it has found all
// stand on RunIndexCommands. Single-threaded; a case depends on its commands alone.
#ifndef ERIS_TESTS_FUZZ_INDEX_MACHINE_H_
#define ERIS_TESTS_FUZZ_INDEX_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "storage/index_partition.h"
#include "tests/fuzz/index_command.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::fuzz {

// A fault that the machine adds to the partitions itself: the checks must notice each.
enum class Plant : uint8_t {
  kNone,
  kLosesAKey,        // the lowest one of what is absorbed, where that has several
  kLeaksABlock,      // a line, at each split that leaves rows on both sides
  kWrongAnswer,      // of an erase: a key's second time in the batch is answered as its first
  kWritesRefused,    // an upsert that is refused is there all the same
  kScanSkipsARow,    // the first row of a scan's second slice
  kLosesRowOfChunk,  // a row of a chunk of a hundred rows or more
};

class IndexMachine {
 public:
  explicit IndexMachine(Plant plant = Plant::kNone);
  ~IndexMachine();

  // One command and all checks. Errors: Internal, with the first disagreement; the machine is of no
  // use then.
  absl::Status Run(const IndexCommand& command);
  // Takes all rows out again: nothing may be left in the cache.
  absl::Status Finish();

  // What has been met, for tests that ask whether their commands reach far enough: bits of
  // TreeNodeKinds, calls that succeeded and that were refused memory, by kind of command.
  struct Coverage {
    unsigned kinds = 0;
    uint64_t done[kCommandKinds] = {};
    uint64_t refused[kCommandKinds] = {};
    uint64_t states[8][5] = {};  // of keys, by operation and state
    void Add(const Coverage& other);
  };
  const Coverage& coverage() const { return coverage_; }

 private:
  using Rows = std::map<uint64_t, uint64_t>;

  // --- commands (index_machine.cc) ---
  absl::Status Execute(const IndexCommand& command);
  absl::Status ExecuteOn(size_t which, const std::vector<uint64_t>& keys,
                         const IndexCommand& command);
  absl::Status Split(const IndexCommand& command);
  absl::Status Absorb(const IndexCommand& command);
  absl::Status HandOver(const IndexCommand& command);
  absl::Status Abandon();
  // --- commands that carry rows (index_machine_rows.cc) ---
  absl::Status Scan(const IndexCommand& command);
  absl::Status MoveChunks(const IndexCommand& command);
  absl::Status Reload(const IndexCommand& command);
  absl::Status InvalidCalls(const IndexCommand& command);
  absl::Status Extract(size_t which, uint32_t rows_max, const IndexCommand& command,
                       storage::ExchangeChunk& chunk);
  absl::Status Ingest(storage::IndexPartition& partition, const storage::ExchangeChunk& chunk,
                      const IndexCommand& command);
  // Cuts the partition and joins it again, which moves and frees TreeNodes.
  absl::Status Rearrange(size_t which, uint64_t key);

  // Runs `call` with the command's failure; one that is refused must leave used bytes as they were,
  // and is reported in *refused.
  template <class Call>
  absl::Status Try(const IndexCommand& command, Call call, bool* refused);
  absl::Status CheckAll();
  absl::Status CheckLookups(const IndexCommand& command);

  memory::LocalCache& cache() { return memory_->cache; }
  size_t OwnerOf(uint64_t key) const;
  std::pair<Rows::iterator, Rows::iterator> RowsOf(const storage::Range& range);
  std::unique_ptr<storage::IndexPartition> NewPartition(const storage::Range& range);
  storage::IndexPartition& Pick(unsigned detail) { return *parts_[detail % parts_.size()]; }
  void UpdateExisting();

  const Plant plant_;
  std::unique_ptr<storage::TreeMemory> memory_;
  std::vector<std::unique_ptr<storage::IndexPartition>> parts_;  // by range; together all keys
  Rows rows_;
  std::vector<uint64_t> existing_;  // the keys of rows_, for commands that name them
  uint64_t leaked_bytes_ = 0;       // of the plant
  uint64_t last_value_ = 0;
  Coverage coverage_;
};

// Runs the commands on a new machine, and Finish. Errors: Internal, naming the command.
absl::Status RunIndexCommands(std::span<const IndexCommand> commands, Plant plant = Plant::kNone,
                              IndexMachine::Coverage* coverage = nullptr);
// The commands that the bytes are (DecodeCommands), at most kCommandsMax of them.
inline constexpr size_t kCommandsMax = 100;
absl::Status RunIndexCommands(const uint8_t* bytes, size_t size, Plant plant = Plant::kNone);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_INDEX_MACHINE_H_
