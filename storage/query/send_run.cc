// Copies rows for other AEUs: those with equal keys to the same one. An AEU has an open envelope
// for each target, so the more AEUs, the smaller it is.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "storage/query/envelope_step.h"
#include "storage/query/operators/row_hash.h"
#include "storage/query/rows/envelope_writer.h"
#include "storage/table/query/block_values.h"
#include "storage/table/query/row_output.h"

namespace eris::storage {
namespace {

constexpr absl::string_view kWhat = "exchange";
// All open envelopes of one exchange at one AEU.
constexpr size_t kOpenBytesMax = 4u << 20;

class SendStep final : public EnvelopeStep {
 public:
  SendStep(QueryPart& part, const SendTask& task)
      : task_(task),
        self_(part.self()),
        targets_(part.all().aeus()),
        memory_(part.memory()),
        columns_(part.all().columns[task.from]),
        out_(part.Outgoing(task.to)),
        writers_(targets_),
        begins_(targets_ + 1) {}

  bool Prepare() { return out_.Prepare(targets_); }
  absl::Status Refusal() const { return memory_.Refusal(kWhat); }

  absl::Status Begin(const Envelope& envelope, const JoinBuild*) override {
    view_ = &envelope.view();
    base_ = 0;
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Advance() override {
    const uint32_t rows = std::min(piece_rows(), view_->rows - base_);
    ERIS_RETURN_IF_ERROR(SendBlock(*view_, rows));
    base_ += rows;
    return base_ < view_->rows;
  }
  absl::StatusOr<bool> Finish() override {
    if (flushed_ == targets_) return false;
    Flush(flushed_++);
    return true;
  }

 private:
  absl::Status SendBlock(const SegmentView& view, uint32_t rows) {
    HashRows(view, task_.keys, base_, rows, hashes_.data());
    ChooseTargets(view, rows);
    // The rows of a target one after the other.
    std::fill(begins_.begin(), begins_.end(), 0);
    for (uint32_t i = 0; i < rows; ++i) ++begins_[target_of_[i] + 1];
    for (uint32_t t = 0; t < targets_; ++t) begins_[t + 1] += begins_[t];
    ends_.assign(begins_.begin(), begins_.end() - 1);
    for (uint32_t i = 0; i < rows; ++i) picks_[ends_[target_of_[i]]++] = static_cast<uint16_t>(i);
    for (uint32_t t = 0; t < targets_; ++t) {
      if (ends_[t] == begins_[t]) continue;
      ERIS_RETURN_IF_ERROR(Append(view, picks_.data() + begins_[t], ends_[t] - begins_[t], t));
    }
    return absl::OkStatus();
  }

  void ChooseTargets(const SegmentView& view, uint32_t rows) {
    for (uint32_t i = 0; i < rows; ++i) target_of_[i] = TargetOf(hashes_[i], targets_);
    if (!task_.nulls_stay) return;
    for (const uint32_t key : task_.keys) {
      const uint64_t* const validity = view.columns[key].validity;
      if (validity == nullptr) continue;
      for (uint32_t i = 0; i < rows; ++i) {
        if (!BitAt(validity, base_ + i)) target_of_[i] = self_;
      }
    }
  }

  absl::Status Append(const SegmentView& view, const uint16_t* picks, uint32_t count,
                      uint32_t target) {
    if (writers_[target] == nullptr) {
      writers_[target] = std::make_unique<EnvelopeWriter>(memory_, columns_, BytesOfEnvelope());
    }
    EnvelopeWriter& writer = *writers_[target];
    while (count > 0) {
      Envelope* const open = writer.Open();
      if (open == nullptr) return Refusal();
      const uint32_t taken = AppendSome(view, picks, count, open->out());
      open->Count();
      picks += taken;
      count -= taken;
      if (count == 0) break;
      if (writer.has_rows()) {
        out_.Add(target, writer.Take());
      } else {
        writer.Widen(kValueBytesMax);
      }
    }
    return absl::OkStatus();
  }

  // As many rows as there is room for.
  uint32_t AppendSome(const SegmentView& view, const uint16_t* picks, uint32_t count,
                      ResultRows& out) const {
    count = std::min(count, out.capacity - out.rows);
    for (size_t c = 0; c < view.columns.size(); ++c) {
      if (!IsByteString(view.columns[c].type)) continue;
      count = StringsThatFit(view.columns[c], base_, picks, count, out.columns[c], out.rows);
    }
    for (size_t c = 0; c < view.columns.size(); ++c) {
      AppendColumn(view.columns[c], base_, picks, count, out.columns[c], out.rows);
    }
    out.rows += count;
    return count;
  }

  void Flush(uint32_t target) {
    EnvelopeWriter* const writer = writers_[target].get();
    if (writer != nullptr && writer->has_rows()) out_.Add(target, writer->Take());
    writers_[target].reset();
  }

  size_t BytesOfEnvelope() const {
    return std::clamp(kOpenBytesMax / targets_, kEnvelopeBytesMin, kEnvelopeBytesMax);
  }

  const SendTask& task_;
  const uint32_t self_;
  const uint32_t targets_;
  QueryMemory& memory_;
  const std::vector<EnvelopeColumn>& columns_;
  OutgoingEnvelopes& out_;
  std::vector<std::unique_ptr<EnvelopeWriter>> writers_;  // by target; nullptr: not so far
  // In a block: where a target's picks begin, and where they end.
  std::vector<uint32_t> begins_;
  std::vector<uint32_t> ends_;
  std::array<uint64_t, kBlockRows> hashes_;
  std::array<uint32_t, kBlockRows> target_of_;
  std::array<uint16_t, kBlockRows> picks_;
  const SegmentView* view_ = nullptr;  // of the envelope
  uint32_t base_ = 0;                  // its row that comes next
  uint32_t flushed_ = 0;               // the target that is flushed next
};

}  // namespace

absl::StatusOr<std::unique_ptr<EnvelopeStep>> NewEnvelopeStep(QueryPart& part,
                                                              const SendTask& task) {
  auto step = std::make_unique<SendStep>(part, task);
  if (!step->Prepare()) return step->Refusal();
  return step;
}

}  // namespace eris::storage
