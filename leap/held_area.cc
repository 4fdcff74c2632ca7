#include "leap/held_area.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
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
// The last fault in no area, of this thread. Written by the handler alone. initial-exec: its first
// use needs no memory, also in a library that was loaded late.
[[gnu::tls_model("initial-exec")]] thread_local Seen last_unknown;
// The fault that the handler before is treating, by this thread, and where ours was on the stack.
[[gnu::tls_model("initial-exec")]] thread_local const siginfo_t* passed_on = nullptr;
[[gnu::tls_model("initial-exec")]] thread_local uintptr_t passed_on_frame = 0;

base::Mutex handler_mu;
// The handlers before ours: the newest, and the one before the first installation. release when one
// is set, acquire in the handler.
std::atomic<const struct sigaction*> previous_handler{nullptr};
std::atomic<const struct sigaction*> first_handler{nullptr};

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

  // A write to an area that is to be noted. Under the lock the word does not change.
  static void Note(Slot& slot, uint32_t seen) {
    const SignalsBlocked blocked;
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

  static bool Ignores(const struct sigaction& handler) {
    return (handler.sa_flags & SA_SIGINFO) == 0 && handler.sa_handler == SIG_IGN;
  }
  static bool IsDefault(const struct sigaction& handler) {
    return (handler.sa_flags & SA_SIGINFO) == 0 && handler.sa_handler == SIG_DFL;
  }

  // What is not ours, to the handler before. It may pass it on in turn to the handler that it
  // found, which is ours again: then we are called with the same fault from further down its stack,
  // and the one before the first installation gets it.
  static void Previous(int signal, siginfo_t* info, void* context) {
    const auto frame = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
    const bool again = passed_on == info && frame < passed_on_frame;
    const struct sigaction& before =
        *(again ? first_handler : previous_handler).load(std::memory_order_acquire);
    const bool sent = info->si_code <= 0;  // by kill or raise: no access is tried again
    if (Ignores(before) && sent) return;
    if (Ignores(before) || IsDefault(before)) {
      // The access is tried again, and then ends the process as it would without us.
      struct sigaction ending;
      std::memset(&ending, 0, sizeof ending);
      ending.sa_handler = SIG_DFL;
      sigaction(SIGSEGV, &ending, nullptr);
      if (sent) raise(signal);
      return;
    }
    passed_on = info;
    passed_on_frame = frame;
    if ((before.sa_flags & SA_SIGINFO) != 0) {
      before.sa_sigaction(signal, info, context);
    } else {
      before.sa_handler(signal);
    }
    passed_on = nullptr;
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

  // In the child of a fork: only the calling thread is left, and no migrator.
  static void LetAllGo() {
    for (Slot& slot : HeldArea::slots_) {
      const uint32_t word = slot.word.load(std::memory_order_relaxed);
      if (StateOf(word) != kUnused) {
        SetRights(reinterpret_cast<std::byte*>(slot.begin.load(std::memory_order_relaxed)),
                  slot.bytes.load(std::memory_order_relaxed), PROT_READ | PROT_WRITE);
        let_go.fetch_add(1, std::memory_order_seq_cst);
        slot.word.store(word / kStates * kStates, std::memory_order_seq_cst);
      }
      slot.lock.store(0, std::memory_order_relaxed);
      slot.taken.store(false, std::memory_order_relaxed);
    }
  }
};

absl::Status InstallFaultHandler() {
  base::MutexLock lock(&handler_mu);
  struct sigaction now;
  if (sigaction(SIGSEGV, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
      now.sa_sigaction == FaultHandler::Handle) {
    return absl::OkStatus();
  }
  // Never freed: a handler may be reading one.
  static auto& all = *new std::deque<struct sigaction>;
  const struct sigaction* const before = &all.emplace_back(now);
  previous_handler.store(before, std::memory_order_release);
  if (first_handler.load(std::memory_order_relaxed) == nullptr) {
    first_handler.store(before, std::memory_order_release);
    pthread_atfork(nullptr, nullptr, FaultHandler::LetAllGo);
  }
  struct sigaction ours;
  std::memset(&ours, 0, sizeof ours);
  ours.sa_sigaction = FaultHandler::Handle;
  // SA_NODEFER: the handler before may fault, too. SA_ONSTACK: if the thread has such a stack.
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  if (sigaction(SIGSEGV, &ours, nullptr) == 0) return absl::OkStatus();
  return absl::InternalError(
      absl::StrCat("cannot install a handler of SIGSEGV: ", std::strerror(errno)));
}

uint64_t ThreadWithBlockedFaults() {
  constexpr uint64_t kFaults = uint64_t{1} << (SIGSEGV - 1);
  // The C library's own signals, which no program can block. With them all are blocked for a
  // moment, in a thread that is being made and in its maker.
  constexpr uint64_t kInternal = uint64_t{3} << 31;
  std::error_code error;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", error)) {
    std::ifstream file(task.path() / "status");
    for (std::string word; file >> word;) {
      uint64_t blocked = 0;
      if (word != "SigBlk:" || !(file >> std::hex >> blocked)) continue;
      uint64_t number = 0;
      if ((blocked & kFaults) != 0 && (blocked & kInternal) != kInternal &&
          absl::SimpleAtoi(task.path().filename().string(), &number)) {
        return number;
      }
      break;
    }
  }
  return 0;
}

SignalsBlocked::SignalsBlocked() {
  sigset_t all;
  sigfillset(&all);
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT}) {
    sigdelset(&all, signal);
  }
  pthread_sigmask(SIG_BLOCK, &all, &before_);
}
SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

absl::StatusOr<HeldArea> HeldArea::Protect(std::byte* begin, size_t bytes, Catch how) {
  for (Slot& slot : slots_) {
    if (slot.taken.exchange(true, std::memory_order_acquire)) continue;
    const uint32_t use = slot.word.load(std::memory_order_relaxed) / kStates * kStates + kStates;
    slot.begin.store(reinterpret_cast<uintptr_t>(begin), std::memory_order_relaxed);
    slot.bytes.store(bytes, std::memory_order_relaxed);
    // Before the protection: a write that it catches finds the area.
    slot.word.store(use + (how == Catch::kWait ? kWaiting : kNoting), std::memory_order_release);
    HeldArea held(&slot, begin, bytes);
    // Whoever has installed a handler over ours since: it is the one before from here on.
    if (absl::Status status = InstallFaultHandler(); !status.ok()) {
      held.Finish([] { return false; });
      return status;
    }
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
