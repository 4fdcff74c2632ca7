// The engine's part of a transfer, by hand: gives, publishes, concludes, for AEUs that a test
// steps.
#ifndef ERIS_TESTS_SUPPORT_TRANSFER_DRIVER_H_
#define ERIS_TESTS_SUPPORT_TRANSFER_DRIVER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/check.h"
#include "routing/transfer_step.h"
#include "tests/support/aeu_lab.h"
#include "tests/support/test_reply.h"

namespace eris::test {

struct TestStep final : routing::TransferStep {
  static void Ended(routing::Reply* reply, uint32_t times) noexcept {
    static_cast<TestStep*>(reply)->ended += times;
  }
  bool installed() const { return outcome == routing::StepOutcome::kInstalled; }
  uint32_t ended = 0;
};

class TransferDriver {
 public:
  using End = storage::Partition::End;
  struct Transfer {
    uint32_t from = 0;
    uint32_t to = 1;
    TransferKind kind = TransferKind::kLink;
    storage::Range leaving{};
    End end = End::kLow;
    uint32_t rows_max = 1000;
    bool release = false;
  };

  TransferDriver(AeuLab& lab, routing::ObjectRoute& route) : lab_(lab), route_(route) {}

  // The source sees it in its next turn.
  std::unique_ptr<TestStep> Give(const Transfer& transfer) {
    auto step = std::make_unique<TestStep>();
    step->source = {transfer.from};
    step->target = {transfer.to};
    step->kind = transfer.kind;
    step->leaving = transfer.leaving;
    step->from = transfer.end;
    step->rows_max = transfer.rows_max;
    step->release = transfer.release;
    step->version = route_.version() + 1;
    const routing::TransferSegment segment{.step = step.get()};
    ERIS_CHECK(lab_.TrySend(step->source, route_, routing::CommandType::kGive, step.get(),
                            &TestStep::Ended, segment));
    return step;
  }
  void Publish(const TestStep& step) {
    lab_.Publish(route_, route_.Pin()->With(step.covers, step.target));
  }
  // The source sees it in its next turn; its answer comes to `reply`.
  void SendConclude(TestStep& step, TestReply& reply) {
    const routing::TransferSegment segment{.step = &step};
    ERIS_CHECK(lab_.TrySend(step.source, route_, routing::CommandType::kConclude, &reply,
                            &TestReply::Answered, segment));
  }
  // One turn of the source, which runs whatever else has come. What was returned is published then.
  storage::KeyState Conclude(TestStep& step) {
    TestReply reply(1);
    SendConclude(step, reply);
    lab_.Step(step.source.value);
    ERIS_CHECK(reply.answered == 1);
    if (step.outcome == routing::StepOutcome::kReturned && !step.covers.Empty()) {
      lab_.Publish(route_, route_.Pin()->With(step.covers, step.source));
    }
    return reply.state_column[0];
  }
  void PublishAndConclude(TestStep& step) {
    Publish(step);
    Conclude(step);
  }
  // All of it, while the AEUs have nothing else to do. How many steps it took; 0: the first one was
  // refused or returned. Stops after `steps_max`.
  uint32_t Run(Transfer transfer, uint32_t steps_max = ~uint32_t{0}) {
    for (uint32_t steps = 0;;) {
      const auto step = Give(transfer);
      lab_.Settle();
      ERIS_CHECK(step->ended == 1);
      last_ = {step->outcome, step->status, step->rows, step->bytes};
      if (step->outcome == routing::StepOutcome::kRefused) return steps;
      if (step->installed()) Publish(*step);
      ERIS_CHECK(Conclude(*step) == storage::KeyState::kAbsent);
      if (!step->installed()) return steps;
      rows_ += step->rows;
      if (++steps == steps_max || step->covers == transfer.leaving) return steps;
      if (transfer.end == End::kLow || !TraitsOf(transfer.kind).in_chunks) {
        transfer.leaving.lo = *step->covers.hi;
      } else {
        transfer.leaving.hi = step->covers.lo;
      }
    }
  }

  struct Last {
    routing::StepOutcome outcome = routing::StepOutcome::kUnderWay;
    absl::Status status{};
    uint64_t rows = 0;
    uint64_t bytes = 0;
  };
  const Last& last() const { return last_; }
  uint64_t rows() const { return rows_; }  // of all steps installed

 private:
  AeuLab& lab_;
  routing::ObjectRoute& route_;
  Last last_;
  uint64_t rows_ = 0;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_TRANSFER_DRIVER_H_
