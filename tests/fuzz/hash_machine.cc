#include "tests/fuzz/hash_machine.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "storage/hash/hash_table_check.h"
#include "tests/support/extract.h"
#include "tests/support/hash_rows.h"
#include "tests/support/test_batch.h"

namespace eris::fuzz {

using storage::HashPartition;
using storage::Key;
using storage::KeyState;

HashMachine::HashMachine(Plant plant) : PartitionMachine(plant) {
  parts_.push_back(NewPartition({}));
}

HashMachine::~HashMachine() {
  // The memory goes whole; a table that was found broken must not be walked.
  for (const auto& part : parts_) part->Abandon();
}

std::unique_ptr<HashPartition> HashMachine::NewPartition(const storage::Range& range) {
  return *HashPartition::Create(range, cache(), ++seed_);
}

size_t HashMachine::OwnerOf(uint64_t key) const {
  size_t which = 0;
  while (!parts_[which]->range().ContainsU64(key)) ++which;
  return which;
}

absl::Status HashMachine::Run(const IndexCommand& command) {
  if (command.family == KeyFamily::kExisting) UpdateExisting();
  ERIS_RETURN_IF_ERROR(Dispatch(command));
  return CheckAll();
}

absl::Status HashMachine::Dispatch(const IndexCommand& command) {
  switch (command.kind) {
    case CommandKind::kScan:
      return Scan(command);
    case CommandKind::kSplit:
      return Prepare(command);
    case CommandKind::kAbsorb:
      return Walk(command);
    case CommandKind::kHandOver:
      return GiveUp(command);
    case CommandKind::kMoveChunks:
    case CommandKind::kReload:
      return MoveChunk(command);
    case CommandKind::kInvalidCalls:
      return InvalidCalls(command);
    case CommandKind::kTrim:
      cache().Trim();
      second().Trim();
      return absl::OkStatus();
    case CommandKind::kAbandon:
      return Abandon();
    case CommandKind::kLend:
      return Lend(command);
    case CommandKind::kConclude:
      return Conclude(command);
    case CommandKind::kMaintain:
      return Maintain(command);
    case CommandKind::kRehome:
      return absl::OkStatus();
    default:
      return Execute(command);
  }
}

absl::Status HashMachine::CheckAll() {
  Key next;
  uint64_t rows = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    HashPartition& part = *parts_[i];
    if (part.range().Empty() && loan_ && loan_->lender == &part) continue;
    if (part.range().lo != next || part.range().hi.has_value() != (i + 1 < parts_.size())) {
      return Fault("partition ", i, " does not begin where the one before it ends");
    }
    if (part.range().hi) next = *part.range().hi;
    ERIS_RETURN_IF_ERROR(storage::CheckHashTable(part.table()));
    ERIS_RETURN_IF_ERROR(CheckRows(part));
    rows += part.size();
  }
  if (rows != rows_.size()) return Fault(rows, " rows instead of ", rows_.size());
  const memory::ObjectAccount account = memory_->manager.Account();
  if (account.used_bytes + account.extent_bytes != cache().used_bytes()) {
    return Fault("the cache counts ", cache().used_bytes(), " bytes, its manager ",
                 account.used_bytes + account.extent_bytes);
  }
  return absl::OkStatus();
}

// Every row is found, and there are as many as should be: then there is no other.
absl::Status HashMachine::CheckRows(HashPartition& part) {
  test::TestBatch all;
  std::vector<uint64_t> values;
  auto [row, end] = RowsOf(part.range());
  for (; row != end; ++row) {
    all.keys.push_back(row->first);
    values.push_back(row->second);
  }
  if (part.size() != values.size()) {
    return Fault("a partition has ", part.size(), " rows instead of ", values.size());
  }
  all.Run(part);
  for (size_t i = 0; i < values.size(); ++i) {
    if (all.states[i] != KeyState::kPresent || all.answers[i] != values[i]) {
      return Fault("key ", all.keys[i], " has ", all.answers[i], " instead of ", values[i]);
    }
  }
  return absl::OkStatus();
}

absl::Status HashMachine::Execute(const IndexCommand& command) {
  std::vector<std::vector<uint64_t>> keys(parts_.size());
  for (const uint64_t key : KeysOf(command, existing_)) keys[OwnerOf(key)].push_back(key);
  for (size_t which = 0; which < parts_.size(); ++which) {
    if (keys[which].empty()) continue;
    ERIS_RETURN_IF_ERROR(ExecuteOn(*parts_[which], keys[which], command));
  }
  return absl::OkStatus();
}

