// Faults that can be planted in a test build of this folder (ERIS_TABLE_FAULTS), to show that the
// tests find them. Other builds do not contain them.
#ifndef ERIS_STORAGE_TABLE_PLANTED_FAULT_H_
#define ERIS_STORAGE_TABLE_PLANTED_FAULT_H_

#include <cstdint>

namespace eris::storage {

enum class TableFault : uint8_t {
  kNone,
  kNarrowBounds,  // a segment's bounds forget dead rows that a snapshot still sees
  kReusePlace,    // compaction overwrites dead rows with live ones
};
inline TableFault planted_table_fault = TableFault::kNone;

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_PLANTED_FAULT_H_
