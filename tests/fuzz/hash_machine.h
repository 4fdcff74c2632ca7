// As IndexMachine, for hash objects: runs commands on the partitions that together own all keys,
// and on a std::map. A hash moves by copy, so the commands of cuts and joins prepare an end of a
// range to leave (kSplit), walk (kAbsorb), give it up (kHandOver) and move chunks; a preparation
// lasts while other commands go on. Single-threaded; a case depends on its commands alone.
#ifndef ERIS_TESTS_FUZZ_HASH_MACHINE_H_
#define ERIS_TESTS_FUZZ_HASH_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "storage/hash/hash_partition.h"
#include "tests/fuzz/index_command.h"
#include "tests/fuzz/partition_machine.h"

namespace eris::fuzz {

class HashMachine final : public PartitionMachine {
 public:
  explicit HashMachine(Plant plant = Plant::kNone);
  ~HashMachine();

  absl::Status Run(const IndexCommand& command);
  absl::Status Finish();

 private:
  absl::Status Dispatch(const IndexCommand& command);
  absl::Status Execute(const IndexCommand& command);
  absl::Status Scan(const IndexCommand& command);
  absl::Status Prepare(const IndexCommand& command);
  absl::Status Walk(const IndexCommand& command);
  absl::Status GiveUp(const IndexCommand& command);
  absl::Status MoveChunk(const IndexCommand& command);
  absl::Status Lend(const IndexCommand& command);
  absl::Status Conclude(const IndexCommand& command);
  absl::Status Maintain(const IndexCommand& command);
  void Settle();
  absl::Status InvalidCalls(const IndexCommand& command);
  absl::Status Abandon();

  absl::Status CheckAll();
  absl::Status CheckRows(storage::HashPartition& part);

  size_t OwnerOf(uint64_t key) const;
  std::unique_ptr<storage::HashPartition> NewPartition(const storage::Range& range);

  std::vector<std::unique_ptr<storage::HashPartition>> parts_;  // by range; together all keys
  struct Loan {
    storage::HashPartition* lender;
    storage::HashPartition* borrower;  // nullptr: it has given all of it away
    storage::ExchangeChunk chunk;
  };
  std::optional<Loan> loan_;
  uint64_t seed_ = 0;
};

// Runs the commands on a new machine, and Finish. Errors: Internal, naming the command.
absl::Status RunHashCommands(std::span<const IndexCommand> commands, Plant plant = Plant::kNone,
                             Coverage* coverage = nullptr);

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_HASH_MACHINE_H_
