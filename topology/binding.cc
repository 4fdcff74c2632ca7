#include "topology/binding.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"

namespace eris::topology {
namespace {

// From <linux/mempolicy.h>; the C library has no wrapper, and libnuma is not worth a dependency
// here.
constexpr int kPolicyBind = 2;
constexpr uint32_t kNumaNodesMax = 1024;
constexpr uint32_t kCpusMax = 1u << 16;
constexpr uint32_t kMaskWordBits = 8 * sizeof(unsigned long);

struct CpuSetDeleter {
  void operator()(cpu_set_t* set) const { CPU_FREE(set); }
};

}  // namespace

absl::Status BindThisThread(uint32_t cpu) {
  if (cpu >= kCpusMax) {
    return absl::InternalError(absl::StrCat("cannot pin to cpu ", cpu, ": limit ", kCpusMax));
  }
  const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  const std::unique_ptr<cpu_set_t, CpuSetDeleter> set(CPU_ALLOC(cpu + 1));
  CPU_ZERO_S(bytes, set.get());
  CPU_SET_S(cpu, bytes, set.get());
  if (sched_setaffinity(0, bytes, set.get()) == 0) return absl::OkStatus();
  const int error = errno;
  const std::string message = absl::StrCat("cannot pin to cpu ", cpu, ": ", std::strerror(error));
  return error == EPERM ? absl::PermissionDeniedError(message) : absl::InternalError(message);
}

absl::Status BindMemory(void* address, size_t bytes, const NumaNode& node) {
  if (node.os_index >= kNumaNodesMax) {
    return absl::InternalError(
        absl::StrCat("cannot bind memory to NumaNode ", node.os_index, ": limit ", kNumaNodesMax));
  }
  std::array<unsigned long, kNumaNodesMax / kMaskWordBits> mask{};
  mask[node.os_index / kMaskWordBits] |= 1ul << (node.os_index % kMaskWordBits);
  // The kernel reads one bit less than it is told.
  if (syscall(SYS_mbind, address, bytes, kPolicyBind, mask.data(), kNumaNodesMax + 1, 0) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  const std::string message =
      absl::StrCat("cannot bind memory to NumaNode ", node.os_index, ": ", std::strerror(error));
  if (error == EPERM || error == EACCES) return absl::PermissionDeniedError(message);
  if (error == ENOSYS) return absl::UnimplementedError(message);
  return absl::InternalError(message);
}

}  // namespace eris::topology