// A walk over the table meets each row once.
absl::Status HashMachine::Scan(const IndexCommand& command) {
  const uint64_t from = KeyAt(command.family, command.place, command.first, existing_);
  const HashPartition& part = *parts_[OwnerOf(from)];
  ++coverage_.done[static_cast<unsigned>(CommandKind::kScan)];
  auto [row, end] = RowsOf(part.range());
  const std::map<uint64_t, uint64_t> wanted(row, end);
  if (test::RowsOf(part) != wanted) return Fault("a walk does not find the rows that are there");
  return absl::OkStatus();
}

// One end of a range, or all of it.
absl::Status HashMachine::Prepare(const IndexCommand& command) {
  const uint64_t key = KeyAt(command.family, command.place, command.first, existing_);
  HashPartition& part = *parts_[OwnerOf(key)];
  storage::Range leaving = part.range();
  if (key != leaving.lo.head) {
    if ((command.detail & 1) != 0) {
      leaving.hi = Key::FromU64(key);
    } else {
      leaving.lo = Key::FromU64(key);
    }
  }
  const absl::Status status = part.prepared() ? part.PrepareExtract(leaving) : absl::OkStatus();
  if (part.prepared()) return Expect(absl::StatusCode::kFailedPrecondition, status);
  ++coverage_.done[static_cast<unsigned>(CommandKind::kSplit)];
  return part.PrepareExtract(leaving);
}

absl::Status HashMachine::Walk(const IndexCommand& command) {
  for (const auto& part : parts_) {
    if (!part->prepared()) continue;
    bool refused = false;
    ERIS_RETURN_IF_ERROR(Try(
        command,
        [&] { return part->WalkLeaving(static_cast<uint32_t>(command.Count() + 1)).status(); },
        &refused, /*keeps_some=*/true));
  }
  return absl::OkStatus();
}

absl::Status HashMachine::GiveUp(const IndexCommand& command) {
  for (const auto& part : parts_) {
    if (!part->prepared() || (loan_ && loan_->lender == part.get())) continue;
    bool refused = false;
    bool done = false;
    ERIS_RETURN_IF_ERROR(Try(
        command,
        [&] {
          const auto given_up = part->CancelExtract(static_cast<uint32_t>(command.Count() + 1));
          done = given_up.ok() && *given_up;
          return given_up.status();
        },
        &refused, /*keeps_some=*/true));
    if (done == part->prepared()) return Fault("what was given up is still prepared, or was lost");
  }
  return absl::OkStatus();
}

// Off the prepared end, or the low one, to a neighbour, or to a new partition where none takes it.
absl::Status HashMachine::MoveChunk(const IndexCommand& command) {
  const size_t from = command.detail / 4 % parts_.size();
  HashPartition& part = *parts_[from];
  const uint64_t size = part.size();
  if (loan_ && loan_->lender == &part) {
    storage::ExchangeChunk none;
    return Expect(absl::StatusCode::kFailedPrecondition, test::Extract(part, 1, none));
  }
  storage::ExchangeChunk chunk;
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return test::Extract(part, static_cast<uint32_t>(command.Count()), chunk); },
      &refused,
      /*keeps_some=*/true));
  if (refused) return absl::OkStatus();
  ERIS_RETURN_IF_ERROR(CheckChunk(chunk, "a chunk"));
  if (part.size() + chunk.keys.size() != size) return Fault("a chunk leaves ", part.size());
  LoseRowOf(chunk);
  HashPartition* target = nullptr;
  for (const auto& other : parts_) {
    const storage::Range& range = other->range();
    if (other->prepared() || range.Empty() || (loan_ && loan_->borrower == other.get())) continue;
    if (range.lo == chunk.covers.hi || range.hi == chunk.covers.lo) target = other.get();
  }
  if (target == nullptr && !chunk.covers.Empty()) {
    parts_.push_back(NewPartition({chunk.covers.lo, chunk.covers.lo}));
    target = parts_.back().get();
  }
  if (target != nullptr) {
    ERIS_RETURN_IF_ERROR(Try(
        command, [&] { return target->Ingest(chunk); }, &refused, /*keeps_some=*/true));
    if (refused) ERIS_RETURN_IF_ERROR(target->Ingest(chunk));
  }
  Settle();
  return absl::OkStatus();
}

// Partitions without a range go, but for a lender; the others stand by range, behind it.
void HashMachine::Settle() {
  std::erase_if(parts_, [&](const auto& one) {
    if (loan_ && loan_->borrower == one.get() && one->range().Empty()) loan_->borrower = nullptr;
    return one->range().Empty() && !(loan_ && loan_->lender == one.get());
  });
  std::sort(parts_.begin(), parts_.end(), [](const auto& a, const auto& b) {
    return std::pair(!a->range().Empty(), a->range().lo) <
           std::pair(!b->range().Empty(), b->range().lo);
  });
}

