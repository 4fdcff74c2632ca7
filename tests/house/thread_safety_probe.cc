// Compiled by clang alone, see tests/house/CMakeLists.txt: with LOCK_IS_missing the thread-safety
// analysis must refuse it.
#include "base/mutex.h"

struct Guarded {
  void Add() {
#ifndef LOCK_IS_missing
    eris::base::MutexLock lock(&mu);
#endif
    rows = rows + 1;
  }
  eris::base::Mutex mu;
  int rows ABSL_GUARDED_BY(mu) = 0;
};

int main() {
  Guarded guarded;
  guarded.Add();
}
