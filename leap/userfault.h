// Holds writers of an area by the kernel's write protection through userfaultfd: no signal, no
// handler. A write to a protected page waits in the kernel until it is woken. Paper: page_leap 4.1,
// with holding in place of retrying.
#ifndef ERIS_LEAP_USERFAULT_H_
#define ERIS_LEAP_USERFAULT_H_

#include <cstddef>
#include <memory>

#include "absl/status/statusor.h"
#include "leap/range_check.h"

namespace eris::leap {

class Userfault {
 public:
  // Registers the range. Errors: Unimplemented (the kernel, its settings or the process's rights
  // have no userfaultfd, or none that protects memory of this kind: says what it answered).
  static absl::StatusOr<std::unique_ptr<Userfault>> Register(const Range& range,
                                                             const RangeKind& kind);
  ~Userfault();  // what is still registered is so no more; writers that wait go on
  Userfault(const Userfault&) = delete;
  Userfault& operator=(const Userfault&) = delete;

  // Protects the area: from the return on, writes wait. REQUIRES: all pages are there; the kernel
  // protects no others. Errors: Unavailable (the kernel refuses;
  // the area is as before).
  absl::Status Protect(std::byte* area, size_t bytes);
  // The area has been remapped: writers that wait go on, in the new memory.
  void Wake(std::byte* area, size_t bytes);
  // It has not: takes the protection away, and writers go on.
  void Unprotect(std::byte* area, size_t bytes);

 private:
  explicit Userfault(int file) : file_(file) {}
  const int file_;
};

}  // namespace eris::leap

#endif  // ERIS_LEAP_USERFAULT_H_
