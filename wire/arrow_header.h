// Headers of Arrow's IPC format as clients send them. Nothing reads a header before flatbuffers'
// verifier has seen all of it. Any thread.
#ifndef ERIS_WIRE_ARROW_HEADER_H_
#define ERIS_WIRE_ARROW_HEADER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace eris::ipc {
struct Message;
struct RecordBatch;
}  // namespace eris::ipc

namespace eris::wire {

inline constexpr uint32_t kArrowHeaderBytesMax = 1u << 20;

// A column as a client describes it.
struct ArrowField {
  enum class Kind : uint8_t { kInteger, kFloat64, kDate32, kTimestamp, kDecimal, kBytes, kOther };
  std::string name{};
  Kind kind = Kind::kOther;
  uint8_t value_bytes = 0;  // of numbers; of kBytes those of an offset, 4 or 8
  bool is_signed = true;    // of integers
  bool is_text = false;     // of kBytes: utf8
  // A decimal's scale; 0, 3, 6 or 9 for timestamps in seconds to nanoseconds. A zone only says how
  // others show them: the numbers are UTC.
  int32_t scale = 0;
  std::string type{};  // what pyarrow calls it, for messages: "int64", "large_string"
};

// A copy of a header, verified. Owns its memory.
class ArrowHeader {
 public:
  enum class Kind : uint8_t { kSchema, kDictionaryBatch, kRecordBatch };

  // Errors: InvalidArgument (no message of the format, one before V4, longer than
  // kArrowHeaderBytesMax), ResourceExhausted (no memory for the copy).
  static absl::StatusOr<ArrowHeader> From(absl::string_view bytes);

  Kind kind() const { return kind_; }
  // The columns of a schema. REQUIRES: kSchema. Errors: InvalidArgument (numbers in big-endian
  // order, more than kTableColumnsMax columns, a column without name or type).
  absl::StatusOr<std::vector<ArrowField>> Fields() const;
  // REQUIRES: kRecordBatch. Lives as long as the header. Not verified: numbers in it.
  const ipc::RecordBatch& batch() const;
  // The bytes that the body is said to have.
  int64_t body_bytes() const;

 private:
  ArrowHeader() = default;
  const ipc::Message& message() const;

  std::unique_ptr<uint64_t[]> copy_;  // aligned as the format's readers expect
  Kind kind_ = Kind::kSchema;
};

// A client's name, in a message for it: at most 64 bytes, without bytes that may be no character.
std::string ShownArrowName(absl::string_view name);

}  // namespace eris::wire

#endif  // ERIS_WIRE_ARROW_HEADER_H_
