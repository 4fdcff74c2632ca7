// A running request: its reply columns, how many keys are still owed an answer, and what waits for
// them. Reference counted: by the caller and by the answers that are still owed. The last one to
// release it frees it, so a caller can detach while commands are under way. Paper: ERIS 3.2.
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
#include "engine/completion/completion_queue.h"
#include "engine/completion/in_flight.h"
#include "engine/core/batch_columns.h"
#include "engine/objects/object_entry.h"
#include "eris/engine.h"
#include "routing/block_pool.h"
#include "routing/data_command.h"
#include "routing/reply.h"
#include "routing/reply_bytes.h"

namespace eris::engine {

class SendOrder;
class TableBatch;

// Names in a request's error texts.
struct RequestLimits {
  uint64_t memory_limit_bytes = 0;
  std::string memory_limit_source{};  // what sets it, and how to raise it
  uint32_t send_wait_ms_max = 0;

  // "memory limit of 64 MiB for data (...)"
  std::string MemoryLimitText() const;
};

class Request final : public routing::Reply {
 public:
  // Owned by its references: the caller's, returned here with a count of one. `in_flight` has been
  // entered for it and is left after the last answer.
  static Request* Create(routing::CommandType type, uint32_t count, ObjectRef object,
                         InFlight::Lane& in_flight);
  // the caller holds a reference
  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref();

  uint32_t count() const { return count_; }
  routing::CommandType type() const { return type_; }
  const ObjectRef& object() const { return object_; }

  // The session's bytes that this request holds until its last answer.
  void HoldCredit(std::shared_ptr<std::atomic<int64_t>> credit, int64_t bytes);

  // Memory that commands are built from, before Expect: words of the batch that are not in its own
  // columns, and the records of byte strings.
  ColumnCopies& words() { return words_; }
  void HoldRecords(std::unique_ptr<uint64_t[]> records) { records_ = std::move(records); }
  // Keeps the memory of the batch's columns; nullptr: no AEU reads them any more.
  void HoldColumns(std::shared_ptr<const void> holder) { holder_ = std::move(holder); }
  // The answers are byte strings, of at most `bytes_max` bytes. After HoldCredit.
  void AnswerBytes(uint64_t bytes_max);
  bool answers_bytes() const { return reply_bytes_.has_value(); }
  // For tables, before Expect: the rows that commands point to, and the columns for the answers of
  // lookups.
  void HoldTable(std::unique_ptr<TableBatch> batch);
  TableBatch* table() const { return table_.get(); }
  // For lookups in an index or a hash that return more than the value: for each returned column its
  // content if it is a key column, else nullopt.
  void AnswerKeys(std::vector<std::optional<std::string>> columns) { keys_ = std::move(columns); }
  // After the last answer: the returned columns. Once. Throws bad_alloc.
  std::vector<ColumnBuffers> TakeColumns();
  // Frees records and strings, when no answer is owed and none will be. Idempotent.
  void FreeBytes();

  // Returns credit and leaves in_flight, when no answer is owed and none will be: the caller may
  // hold an asynchronous request long after that. Otherwise the destructor does it.
  void Settle();

  // The request's place in the order of its session's requests for one object. Only SendOrder
  // writes it, except the columns, which are valid until the last answer or Abandon. They are what
  // is sent.
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
    bool refused = false;     // has been sent, and some keys were answered as moved
    uint32_t left = 0;        // number of such keys at the last check
    uint64_t refused_ns = 0;  // no key has been executed since then
    Again again;
  };
  // Before SendOrder::Send.
  void PutIn(std::shared_ptr<SendOrder> order, const BatchColumns& columns);
  InOrder& in_order() { return in_order_; }
  // After the last answer: whether to send it again. No if it was cancelled, or if none of the
  // moved keys has been executed for `refused_ns_max`.
  bool MayGoAgain(uint64_t now_ns, uint64_t refused_ns_max);
  // Gives this state to the moved keys, or else to all; returns their number.
  uint32_t MarkUnsent(bool moved, storage::KeyState state);

  // Announces `keys` answers, each given exactly once through Answered. Call it before they are
  // sent. Takes the answers' reference, which the last answer releases; Owe does not.
  void Expect(uint32_t keys);
  void Owe(uint32_t keys);
  // The action of the last answer: wakes the waiting thread, or pushes the task.
  void Finish();
  // The completion function of every command of a request. Keyed commands: called by the thread
  // that takes their blocks home; others: by their AEU. Any thread; never blocks.
  static void Answered(routing::Reply* reply, uint32_t answered) noexcept;

  // Waits for the last answer. False if `deadline` passes first. For requests without a task.
  bool Await(absl::Time deadline);
  // Before it is sent, for a thread that attends the point where its answers come home: Await takes
  // them there.
  void AwaitAt(routing::ReturnPoint& home) { home_ = &home; }
  // Instead of waiting: the task is pushed after the last answer. Before Expect.
  void OnAnswered(CompletionQueue* queue, CompletionTask* task);

  // After the last answer: whether each key was executed, whatever the result.
  bool AllExecuted() const;
  // After the last answer: positions of keys that reached an AEU that does not own them.
  std::vector<uint32_t> MovedPositions() const;
  // The result of all states, for the caller; counts the rows that a write has changed
  // (ObjectEntry::CountWritten). Once. `refused` counts keys that were not executed.
  absl::Status Outcome(const RequestLimits& limits, uint32_t& refused);
  // One bit per key, in Arrow's order. Presence: it was there before the operation. Applied: a
  // conditional write has written it. Executed: it was executed at all.
  std::string PackPresence() const;
  std::string PackApplied() const;
  std::string PackExecuted() const;

 private:
  Request(routing::CommandType type, uint32_t count, ObjectRef object, InFlight::Lane& in_flight);
  ~Request();
  void LastAnswer();
  absl::Status OutcomeOfStates(const RequestLimits& limits, uint32_t& refused) const;
  // Two states that count as one; equal if there is only one.
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
  InFlight::Lane& in_flight_;

  // Owned by the caller until Expect, then by the thread that gives the last answer.
  std::string value_bytes_;
  std::string state_bytes_;
  std::shared_ptr<std::atomic<int64_t>> credit_;
  int64_t credit_bytes_ = 0;
  ColumnCopies words_;
  std::unique_ptr<uint64_t[]> records_;
  std::shared_ptr<const void> holder_;
  std::vector<std::optional<std::string>> keys_;  // empty: only the value is returned
  std::unique_ptr<TableBatch> table_;
  std::optional<routing::ReplyBytes> reply_bytes_;  // returns its bytes to credit_
  bool settled_ = false;
  InOrder in_order_{*this};
  CompletionQueue* queue_ = nullptr;
  CompletionTask* task_ = nullptr;
  routing::ReturnPoint* home_ = nullptr;

  // Shared by all holders of a reference.
  std::atomic<uint32_t> references_{1};
  std::atomic<uint32_t> owed_{0};      // answers to come
  std::atomic<uint32_t> answered_{0};  // 1: the last answer has been given
};

struct UnrefRequest {
  void operator()(Request* request) const { request->Unref(); }
};
// One reference, owned by the caller.
using RequestPtr = std::unique_ptr<Request, UnrefRequest>;

}  // namespace eris::engine

#endif  // ERIS_ENGINE_CORE_REQUEST_H_
