#include "engine/core/request.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "base/check.h"
#include "base/futex.h"
#include "engine/core/send_order.h"
#include "engine/core/string_column.h"
#include "engine/core/table_batch.h"
#include "eris/errors.h"
#include "routing/answers.h"

namespace eris::engine {

using storage::KeyState;

namespace {

// Bit i tells whether states[i] is `wanted`, for eight states.
uint8_t StateOfEight(const KeyState* states, KeyState wanted) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  uint64_t word;
  std::memcpy(&word, states, sizeof word);
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  word ^= kOnes * static_cast<uint8_t>(wanted);  // a zero byte for each match
  const uint64_t zero = ~(((word & kOnes * 0x7f) + kOnes * 0x7f) | word | kOnes * 0x7f);
  return static_cast<uint8_t>(((zero >> 7) * 0x0102040810204080) >> 56);  // gathers the eight bits
}

// Without a branch, so that a loop over it vectorizes.
bool Executed(char state) {
  static_assert(KeyState::kAbsent == KeyState{1} && KeyState::kPresent == KeyState{2} &&
                KeyState::kUnequal == KeyState{3});
  return static_cast<uint8_t>(state - 1) <= 2;
}

}  // namespace

std::string RequestLimits::MemoryLimitText() const {
  constexpr double kMiB = 1 << 20;
  // Not StrFormat, through which std::bad_alloc cannot pass.
  return absl::StrCat("memory limit of ", static_cast<double>(memory_limit_bytes) / kMiB,
                      " MiB for data (", memory_limit_source, ")");
}

Request* Request::Create(routing::CommandType type, uint32_t count, ObjectRef object,
                         InFlight::Lane& in_flight) {
  return new Request(type, count, std::move(object), in_flight);
}

Request::Request(routing::CommandType type, uint32_t count, ObjectRef object,
                 InFlight::Lane& in_flight)
    : type_(type), count_(count), object_(std::move(object)), in_flight_(in_flight) {
  state_bytes_.resize(count);
  states = reinterpret_cast<KeyState*>(state_bytes_.data());
  if (routing::AnswersValues(type)) {
    value_bytes_.resize(size_t{count} * sizeof(uint64_t));
    values = reinterpret_cast<uint64_t*>(value_bytes_.data());
  }
}

Request::~Request() { Settle(); }

void Request::Settle() {
  if (settled_) return;
  settled_ = true;
  in_order_.order.reset();  // its Port must end before the engine does
  if (credit_) credit_->fetch_add(credit_bytes_, std::memory_order_relaxed);  // a count, no data
  in_flight_.Leave();
}

