// Columns of the wire as vectors: u64 elements as little-endian bytes, presence as one bit per
// element in Arrow's order. Pure functions; any thread.
#ifndef ERIS_CLIENTS_COLUMNS_H_
#define ERIS_CLIENTS_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "eris/engine.h"
#include "eris/types.h"

namespace eris::v1 {
class Column;
class LookupResponse;
class WriteRequest;
class WriteResponse;
}  // namespace eris::v1

namespace eris::client {

// One bit per row of a batch. Element i is bit (i & 7) of byte (i >> 3).
class RowBits {
 public:
  RowBits() = default;
  RowBits(std::string bits, size_t rows) : bits_(std::move(bits)), rows_(rows) {}

  size_t size() const { return rows_; }
  bool operator[](size_t row) const {
    return (static_cast<uint8_t>(bits_[row >> 3]) >> (row & 7) & 1) != 0;
  }
  // Rows whose bit is set.
  size_t Count() const;

 private:
  std::string bits_;  // (rows_ + 7) / 8 bytes
  size_t rows_ = 0;
};

// Replaces `column` by `elements`, all of them present.
void ToColumn(absl::Span<const uint64_t> elements, v1::Column& column);

// Replaces `elements` by those of `column`. Errors: FailedPrecondition (byte strings), Internal
// (the server sent another type, or a length that is no multiple of 8).
absl::Status FromColumn(const v1::Column& column, std::vector<uint64_t>& elements);

// Takes the bits of an answer on `rows` rows; empty `bits` with `empty_is_all` mean all set (as
// Column.validity has it). Errors: Internal (too few bytes).
absl::Status ToRowBits(std::string bits, size_t rows, bool empty_is_all, RowBits& out);

// Keys, or one part of each, in the type of their object: encoded here
// (include/eris/key_encoding.h), plain numbers there. `name` stands in messages. Errors:
// InvalidArgument (a key that the type does not have, which would arrive as another one).
absl::Status ToKeyColumn(absl::string_view name, ColumnType type, absl::Span<const uint64_t> keys,
                         v1::Column& column);
// Errors: InvalidArgument, naming both, unless keys have as many parts as `types`; parts of unequal
// length.
absl::Status CheckKeyParts(const KeyTypes& types, const KeyColumns& keys);
// Sets the keys of a request of any kind. Errors: as both above.
template <class Request>
absl::Status SetKeys(const KeyTypes& types, const KeyColumns& keys, Request& request) {
  absl::Status status = CheckKeyParts(types, keys);
  if (status.ok()) {
    status = ToKeyColumn("keys", types.first, keys.first(), *request.mutable_keys());
  }
  if (!types.two_parts()) {
    request.clear_second_keys();
    return status;
  }
  if (!status.ok()) return status;
  return ToKeyColumn("second_keys", *types.second, keys.second(), *request.mutable_second_keys());
}
// Errors: as FromColumn (a type that no keys have).
absl::Status FromKeyColumn(const v1::Column& column, std::vector<uint64_t>& keys);

struct LookupResult {
  std::vector<uint64_t> values;  // values[i] belongs to keys[i]; unspecified where not found
  RowBits found;
};
// Takes the answer to a lookup of `keys` keys. Errors: Internal (another number of values, or a
// column that breaks the protocol).
absl::Status TakeLookupResult(v1::LookupResponse response, size_t keys, LookupResult& out);

// Replaces `request`. Without expected values the column stays unset. Errors: as SetKeys.
absl::Status ToWriteRequest(const std::string& object, WriteMode mode, const KeyColumns& keys,
                            absl::Span<const uint64_t> values, absl::Span<const uint64_t> expected,
                            v1::WriteRequest& request, const KeyTypes& key_type = {});

struct WriteResult {
  RowBits applied;               // the key was written
  RowBits existed;               // it was there before
  RowBits executed;              // clear: refused, and has not changed; see `refusal`
  std::vector<uint64_t> values;  // what Session::Write says of the mode, 0 where there is none
  absl::Status refusal;          // why some keys were refused; OK: none was
};
// Takes the answer to a write of `keys` keys. Errors: as TakeLookupResult.
absl::Status TakeWriteResult(v1::WriteResponse response, size_t keys, WriteResult& out);

}  // namespace eris::client

#endif  // ERIS_CLIENTS_COLUMNS_H_