// Rows of what is prepared, if that is all, to a new partition; the loan lasts while other commands
// go on.
absl::Status HashMachine::Lend(const IndexCommand& command) {
  constexpr auto kPrecondition = absl::StatusCode::kFailedPrecondition;
  HashPartition& part = *parts_[command.detail / 4 % parts_.size()];
  using End = storage::Partition::End;
  storage::ExchangeChunk chunk;
  const auto rows_max = static_cast<uint32_t>(command.Count());
  if (!part.prepared()) {
    return Expect(kPrecondition, part.Lend(part.range(), End::kLow, rows_max, chunk));
  }
  if (loan_) {
    if (loan_->lender != &part) return absl::OkStatus();
    return Expect(kPrecondition, part.CancelExtract(1).status());
  }
  for (absl::StatusOr<bool> walked = false; !*walked;) {
    walked = part.WalkLeaving(1000);
    if (!walked.ok()) return walked.status();
  }
  const storage::Range leaving = part.leaving();
  End from = leaving.lo == part.range().lo ? End::kLow : End::kHigh;
  if (leaving == part.range() && (command.detail & 1) != 0) from = End::kHigh;
  const uint64_t size = part.size();
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return part.Lend(leaving, from, rows_max, chunk); }, &refused));
  if (refused) return Fault("rows cannot be lent for want of memory");
  if (part.size() + chunk.keys.size() != size) return Fault("a loan leaves ", part.size());
  ERIS_RETURN_IF_ERROR(CheckChunk(chunk, "a loan"));
  if (chunk.covers.Empty()) {
    part.TakeBack();
    return absl::OkStatus();
  }
  parts_.push_back(NewPartition({chunk.covers.lo, chunk.covers.lo}));
  ERIS_RETURN_IF_ERROR(parts_.back()->Ingest(chunk));
  loan_ = Loan{&part, parts_.back().get(), std::move(chunk)};
  Settle();
  return absl::OkStatus();
}

// It is forgotten; or taken back, where the borrower has not begun to give rows away itself.
absl::Status HashMachine::Conclude(const IndexCommand& command) {
  if (!loan_) return absl::OkStatus();
  ++coverage_.done[static_cast<unsigned>(CommandKind::kConclude)];
  const Loan loan = *std::exchange(loan_, std::nullopt);
  const storage::Range& covers = loan.chunk.covers;
  const bool whole = loan.borrower != nullptr && loan.borrower->range() == covers;
  ArmFailures(command.FailNth(), command.FailMode());
  if (whole && (command.detail & 1) != 0) {
    loan.lender->TakeBack();
    std::erase_if(parts_, [&](const auto& one) { return one.get() == loan.borrower; });
    const auto [begin, end] = RowsOf(covers);
    rows_.erase(begin, end);
    for (size_t i = 0; i < loan.chunk.keys.size(); ++i) {
      if (plant_ == Plant::kLosesRowTakenBack && i == 1) continue;
      rows_[loan.chunk.keys[i]] = loan.chunk.values[i];
    }
  } else if (plant_ != Plant::kNeverForgets) {
    loan.lender->Forget({}, static_cast<uint32_t>(command.Count() + 1));
  }
  ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  Settle();
  return absl::OkStatus();
}

absl::Status HashMachine::Maintain(const IndexCommand& command) {
  ArmFailures(command.FailNth(), command.FailMode());
  for (const auto& part : parts_) part->Maintain({}, static_cast<uint32_t>(command.Count() + 1));
  ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  return absl::OkStatus();
}

absl::Status HashMachine::InvalidCalls(const IndexCommand& command) {
  HashPartition& part = *parts_[command.detail % parts_.size()];
  ++coverage_.done[static_cast<unsigned>(CommandKind::kInvalidCalls)];
  if (part.prepared() || part.range().lo.head == ~uint64_t{0}) return absl::OkStatus();
  const Key inside = Key::FromU64(part.range().lo.head + 1);
  if (!part.range().Contains(inside)) return absl::OkStatus();
  return ExpectInvalid(part.PrepareExtract({inside, inside}));
}

absl::Status HashMachine::Abandon() {
  for (const auto& part : parts_) part->Abandon();
  parts_.clear();
  loan_.reset();
  NewMemory();
  rows_.clear();
  existing_.clear();
  parts_.push_back(NewPartition({}));
  return absl::OkStatus();
}

absl::Status HashMachine::Finish() {
  parts_.clear();
  const uint64_t used = used_bytes();
  if (used != 0) return Fault(used, " bytes are used though nothing is left");
  return absl::OkStatus();
}

absl::Status RunHashCommands(std::span<const IndexCommand> commands, Plant plant,
                             Coverage* coverage) {
  return RunOnNew<HashMachine>(commands, plant, coverage);
}

}  // namespace eris::fuzz
