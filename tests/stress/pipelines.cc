// Sessions with many batches under way; each answer must be the one that the order of sending
// gives.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/stress/draw.h"
#include "tests/stress/in_order.h"
#include "tests/stress/loads.h"
#include "tests/stress/pipeline_check.h"
#include "tests/support/table_rows.h"

namespace eris::stress {
namespace {

using test::AnyKind;
using test::AnyObject;

constexpr size_t kUnderWay = 40;  // more than a session sends again at a time
constexpr AnyKind kKinds[] = {AnyKind::kIndex, AnyKind::kBytes, AnyKind::kTwoParts, AnyKind::kHash,
                              AnyKind::kTable};

bool Bit(const std::string& bits, size_t i) { return bits[i / 8] >> (i % 8) & 1; }

WriteMode ModeOf(Verb verb) {
  switch (verb) {
    case Verb::kInsert:
      return WriteMode::kInsertIfAbsent;
    case Verb::kReplace:
      return WriteMode::kReplaceIfPresent;
    case Verb::kAdd:
      return WriteMode::kAdd;
    default:
      return WriteMode::kCompareAndSet;
  }
}

// One session that sends batches to one object.
class Pipeline {
 public:
  Pipeline(World& world, AnyKind kind, uint32_t number)
      : world_(world),
        kind_(kind),
        name_(PipelineName(kind)),
        number_(number),
        where_(absl::StrCat("pipelines: session ", number, " on ", name_)),
        session_(world.engine().NewSession()),
        check_(world, where_),
        draw_(kind, world.SeedOf(where_), /*streamed=*/false),
        calls_(kUnderWay, [this](const Batch& batch, const Answers& answers) {
          check_.Take(batch, answers);
        }) {}

  void Run() {
    while (!world_.Ending()) {
      auto* const call = calls_.Enter(draw_.Next());
      const absl::Status sent = kind_ == AnyKind::kTable   ? SendRows(call)
                                : kind_ == AnyKind::kBytes ? SendBytes(call)
                                                           : SendNumbers(call);
      if (sent.ok()) continue;
      // Nothing of it was executed.
      world_.OkOrRefused(sent, where_);
      calls_.Done(call, {std::vector<Answer>(call->sent.numbers.size()), true});
    }
    calls_.AwaitNone();
  }

 private:
  using Calls = InOrder<Batch, Answers>;

  std::vector<uint64_t> KeysOf(const Batch& batch) const {
    std::vector<uint64_t> keys;
    for (const uint64_t number : batch.numbers) keys.push_back(SpreadKey(number, number_));
    return keys;
  }

  // All but the values.
  Answers AnswersOf(const Batch& batch, const BatchResult& result) {
    world_.OkOrRefused(result.status, where_);
    const bool ok = result.status.ok();
    Answers answers{.known = ok || !result.executed.empty()};
    if (!answers.known) return answers;
    const size_t count = batch.numbers.size();
    answers.keys.resize(count);
    for (size_t i = 0; i < count; ++i) {
      Answer& one = answers.keys[i];
      one.executed = result.executed.empty() || Bit(result.executed, i);
      one.existed = Bit(result.present, i);
      one.applied = !result.applied.empty() && Bit(result.applied, i);
    }
    return answers;
  }
  Session::Callback Done(Calls::Call* call) {
    return [this, call](BatchResult result) {
      Answers answers = AnswersOf(call->sent, result);
      for (size_t i = 0; i < answers.keys.size() && !result.values.empty(); ++i) {
        std::memcpy(&answers.keys[i].value, result.values.data() + 8 * i, 8);
      }
      calls_.Done(call, std::move(answers));
    };
  }

  absl::Status SendNumbers(Calls::Call* call) {
    const Batch& batch = call->sent;
    const std::vector<uint64_t> firsts = KeysOf(batch), seconds(firsts.size(), 5);
    const KeyColumns keys =
        kind_ == AnyKind::kTwoParts ? KeyColumns(firsts, seconds) : KeyColumns(firsts);
    switch (batch.verb) {
      case Verb::kUpsert:
        return session_->UpsertAsync(name_, keys, batch.values, Done(call)).status();
      case Verb::kErase:
        return session_->EraseAsync(name_, keys, Done(call)).status();
      case Verb::kLookup:
        return session_->LookupAsync(name_, keys, Done(call)).status();
      default:
        return session_
            ->WriteAsync(name_,
                         {.mode = ModeOf(batch.verb),
                          .keys = keys,
                          .values = batch.values,
                          .expected = batch.expected},
                         Done(call))
            .status();
    }
  }

