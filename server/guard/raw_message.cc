#include "server/guard/raw_message.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "eris/errors.h"
#include "server/guard/message_fault.h"

namespace eris::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// A request of one key is far smaller, and not worth a second pass over its bytes.
constexpr uint64_t kSmallBytes = 1 << 10;
// Our largest message, the allocator's overhead and its place in an array that grows by doubling.
constexpr uint64_t kSubmessageBytes = 256;
constexpr uint64_t kStringBytes = 112;  // the same for a string, without its content
constexpr uint64_t kUnknownBytes = 48;
constexpr uint64_t kWorstPerByte = kSubmessageBytes / 2;  // a tag and a length of 0
// For packed numbers: one byte on the wire takes up to eight bytes in memory, in an array that
// grows by doubling.
constexpr uint64_t kNumberBytes = 16;

class Estimate {
 public:
  explicit Estimate(CodedInputStream* in) : in_(*in) {}

  // Adds up the fields up to the stream's limit. False: malformed, so parsing will stop here too.
  bool Walk(const Descriptor* message, int depth) {
    uint64_t groups = 0;  // those that have begun and not ended: all inside is unknown
    while (const uint32_t tag = in_.ReadTagNoLastTag()) {
      const WireFormatLite::WireType type = WireFormatLite::GetTagWireType(tag);
      if (type == WireFormatLite::WIRETYPE_START_GROUP) ++groups;
      if (type == WireFormatLite::WIRETYPE_END_GROUP && groups > 0) --groups;
      const FieldDescriptor* field =
          message == nullptr || groups > 0
              ? nullptr
              : message->FindFieldByNumber(WireFormatLite::GetTagFieldNumber(tag));
      // In another form than the field's it is kept as an unknown field.
      if (field != nullptr && !HasForm(*field, type)) field = nullptr;
      if (!Take(field, type, depth)) return false;
    }
    return true;
  }
  uint64_t bytes() const { return bytes_; }

 private:
  static bool HasForm(const FieldDescriptor& field, WireFormatLite::WireType type) {
    if (field.is_packable() && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) return true;
    const auto declared = static_cast<WireFormatLite::FieldType>(field.type());
    return WireFormatLite::WireTypeForFieldType(declared) == type;
  }

  bool Take(const FieldDescriptor* field, WireFormatLite::WireType type, int depth) {
    const uint64_t one = field == nullptr ? kUnknownBytes : field->is_repeated() ? kNumberBytes : 0;
    uint64_t number = 0;
    switch (type) {
      case WireFormatLite::WIRETYPE_VARINT:
        bytes_ += one;
        return in_.ReadVarint64(&number);
      case WireFormatLite::WIRETYPE_FIXED64:
        bytes_ += one;
        return in_.Skip(8);
      case WireFormatLite::WIRETYPE_FIXED32:
        bytes_ += one;
        return in_.Skip(4);
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return TakeDelimited(field, depth);
      // groups: none of our messages has any
      default:
        bytes_ += kUnknownBytes + kSubmessageBytes;
        return true;
    }
  }

  bool TakeDelimited(const FieldDescriptor* field, int depth) {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length)) return false;
    // No more than has come: a length is what the client says. The parser stops here, too.
    if (length > static_cast<uint32_t>(std::max(in_.BytesUntilLimit(), 0))) {
      bytes_ += kSubmessageBytes;
      return false;
    }
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      bytes_ += kSubmessageBytes;
      if (depth == kMessageDepthMax) return false;
      const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(length));
      const bool good = Walk(field->message_type(), depth + 1) && in_.BytesUntilLimit() == 0;
      in_.PopLimit(outer);
      return good;
    }
    if (field != nullptr && field->is_packable()) {
      bytes_ += length * kNumberBytes;
    } else {
      bytes_ += length + (field == nullptr ? kUnknownBytes : 0) + kStringBytes;
    }
    return in_.Skip(static_cast<int>(length));
  }

  CodedInputStream& in_;
  uint64_t bytes_ = 0;
};

// What the parser reads from. gRPC's reader aborts the process when it is told to take back more
// than its last slice. The parser does that at a message that ends (with a tag of 0, or with the
// end of a group) in the last 16 bytes of the slice before. Nobody reads on behind the parser, so
// nothing is taken back.
class ForwardReader final : public google::protobuf::io::ZeroCopyInputStream {
 public:
  explicit ForwardReader(grpc::ProtoBufferReader* reader) : reader_(*reader) {}

  bool Next(const void** data, int* size) override { return reader_.Next(data, size); }
  void BackUp(int /*count*/) override {}
  bool Skip(int count) override { return reader_.Skip(count); }
  int64_t ByteCount() const override { return reader_.ByteCount(); }

 private:
  grpc::ProtoBufferReader& reader_;
};

absl::Status FaultStatus(const MessageFault& fault, const Descriptor& type, size_t length) {
  ErrorDetails details{.field = fault.field, .value = absl::StrCat(fault.offset)};
  if (fault.too_deep) details.limit = absl::StrCat(kMessageDepthMax);
  return Error(fault.too_deep ? ErrorReason::kRequestTooDeep : ErrorReason::kRequestMalformed,
               absl::StrCat("a request of ", length, " bytes is no ", type.full_name(),
                            ": at byte ", fault.offset, fault.field.empty() ? "" : ", in field ",
                            fault.field, ": ", fault.what),
               std::move(details));
}

}  // namespace

uint64_t ParsedBytesMax(const Descriptor& descriptor, const grpc::ByteBuffer& bytes) {
  if (bytes.Length() <= kSmallBytes) return bytes.Length() * kWorstPerByte;
  // The reader takes a non-const pointer but changes nothing.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&bytes));
  if (!reader.status().ok()) return bytes.Length();
  CodedInputStream in(&reader);
  in.PushLimit(static_cast<int>(bytes.Length()));
  Estimate estimate(&in);
  static_cast<void>(estimate.Walk(&descriptor, 0));
  return estimate.bytes();
}

absl::Status ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::Message* message) {
  grpc::ProtoBufferReader reader(bytes);
  // With its end known the parser makes no room for a text that is longer than what has come.
  const auto length = static_cast<int>(bytes->Length());
  ForwardReader forward(&reader);
  if (reader.status().ok() && message->ParseFromBoundedZeroCopyStream(&forward, length)) {
    bytes->Clear();
    return absl::OkStatus();
  }
  const Descriptor& type = *message->GetDescriptor();
  absl::Status status = FaultStatus(FindFault(type, *bytes), type, bytes->Length());
  bytes->Clear();
  return status;
}

grpc::ByteBuffer WriteMessage(const google::protobuf::Message& message) {
  grpc::ByteBuffer bytes;
  bool own_buffer = false;
  // It cannot fail: only missing required fields could, and proto3 has none.
  static_cast<void>(grpc::GenericSerialize<grpc::ProtoBufferWriter, google::protobuf::Message>(
      message, &bytes, &own_buffer));
  return bytes;
}

}  // namespace eris::server
