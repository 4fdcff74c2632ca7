// Sessions with many batches under way; each answer must be the one that the order of sending
// gives.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/stress/draw.h"
#include "tests/stress/in_order.h"
#include "tests/stress/loads.h"
#include "tests/stress/pipeline_check.h"

namespace eris::stress {
namespace {

using test::AnyKind;

constexpr size_t kCallsUnderWay = 40;  // more than a session sends again at a time
constexpr AnyKind kPipelineKinds[] = {AnyKind::kIndex, AnyKind::kBytes, AnyKind::kTwoParts,
                                      AnyKind::kHash,  AnyKind::kTable, AnyKind::kSigned};

// One session that sends batches to one object.
class Pipeline {
 public:
  Pipeline(World& world, AnyKind kind, uint32_t number)
      : world_(world),
        kind_(kind),
        number_(number),
        where_(absl::StrCat("pipelines: session ", number, " on ", PipelineName(kind))),
        session_(world.engine().NewSession()),
        object_(test::Open(*session_, PipelineName(kind))),
        check_(world, where_),
        draw_(kind, world.SeedOf(where_), /*streamed=*/false),
        calls_(kCallsUnderWay, [this](const Batch& batch, const Answers& answers) {
          check_.Take(batch, answers);
        }) {}

  void Run() {
    while (!world_.Ending()) {
      auto* const call = calls_.Enter(draw_.Next());
      const absl::Status sent = Send(call);
      if (sent.ok()) continue;
      // Nothing of it was executed.
      world_.OkOrRefused(sent, where_);
      calls_.Done(call, {std::vector<Answer>(call->sent.numbers.size()), true});
    }
    calls_.AwaitNone();
  }

 private:
  using Calls = InOrder<Batch, Answers>;

  absl::Status Send(Calls::Call* call) {
    const Batch& batch = call->sent;
    const auto rows = std::make_shared<SentRows>(kind_, batch, number_);
    // Every second batch is not copied.
    const auto holder = batch.numbers.size() % 2 == 0 ? rows : nullptr;
    const auto done = [this, call](BatchResult result) {
      calls_.Done(call, AnswersOf(call->sent, std::move(result)));
    };
    if (batch.verb == Verb::kLookup) {
      return session_->LookupAsync(object_, {.keys = rows->keys(), .holder = holder}, done)
          .status();
    }
    WriteBatch write = rows->write();
    write.holder = holder;
    return session_->WriteAsync(object_, write, done).status();
  }

  Answers AnswersOf(const Batch& batch, BatchResult result) {
    world_.OkOrRefused(result.status, where_);
    Answers answers{.known = result.status.ok() || !result.executed.empty()};
    if (!answers.known) return answers;
    const size_t count = batch.numbers.size();
    const test::AnyAnswer all =
        test::AnswerOf(kind_, batch.verb == Verb::kLookup, std::move(result), count);
    for (size_t i = 0; i < count; ++i) {
      answers.keys.push_back(
          {all.executed[i] != 0, all.existed[i] != 0, all.applied[i] != 0, all.values[i]});
    }
    return answers;
  }

  World& world_;
  const AnyKind kind_;
  const uint32_t number_;
  const std::string where_;
  const std::unique_ptr<Session> session_;
  const Object object_;
  PipelineCheck check_;  // with the lock of calls_
  Draw draw_;
  Calls calls_;
};

class Pipelines final : public Load {
 public:
  explicit Pipelines(World& world) : world_(world) {}

  void Prepare() override {
    for (const AnyKind kind : kPipelineKinds) world_.CreateMovable(kind, PipelineName(kind));
  }
  std::vector<std::function<void()>> Threads() override {
    std::vector<std::function<void()>> threads;
    for (uint32_t i = 0; i < world_.options().sessions; ++i) {
      threads.emplace_back(
          [this, i] { Pipeline(world_, kPipelineKinds[i % std::size(kPipelineKinds)], i).Run(); });
    }
    return threads;
  }

 private:
  World& world_;
};

}  // namespace

std::unique_ptr<Load> MakePipelines(World& world) { return std::make_unique<Pipelines>(world); }

}  // namespace eris::stress
