// Areas whose writers are caught by a write protection: mprotect and a handler of SIGSEGV. A
// protected area is in a table that the handler searches. Paper: page_leap 4.1.
//
// Two ways to treat a write (Catch). kWait: the handler waits until the area is let go; nobody
// removes the protection, the remap puts writable memory in its place. kNote: the handler removes
// the protection and notes that the area is dirty; it does so, and the migrator checks and remaps,
// under the area's lock, so no write falls in between.
//
// A child process has the areas of its parent protected and nobody who lets them go: in the child
// of a fork they are writable again.
//
// A fault in no area of the table may be one that was caught before its area was let go. The write
// is tried once more. If it faults again and no area was let go meanwhile, it is not ours, and the
// handler that was installed before gets it.
#ifndef ERIS_LEAP_HELD_AREA_H_
#define ERIS_LEAP_HELD_AREA_H_

#include <signal.h>

#include <cstddef>
#include <cstdint>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace eris::leap {

enum class Catch : uint8_t { kWait, kNote };

// Installs the handler unless it is the one in force; the handler before it gets what is not ours.
// Any thread. Errors: Internal (sigaction refuses).
absl::Status InstallFaultHandler();

// The number of a thread that has SIGSEGV blocked, 0: none. A fault of it would end the process,
// whatever handler there is. From /proc/self/task.
uint64_t ThreadWithBlockedFaults();

// Blocks all signals of the calling thread but those of faults, for its life. A handler that writes
// an area which its own thread holds would wait for ever.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// One protected area, from construction to Finish. At most 64 at a time in the process.
class HeldArea {
 public:
  // Protects the area; from then on writes are caught. Errors: ResourceExhausted (64 areas are
  // held), Unavailable (the kernel refuses: the area is as before).
  static absl::StatusOr<HeldArea> Protect(std::byte* begin, size_t bytes, Catch how);
  HeldArea(HeldArea&& other) noexcept
      : slot_(other.slot_), area_(other.area_), bytes_(other.bytes_) {
    other.slot_ = nullptr;
  }
  HeldArea& operator=(HeldArea&&) = delete;
  ~HeldArea();  // REQUIRES: Finish has been called, or moved from

  // Ends the hold. Calls `remap` unless the area is dirty; false from it, or a dirty area: the old
  // memory stays, and is made writable. Returns whether it was remapped. Writers that wait go on.
  bool Finish(absl::FunctionRef<bool()> remap);

 private:
  struct Slot;
  friend struct FaultHandler;

  HeldArea(Slot* slot, std::byte* area, size_t bytes) : slot_(slot), area_(area), bytes_(bytes) {}
  static Slot slots_[64];

  Slot* slot_;
  std::byte* area_;
  size_t bytes_;
};

}  // namespace eris::leap

#endif  // ERIS_LEAP_HELD_AREA_H_
