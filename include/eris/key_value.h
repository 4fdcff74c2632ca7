// The short forms of a Session's calls, for indexes and hashes whose keys and values are u64:
// spans in, spans out. Included by session.h.
#ifndef ERIS_KEY_VALUE_H_
#define ERIS_KEY_VALUE_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eris/session.h"

namespace eris {

namespace key_value_internal {

// A batch's columns as ColumnViews. Not movable: they point into it.
class Rows {
 public:
  Rows(const KeyColumns& keys, absl::Span<const uint64_t> values, bool with_values)
      : count_(keys.size()) {
    views_[columns_++].values = keys.first().data();
    if (keys.two_parts()) views_[columns_++].values = keys.second().data();
    if (with_values) views_[columns_++].values = values.data();
  }
  RowBatch batch() const { return {count_, absl::MakeConstSpan(views_, columns_)}; }

 private:
  ColumnView views_[3];
  size_t columns_ = 0;
  size_t count_;
};

inline absl::Status CheckLength(const char* what, size_t length, size_t keys) {
  if (length == keys) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the batch has ", keys, " keys and ", length, " ",
                                                 what, ": must be equally many"));
}
inline absl::Status CheckOutput(const char* what, size_t length, size_t keys) {
  return length == 0 ? absl::OkStatus() : CheckLength(what, length, keys);
}

inline absl::Status CheckKeys(const Object& object, const KeyColumns& keys) {
  if (keys.two_parts()) {
    if (absl::Status equal = CheckLength("second parts", keys.second().size(), keys.size());
        !equal.ok()) {
      return equal;
    }
  }
  if (!object) return absl::InvalidArgumentError("the call has no object: Session::Open gives one");
  const bool key_value = object.kind() == ObjectKind::kIndex || object.kind() == ObjectKind::kHash;
  if (!key_value) {
    return absl::FailedPreconditionError(
        absl::StrCat("object \"", object.name(), "\" is a table; this call is for indexes"));
  }
  const KeyTypes types = KeyTypesOf(object.schema());
  if (types.two_parts() != keys.two_parts()) {
    return absl::InvalidArgumentError(absl::StrCat("keys of object \"", object.name(), "\" have ",
                                                   types.two_parts()
                                                       ? "two parts, those of the batch one"
                                                       : "one part, those of the batch two"));
  }
  if (types.first == ColumnType::kUint64 &&
      types.second.value_or(ColumnType::kUint64) == ColumnType::kUint64) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("keys of object \"", object.name(), "\" are not u64: give columns"));
}
inline absl::Status CheckValues(const Object& object) {
  if (ValueTypeOf(object.schema()) == ColumnType::kUint64) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("values of object \"", object.name(),
                                                    "\" are byte strings: give and take columns"));
}

inline absl::Status CheckWrite(const Object& object, WriteMode mode, const KeyColumns& keys,
                               absl::Span<const uint64_t> values,
                               absl::Span<const uint64_t> expected) {
  if (absl::Status fits = CheckKeys(object, keys); !fits.ok()) return fits;
  if (mode != WriteMode::kErase) {
    if (absl::Status fits = CheckValues(object); !fits.ok()) return fits;
  }
  const size_t rows = mode == WriteMode::kErase ? 0 : keys.size();
  if (absl::Status equal = CheckLength("values", values.size(), rows); !equal.ok()) return equal;
  if (mode == WriteMode::kCompareAndSet) {
    return CheckLength("expected values", expected.size(), keys.size());
  }
  if (expected.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "expected values belong to compare-and-set alone: ", expected.size(), " for another mode"));
}

// One byte, 0 or 1, for each bit. If `bits` is empty every byte is `if_empty`.
inline void Unpack(const std::string& bits, bool if_empty, absl::Span<uint8_t> bytes) {
  if (bytes.empty()) return;
  if (bits.empty()) {
    std::memset(bytes.data(), if_empty ? 1 : 0, bytes.size());
    return;
  }
  size_t row = 0;
  for (; row + 8 <= bytes.size(); row += 8) {
    // Bit i of the byte moves to byte i, and becomes 1 there.
    const uint64_t byte = static_cast<uint8_t>(bits[row >> 3]);
    const uint64_t spread = (byte * 0x0101010101010101) & 0x8040201008040201;
    const uint64_t ones = ((spread + 0x7f7f7f7f7f7f7f7f) >> 7) & 0x0101010101010101;
    std::memcpy(bytes.data() + row, &ones, sizeof ones);
  }
  for (; row < bytes.size(); ++row) bytes[row] = BitAt(bits, row) ? 1 : 0;
}
inline void CopyValues(const BatchResult& result, absl::Span<uint64_t> values) {
  if (values.empty() || result.columns.empty()) return;
  std::memcpy(values.data(), result.columns[0].values.data(), result.columns[0].values.size());
}

}  // namespace key_value_internal

