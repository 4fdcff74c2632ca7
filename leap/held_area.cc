#include "leap/held_area.h"

#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/futex.h"
#include "base/mutex.h"
#include "leap/faults.h"

namespace eris::leap {
namespace {

// The state of a slot's word, in its low bits; above them a number that grows with each use.
enum SlotState : uint32_t { kUnused = 0, kWaiting = 1, kNoting = 2, kDirty = 3, kStates = 4 };
SlotState StateOf(uint32_t word) { return static_cast<SlotState>(word % kStates); }

bool SetRights(std::byte* begin, size_t bytes, int rights) {
  return mprotect(begin, bytes, rights) == 0;
}

// Areas let go so far: tells the handler whether a fault may have been caught by one of them.
std::atomic<uint64_t> let_go{0};

struct Seen {
  uintptr_t address = 0;
  uint64_t let_go = 0;
};
// The last fault in no area, of this thread. Written by the handler alone.
thread_local Seen last_unknown;

base::Mutex handler_mu;
// The handler before ours. Written before ours is installed, read by ours.
struct sigaction previous_handler;

}  // namespace

struct HeldArea::Slot {
  // Shared with handlers. word: release when the area is set, acquire in the handler; seq_cst where
  // a waiter and the one who lets go look at each other's change.
  std::atomic<uint32_t> word{0};
  std::atomic<uintptr_t> begin{0};
  std::atomic<size_t> bytes{0};
  std::atomic<uint32_t> lock{
      0};  // kNote: the check and the remap, or the handler's change of rights
  std::atomic<bool> taken{false};
};
HeldArea::Slot HeldArea::slots_[64];

struct FaultHandler {
  using Slot = HeldArea::Slot;

  static bool Covers(const Slot& slot, uintptr_t address) {
    // acquire on the word came first; a slot that is used again meanwhile is seen by the word.
    const uintptr_t begin = slot.begin.load(std::memory_order_relaxed);
    return address - begin < slot.bytes.load(std::memory_order_relaxed);
  }

  static void Lock(Slot& slot) {
    while (slot.lock.exchange(1, std::memory_order_acquire) != 0) sched_yield();
  }
  static void Unlock(Slot& slot) { slot.lock.store(0, std::memory_order_release); }

  // A write to an area that is to be noted: whoever holds the lock, the word is right under it.
  static void Note(Slot& slot, uint32_t seen) {
    Lock(slot);
    if (slot.word.load(std::memory_order_relaxed) == seen) {
      // Before the write can go on, so the migrator sees it under the lock.
      slot.word.store(seen - kNoting + kDirty, std::memory_order_relaxed);
      SetRights(reinterpret_cast<std::byte*>(slot.begin.load(std::memory_order_relaxed)),
                slot.bytes.load(std::memory_order_relaxed), PROT_READ | PROT_WRITE);
    }
    Unlock(slot);
  }

  // Whether the fault was in an area of the table; then the write can be tried again.
  static bool Treat(uintptr_t address) {
    for (Slot& slot : HeldArea::slots_) {
      const uint32_t seen = slot.word.load(std::memory_order_acquire);
      if (StateOf(seen) == kUnused || !Covers(slot, address)) continue;
      if (StateOf(seen) == kWaiting) {
        // Until the area is let go: that changes the word.
        while (slot.word.load(std::memory_order_seq_cst) == seen)
          base::FutexWait(slot.word, seen, -1);
      } else if (StateOf(seen) == kNoting) {
        Note(slot, seen);
      }
      return true;  // dirty: the protection is gone, or about to be
    }
    return false;
  }

  static void Previous(int signal, siginfo_t* info, void* context) {
    if ((previous_handler.sa_flags & SA_SIGINFO) != 0) {
      previous_handler.sa_sigaction(signal, info, context);
    } else if (previous_handler.sa_handler == SIG_DFL || previous_handler.sa_handler == SIG_IGN) {
      // The write is tried again, and then ends the process as it would without us.
      sigaction(SIGSEGV, &previous_handler, nullptr);
    } else {
      previous_handler.sa_handler(signal);
    }
  }

  static void Handle(int signal, siginfo_t* info, void* context) {
    const int error = errno;
    const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
    if (info->si_code != SEGV_ACCERR) {
      Previous(signal, info, context);
    } else if (!Treat(address)) {
      // After the search. seq_cst, here and in Finish: an area that was gone has been counted.
      const uint64_t now = let_go.load(std::memory_order_seq_cst);
      if (now == 0 || (last_unknown.address == address && last_unknown.let_go == now)) {
        Previous(signal, info, context);
      } else {
        last_unknown = {address, now};
      }
    }
    errno = error;
  }
};

absl::Status InstallFaultHandler() {
  base::MutexLock lock(&handler_mu);
  struct sigaction now;
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
      now.sa_sigaction == FaultHandler::Handle) {
    return absl::OkStatus();
  }
  previous_handler = now;
  struct sigaction ours;
  std::memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = FaultHandler::Handle;
  // SA_NODEFER: the handler before may fault, too. SA_ONSTACK: if the thread has such a stack.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  if (sigaction(SIGSEGV, &ours, nullptr) == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot install a handler of SIGSEGV: ", std::strerror(errno)));
}

absl::StatusOr<HeldArea> HeldArea::Protect(std::byte* begin, size_t bytes, Catch how) {
  for (Slot& slot : slots_) {
    if (slot.taken.exchange(true, std::memory_order_acquire)) continue;
    const uint32_t use = slot.word.load(std::memory_order_relaxed) / kStates * kStates + kStates;
    slot.begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_relaxed);
    slot.bytes.store(bytes, std::memory_order_relaxed);
    // Before the protection: a write that it catches finds the area.
    slot.word.store(use + (how == Catch::kWait ? kWaiting : kNoting), std::memory_order_release);
    HeldArea held(&slot, begin, bytes);
    if (!InjectedFaults().protect.Fires() && SetRights(begin, bytes, PROT_READ)) return held;
    const int error = errno;
    held.Finish([] { return false; });
    return absl::UnavailableError(absl::StrCat("the kernel does not protect ", bytes, " bytes at ",
                                               absl::Hex(reinterpret_cast<uintptr_t>(begin)), ": ",
                                               std::strerror(error)));
  }
  return absl::ResourceExhaustedError("64 areas are being migrated with mprotect: wait for one");
}

HeldArea::~HeldArea() { ERIS_CHECK(slot_ == nullptr); }

bool HeldArea::Finish(absl::FunctionRef<bool()> remap) {
  Slot& slot = *slot_;
  const bool apart = InjectedFaults().check_apart.load(std::memory_order_relaxed);
  if (!apart) FaultHandler::Lock(slot);
  const uint32_t word = slot.word.load(std::memory_order_relaxed);
  const bool clean = StateOf(word) != kDirty;
  const bool remapped = clean && remap();
  if (!remapped) ERIS_CHECK(SetRights(area_, bytes_, PROT_READ | PROT_WRITE));
  let_go.fetch_add(1, std::memory_order_seq_cst);
  slot.word.store(word / kStates * kStates, std::memory_order_seq_cst);
  if (!apart) FaultHandler::Unlock(slot);
  base::FutexWakeAll(slot.word);
  slot_ = nullptr;
  slot.taken.store(false, std::memory_order_release);
  return remapped;
}

}  // namespace eris::leap
