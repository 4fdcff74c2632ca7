// The ways in which a range changes hands, and everything that plans, figures and texts know of
// each. A new kind is a value here and a case in TraitsOf. Plain data. Paper: ERIS 3.3.2.
#ifndef ERIS_TRANSFER_KIND_H_
#define ERIS_TRANSFER_KIND_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace eris {

// Numbered without gaps from 1, as on the wire.
enum class TransferKind : uint8_t {
  kLink = 1,  // inside a NumaNode: a subtree, or segments, change hands, nothing is copied
  kCopy = 2,
  kLeap = 3,  // to any NumaNode: they change hands, and their memory follows
};

struct TransferTraits {
  absl::string_view name;     // in flags, texts and JSON
  absl::string_view plural;   // in texts
  absl::string_view summary;  // a sentence without its subject, for operators
  // About the CPU time that it takes of AEUs, with memory that follows: for a transfer, and for
  // each of its rows. A plan takes the cheapest kind that is possible.
  uint32_t transfer_us;
  double row_ns;
  bool relinks;             // the object must be an index or a heap table; else any moves so
  bool between_numa_nodes;  // else both AEUs must be on one NumaNode
  // Rows go over in chunks, whose size is learned from what the last one cost (max_pause_us).
  bool in_chunks;
  // Rows are written again at the target, so the step needs a buffer and the source needs memory to
  // forget them. They count in bytes_copied and bytes_to_copy, and against max_bytes_per_s.
  bool copies_rows;
  // Memory comes to the NumaNode of the new owner afterwards, against max_bytes_per_s.
  bool memory_follows;

  constexpr double CostUs(uint64_t rows) const {
    return transfer_us + row_ns * static_cast<double>(rows) / 1000;
  }
};

#pragma GCC diagnostic push
#pragma GCC diagnostic error "-Wswitch"  // a kind without a case does not compile
// For a number that is no kind (a newer program sent it): an empty name, and everything false.
constexpr TransferTraits TraitsOf(TransferKind kind) {
  switch (kind) {
    case TransferKind::kLink:
      return {.name = "link",
              .plural = "links",
              .summary = "hands a part of the object over inside a NumaNode",
              .transfer_us = 10,
              .row_ns = 0,
              .relinks = true,
              .between_numa_nodes = false,
              .in_chunks = false,
              .copies_rows = false,
              .memory_follows = false};
    case TransferKind::kCopy:
      return {.name = "copy",
              .plural = "copies",
              .summary = "moves rows in chunks",
              .transfer_us = 20,
              .row_ns = 10,
              .relinks = false,
              .between_numa_nodes = true,
              .in_chunks = true,
              .copies_rows = true,
              .memory_follows = false};
    case TransferKind::kLeap:
      return {.name = "leap",
              .plural = "leaps",
              .summary = "hands a part of the object over at once, and its memory follows",
              .transfer_us = 40,
              .row_ns = 5,
              .relinks = true,
              .between_numa_nodes = true,
              .in_chunks = false,
              .copies_rows = false,
              .memory_follows = true};
  }
  return {};
}
#pragma GCC diagnostic pop

constexpr bool IsTransferKind(uint64_t number) {
  return number <= 0xff && !TraitsOf(static_cast<TransferKind>(number)).name.empty();
}

inline constexpr size_t kTransferKindCount = [] {
  size_t count = 0;
  for (uint64_t number = 0; number <= 0xff; ++number) count += IsTransferKind(number);
  return count;
}();

// All kinds, by number.
inline constexpr std::array<TransferKind, kTransferKindCount> kTransferKinds = [] {
  std::array<TransferKind, kTransferKindCount> kinds{};
  for (size_t i = 0; i < kinds.size(); ++i) kinds[i] = static_cast<TransferKind>(i + 1);
  return kinds;
}();
static_assert(
    [] {
      for (const TransferKind kind : kTransferKinds) {
        if (TraitsOf(kind).name.empty()) return false;
      }
      return true;
    }(),
    "a gap in the numbers");

// The kind of that name; nothing: there is none.
constexpr std::optional<TransferKind> TransferKindNamed(absl::string_view name) {
  for (const TransferKind kind : kTransferKinds) {
    if (TraitsOf(kind).name == name) return kind;
  }
  return std::nullopt;
}

// A count for each kind. REQUIRES: a kind that is one of kTransferKinds.
class TransferCounts {
 public:
  constexpr uint64_t& operator[](TransferKind kind) { return counts_[IndexOf(kind)]; }
  constexpr uint64_t operator[](TransferKind kind) const { return counts_[IndexOf(kind)]; }
  constexpr uint64_t sum() const {
    uint64_t sum = 0;
    for (const uint64_t count : counts_) sum += count;
    return sum;
  }
  friend constexpr bool operator==(const TransferCounts&, const TransferCounts&) = default;

 private:
  static constexpr size_t IndexOf(TransferKind kind) { return static_cast<size_t>(kind) - 1; }

  std::array<uint64_t, kTransferKindCount> counts_{};
};

}  // namespace eris

#endif  // ERIS_TRANSFER_KIND_H_