  Session::Callback BytesDone(Calls::Call* call) {
    return [this, call](BatchResult result) {
      Answers answers = AnswersOf(call->sent, result);
      for (size_t i = 0; i < answers.keys.size() && !result.offsets.empty(); ++i) {
        if (!answers.keys[i].executed || !answers.keys[i].existed) continue;
        uint32_t ends[2];
        std::memcpy(ends, result.offsets.data() + 4 * i, 8);
        const std::string text = result.values.substr(ends[0], ends[1] - ends[0]);
        const uint64_t value = std::strtoull(text.c_str(), nullptr, 10);
        if (text != AnyObject::TextOf(value)) world_.Fault(where_ + ": a torn byte string");
        answers.keys[i].value = value;
      }
      calls_.Done(call, std::move(answers));
    };
  }
  absl::Status SendBytes(Calls::Call* call) {
    const Batch& batch = call->sent;
    const std::vector<uint64_t> keys = KeysOf(batch);
    std::vector<std::string> texts;
    for (const uint64_t value : batch.values) texts.push_back(AnyObject::TextOf(value));
    for (const uint64_t value : batch.expected) texts.push_back(AnyObject::TextOf(value));
    const std::vector<absl::string_view> views(texts.begin(), texts.end());
    const auto values = absl::MakeConstSpan(views).first(batch.values.size());
    switch (batch.verb) {
      case Verb::kUpsert:
        return session_->UpsertBytesAsync(name_, keys, values, Done(call)).status();
      case Verb::kErase:
        return session_->EraseAsync(name_, keys, Done(call)).status();
      case Verb::kLookup:
        return session_->LookupBytesAsync(name_, keys, kBatchValueBytesMax, BytesDone(call))
            .status();
      default:
        return session_
            ->WriteBytesAsync(name_,
                              {.mode = ModeOf(batch.verb),
                               .keys = keys,
                               .values = values,
                               .expected = absl::MakeConstSpan(views).subspan(values.size())},
                              BytesDone(call))
            .status();
    }
  }

  absl::Status SendRows(Calls::Call* call) {
    const Batch& batch = call->sent;
    const auto columns = AnyObject::SchemaOf(/*clustered=*/true).columns;
    const bool whole = batch.verb == Verb::kUpsert;
    const auto rows = std::make_shared<test::Rows>(
        whole ? columns : std::vector<ColumnSchema>(columns.begin(), columns.begin() + 1));
    const std::vector<uint64_t> keys = KeysOf(batch);
    for (size_t i = 0; i < keys.size(); ++i) {
      if (whole) {
        rows->Add({keys[i], batch.values[i], AnyObject::TextOf(batch.values[i])});
      } else {
        rows->Add({keys[i]});
      }
    }
    const RowBatch borrowed = rows->batch();
    if (whole) return session_->UpsertRowsAsync(name_, borrowed, rows, Done(call)).status();
    if (batch.verb == Verb::kErase) {
      return session_->EraseRowsAsync(name_, borrowed, rows, Done(call)).status();
    }
    const std::vector<std::string> asked{columns[1].name};
    return session_
        ->LookupRowsAsync(name_, borrowed, asked, rows,
                          [this, call](BatchResult result, std::vector<ColumnBuffers> out) {
                            Answers answers = AnswersOf(call->sent, result);
                            if (!result.status.ok()) answers = {};  // no values: it says nothing
                            answers.known = result.status.ok();
                            for (size_t i = 0; i < answers.keys.size(); ++i) {
                              std::memcpy(&answers.keys[i].value, out[0].values.data() + 8 * i, 8);
                            }
                            calls_.Done(call, std::move(answers));
                          })
        .status();
  }

  World& world_;
  const AnyKind kind_;
  const std::string name_;
  const uint32_t number_;
  const std::string where_;
  const std::unique_ptr<Session> session_;
  PipelineCheck check_;  // with the lock of calls_
  Draw draw_;
  Calls calls_;
};

class Pipelines final : public Load {
 public:
  explicit Pipelines(World& world) : world_(world) {}

  void Prepare() override {
    for (const AnyKind kind : kKinds) world_.CreateMovable(kind, PipelineName(kind));
  }
  std::vector<std::function<void()>> Threads() override {
    std::vector<std::function<void()>> threads;
    for (uint32_t i = 0; i < world_.options().sessions; ++i) {
      threads.emplace_back([this, i] { Pipeline(world_, kKinds[i % std::size(kKinds)], i).Run(); });
    }
    return threads;
  }

 private:
  World& world_;
};

}  // namespace

std::unique_ptr<Load> MakePipelines(World& world) { return std::make_unique<Pipelines>(world); }

}  // namespace eris::stress
