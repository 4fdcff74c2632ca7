#include "topology/binding.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "absl/strings/str_cat.h"

namespace eris::topology {
namespace {

// From <linux/mempolicy.h>; the C library has no wrapper, and libnuma is not worth a dependency
// here.
constexpr int kPolicyBind = 2;
constexpr int kPolicyInterleave = 3;
constexpr uint32_t kNumaNodesMax = 1024;
constexpr uint32_t kMaskWordBits = 8 * sizeof(unsigned long);

absl::Status SetPolicy(int policy, void* address, size_t bytes, std::span<const NumaNode> nodes) {
  std::array<unsigned long, kNumaNodesMax / kMaskWordBits> mask{};
  std::string names;
  for (const NumaNode& node : nodes) {
    absl::StrAppend(&names, names.empty() ? "" : ",", node.os_index);
    if (node.os_index >= kNumaNodesMax) {
      return absl::InternalError(absl::StrCat("cannot bind memory to NumaNode ", node.os_index,
                                              ": limit ", kNumaNodesMax));
    }
    mask[node.os_index / kMaskWordBits] |= 1ul << (node.os_index % kMaskWordBits);
  }
  // The kernel reads one bit less than it is told.
  if (syscall(SYS_mbind, address, bytes, policy, mask.data(), kNumaNodesMax + 1, 0) == 0) {
    return absl::OkStatus();
  }
  const int error = errno;
  const std::string message =
      absl::StrCat("cannot bind memory to NumaNode ", names, ": ", std::strerror(error));
  if (error == EPERM || error == EACCES) return absl::PermissionDeniedError(message);
  if (error == ENOSYS) return absl::UnimplementedError(message);
  return absl::InternalError(message);
}

}  // namespace

absl::Status BindMemory(void* address, size_t bytes, const NumaNode& node) {
  return SetPolicy(kPolicyBind, address, bytes, {&node, 1});
}

absl::Status InterleaveMemory(void* address, size_t bytes, std::span<const NumaNode> nodes) {
  return SetPolicy(kPolicyInterleave, address, bytes, nodes);
}

}  // namespace eris::topology
