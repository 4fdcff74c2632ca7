// What tests make fail in a migration: refusals of the kernel, and the protocol as the paper prints
// it. Any thread; nothing fails unless a test asks for it.
#ifndef ERIS_LEAP_FAULTS_H_
#define ERIS_LEAP_FAULTS_H_

#include <atomic>

#include "memory/system/failure_point.h"

namespace eris::leap {

struct Faults {
  memory::FailurePoint take;     // a piece of a pool
  memory::FailurePoint protect;  // mprotect, or write protection through userfaultfd
  memory::FailurePoint remap;
  memory::FailurePoint userfault;  // a userfaultfd
  // kRetry without the lock that makes the check and the remap one step: loses writes.
  std::atomic<bool> check_apart{false};
};
Faults& InjectedFaults();

}  // namespace eris::leap

#endif  // ERIS_LEAP_FAULTS_H_
