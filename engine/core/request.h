// A request under way: its reply columns, how many keys are still owed an answer, and who waits.
// Reference counted: the caller and the AEUs that still owe answers; whoever lets go last frees it,
// so a caller that gives up detaches and AEUs may go on writing. Paper: ERIS 3.2.
#ifndef ERIS_ENGINE_CORE_REQUEST_H_
#define ERIS_ENGINE_CORE_REQUEST_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "engine/core/batch_columns.h"
#include "engine/core/completion_queue.h"
#include "engine/core/in_flight.h"
#include "engine/objects/object_entry.h"
#include "eris/engine.h"
#include "routing/data_command.h"
#include "routing/reply.h"
#include "routing/reply_bytes.h"

namespace eris::engine {

class SendOrder;
class TableBatch;

// What a request's failure texts name.
struct RequestLimits {
  uint64_t memory_limit_bytes = 0;
  std::string memory_limit_source{};  // what sets it, and what raises it
  uint32_t send_wait_ms_max = 0;

  // "memory limit of 64 MiB for data (...)"
  std::string MemoryLimitText() const;
};

class Request final : public routing::Reply {
 public:
  // Owned by its references: the caller's, returned here with a count of one.
  // `in_flight` has been entered for it and is left when the last answer is in.
  static Request* Create(routing::CommandType type, uint32_t count, ObjectRef object,
                         InFlight& in_flight);
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }  // from one that holds one
  void Unref();

  uint32_t count() const { return count_; }
  routing::CommandType type() const { return type_; }
  const ObjectRef& object() const { return object_; }

  // The session's bytes that this request holds until its last answer is in.
  void HoldCredit(std::shared_ptr<std::atomic<int64_t>> credit, int64_t bytes);

  // What commands are made of, before Expect: the words of the batch that do not stand in its own
  // columns, and the records that words of byte strings point to.
  ColumnCopies& words() { return words_; }
  void HoldRecords(std::unique_ptr<uint64_t[]> records) { records_ = std::move(records); }
  // Keeps what the batch's columns are in; nullptr: nobody reads them any more.
  void HoldColumns(std::shared_ptr<const void> holder) { holder_ = std::move(holder); }
  // The answers are byte strings, of `bytes_max` bytes at most. After HoldCredit.
  void AnswerBytes(uint64_t bytes_max);
  bool answers_bytes() const { return reply_bytes_.has_value(); }
  // Of tables, before Expect: the rows that commands point to, and where look-ups are answered.
  void HoldTable(std::unique_ptr<TableBatch> batch);
  TableBatch* table() const { return table_.get(); }
  // Of look-ups in an index or a hash that ask for more than the value: of each column that is
  // answered what it has, if it is one of the key, else nullopt.
  void AnswerKeys(std::vector<std::optional<std::string>> columns) { keys_ = std::move(columns); }
  // After the last answer: the columns that are answered. Once. Throws bad_alloc.
  std::vector<ColumnBuffers> TakeColumns();
  // Records and strings, once no answer is owed and none will be. Idempotent.
  void FreeBytes();

  // Gives credit and in-flight count back, once no answer is owed and none will be: an asynchronous
  // request may be held by its caller long after that. Else the end of the request does it.
  void Settle();

  // Its place in the order of what its session sends of one object. Written by that alone, but for
  // the columns: those stand until the last answer, or Abandon. They are what is sent.
  struct InOrder {
    class Again final : public CompletionTask {
     public:
      explicit Again(Request& request) : request_(request) {}
      void Complete() override;

     private:
      Request& request_;
    };
    explicit InOrder(Request& request) : again(request) {}

    std::shared_ptr<SendOrder> order;  // nullptr: none
    BatchColumns columns;
    uint64_t sequence = 0;
    bool refused = false;     // has been sent, and some keys have moved
    uint32_t left = 0;        // so many, when it was looked at last
    uint64_t refused_ns = 0;  // since then none has been executed
    Again again;
  };
  // Before SendOrder::Send.
  void PutIn(std::shared_ptr<SendOrder> order, const BatchColumns& columns);
  InOrder& in_order() { return in_order_; }
  // After the last answer: whether it is worth sending again. No: it has been cancelled, or none of
  // the moved keys has been executed for `refused_ns_max`.
  bool MayGoAgain(uint64_t now_ns, uint64_t refused_ns_max);
  // Gives the moved keys, or else all, this state; how many they are.
  uint32_t MarkUnsent(bool moved, storage::KeyState state);

  // Announces `keys` answers to come, each exactly once, through Answered. Before they are sent.
  // Takes the AEUs' reference, which the last answer lets go; Owe does not.
  void Expect(uint32_t keys);
  void Owe(uint32_t keys);
  // What the last answer does: wakes who waits, or pushes the task.
  void Finish();
  // The completion function of every command of a request. Any thread; never blocks.
  static void Answered(routing::Reply* reply, uint32_t answered) noexcept;

  // Waits for the last answer. False when `deadline` passes first. For requests without a task.
  bool Await(absl::Time deadline);
  // Instead of waiting: pushed once all expected answers are in. Before Expect.
  void OnAnswered(CompletionQueue* queue, CompletionTask* task);

  // After the last answer: each key was executed, whether it was there or not, written or not.
  bool AllExecuted() const;
  // After the last answer: keys that reached an AEU that does not own them, as positions.
  std::vector<uint32_t> MovedPositions() const;
  // What the states say as a whole, to be told to the caller: rows that a write has changed are
  // counted (ObjectEntry::CountWritten). Once. `refused` counts keys that were not executed.
  absl::Status Outcome(const RequestLimits& limits, uint32_t& refused);
  // A bit for each key, in Arrow's order: it was there before the operation; a conditional write
  // has written it; it was executed at all.
  std::string PackPresence() const;
  std::string PackApplied() const;
  std::string PackExecuted() const;

 private:
  Request(routing::CommandType type, uint32_t count, ObjectRef object, InFlight& in_flight);
  ~Request();
  void LastAnswer();
  absl::Status OutcomeOfStates(const RequestLimits& limits, uint32_t& refused) const;
  // States that count as one thing; twice the same where there is one.
  struct States {
    storage::KeyState one;
    storage::KeyState other;
  };
  States PresentStates() const;
  States AppliedStates() const;
  std::string Pack(States wanted) const;

  // Immutable after construction.
  const routing::CommandType type_;
  const uint32_t count_;
  const ObjectRef object_;
  InFlight& in_flight_;

  // Owned by the caller until Expect, by whoever holds the last answer after that.
  std::string value_bytes_;
  std::string state_bytes_;
  std::shared_ptr<std::atomic<int64_t>> credit_;
  int64_t credit_bytes_ = 0;
  ColumnCopies words_;
  std::unique_ptr<uint64_t[]> records_;
  std::shared_ptr<const void> holder_;
  std::vector<std::optional<std::string>> keys_;  // empty: the value alone is answered
  std::unique_ptr<TableBatch> table_;
  std::optional<routing::ReplyBytes> reply_bytes_;  // gives back to credit_
  bool settled_ = false;
  InOrder in_order_{*this};
  CompletionQueue* queue_ = nullptr;
  CompletionTask* task_ = nullptr;

  // Shared: by everybody who holds a reference.
  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> owed_{0};      // answers to come
  std::atomic<uint32_t> answered_{0};  // 1: the last one is in
};

struct UnrefRequest {
  void operator()(Request* request) const { request->Unref(); }
};
// One reference, its caller's.
using RequestPtr = std::unique_ptr<Request, UnrefRequest>;

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_REQUEST_H_
