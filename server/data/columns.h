// Columns as they arrive, checked and made readable as integers. The first thing a data call does
// with what a client has sent; nothing has changed yet when it refuses. Knows no protobuf: the data
// service hands in the message's parts. Any thread, no state.
#ifndef ERIS_SERVER_DATA_COLUMNS_H_
#define ERIS_SERVER_DATA_COLUMNS_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eris/types.h"

namespace eris::server {

// The parts of an eris.v1.Column; the bytes belong to the message.
struct ColumnParts {
  int type = 0;  // eris.v1.ColumnType
  absl::string_view data;
  absl::string_view validity;
  absl::string_view offsets;
};

// eris.v1.ColumnType; batch_ops.cc holds the two together.
inline constexpr int kColumnTypeUint64 = 1;
inline constexpr int kColumnTypeInt64 = 20;
inline constexpr int kColumnTypeFloat64 = 21;
inline constexpr int kColumnTypeDate32 = 22;

// The type in which keys of an object travel.
int ColumnTypeOf(ColumnType type);
// Elements of a column by the type that it says it has, also where it will be refused.
inline uint64_t ElementsSaid(int type, uint64_t bytes) {
  return bytes / (type == kColumnTypeDate32 ? sizeof(int32_t) : sizeof(uint64_t));
}

// Elements of a column as u64: the message's own bytes when they are aligned and need no encoding,
// else a copy. The message must outlive it.
class Uint64Column {
 public:
  absl::Span<const uint64_t> elements() const { return elements_; }

 private:
  friend absl::StatusOr<Uint64Column> DecodeUint64Column(absl::string_view, const ColumnParts&);
  friend absl::StatusOr<Uint64Column> DecodeKeyColumn(absl::string_view, ColumnType,
                                                      const ColumnParts&);
  absl::Span<const uint64_t> elements_;
  std::unique_ptr<uint64_t[]> own_;  // a move keeps its place, and with it elements_
};

// Decodes a column of a request. `name` ("keys", "values") stands in messages.
// Errors: InvalidArgument: another type than UINT64, no element, a length that is not a multiple of
// 8, more than kBatchKeysMax elements, a validity bitmap (requests have no absent elements) or
// offsets (the width is fixed). ResourceExhausted: no memory for a copy.
absl::StatusOr<Uint64Column> DecodeUint64Column(absl::string_view name, const ColumnParts& parts);

// Decodes the keys of a request, or one part of each, encoded as the engine has them
// (key_encoding.h). Errors: as above, the type being that of the object's keys; NaN, naming its
// position.
absl::StatusOr<Uint64Column> DecodeKeyColumn(absl::string_view name, ColumnType type,
                                             const ColumnParts& parts);
// What DecodeKeyColumn allocates for a column that says to be of `type`: keys that need encoding
// are copied.
inline uint64_t DecodedBytes(int type, uint64_t bytes) {
  const bool is_copied =
      type == kColumnTypeInt64 || type == kColumnTypeFloat64 || type == kColumnTypeDate32;
  return is_copied ? ElementsSaid(type, bytes) * sizeof(uint64_t) : 0;
}

// Errors: InvalidArgument unless keys and the column `name` have as many elements.
absl::Status CheckEqualLength(const Uint64Column& keys, absl::string_view name,
                              const Uint64Column& column);

// The elements as a column's bytes.
std::string EncodeUint64Column(absl::Span<const uint64_t> elements);
// The keys as the bytes of a column of type ColumnTypeOf(type).
std::string EncodeKeyColumn(ColumnType type, absl::Span<const uint64_t> keys);

}  // namespace eris::server

#endif  // ERIS_SERVER_DATA_COLUMNS_H_