void Request::Unref() {
  // acq_rel: the last one sees what the others did before it frees.
  if (references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

void Request::HoldCredit(std::shared_ptr<std::atomic<int64_t>> credit, int64_t bytes) {
  credit_ = std::move(credit);
  credit_bytes_ = bytes;
}

void Request::AnswerBytes(uint64_t bytes_max) {
  reply_bytes_.emplace(bytes_max, credit_.get());
  bytes_sink = &*reply_bytes_;
}

void Request::HoldTable(std::unique_ptr<TableBatch> batch) {
  table_ = std::move(batch);
  rows = &table_->rows();
  columns_out = table_->columns_out();
}

std::vector<ColumnBuffers> Request::TakeColumns() {
  if (table_) return table_->TakeColumns();
  std::vector<ColumnBuffers> columns;
  columns.reserve(std::max<size_t>(keys_.size(), 1));
  ColumnBuffers value;
  if (answers_bytes()) {
    value = StringColumn({values, count_});
  } else {
    value.values = std::move(value_bytes_);
  }
  for (std::optional<std::string>& key : keys_) {
    ColumnBuffers& column = columns.emplace_back();
    if (key) {
      column.values = *std::move(key);
    } else {
      column = value;
    }
  }
  if (keys_.empty()) columns.push_back(std::move(value));
  return columns;
}

void Request::FreeBytes() {
  records_.reset();
  if (reply_bytes_) reply_bytes_->FreeAll();
}

void Request::OnAnswered(CompletionQueue* queue, CompletionTask* task) {
  queue_ = queue;
  task_ = task;
}

void Request::Expect(uint32_t keys) {
  Ref();  // the AEUs' reference, released with the last answer
  Owe(keys);
}

void Request::Owe(uint32_t keys) {
  ERIS_DCHECK(keys > 0);
  SetMoved(false);
  // no other thread reads it before the commands are sent
  answered_.store(0, std::memory_order_relaxed);
  // relaxed: the buffers that carry the commands publish it to the AEUs.
  owed_.store(keys, std::memory_order_relaxed);
}

void Request::Answered(routing::Reply* reply, uint32_t answered) noexcept {
  auto* request = static_cast<Request*>(reply);
  // acq_rel: the thread of the last answer sees the columns as all others wrote them.
  const uint32_t before = request->owed_.fetch_sub(answered, std::memory_order_acq_rel);
  ERIS_DCHECK(before >= answered);
  if (before == answered) request->LastAnswer();
}

void Request::LastAnswer() {
  if (SendOrder* const order = in_order_.order.get()) {
    if (moved()) order->Drain();
    if (moved() || cancelled()) return order->resends().Push(&in_order_.again);
    order->OneIn();
  }
  Finish();
}

void Request::PutIn(std::shared_ptr<SendOrder> order, const BatchColumns& columns) {
  in_order_.order = std::move(order);
  in_order_.columns = columns;
}

void Request::InOrder::Again::Complete() { request_.in_order_.order->Collect(request_); }

bool Request::MayGoAgain(uint64_t now_ns, uint64_t refused_ns_max) {
  const auto left = static_cast<uint32_t>(std::count(states, states + count_, KeyState::kMoved));
  if (left == 0 || cancelled()) return false;
  if (std::exchange(in_order_.left, left) != left) in_order_.refused_ns = now_ns;
  return now_ns - in_order_.refused_ns < refused_ns_max;
}

uint32_t Request::MarkUnsent(bool moved, KeyState state) {
  uint32_t marked = 0;
  for (uint32_t i = 0; i < count_; ++i) {
    if (moved && states[i] != KeyState::kMoved) continue;
    states[i] = state;
    ++marked;
  }
  return marked;
}

void Request::Finish() {
  if (task_ != nullptr) {
    queue_->Push(task_);  // the task takes over the AEUs' reference
    return;
  }
  routing::ReturnPoint* const home = home_;
  // Pairs with the acquire in Await; seq_cst because of WakeAttendant.
  answered_.store(1, std::memory_order_seq_cst);
  home != nullptr ? home->WakeAttendant() : base::FutexWakeAll(answered_);
  Unref();
}

bool Request::Await(absl::Time deadline) {
  // acquire: pairs with the store in Finish.
  while (answered_.load(std::memory_order_acquire) == 0) {
    int64_t timeout_ns = -1;
    if (deadline != absl::InfiniteFuture()) {
      timeout_ns = absl::ToInt64Nanoseconds(deadline - absl::Now());
      if (timeout_ns <= 0) return false;
    }
    if (home_ == nullptr) {
      base::FutexWait(answered_, 0, timeout_ns);
    } else if (!routing::CollectAnswers(*home_)) {
      const auto ready = [this] { return answered_.load(std::memory_order_seq_cst) != 0; };
      home_->Sleep(ready, timeout_ns);
    }
  }
  return true;
}

bool Request::AllExecuted() const {
  bool other = false;  // in nearly every batch all keys have the same state
  for (const char state : state_bytes_) other |= !Executed(state);
  return !other;
}

std::vector<uint32_t> Request::MovedPositions() const {
  std::vector<uint32_t> moved;
  if (AllExecuted()) return moved;
  for (uint32_t i = 0; i < count_; ++i) {
    if (states[i] == KeyState::kMoved) moved.push_back(i);
  }
  return moved;
}

absl::Status Request::Outcome(const RequestLimits& limits, uint32_t& refused) {
  absl::Status status = OutcomeOfStates(limits, refused);
  const uint32_t written = routing::Writes(type_) ? count_ - refused : 0;
  if (written == 0 || object_->CountWritten(written)) return status;
  MarkUnsent(false, KeyState::kNoObject);
  return OutcomeOfStates(limits, refused);
}

absl::Status Request::OutcomeOfStates(const RequestLimits& limits, uint32_t& refused) const {
  refused = 0;
  if (AllExecuted()) return absl::OkStatus();
  uint32_t by_state[256] = {};
  for (const char state : state_bytes_) ++by_state[static_cast<uint8_t>(state)];
  const auto number = [&](KeyState state) { return by_state[static_cast<uint8_t>(state)]; };
  refused =
      count_ - number(KeyState::kAbsent) - number(KeyState::kPresent) - number(KeyState::kUnequal);
  if (number(KeyState::kNoObject) > 0) {
    return Error(ErrorReason::kObjectDropped,
                 absl::StrCat("object \"", object_->name, "\" has been dropped"));
  }
  if (number(KeyState::kNoMemory) > 0) {
    return Error(ErrorReason::kMemoryLimit,
                 absl::StrCat(limits.MemoryLimitText(), ": ", number(KeyState::kNoMemory), " of ",
                              count_, object_->is_table() ? " rows" : " keys", " were refused",
                              refused < count_ ? ", the others took effect" : "",
                              "; drop or erase data, or allow more"));
  }
  if (number(KeyState::kNoRoom) > 0) {
    return Error(
        ErrorReason::kAnswerBytes,
        absl::StrCat(
            "the answer to one batch has at most ", reply_bytes_ ? reply_bytes_->bytes_max() : 0,
            " bytes of values, and what its session has in flight: ", number(KeyState::kNoRoom),
            " of ", count_,
            " keys were not executed for want of room, the others were; ask for fewer at once"));
  }
  if (number(KeyState::kRefused) > 0) {
    return Error(ErrorReason::kBufferFull,
                 absl::StrCat("no outgoing buffer came back for ", limits.send_wait_ms_max,
                              " ms: ", number(KeyState::kRefused), " of ", count_,
                              " keys were refused, the others took effect"));
  }
  if (number(KeyState::kCancelled) > 0) return absl::CancelledError("the request was cancelled");
  return Error(
      ErrorReason::kKeysMoving,
      absl::StrCat(refused, " of ", count_, " keys were moved again and again between AEUs"));
}

Request::States Request::PresentStates() const {
  const bool compares = type_ == routing::CommandType::kCompareAndSet;
  return {KeyState::kPresent, compares ? KeyState::kUnequal : KeyState::kPresent};
}

Request::States Request::AppliedStates() const {
  switch (type_) {
    case routing::CommandType::kInsertIfAbsent:
      return {KeyState::kAbsent, KeyState::kAbsent};
    case routing::CommandType::kReplaceIfPresent:
    case routing::CommandType::kCompareAndSet:
      return {KeyState::kPresent, KeyState::kPresent};
    default:
      return {KeyState::kAbsent, KeyState::kPresent};
  }
}

std::string Request::Pack(States wanted) const {
  std::string bits((count_ + 7) / 8, '\0');
  uint32_t i = 0;
  for (; i + 8 <= count_; i += 8) {
    uint8_t eight = StateOfEight(&states[i], wanted.one);
    if (wanted.one != wanted.other) eight |= StateOfEight(&states[i], wanted.other);
    bits[i >> 3] = static_cast<char>(eight);
  }
  for (; i < count_; ++i) {
    const bool set = states[i] == wanted.one || states[i] == wanted.other;
    bits[i >> 3] |= static_cast<char>(set << (i & 7));
  }
  return bits;
}

std::string Request::PackPresence() const { return Pack(PresentStates()); }

std::string Request::PackApplied() const { return Pack(AppliedStates()); }

std::string Request::PackExecuted() const {
  std::string bits((count_ + 7) / 8, '\0');
  for (uint32_t i = 0; i < count_; ++i) {
    bits[i >> 3] |= static_cast<char>(Executed(state_bytes_[i]) << (i & 7));
  }
  return bits;
}

}  // namespace eris::engine
