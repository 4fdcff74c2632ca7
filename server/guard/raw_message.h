// Messages as gRPC passes them: bytes, before parsing and after writing. A parsed message may take
// many times its bytes (a field of two bytes may be a submessage of a hundred), so its size is
// estimated, and charged, before it is parsed. Any thread, no state.
#ifndef ERIS_SERVER_GUARD_RAW_MESSAGE_H_
#define ERIS_SERVER_GUARD_RAW_MESSAGE_H_

#include <google/protobuf/message.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>

#include "absl/status/status.h"

namespace eris::server {

// An upper limit of the memory of a message of type `descriptor` parsed from `bytes`. Reads all
// tags of a message of more than 1 KiB; a smaller one counts at the worst case.
uint64_t ParsedBytesMax(const google::protobuf::Descriptor& descriptor,
                        const grpc::ByteBuffer& bytes);

// Parses and frees `bytes`. Errors: InvalidArgument (not a message of that type: the text and the
// details name the offset of the faulty field).
absl::Status ParseMessage(grpc::ByteBuffer* bytes, google::protobuf::Message* message);

grpc::ByteBuffer WriteMessage(const google::protobuf::Message& message);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_RAW_MESSAGE_H_
