#include "routing/port.h"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "base/check.h"
#include "routing/answers.h"

namespace eris::routing {

// As Block::RecordsAt promises.
static_assert((Block::RecordsAt() + sizeof(CommandHeader)) % base::kCacheLineBytes == 0);
namespace {

int64_t NowNs() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// First give the AEUs the core, then time.
constexpr int kYields = 16;
constexpr int64_t kSleepNs = 50'000;
// How often it looks at what other Ports have out.
constexpr int kPausesPerCollect = 20;

// Multicast commands are few and small, and their blocks are returned within a turn of their
// targets.
constexpr size_t kMulticastBytes = 4096;
constexpr size_t kMulticastBlocksMax = 16;

BlockPool* OrThrow(BlockPool* pool) {
  if (pool == nullptr) throw std::bad_alloc();
  return pool;
}

// Reserves room for `count` elements in all, growing as push_back does.
template <class T>
void Grow(std::vector<T>& vector, size_t count) {
  if (vector.capacity() < count) vector.reserve(std::max(count, 2 * vector.capacity()));
}

}  // namespace

Port::Port(const EndpointDirectory& directory, const PortOptions& options)
    : directory_(directory),
      options_(options),
      pool_(OrThrow(
          BlockPool::Create(options.outgoing_bytes, options.pool_bytes_max, options.allowance))),
      multicasts_(OrThrow(BlockPool::Create(std::min(kMulticastBytes, options.outgoing_bytes),
                                            kMulticastBlocksMax * kMulticastBytes))),
      target_of_(std::make_unique<uint32_t[]>(directory.size())),
      counters_(options.numa_node, directory.numa_nodes()),
      lane_(directory.ports().Add(&counters_)) {
  ERIS_CHECK(options.outgoing_bytes <= options.pool_bytes_max);
  ERIS_CHECK(options.collector == nullptr || options.allowance != nullptr);
  try {
    directory.table_readers().Add(&table_reader_);
  } catch (const std::bad_alloc&) {
    directory.ports().Remove(&counters_);
    throw;
  }
}

Port::~Port() {
  if (options_.way == PortOptions::Way::kIngress) {
    Flush();
  } else {
    ERIS_DCHECK(!HasBuffered());
    if (multicast_ != nullptr) BlockPool::Release(multicast_);
    for (const uint32_t target : dirty_) {
      if (targets_[target].block != nullptr) pool_->Put(targets_[target].block);
    }
  }
  directory_.table_readers().Remove(&table_reader_);
  directory_.ports().Remove(&counters_);
}

void Port::GrowTargets(size_t count) {
  Grow(targets_, count);
  Grow(cursors_, count);
  Grow(dirty_, count);  // a target is in each of these two at most once
  Grow(to_wake_, count);
}

uint32_t Port::TargetOf(AeuId aeu) {
  ERIS_DCHECK(aeu.value < directory_.size());
  uint32_t& target = target_of_[aeu.value];
  if (target == 0) {
    GrowTargets(targets_.size() + 1);
    AeuEndpoint& endpoint = directory_[aeu];
    targets_.push_back({.endpoint = &endpoint, .sent = &counters_.SentTo(endpoint.numa_node)});
    cursors_.emplace_back();
    target = static_cast<uint32_t>(targets_.size());
  }
  return target - 1;
}

std::byte* Port::Reserve(uint32_t target, size_t bytes) {
  Target& to = targets_[target];
  if (to.block != nullptr) {
    if (bytes <= to.block->room_bytes()) return to.block->Append(bytes);
    if (!SendOver(target)) return nullptr;
  }
  if (bytes > options_.outgoing_bytes) return nullptr;
  // An AEU's buffers collect the output of a turn, a session's the output of a call.
  const bool large = options_.way == PortOptions::Way::kIncoming;
  to.block = pool_->Take(large ? options_.outgoing_bytes : bytes);
  if (to.block == nullptr) return nullptr;
  if (!to.dirty) {
    to.dirty = true;
    dirty_.push_back(target);
  }
  return to.block->Append(bytes);
}

std::byte* Port::ReserveOrWait(uint32_t target, size_t bytes) {
  Wait wait;
  for (;;) {
    if (std::byte* record = Reserve(target, bytes)) return record;
    if (bytes > options_.outgoing_bytes) return nullptr;
    SendAllOver();
    if (std::byte* record = Reserve(target, bytes)) return record;
    if (!wait.Pause(*this)) return nullptr;
  }
}

bool Port::Wait::Pause(Port& port) {
  if (port.options_.wait_ns == 0) return false;
  if (port.options_.home != nullptr) CollectAnswers(*port.options_.home);
  if (port.options_.collector != nullptr && attempts_ % kPausesPerCollect == 0 &&
      port.options_.allowance->Crowded()) {
    port.options_.collector->CollectAll();
  }
  port.WakeTargets();
  const int64_t now_ns = NowNs();
  if (deadline_ns_ == 0) deadline_ns_ = now_ns + port.options_.wait_ns;
  if (now_ns >= deadline_ns_) return false;
  if (attempts_++ < kYields) {
    sched_yield();
  } else {
    const timespec pause{0, kSleepNs};
    nanosleep(&pause, nullptr);
  }
  return true;
}

bool Port::SendOver(uint32_t target) {
  Target& to = targets_[target];
  Block* block = to.block;
  to.sent_bytes += block->used_bytes;
  if (options_.way == PortOptions::Way::kIngress) {
    pool_->HandOver(block, /*readers=*/1);
    to.endpoint->ingress.Push(block);
  } else {
    if (!to.endpoint->incoming.TryWrite(block->records())) {
      WakeTargets();  // it may be asleep with work that this call has sent it
      return false;
    }
    pool_->Put(block);
  }
  to.block = nullptr;
  if (!to.wake) {
    to.wake = true;
    to_wake_.push_back(target);
  }
  return true;
}

bool Port::SendAllOver() {
  // References to the multicast buffer are sent now; nothing is added to it after that.
  if (multicast_ != nullptr) BlockPool::Release(std::exchange(multicast_, nullptr));
  size_t kept = 0;
  for (const uint32_t target : dirty_) {
    Target& to = targets_[target];
    if (to.block == nullptr || SendOver(target)) {
      to.dirty = false;
    } else {
      dirty_[kept++] = target;
    }
  }
  dirty_.resize(kept);
  return kept == 0;
}

void Port::Wake(Target& to) {
  to.wake = false;
  to.sent_bytes = 0;
  // After the seq_cst operations that have made the records visible.
  if (to.endpoint->waker.Wake()) counters_.wakes.Add(1);
}

void Port::WakeTargets() {
  for (const uint32_t target : to_wake_) Wake(targets_[target]);
  to_wake_.clear();
}

void Port::VisitTargets() {
  // First wake the targets that are not visited: they work while turns run here.
  size_t visits = 0;
  for (const uint32_t target : to_wake_) {
    Target& to = targets_[target];
    if (visits < kVisitsMax && to.sent_bytes <= kVisitBytesMax && to.endpoint->door.MayOpenHere()) {
      to_wake_[visits++] = target;
    } else {
      Wake(to);
    }
  }
  to_wake_.resize(visits);
  for (const uint32_t target : to_wake_) {
    Target& to = targets_[target];
    if (to.endpoint->door.Try() == TurnDoor::Visit::kNothingLeft) {
      to.wake = false;
      to.sent_bytes = 0;
    } else {
      Wake(to);
    }
  }
  to_wake_.clear();
}

bool Port::Flush() {
  const bool all = SendAllOver();
  TurnVisits::wanted() ? VisitTargets() : WakeTargets();
  pool_->FreeUnused();
  return all;
}

CommandHeader* Port::Open(AeuId target, size_t segment_bytes) {
  ERIS_DCHECK(segment_bytes % 8 == 0);
  const size_t bytes = sizeof(CommandHeader) + segment_bytes;
  const uint32_t index = TargetOf(target);
  std::byte* record = ReserveOrWait(index, bytes);
  if (record == nullptr) {
    counters_.refused.Add(1);
    return nullptr;
  }
  counters_.sent.Add(1);
  targets_[index].sent->Add(1);
  auto* header = new (record) CommandHeader();
  header->size_bytes = static_cast<uint32_t>(bytes);
  return header;
}

bool Port::SendTo(AeuId target, const CommandHeader& header, std::span<const std::byte> segment) {
  CommandHeader* record = Open(target, segment.size());
  if (record == nullptr) return false;
  const uint32_t size_bytes = record->size_bytes;
  *record = header;
  record->size_bytes = size_bytes;
  std::memcpy(record + 1, segment.data(), segment.size());
  return true;
}

void Port::Withdraw(AeuId target, const CommandHeader* record) {
  Target& to = targets_[TargetOf(target)];
  ERIS_DCHECK(to.block != nullptr && record->size_bytes <= to.block->used_bytes);
  to.block->used_bytes -= record->size_bytes;
  ERIS_DCHECK(to.block->bytes() + to.block->used_bytes ==
              reinterpret_cast<const std::byte*>(record));
  if (to.block->used_bytes == 0) pool_->Put(std::exchange(to.block, nullptr));
  counters_.sent.Set(counters_.sent.Read() - 1);
  to.sent->Set(to.sent->Read() - 1);
}

void Port::Multicast(std::span<const AeuId> targets, const CommandHeader& header,
                     std::span<const std::byte> segment, std::vector<AeuId>& refused) {
  ERIS_DCHECK(!IsKeyed(header.type));
  if (targets.empty()) return;
  const size_t bytes = sizeof(CommandHeader) + segment.size();
  const auto refuse_all = [&] {
    counters_.refused.Add(targets.size());
    refused.insert(refused.end(), targets.begin(), targets.end());
  };
  if (bytes > multicasts_->block_bytes()) return refuse_all();
  if (multicast_ != nullptr && multicast_->room_bytes() < bytes) {
    BlockPool::Release(std::exchange(multicast_, nullptr));
  }
  if (multicast_ == nullptr) {
    Wait wait;
    while ((multicast_ = multicasts_->Take(bytes)) == nullptr) {
      SendAllOver();  // blocks are returned when their references have been read
      if (!wait.Pause(*this)) return refuse_all();
    }
    multicasts_->HandOver(multicast_, /*readers=*/1);  // this Port holds it while it may add to it
  }
  // A reference that waits for its block may close the multicast buffer: so it is held twice.
  Block* const block = multicast_;
  std::byte* copy = block->Append(bytes);
  auto* command = new (copy) CommandHeader(header);
  command->size_bytes = static_cast<uint32_t>(bytes);
  std::memcpy(command + 1, segment.data(), segment.size());
  // Before there can be a reader. relaxed: this Port holds one reference already, and the sent
  // references publish it.
  block->readers.fetch_add(static_cast<uint32_t>(targets.size()), std::memory_order_relaxed);
  uint32_t without = 0;
  for (const AeuId target : targets) {
    CommandHeader* reference = Open(target, sizeof(MulticastSegment));
    if (reference == nullptr) {
      refused.push_back(target);
      ++without;
      continue;
    }
    reference->type = CommandType::kMulticast;
    new (reference + 1) MulticastSegment{command, block};
  }
  if (without > 0) BlockPool::Release(block, without);
}

}  // namespace eris::routing
