#include "topology/page_location.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace eris::topology {

absl::Status LocatePages(std::span<void* const> pages, std::span<int32_t> os_nodes) {
  ERIS_CHECK(pages.size() == os_nodes.size());
  // Without a list of targets the call only reports locations. A page that is not present gives
  // -ENOENT.
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, os_nodes.data(), 0) != 0) {
    const int error = errno;
    const std::string message =
        absl::StrCat("cannot ask where ", pages.size(), " pages lie: ", std::strerror(error));
    if (error == ENOSYS) return absl::UnimplementedError(message);
    // Not PermissionDenied, which a caller would take for a role of its own.
    if (error == EPERM || error == EACCES) return absl::FailedPreconditionError(message);
    return absl::InternalError(message);
  }
  for (int32_t& node : os_nodes) node = std::max(node, kPageNotPresent);
  return absl::OkStatus();
}

}  // namespace eris::topology
