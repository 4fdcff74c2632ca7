// Runs commands on the partitions that together own all keys, and on a std::map. After each one the
// partitions must hold what the map holds, be sound (storage/tree/tree_check.h), and hold every
// byte that their cache counts as used. Property tests, the fuzzer and replays of what it has found
// all stand on RunIndexCommands. Single-threaded; a case depends on its commands alone.
#ifndef ERIS_TESTS_FUZZ_INDEX_MACHINE_H_
#define ERIS_TESTS_FUZZ_INDEX_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "storage/index/index_partition.h"
#include "tests/fuzz/index_command.h"
#include "tests/fuzz/partition_machine.h"
#include "tests/fuzz/tree_inventory.h"

namespace eris::fuzz {

inline constexpr size_t kPartitionsMax = 6;

class IndexMachine final : public PartitionMachine {
 public:
  explicit IndexMachine(Plant plant = Plant::kNone);
  ~IndexMachine();

  // One command and all checks. Errors: Internal, with the first disagreement; the machine is of no
  // use then.
  absl::Status Run(const IndexCommand& command);
  // Takes all rows out again: nothing may be left in the cache.
  absl::Status Finish();

 private:
  // --- commands (index_machine.cc) ---
  absl::Status Execute(const IndexCommand& command);
  absl::Status Split(const IndexCommand& command);
  absl::Status Absorb(const IndexCommand& command);
  absl::Status HandOver(const IndexCommand& command);
  absl::Status Abandon();
  // --- commands of changing hands (index_machine_loans.cc) ---
  absl::Status Lend(const IndexCommand& command);
  absl::Status Conclude(const IndexCommand& command);
  absl::Status Maintain(const IndexCommand& command);
  absl::Status Rehome(const IndexCommand& command);
  absl::Status ExpectLent(const absl::Status& status) const;
  // --- commands that carry rows (index_machine_rows.cc) ---
  storage::ScanQuery QueryOf(const IndexCommand& command) const;
  absl::Status Scan(const IndexCommand& command);
  absl::Status ScanRows(const IndexCommand& command, size_t which, storage::ScanCursor cursor,
                        const std::vector<Row>& wanted);
  absl::Status Aggregate(const IndexCommand& command, size_t which, storage::ScanCursor cursor,
                         const std::vector<Row>& wanted);
  absl::Status MoveChunks(const IndexCommand& command);
  absl::Status Reload(const IndexCommand& command);
  absl::Status InvalidCalls(const IndexCommand& command);
  absl::Status Extract(size_t which, uint32_t rows_max, const IndexCommand& command,
                       storage::ExchangeChunk& chunk);
  absl::Status Ingest(storage::IndexPartition& partition, const storage::ExchangeChunk& chunk,
                      const IndexCommand& command);
  // Cuts the partition and joins it again, which moves and frees TreeNodes.
  absl::Status Rearrange(size_t which, uint64_t key);

  // Appends a partition's rows and blocks, also those that it has out of sight.
  absl::Status AddPartition(const storage::IndexPartition& part, TreeInventory& inventory) const;
  absl::Status CheckAll();
  absl::Status CheckLookups(const IndexCommand& command);

  size_t OwnerOf(uint64_t key) const;
  std::unique_ptr<storage::IndexPartition> NewPartition(const storage::Range& range);

  bool IsLender(const storage::IndexPartition& part) const {
    return loan_ && loan_->lender == &part;
  }
  // Says that the partition is not the one that was made for the loan any more, or not it alone: it
  // cannot be dropped then.
  void Changes(const storage::IndexPartition& part) {
    if (loan_ && loan_->borrower == &part) loan_->borrower = nullptr;
  }

  // By range; together all keys. That of a lender may be empty.
  std::vector<std::unique_ptr<storage::IndexPartition>> parts_;
  struct Loan {
    storage::IndexPartition* lender;
    storage::IndexPartition* borrower;  // nullptr: it has changed hands since
    storage::ExchangeChunk chunk;
  };
  std::optional<Loan> loan_;
};

// Runs the commands on a new machine, and Finish. Errors: Internal, naming the command.
absl::Status RunIndexCommands(std::span<const IndexCommand> commands, Plant plant = Plant::kNone,
                              Coverage* coverage = nullptr);
// The commands that the bytes are (DecodeCommands), at most kCommandsMax of them.
inline constexpr size_t kCommandsMax = 100;
absl::Status RunIndexCommands(const uint8_t* bytes, size_t size, Plant plant = Plant::kNone);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_INDEX_MACHINE_H_
