// The flags that describe an engine, shared by `serve` and `topology --explain`. Flags that are not
// given leave the option as the configuration file or the default has it. One thread.
#ifndef ERIS_CLIENTS_CLI_ENGINE_FLAGS_H_
#define ERIS_CLIENTS_CLI_ENGINE_FLAGS_H_

#include <cstdint>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "absl/status/status.h"
#include "eris/options.h"

namespace eris::cli {

struct EngineFlags {
  std::optional<std::string> topology;
  std::optional<uint32_t> aeus;
  std::optional<std::string> placement;
  std::optional<uint32_t> network_cores;
  std::optional<bool> hardware_threads;
  std::optional<std::string> aeu_cpus;
  std::optional<std::string> memory_limit;
  std::optional<std::string> memory_placement;
  std::optional<uint32_t> memory_numa_node;
  std::optional<bool> memory_spill;
  std::optional<std::string> huge_pages;
  std::optional<std::string> superblock;
  std::optional<uint32_t> memory_decay_ms;
  std::optional<std::string> memory_kept;
  std::optional<std::string> memory_ready;
  std::optional<std::string> incoming_buffer;
  std::optional<std::string> outgoing_buffer;

  // Parsing writes here: the flags must outlive `app` and stay where they are.
  void AddTo(CLI::App& app);
  // Errors: InvalidArgument (text that does not parse); `options` is then unspecified.
  absl::Status Apply(Options& options) const;

 private:
  absl::Status ApplyMemory(Options& options) const;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_ENGINE_FLAGS_H_
