#include "server/guard/message_fault.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/utf8.h"

namespace eris::server {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

class FaultFinder {
 public:
  explicit FaultFinder(CodedInputStream* in) : in_(*in) {}

  // Reads the fields up to the stream's limit, or to the end of group `group` (0: none), in a
  // message that is `depth` deep. False: there is a fault.
  bool Walk(const Descriptor* message, int depth, int group) {
    for (;;) {
      const int at = in_.CurrentPosition();
      const uint32_t tag = in_.ReadTag();
      if (tag == 0 && in_.ConsumedEntireMessage()) {
        return group == 0 || Fault(at, absl::StrCat("group ", group, " has no end"));
      }
      const int number = WireFormatLite::GetTagFieldNumber(tag);
      if (number == 0) return Fault(at, "the field's tag is cut off, or has the number 0");
      const auto type = WireFormatLite::GetTagWireType(tag);
      if (type == WireFormatLite::WIRETYPE_END_GROUP) {
        return number == group ||
               Fault(at, absl::StrCat("an end of group ", number, ", which has not begun"));
      }
      const FieldDescriptor* field =
          message == nullptr ? nullptr : message->FindFieldByNumber(number);
      path_.push_back(field);
      if (!Take(field, number, type, depth, at)) return false;
      path_.pop_back();
    }
  }

  MessageFault fault() && { return std::move(fault_); }

 private:
  bool Take(const FieldDescriptor* field, int number, WireFormatLite::WireType type, int depth,
            int at) {
    uint64_t value = 0;
    switch (type) {
      case WireFormatLite::WIRETYPE_VARINT:
        return in_.ReadVarint64(&value) || Fault(at, "the number is cut off, or too long");
      case WireFormatLite::WIRETYPE_FIXED64:
        return in_.Skip(8) || Fault(at, "eight bytes are cut off");
      case WireFormatLite::WIRETYPE_FIXED32:
        return in_.Skip(4) || Fault(at, "four bytes are cut off");
      case WireFormatLite::WIRETYPE_LENGTH_DELIMITED:
        return TakeDelimited(field, depth, at);
      case WireFormatLite::WIRETYPE_START_GROUP:
        return depth == kMessageDepthMax ? TooDeep(at) : Walk(nullptr, depth + 1, number);
      default:
        return Fault(at, absl::StrCat("wire type ", static_cast<int>(type), " is unknown"));
    }
  }

  bool TakeDelimited(const FieldDescriptor* field, int depth, int at) {
    uint32_t length = 0;
    if (!in_.ReadVarint32(&length)) return Fault(at, "the length is cut off");
    const int left = in_.BytesUntilLimit();
    if (left >= 0 && length > static_cast<uint32_t>(left)) {
      return Fault(at, absl::StrCat("the length is ", length, ", only ", left, " bytes follow"));
    }
    if (field != nullptr && field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      if (depth == kMessageDepthMax) return TooDeep(at);
      const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(length));
      const bool good = Walk(field->message_type(), depth + 1, 0);
      in_.PopLimit(outer);
      return good;
    }
    if (field != nullptr && field->type() == FieldDescriptor::TYPE_STRING) {
      std::string text;
      if (!in_.ReadString(&text, static_cast<int>(length))) return Fault(at, "the text is cut off");
      return base::IsUtf8(text) || Fault(at, "the text is not UTF-8");
    }
    if (field != nullptr && field->is_packable()) return TakePacked(*field, length, at);
    return in_.Skip(static_cast<int>(length)) || Fault(at, "the bytes are cut off");
  }

  // Numbers of one field, one after the other.
  bool TakePacked(const FieldDescriptor& field, uint32_t length, int at) {
    const auto type =
        WireFormatLite::WireTypeForFieldType(static_cast<WireFormatLite::FieldType>(field.type()));
    if (type == WireFormatLite::WIRETYPE_VARINT) {
      const CodedInputStream::Limit outer = in_.PushLimit(static_cast<int>(length));
      uint64_t value = 0;
      bool good = true;
      while (good && in_.BytesUntilLimit() > 0) good = in_.ReadVarint64(&value);
      in_.PopLimit(outer);
      return good || Fault(at, "a number of several is cut off, or too long");
    }
    const uint32_t width = type == WireFormatLite::WIRETYPE_FIXED64 ? 8 : 4;
    if (length % width != 0) {
      return Fault(at, absl::StrCat(length, " bytes are no numbers of ", width));
    }
    return in_.Skip(static_cast<int>(length)) || Fault(at, "the numbers are cut off");
  }

  bool TooDeep(int at) {
    fault_.too_deep = true;
    return Fault(at, absl::StrCat("messages are nested more than ", kMessageDepthMax, " deep"));
  }

  bool Fault(int at, std::string what) {
    fault_.offset = static_cast<uint64_t>(at);
    fault_.what = std::move(what);
    constexpr size_t kNamesMax = 8;  // of a deep one, the outermost
    for (size_t i = 0; i < path_.size() && i < kNamesMax; ++i) {
      if (path_[i] == nullptr) break;
      absl::StrAppend(&fault_.field, i == 0 ? "" : ".", path_[i]->name());
    }
    return false;
  }

  CodedInputStream& in_;
  std::vector<const FieldDescriptor*> path_;  // to the field that is read
  MessageFault fault_;
};

}  // namespace

MessageFault FindFault(const Descriptor& descriptor, const grpc::ByteBuffer& bytes) {
  // The reader takes a non-const pointer but changes nothing.
  grpc::ProtoBufferReader reader(const_cast<grpc::ByteBuffer*>(&bytes));
  if (!reader.status().ok()) return {.what = "the bytes cannot be decompressed"};
  CodedInputStream in(&reader);
  // With a limit, the stream knows how many bytes are left.
  const CodedInputStream::Limit all = in.PushLimit(static_cast<int>(bytes.Length()));
  FaultFinder finder(&in);
  const bool good = finder.Walk(&descriptor, 0, 0);
  in.PopLimit(all);
  if (good) return {.what = "for a reason that this server does not know"};
  return std::move(finder).fault();
}

}  // namespace eris::server
