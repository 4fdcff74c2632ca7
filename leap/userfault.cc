#include "leap/userfault.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "leap/faults.h"

// Newer than the C library's headers.
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif
#ifndef UFFD_FEATURE_WP_HUGETLBFS_SHMEM
#define UFFD_FEATURE_WP_HUGETLBFS_SHMEM (1 << 12)
#endif

namespace eris::leap {
namespace {

uint64_t AddressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

absl::Status Refused(const char* what) {
  return absl::UnimplementedError(
      absl::StrCat("userfaultfd cannot hold writers: ", what, ": ", std::strerror(errno)));
}

}  // namespace

absl::StatusOr<std::unique_ptr<Userfault>> Userfault::Register(const Range& range,
                                                               const RangeKind& kind) {
  if (InjectedFaults().userfault.Fires()) {
    errno = ENOSYS;
    return Refused("userfaultfd");
  }
  // Faults of user code alone: that needs no right. The kernel's own writes fail with EFAULT.
  const auto file =
      static_cast<int>(syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY));
  if (file < 0) return Refused("userfaultfd");
  std::unique_ptr<Userfault> held(new Userfault(file));
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = UFFD_FEATURE_PAGEFAULT_FLAG_WP;
  if (kind.file) api.features |= UFFD_FEATURE_WP_HUGETLBFS_SHMEM;
  if (ioctl(file, UFFDIO_API, &api) != 0) return Refused("write protection of such memory");
  uffdio_register area{};
  area.range = {AddressOf(range.begin), range.bytes};
  area.mode = UFFDIO_REGISTER_MODE_WP;
  if (ioctl(file, UFFDIO_REGISTER, &area) != 0) return Refused("registration of the range");
  return held;
}

Userfault::~Userfault() { close(file_); }

absl::Status Userfault::Protect(std::byte* area, size_t bytes) {
  uffdio_writeprotect protect{};
  protect.range = {AddressOf(area), bytes};
  protect.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  const bool refused = InjectedFaults().protect.Fires();
  if (!refused && ioctl(file_, UFFDIO_WRITEPROTECT, &protect) == 0) return absl::OkStatus();
  const absl::Status status = absl::UnavailableError(
      absl::StrCat("the kernel does not protect ", bytes, " bytes at ", absl::Hex(AddressOf(area)),
                   ": ", refused ? "refused for a test" : std::strerror(errno)));
  Unprotect(area, bytes);
  return status;
}

void Userfault::Wake(std::byte* area, size_t bytes) {
  uffdio_range range{AddressOf(area), bytes};
  ERIS_CHECK(ioctl(file_, UFFDIO_WAKE, &range) == 0);
}

void Userfault::Unprotect(std::byte* area, size_t bytes) {
  uffdio_writeprotect protect{};
  protect.range = {AddressOf(area), bytes};
  while (ioctl(file_, UFFDIO_WRITEPROTECT, &protect) != 0) ERIS_CHECK(errno == EAGAIN);
}

}  // namespace eris::leap
