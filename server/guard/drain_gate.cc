#include "server/guard/drain_gate.h"

#include <utility>

#include "base/check.h"
#include "eris/errors.h"

namespace eris::server {

DrainGate::Stay::Stay(Stay&& other) noexcept
    : gate_(std::exchange(other.gate_, nullptr)), where_(other.where_) {}

DrainGate::Stay& DrainGate::Stay::operator=(Stay&& other) noexcept {
  std::swap(gate_, other.gate_);
  std::swap(where_, other.where_);
  return *this;
}

DrainGate::Stay::~Stay() {
  if (gate_ != nullptr) gate_->Leave(where_);
}

DrainGate::~DrainGate() { ERIS_CHECK(inside() == 0); }

DrainGate::Stay DrainGate::TryEnter(std::shared_ptr<Drainable> call, const void* origin) {
  Members one;  // allocated outside the lock
  one.push_back({std::move(call), origin});
  base::MutexLock lock(&mu_);
  if (closed_) return Stay();
  members_.splice(members_.begin(), one);
  ++entered_;
  return Stay(this, members_.begin());
}

void DrainGate::Leave(Members::iterator where) {
  Members gone;  // the call's last reference may end here, outside the lock
  absl::AnyInvocable<void() &&> on_empty;
  {
    base::MutexLock lock(&mu_);
    gone.splice(gone.begin(), members_, where);
    if (members_.empty()) on_empty = std::exchange(on_empty_, nullptr);
  }
  if (on_empty) std::move(on_empty)();
}

void DrainGate::Close(absl::AnyInvocable<void() &&> on_empty) {
  {
    base::MutexLock lock(&mu_);
    ERIS_CHECK(!closed_);
    closed_ = true;
    if (!members_.empty()) on_empty_ = std::exchange(on_empty, nullptr);
  }
  if (on_empty) {
    std::move(on_empty)();
    return;
  }
  for (const std::shared_ptr<Drainable>& call : Snapshot()) call->OnDrain();
}

void DrainGate::CancelAll(const absl::Status& status) {
  for (const std::shared_ptr<Drainable>& call : Snapshot()) call->EndNow(status);
}

void DrainGate::VisitOrigins(absl::FunctionRef<void(const void* origin)> visit) const {
  base::MutexLock lock(&mu_);
  for (const Member& member : members_) {
    if (member.origin != nullptr) visit(member.origin);
  }
}

bool DrainGate::closed() const {
  base::MutexLock lock(&mu_);
  return closed_;
}

size_t DrainGate::inside() const {
  base::MutexLock lock(&mu_);
  return members_.size();
}

uint64_t DrainGate::entered() const {
  base::MutexLock lock(&mu_);
  return entered_;
}

absl::Status DrainGate::RefusedStatus() {
  return Error(ErrorReason::kServerStopping, "the server is stopping and takes no new calls");
}

std::vector<std::shared_ptr<Drainable>> DrainGate::Snapshot() const {
  std::vector<std::shared_ptr<Drainable>> calls;
  base::MutexLock lock(&mu_);
  calls.reserve(members_.size());
  for (const Member& member : members_) calls.push_back(member.call);
  return calls;
}

}  // namespace eris::server
