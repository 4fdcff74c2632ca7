// What the kernel tells of the machine and of this process in /proc and /sys. Reads small files;
// nothing here fails: what cannot be read is absent. Any thread.
#ifndef ERIS_CLIENTS_CLI_DOCTOR_MACHINE_FILES_H_
#define ERIS_CLIENTS_CLI_DOCTOR_MACHINE_FILES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"

namespace eris::cli {

class MachineFiles {
 public:
  // `root` is a prefix of every path: "" for this machine, a directory for one that a test
  // describes.
  explicit MachineFiles(std::string root) : root_(std::move(root)) {}

  // The file's text without spaces at its end; nullopt: it cannot be read. At most 64 KiB are read.
  std::optional<std::string> Text(const std::string& path) const;
  // nullopt: unreadable, or no number.
  std::optional<uint64_t> Number(const std::string& path) const;
  // The word in brackets of "always [madvise] never".
  std::optional<std::string> Chosen(const std::string& path) const;
  // "0-3,8" as 0, 1, 2, 3, 8.
  std::optional<std::vector<uint32_t>> List(const std::string& path) const;
  // n of every entry "<prefix>n" in a directory, ascending; none if it cannot be read.
  std::vector<uint32_t> Numbered(const std::string& directory, absl::string_view prefix) const;
  // The rest of the line "<name> ..." in a file such as /proc/meminfo, without spaces around it.
  std::optional<std::string> Field(const std::string& path, absl::string_view name) const;
  // The same as bytes, of "1234 kB".
  std::optional<uint64_t> FieldBytes(const std::string& path, absl::string_view name) const;

 private:
  const std::string root_;
};

// nullopt: no such list, or numbers above a million.
std::optional<std::vector<uint32_t>> ParseList(absl::string_view text);
// The opposite direction: "0-3,8".
std::string ListText(const std::vector<uint32_t>& numbers);

struct NumaNodeFacts {
  uint32_t id = 0;
  std::optional<uint64_t> memory_bytes{};
  std::optional<uint64_t> free_bytes{};
  std::vector<uint32_t> cpus{};
  std::vector<uint32_t> distances{};  // to the NumaNodes of Machine::numa_nodes; empty: unreadable
};

struct Machine {
  std::vector<NumaNodeFacts> numa_nodes{};  // by id; none: the kernel shows none
  uint64_t memory_bytes = 0;                // 0: unknown
};

Machine ReadMachine(const MachineFiles& files);

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_DOCTOR_MACHINE_FILES_H_
