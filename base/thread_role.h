// A thread role: a lockable type without a lock. Fields annotated ABSL_GUARDED_BY(role) may be
// touched only in code that has asserted the role; clang checks that when it compiles, and dev
// builds check at run time that one thread at a time holds it.
#ifndef ERIS_BASE_THREAD_ROLE_H_
#define ERIS_BASE_THREAD_ROLE_H_

#include <atomic>

#include "absl/base/thread_annotations.h"
#include "base/check.h"

namespace eris::base {

class ABSL_LOCKABLE ThreadRole {
 public:
  // Enters the role for the scope of a ThreadRoleScope; never blocks.
  void Enter() ABSL_EXCLUSIVE_LOCK_FUNCTION() {
#ifdef ERIS_DCHECKS
    // acquire/release with Leave: a second thread that steps the same AEU in turn sees its state.
    ERIS_CHECK(!held_.exchange(true, std::memory_order_acquire));
#endif
  }
  void Leave() ABSL_UNLOCK_FUNCTION() {
#ifdef ERIS_DCHECKS
    held_.store(false, std::memory_order_release);  // pairs with the exchange in Enter
#endif
  }
  // Tells the compiler that the caller runs in the role.
  void AssertHeld() const ABSL_ASSERT_EXCLUSIVE_LOCK() {
#ifdef ERIS_DCHECKS
    // relaxed: the holder wrote it itself.
    ERIS_CHECK(held_.load(std::memory_order_relaxed));
#endif
  }

 private:
#ifdef ERIS_DCHECKS
  std::atomic<bool> held_{false};
#endif
};

class ABSL_SCOPED_LOCKABLE ThreadRoleScope {
 public:
  explicit ThreadRoleScope(ThreadRole& role) ABSL_EXCLUSIVE_LOCK_FUNCTION(role) : role_(role) {
    role_.Enter();
  }
  ~ThreadRoleScope() ABSL_UNLOCK_FUNCTION() { role_.Leave(); }
  ThreadRoleScope(const ThreadRoleScope&) = delete;
  ThreadRoleScope& operator=(const ThreadRoleScope&) = delete;

 private:
  ThreadRole& role_;
};

}  // namespace eris::base

#endif  // ERIS_BASE_THREAD_ROLE_H_
