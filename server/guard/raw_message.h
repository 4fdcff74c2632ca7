// Messages as gRPC hands them over: bytes, before they are parsed and after they were written. A
// parsed message may take many times its bytes (a field of two bytes may be a submessage of a
// hundred), so what it will take is known, and charged, before it is parsed. Any thread, no state.
#ifndef ERIS_SERVER_GUARD_RAW_MESSAGE_H_
#define ERIS_SERVER_GUARD_RAW_MESSAGE_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/status.h"

namespace eris::server {

// What a message of type `descriptor` takes once it is parsed from `bytes`, or more. Reads all
// tags of a message of more than 1 KiB; a smaller one counts as if all of it were the worst.
uint64_t ParsedBytesMax(const google::protobuf::Descriptor& descriptor,
                        const grpc::ByteBuffer& bytes);

// Parses and frees `bytes`. Errors: InvalidArgument (no message of that type).
absl::Status ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::Message* message);

grpc::ByteBuffer WriteMessage(const google::protobuf::Message& message);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_RAW_MESSAGE_H_
