#include "memory/system/write_guard.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/check.h"

namespace eris::memory {
namespace {

// Shared: written by the thread that guards, read by one whose write is caught. `begin` last, by a
// release that pairs with the acquire in OnFault; 0: not in use.
struct GuardedPlace {
  std::atomic<uintptr_t> begin{0};
  std::atomic<uintptr_t> end{0};
  std::atomic<bool> taken{false};  // relaxed: the exchange alone decides whose it is
};

std::atomic<bool> guards_on{false};  // relaxed: set before there are threads
std::array<GuardedPlace, WriteGuard::kPlaces> guarded_places;
struct sigaction handler_before = {};

void OnFault(int signal, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<uintptr_t>(info->si_addr);
  for (const GuardedPlace& place : guarded_places) {
    const uintptr_t begin = place.begin.load(std::memory_order_acquire);
    if (begin == 0 || at < begin || at >= place.end.load(std::memory_order_relaxed)) continue;
    char name[16] = "";
    prctl(PR_GET_NAME, name);
    char text[160];
    const int length = std::snprintf(text, sizeof text,
                                     "thread %s wrote to %p, byte %zu of memory that was leaping\n",
                                     name, info->si_addr, static_cast<size_t>(at - begin));
    if (write(STDERR_FILENO, text, static_cast<size_t>(length)) < 0) _exit(1);
    std::abort();
  }
  // Somebody else's: the instruction faults again.
  sigaction(signal, &handler_before, nullptr);
}

}  // namespace

void WriteGuard::TurnOn() {
  if (guards_on.exchange(true, std::memory_order_relaxed)) return;
  struct sigaction action = {};
  action.sa_sigaction = OnFault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  ERIS_CHECK(sigaction(SIGSEGV, &action, &handler_before) == 0);
}

WriteGuard::WriteGuard(void* memory, size_t bytes) : memory_(memory), bytes_(bytes) {
  if (!guards_on.load(std::memory_order_relaxed)) return;
  for (size_t i = 0; i < kPlaces; ++i) {
    if (guarded_places[i].taken.exchange(true, std::memory_order_relaxed)) continue;
    place_ = i;
    break;
  }
  if (place_ == kPlaces) return;
  GuardedPlace& place = guarded_places[place_];
  const auto begin = reinterpret_cast<uintptr_t>(memory);
  place.end.store(begin + bytes, std::memory_order_relaxed);
  place.begin.store(begin, std::memory_order_release);
  ERIS_CHECK(mprotect(memory, bytes, PROT_READ) == 0);
}

WriteGuard::~WriteGuard() {
  if (place_ == kPlaces) return;
  ERIS_CHECK(mprotect(memory_, bytes_, PROT_READ | PROT_WRITE) == 0);
  GuardedPlace& place = guarded_places[place_];
  place.begin.store(0, std::memory_order_release);
  place.taken.store(false, std::memory_order_relaxed);
}

}  // namespace eris::memory
