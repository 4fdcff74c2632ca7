// Faults that a test build of this folder (ERIS_TABLE_FAULTS) can be given, to show that the tests
// find them. No other build has a word of them.
#ifndef ERIS_STORAGE_TABLE_PLANTED_FAULT_H_
#define ERIS_STORAGE_TABLE_PLANTED_FAULT_H_

#include <cstdint>

namespace eris::storage {

enum class TableFault : uint8_t {
  kNone,
  kNarrowBounds,  // a segment's bounds forget rows that have died, though a snapshot sees them
  kReusePlace,    // compaction puts living rows where dead ones stand
};
inline TableFault planted_table_fault = TableFault::kNone;

}  // namespace eris::storage

#endif  // ERIS_STORAGE_TABLE_PLANTED_FAULT_H_
