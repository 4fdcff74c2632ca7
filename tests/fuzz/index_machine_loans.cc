// The commands of IndexMachine by which ranges change hands as an engine does it: loans that are
// forgotten or taken back, and partitions that go to another cache. Whoever borrows has the rows
// from the loan on; other commands go on until it is concluded.
#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "tests/fuzz/index_machine.h"

namespace eris::fuzz {

using storage::ExchangeChunk;
using storage::IndexPartition;
using storage::Key;
using storage::Partition;

// What is refused while the rows of a partition are lent.
absl::Status IndexMachine::ExpectLent(const absl::Status& status) const {
  return Expect(absl::StatusCode::kFailedPrecondition, status);
}

absl::Status IndexMachine::Lend(const IndexCommand& command) {
  const size_t which = command.detail / 8 % parts_.size();
  const auto from = (command.detail & 1) != 0 ? Partition::End::kHigh : Partition::End::kLow;
  const bool low = from == Partition::End::kLow;
  IndexPartition& part = *parts_[which];
  storage::Range leaving = part.range();
  const uint64_t key = KeyAt(command.family, command.place, command.first, existing_);
  if ((command.detail & 2) != 0 && leaving.ContainsU64(key) && key != leaving.lo.head) {
    (low ? leaving.hi.emplace() : leaving.lo) = Key::FromU64(key);
  }
  ExchangeChunk chunk;
  const auto rows_max = static_cast<uint32_t>(command.Count());
  if (IsLender(part)) return ExpectLent(part.Lend(leaving, from, rows_max, chunk));
  if (loan_ || parts_.size() == kPartitionsMax) return absl::OkStatus();

  const uint64_t size = part.size();
  bool refused = false;
  ERIS_RETURN_IF_ERROR(Try(
      command, [&] { return part.Lend(leaving, from, rows_max, chunk); }, &refused));
  if (refused) return Fault("rows cannot be lent for want of memory");
  const auto [begin, end] = RowsOf(leaving);
  const auto all = static_cast<uint64_t>(std::distance(begin, end));
  const uint64_t rows = std::min<uint64_t>(rows_max, all);
  if (chunk.keys.size() != rows || chunk.values.size() != rows || part.size() != size - rows) {
    return Fault("a loan has ", chunk.keys.size(), " of ", rows, " rows, and leaves ", part.size());
  }
  if (rows == all && chunk.covers != leaving) return Fault("a loan of all rows leaves a rest");
  if (low ? chunk.covers.lo != leaving.lo : rows > 0 && chunk.covers.hi != leaving.hi) {
    return Fault("a loan is not of the end that was asked for");
  }
  ERIS_RETURN_IF_ERROR(CheckChunk(chunk, "a loan"));
  if (chunk.covers.Empty()) {
    part.TakeBack();
    return absl::OkStatus();
  }
  auto borrower = NewPartition({chunk.covers.lo, chunk.covers.lo});
  if ((command.detail & 4) != 0) ERIS_RETURN_IF_ERROR(borrower->Rehome(second()));
  ERIS_RETURN_IF_ERROR(borrower->Ingest(chunk));
  loan_ = Loan{&part, borrower.get(), std::move(chunk)};
  const size_t at = which + (low && !part.range().Empty() ? 0 : 1);
  parts_.insert(parts_.begin() + static_cast<ptrdiff_t>(at), std::move(borrower));
  return absl::OkStatus();
}

absl::Status IndexMachine::Conclude(const IndexCommand& command) {
  if (!loan_) return absl::OkStatus();
  ++coverage_.done[static_cast<unsigned>(CommandKind::kConclude)];
  Loan loan = *std::exchange(loan_, std::nullopt);
  const auto erase = [&](const IndexPartition* part) {
    std::erase_if(parts_, [&](const auto& one) { return one.get() == part; });
  };
  if (loan.borrower != nullptr && (command.detail & 1) != 0) {
    erase(loan.borrower);
    ArmFailures(command.FailNth(), command.FailMode());
    loan.lender->TakeBack();
    ArmFailures(0, memory::FailurePoint::Mode::kOnce);
    const auto [begin, end] = RowsOf(loan.chunk.covers);
    rows_.erase(begin, end);
    for (size_t i = 0; i < loan.chunk.keys.size(); ++i) {
      rows_[loan.chunk.keys[i]] = loan.chunk.values[i];
    }
    if (plant_ == Plant::kLosesRowTakenBack && loan.chunk.keys.size() > 1) {
      loan.lender->tree().Erase(loan.chunk.keys[1]);
    }
    return absl::OkStatus();
  }
  if (plant_ == Plant::kNeverForgets) return absl::OkStatus();
  // In full, or begun: other commands meet what is left.
  ArmFailures(command.FailNth(), command.FailMode());
  const auto rows_max = static_cast<uint32_t>(command.Count() + 1);
  const unsigned calls = (command.detail & 2) != 0 ? ~0u : 1;
  for (unsigned call = 0; call < calls && loan.lender->Forget({}, rows_max); ++call) {
  }
  ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  if (loan.lender->range().Empty()) erase(loan.lender);
  return absl::OkStatus();
}

absl::Status IndexMachine::Maintain(const IndexCommand& command) {
  ++coverage_.done[static_cast<unsigned>(CommandKind::kMaintain)];
  ArmFailures(command.FailNth(), command.FailMode());
  for (const auto& part : parts_) {
    const bool more = part->Maintain({}, static_cast<uint32_t>(command.Count() + 1));
    const bool left = !part->loan().forgotten()[0].IsNone() ||
                      (part->loan().hidden_rows() > 0 && !part->loan().out());
    if (more != left) return Fault("there is more to free, or not, and it is told otherwise");
  }
  ArmFailures(0, memory::FailurePoint::Mode::kOnce);
  return absl::OkStatus();
}

absl::Status IndexMachine::Rehome(const IndexCommand& command) {
  ++coverage_.done[static_cast<unsigned>(CommandKind::kRehome)];
  IndexPartition& part = *parts_[command.detail % parts_.size()];
  const bool is_second = &part.tree().cache() == &second();
  if (plant_ == Plant::kRehomeLeaksABlock && part.tree().cache().Allocate(64) == nullptr) {
    return Fault("the plant finds no memory");
  }
  return part.Rehome(is_second ? cache() : second());
}

}  // namespace eris::fuzz
