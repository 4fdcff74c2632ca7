// Reserves room in an AEU's vector for elements that a turn will add when it can no longer go back.
#ifndef ERIS_AEU_RESERVE_MORE_H_
#define ERIS_AEU_RESERVE_MORE_H_

#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "memory/system/failure_point.h"

namespace eris::aeu {

// Lets tests make ReserveMore fail.
inline memory::FailurePoint& ReserveFailures() {
  static memory::FailurePoint failures;
  return failures;
}

// Reserves room for `more` additional elements. Grows as push_back does, so it may be called
// repeatedly. Throws std::bad_alloc, with nothing changed.
template <class T>
void ReserveMore(std::vector<T>& vector, size_t more) {
  if (ReserveFailures().Fires()) throw std::bad_alloc();
  const size_t wanted = vector.size() + more;
  if (vector.capacity() < wanted) vector.reserve(std::max(wanted, 2 * vector.capacity()));
}

}  // namespace eris::aeu

#endif  // ERIS_AEU_RESERVE_MORE_H_
