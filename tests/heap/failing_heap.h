// operator new of this program, which a test asks to fail: for one kind of its threads, from the
// n-th allocation on, so many times. What asks without exceptions gets nullptr.
#ifndef ERIS_TESTS_HEAP_FAILING_HEAP_H_
#define ERIS_TESTS_HEAP_FAILING_HEAP_H_

#include <cstdint>
#include <limits>

namespace eris::test {

enum class HeapUser : uint8_t {
  kTest,    // never fails
  kCaller,  // of the engine
  kAeu,     // a thread while it steps AEUs
  kEngine,  // threads that the engine has started: all that have not said that they are another
};

// The calling thread is, as long as this lives, such a user.
class ActsAs {
 public:
  explicit ActsAs(HeapUser user);
  ~ActsAs();
  ActsAs(const ActsAs&) = delete;
  ActsAs& operator=(const ActsAs&) = delete;

 private:
  const HeapUser before_;
};

class FailingHeap {
 public:
  static constexpr uint64_t kAllOthers = std::numeric_limits<uint64_t>::max();
  // From now on `nth` - 1 allocations of such a user succeed, and `times` fail. Until the next
  // call.
  static void FailFrom(HeapUser user, uint64_t nth, uint64_t times = 1);
  // None fails any more; how many have failed.
  static uint64_t Stop();
};

}  // namespace eris::test

#endif  // ERIS_TESTS_HEAP_FAILING_HEAP_H_
