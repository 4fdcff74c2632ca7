#include "engine/core/send_order.h"

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "aeu/state/clock.h"
#include "engine/core/batch_columns.h"
#include "engine/core/request.h"
#include "routing/data_command.h"

namespace eris::engine {

using storage::KeyState;

SendOrder::SendOrder(Resends& resends, std::shared_ptr<SessionPort> port, ObjectRef object)
    : resends_(resends),
      port_(std::move(port)),
      object_(std::move(object)),
      table_(object_->route.Pin()) {}

void SendOrder::Send(Request& request) {
  base::MutexLock lock(&mu());
  const size_t room = held_.size() + out_.load(std::memory_order_relaxed) + 1;  // it only shrinks
  if (held_.capacity() < room) held_.reserve(std::max(room, 2 * held_.capacity()));
  request.Ref();  // the AEUs' reference, released when it is finished
  request.in_order().sequence = next_sequence_++;
  bool hold = draining_.load(std::memory_order_relaxed) || !held_.empty();
#ifdef ERIS_PLANTED_SEND_PAST
  hold = false;  // it has passed the requests refused before it
#endif
  if (hold) {
    held_.push_back(&request);
  } else {
    SendNow(request, /*held=*/false);
  }
}

bool SendOrder::SendNow(Request& request, bool held) {
#ifdef ERIS_PLANTED_SENT_TWICE
  const bool again = false;  // send executed keys again together with those that moved
#else
  const bool again = request.in_order().refused;
#endif
  // acquire: all commands of the old version have been executed.
  if (out_.load(std::memory_order_acquire) == 0 && NewerTable()) table_ = object_->route.Pin();
  out_.fetch_add(1, std::memory_order_relaxed);
  routing::KeyedCommand command{.type = request.type(),
                                .complete = &Request::Answered,
                                .context = &request,
                                .answers = routing::AnswersTo::kRecord};
  std::vector<uint32_t> positions;
  ColumnCopies moved;
  uint32_t refused = 0;
  bool room = true;
  try {
    if (again) {
      positions = request.MovedPositions();
      moved.Select(request.in_order().columns, positions);
      SetColumns(moved.view(), command);
      command.positions = positions;
    } else {
      SetColumns(request.in_order().columns, command);
    }
    request.Owe(static_cast<uint32_t>(command.keys.size()));
    refused = port_->port.SendBy(*table_, object_->route, command,
                                 held ? KeyState::kMoved : KeyState::kRefused, /*waits=*/!held);
    room = !held || refused == 0;
  } catch (const std::bad_alloc&) {  // nothing has been sent
    refused = request.MarkUnsent(again, KeyState::kNoMemory);
    request.Owe(refused);
  }
  port_->port.Flush();
  if (!room) {
    Drain();
    request.SetMoved();
    // The completion thread may be in a callback that waits for this request.
    port_->CollectAll();
  }
  if (refused > 0) Request::Answered(&request, refused);
  return room;
}

void SendOrder::Abandon(Request& request) {
  {
    base::MutexLock lock(&mu());
    request.SetCancelled();
    const auto held = std::find(held_.begin(), held_.end(), &request);
    if (held == held_.end()) return;  // still running, or answered
    held_.erase(held);
  }
  request.MarkUnsent(request.in_order().refused, KeyState::kCancelled);
  request.Finish();
}

bool SendOrder::Idle() const {
  base::MutexLock lock(&mu());
  return out_.load(std::memory_order_acquire) == 0 && held_.empty();
}

bool SendOrder::NewerTable() const { return object_->route.version() != table_->version(); }

void SendOrder::OneIn() {
  if (out_.fetch_sub(1, std::memory_order_acq_rel) == 1 &&
      draining_.load(std::memory_order_relaxed)) {
    WakeUp();
  }
}

void SendOrder::WakeUp() {
  // If it is queued already, it reads out_ after it has reset queued_.
  if (queued_.exchange(true, std::memory_order_acq_rel)) return;
  self_ = shared_from_this();
  resends_.Push(this);
}

void SendOrder::Collect(Request& request) {
  // The session's thread may be waiting for room; other threads must not wait for it.
  if (!mu().TryLock()) return resends_.Later(&request.in_order().again);
  // the request may hold the last reference
  const std::shared_ptr<SendOrder> self = shared_from_this();
  const bool again = request.MayGoAgain(aeu::NowNs(), kRefusedNsMax);
  if (again) {
    request.in_order().refused = true;
    held_.push_back(&request);
    all_in_ns_ = 0;
  }
  OneIn();
  mu().Unlock();
  if (!again) request.Finish();
}

void SendOrder::Complete() {
  if (!mu().TryLock()) return resends_.Later(this);
  const std::shared_ptr<SendOrder> self = std::move(self_);
  queued_.exchange(false, std::memory_order_acq_rel);
  std::array<Request*, kPiece> finished{};
  const Next next = GoOn(finished);
  if (next != Next::kNothing && !queued_.exchange(true, std::memory_order_acq_rel)) {
    self_ = self;
    next == Next::kMore ? resends_.Push(this) : resends_.Later(this);
  }
  mu().Unlock();
  for (Request* const request : finished) {
    if (request != nullptr) request->Finish();
  }
}

SendOrder::Next SendOrder::GoOn(std::span<Request*> finished) {
  if (draining_.load(std::memory_order_relaxed)) {
    // acquire: their states are complete. The thread that counts down to zero comes here again.
    if (out_.load(std::memory_order_acquire) != 0) return Next::kNothing;
    const uint64_t now_ns = aeu::NowNs();
    if (all_in_ns_ == 0) all_in_ns_ = now_ns;
    if (!held_.empty() && !NewerTable() && now_ns - all_in_ns_ < kNewerTableNs) {
      return Next::kLater;
    }
    std::sort(held_.begin(), held_.end(), [](Request* a, Request* b) {
      return a->in_order().sequence < b->in_order().sequence;
    });
    draining_.store(false, std::memory_order_relaxed);
  }
  size_t piece = 0;
  uint64_t keys = 0;
  for (bool room = true; room && piece < std::min(held_.size(), kPiece) && keys < kPieceKeys;
       ++piece) {
    Request& request = *held_[piece];
    keys += request.count();
    if (request.cancelled()) {
      request.MarkUnsent(request.in_order().refused, KeyState::kCancelled);
      finished[piece] = &request;
    } else {
      room = SendNow(request, /*held=*/true);
    }
  }
  held_.erase(held_.begin(), held_.begin() + static_cast<ptrdiff_t>(piece));
  // While some drain, the thread that counts down to zero comes here again.
  const bool more = !held_.empty() && !draining_.load(std::memory_order_relaxed);
  return more ? Next::kMore : Next::kNothing;
}

}  // namespace eris::engine
