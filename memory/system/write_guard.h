// A check for tests: nobody writes to memory while it is copied and its pages are exchanged. The
// memory is write-protected meanwhile; a write by any thread ends the program, which names the
// thread and the address. Does nothing unless it has been turned on.
#ifndef ERIS_MEMORY_WRITE_GUARD_H_
#define ERIS_MEMORY_WRITE_GUARD_H_

#include <cstddef>

namespace eris::memory {

class WriteGuard {
 public:
  // So many at a time; further ones guard nothing.
  static constexpr size_t kPlaces = 64;

  // For the process, for good. Before it has threads that use such memory.
  static void TurnOn();

  // From here to the destructor. Whole pages.
  WriteGuard(void* memory, size_t bytes);
  ~WriteGuard();
  WriteGuard(const WriteGuard&) = delete;
  WriteGuard& operator=(const WriteGuard&) = delete;

 private:
  void* const memory_;
  const size_t bytes_;
  size_t place_ = kPlaces;  // kPlaces: it guards nothing
};

}  // namespace eris::memory

#endif  // ERIS_MEMORY_WRITE_GUARD_H_
