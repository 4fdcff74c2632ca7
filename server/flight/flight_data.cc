#include "server/flight/flight_data.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <grpcpp/support/slice.h>

#include <cstdlib>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "arrow/flight.pb.h"

namespace eris::server {
namespace {

using ::arrow::flight::protocol::FlightData;
using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

constexpr uint32_t kHeaderTag = WireFormatLite::MakeTag(FlightData::kDataHeaderFieldNumber,
                                                        WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
constexpr uint32_t kBodyTag = WireFormatLite::MakeTag(FlightData::kDataBodyFieldNumber,
                                                      WireFormatLite::WIRETYPE_LENGTH_DELIMITED);

uint64_t FieldBytes(uint32_t tag, uint64_t bytes) {
  return CodedOutputStream::VarintSize32(tag) + CodedOutputStream::VarintSize64(bytes) + bytes;
}

// Returns where the bytes of the field go.
uint8_t* BeginField(uint32_t tag, uint64_t bytes, uint8_t* to) {
  return CodedOutputStream::WriteVarint64ToArray(bytes,
                                                 CodedOutputStream::WriteTagToArray(tag, to));
}

// The bytes of the header with zeros behind it, so that the body begins at a multiple of its
// alignment: a reader that has the message in one aligned block finds the columns aligned.
uint64_t PaddedBytes(uint64_t header_bytes, uint64_t body_bytes) {
  const uint64_t body_head = FieldBytes(kBodyTag, body_bytes) - body_bytes;
  uint64_t padded = header_bytes;
  while ((FieldBytes(kHeaderTag, padded) + body_head) % wire::ArrowBatch::kArrowAlignment != 0) {
    ++padded;
  }
  return padded;
}

absl::StatusOr<grpc::ByteBuffer> MessageOf(absl::string_view header,
                                           const wire::ArrowBatch* batch) {
  const uint64_t body_bytes = batch == nullptr ? 0 : batch->body_bytes();
  const uint64_t header_bytes = PaddedBytes(header.size(), body_bytes);
  uint64_t bytes = FieldBytes(kHeaderTag, header_bytes);
  if (batch != nullptr) bytes += FieldBytes(kBodyTag, body_bytes);
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("no memory for a message of ", bytes, " bytes"));
  }
  uint8_t* to = BeginField(kHeaderTag, header_bytes, static_cast<uint8_t*>(memory));
  std::memcpy(to, header.data(), header.size());
  std::memset(to + header.size(), 0, header_bytes - header.size());
  if (batch != nullptr) {
    to = BeginField(kBodyTag, body_bytes, to + header_bytes);
    batch->CopyBody(reinterpret_cast<char*>(to));
  }
  const grpc::Slice slice(memory, bytes, &std::free);  // gRPC frees it
  return grpc::ByteBuffer(&slice, 1);
}

}  // namespace

absl::StatusOr<grpc::ByteBuffer> FlightDataOf(absl::string_view schema_message) {
  return MessageOf(schema_message, nullptr);
}

absl::StatusOr<grpc::ByteBuffer> FlightDataOf(const wire::ArrowBatch& batch) {
  return MessageOf(batch.header(), &batch);
}

}  // namespace eris::server
