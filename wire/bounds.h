// The bounds of an object's partitions: in messages keys of an index or a hash, first parts of
// keys, or values of a table's first key column; here the engine's words (CreateOptions::expected).
// Any thread, no state.
#ifndef ERIS_WIRE_BOUNDS_H_
#define ERIS_WIRE_BOUNDS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "eris/schema.h"
#include "eris/types.h"
#include "eris/v1/catalog.pb.h"

namespace eris::wire {

inline bool IsTable(ObjectKind kind) {
  return kind == ObjectKind::kTable || kind == ObjectKind::kHeapTable;
}

struct BoundType {
  KeyTypes key_type{};  // of keys in messages; a second part only to be refused by name
  bool narrow = false;  // a column of four bytes: the upper half of the engine's word
  ColumnType column = ColumnType::kUint64;  // of the first key column
  bool bounded = true;                      // false: a heap table, whose ranges say nothing
};
BoundType BoundTypeOf(ObjectKind kind, const Schema& schema);

// `name` is for messages. Errors: as wire/keys.h; an i64 outside INT32; a second part.
absl::StatusOr<uint64_t> BoundFrom(absl::string_view name, const BoundType& type,
                                   const v1::Key& message);
absl::StatusOr<KeyRange> BoundsFrom(absl::string_view name, const BoundType& type,
                                    const v1::KeyRange& message);
std::string BoundText(const BoundType& type, uint64_t word);
// The opposite direction. Errors: InvalidArgument (a word that the column cannot have).
absl::Status SetBound(absl::string_view name, const BoundType& type, uint64_t word,
                      v1::Key& message);
absl::Status SetBounds(absl::string_view name, const BoundType& type, const KeyRange& range,
                       v1::KeyRange& message);
// For existing bounds: those of a narrow column lose the following part of the key.
void FillBounds(const BoundType& type, const KeyRange& range, v1::KeyRange* message);

}  // namespace eris::wire

#endif  // ERIS_WIRE_BOUNDS_H_