inline absl::Status Session::Lookup(const Object& object, const KeyColumns& keys,
                                    absl::Span<uint64_t> values, absl::Span<uint8_t> found,
                                    absl::Time deadline) {
  namespace kv = key_value_internal;
  if (absl::Status fits = kv::CheckKeys(object, keys); !fits.ok()) return fits;
  if (absl::Status fits = kv::CheckValues(object); !fits.ok()) return fits;
  if (absl::Status equal = kv::CheckLength("values", values.size(), keys.size()); !equal.ok()) {
    return equal;
  }
  if (absl::Status equal = kv::CheckLength("found bytes", found.size(), keys.size()); !equal.ok()) {
    return equal;
  }
  const kv::Rows rows(keys, {}, false);
  BatchResult result = Lookup(object, {.keys = rows.batch()}, deadline);
  if (!result.status.ok()) return std::move(result.status);
  kv::CopyValues(result, values);
  kv::Unpack(result.existed, false, found);
  return absl::OkStatus();
}

inline absl::Status Session::Write(const Object& object, WriteMode mode, const KeyColumns& keys,
                                   absl::Span<const uint64_t> values,
                                   absl::Span<const uint64_t> expected, const WriteColumns& out,
                                   absl::Time deadline) {
  namespace kv = key_value_internal;
  const size_t n = keys.size();
  for (const auto& [what, length] :
       {std::pair("applied bytes", out.applied.size()),
        std::pair("existed bytes", out.existed.size()), std::pair("values out", out.values.size()),
        std::pair("executed bytes", out.executed.size())}) {
    if (absl::Status equal = kv::CheckOutput(what, length, n); !equal.ok()) return equal;
  }
  for (const absl::Span<uint8_t> bytes : {out.applied, out.existed, out.executed}) {
    kv::Unpack({}, false, bytes);
  }
  if (!out.values.empty()) std::memset(out.values.data(), 0, n * sizeof(uint64_t));
  if (absl::Status fits = kv::CheckWrite(object, mode, keys, values, expected); !fits.ok()) {
    return fits;
  }
  const kv::Rows rows(keys, values, mode != WriteMode::kErase);
  const ColumnView expected_view{.values = expected.data()};
  WriteBatch batch{.mode = mode, .rows = rows.batch()};
  if (mode == WriteMode::kCompareAndSet)
    batch.expected = {n, absl::MakeConstSpan(&expected_view, 1)};
  BatchResult result = Write(object, batch, deadline);
  if (result.status.ok() || result.refused < n) {
    kv::Unpack(result.existed, false, out.existed);
    kv::Unpack(result.applied, false, out.applied);
    kv::Unpack(result.executed, result.status.ok(), out.executed);
    kv::CopyValues(result, out.values);
  }
  return std::move(result.status);
}

inline absl::Status Session::Upsert(const Object& object, const KeyColumns& keys,
                                    absl::Span<const uint64_t> values, absl::Span<uint8_t> existed,
                                    absl::Time deadline) {
  return Write(object, WriteMode::kUpsert, keys, values, {}, {.existed = existed}, deadline);
}

inline absl::Status Session::Erase(const Object& object, const KeyColumns& keys,
                                   absl::Span<uint8_t> existed, absl::Time deadline) {
  return Write(object, WriteMode::kErase, keys, {}, {}, {.existed = existed}, deadline);
}

inline Session::StartedCall Session::LookupAsync(const Object& object, const KeyColumns& keys,
                                                 Callback done) {
  namespace kv = key_value_internal;
  if (absl::Status fits = kv::CheckKeys(object, keys); !fits.ok()) return fits;
  const kv::Rows rows(keys, {}, false);
  return LookupAsync(object, LookupBatch{.keys = rows.batch()}, std::move(done));
}

inline Session::StartedCall Session::WriteAsync(const Object& object, WriteMode mode,
                                                const KeyColumns& keys,
                                                absl::Span<const uint64_t> values,
                                                absl::Span<const uint64_t> expected,
                                                Callback done) {
  namespace kv = key_value_internal;
  if (absl::Status fits = kv::CheckWrite(object, mode, keys, values, expected); !fits.ok()) {
    return fits;
  }
  const kv::Rows rows(keys, values, mode != WriteMode::kErase);
  const ColumnView expected_view{.values = expected.data()};
  WriteBatch batch{.mode = mode, .rows = rows.batch()};
  if (mode == WriteMode::kCompareAndSet) {
    batch.expected = {keys.size(), absl::MakeConstSpan(&expected_view, 1)};
  }
  return WriteAsync(object, batch, std::move(done));
}

inline Session::StartedCall Session::UpsertAsync(const Object& object, const KeyColumns& keys,
                                                 absl::Span<const uint64_t> values, Callback done) {
  return WriteAsync(object, WriteMode::kUpsert, keys, values, {}, std::move(done));
}

inline Session::StartedCall Session::EraseAsync(const Object& object, const KeyColumns& keys,
                                                Callback done) {
  return WriteAsync(object, WriteMode::kErase, keys, {}, {}, std::move(done));
}

}  // namespace eris

#endif  // ERIS_KEY_VALUE_H_
