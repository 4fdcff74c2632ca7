// Room in an AEU's vector for what a turn will add after it cannot go back any more.
#ifndef ERIS_AEU_RESERVE_MORE_H_
#define ERIS_AEU_RESERVE_MORE_H_

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "memory/failure_point.h"

namespace eris::aeu {

// Tests make ReserveMore fail.
inline memory::FailurePoint& ReserveFailures() {
  static memory::FailurePoint failures;
  return failures;
}

// For so many elements more than there are. Grows as push_back does, so that it may be asked for
// again and again. Throws std::bad_alloc, with nothing changed.
template <class T>
void ReserveMore(std::vector<T>& vector, size_t more) {
  if (ReserveFailures().Fires()) throw std::bad_alloc();
  const size_t wanted = vector.size() + more;
  if (vector.capacity() < wanted) vector.reserve(std::max(wanted, 2 * vector.capacity()));
}

}  // namespace eris::aeu

#endif  // ERIS_AEU_RESERVE_MORE_H_
