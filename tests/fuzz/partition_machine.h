// What the machines of all kinds of partitions share: memory that refuses on command, the rows that
// should be there, batches and their answers, and planted faults. index_machine.h begins here.
#ifndef ERIS_TESTS_FUZZ_PARTITION_MACHINE_H_
#define ERIS_TESTS_FUZZ_PARTITION_MACHINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "memory/system/failure_point.h"
#include "storage/partition.h"
#include "tests/fuzz/index_command.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::fuzz {

// A fault that the machine adds to the partitions itself: the checks must notice each.
enum class Plant : uint8_t {
  kNone,
  kLosesAKey,           // the lowest one of what is absorbed, where that has several
  kLeaksABlock,         // a line, at each split that leaves rows on both sides
  kWrongAnswer,         // of an erase: a key's second time in the batch is answered as its first
  kWritesRefused,       // an upsert that is refused is there all the same
  kScanSkipsARow,       // the first row of a scan's second slice
  kAggregateAddsTwice,  // a row of an aggregate that has several
  kLosesRowOfChunk,     // a row of a chunk of a hundred rows or more
  kLosesRowTakenBack,   // a row of a loan of several that is taken back
  kNeverForgets,        // a loan that is kept is never concluded
  kRehomeLeaksABlock,   // a line of the cache that was left
};

// What has been met, for tests that ask whether their commands reach far enough: bits of
// TreeNodeKinds, calls that succeeded and that were refused memory, by kind of command.
struct Coverage {
  unsigned kinds = 0;
  uint64_t done[kCommandKinds] = {};
  uint64_t refused[kCommandKinds] = {};
  unsigned scan_forms = 0;     // bits: backward 4, aggregate 8, and the four orders of a command
  uint64_t states[8][5] = {};  // of keys, by operation and state
  void Add(const Coverage& other);
};

template <class... Texts>
absl::Status Fault(const Texts&... texts) {
  return absl::InternalError(absl::StrCat(texts...));
}

// An invalid call must be answered with that code.
inline absl::Status Expect(absl::StatusCode code, const absl::Status& status) {
  if (status.code() == code) return absl::OkStatus();
  return Fault("an invalid call is answered: ", status.ToString());
}
inline absl::Status ExpectInvalid(const absl::Status& status) {
  return Expect(absl::StatusCode::kInvalidArgument, status);
}

class PartitionMachine {
 public:
  const Coverage& coverage() const { return coverage_; }

 protected:
  using Rows = std::map<uint64_t, uint64_t>;
  using Row = std::pair<uint64_t, uint64_t>;

  explicit PartitionMachine(Plant plant) : plant_(plant) { NewMemory(); }

  // A batch of the command's operation, detail and failure; compares its answers, and does what
  // they say to the rows. REQUIRES: the keys are of the partition's range.
  absl::Status ExecuteOn(storage::Partition& partition, const std::vector<uint64_t>& keys,
                         const IndexCommand& command);
  // The chunk has the rows of the range that it covers.
  absl::Status CheckChunk(const storage::ExchangeChunk& chunk, const char* what);
  // If that is planted.
  void LoseRowOf(storage::ExchangeChunk& chunk) const;
  // Runs `call` with the command's failure; one that is refused must leave used bytes as they were
  // (unless it may keep some), and is reported in *refused.
  template <class Call>
  absl::Status Try(const IndexCommand& command, Call call, bool* refused, bool keeps_some = false);

  // Two caches of one manager, as two AEUs of a NumaNode have them.
  void NewMemory() {
    memory_ = std::make_unique<storage::TreeMemory>();
    second_ = memory_->manager.NewCache();
  }
  memory::LocalCache& cache() { return memory_->cache; }
  memory::LocalCache& second() { return *second_; }
  // A cache alone may have freed more than it has allocated.
  uint64_t used_bytes() const {
    const memory::ObjectAccount account = memory_->manager.Account();
    return account.used_bytes + account.extent_bytes;
  }
  void ArmFailures(uint64_t nth, memory::FailurePoint::Mode mode) {
    cache().ArmFailures(nth, mode);
    second().ArmFailures(nth, mode);
  }
  void EndTurn() {
    for (memory::LocalCache* const one : {&cache(), second_}) one->EndTurn();
    for (memory::LocalCache* const one : {&cache(), second_}) {
      while (one->Collect()) {
      }
    }
  }
  std::pair<Rows::iterator, Rows::iterator> RowsOf(const storage::Range& range) {
    return {rows_.lower_bound(range.lo.head),
            range.hi ? rows_.lower_bound(range.hi->head) : rows_.end()};
  }
  void UpdateExisting() {
    existing_.clear();
    for (const auto& [key, value] : rows_) existing_.push_back(key);
  }

  const Plant plant_;
  std::unique_ptr<storage::TreeMemory> memory_;
  memory::LocalCache* second_ = nullptr;
  bool may_settle_ = false;  // a refused call may free what was forgotten before
  Rows rows_;
  std::vector<uint64_t> existing_;  // the keys of rows_, for commands that name them
  uint64_t last_value_ = 0;
  Coverage coverage_;
};

// Runs the commands on a new machine, and Finish. Errors: Internal, naming the command.
template <class Machine>
absl::Status RunOnNew(std::span<const IndexCommand> commands, Plant plant, Coverage* coverage) {
  Machine machine(plant);
  size_t number = 0;
  for (const IndexCommand& command : commands) {
    const absl::Status status = machine.Run(command);
    if (!status.ok()) {
      return Fault("command ", number, " (", TextOf(command), "): ", status.message());
    }
    ++number;
  }
  if (coverage != nullptr) coverage->Add(machine.coverage());
  return machine.Finish();
}

template <class Call>
absl::Status PartitionMachine::Try(const IndexCommand& command, Call call, bool* refused,
                                   bool keeps_some) {
  const uint64_t used = used_bytes();
  ArmFailures(command.FailNth(), command.FailMode());
  const absl::Status status = call();
  ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  *refused = status.code() == absl::StatusCode::kResourceExhausted;
  if (*refused && command.FailNth() == 0) return Fault("refused memory that is there");
  if (*refused && !keeps_some && (may_settle_ ? used_bytes() > used : used_bytes() != used)) {
    return Fault("a refused call has left ", used_bytes(), " bytes used instead of ", used);
  }
  if (!status.ok() && !*refused) return Fault("fails: ", status.ToString());
  ++(*refused ? coverage_.refused : coverage_.done)[static_cast<unsigned>(command.kind)];
  return absl::OkStatus();
}

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_PARTITION_MACHINE_H_
