// Why bytes are not a message: found by a second reading, after parsing has failed. Any thread, no
// state.
#ifndef ERIS_SERVER_GUARD_MESSAGE_FAULT_H_
#define ERIS_SERVER_GUARD_MESSAGE_FAULT_H_

#include <google/protobuf/descriptor.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <string>

namespace eris::server {

// The depth limit of protobuf's own parser: messages inside the outermost one.
inline constexpr int kMessageDepthMax = 100;

struct MessageFault {
  uint64_t offset = 0;    // of the field's first byte in the whole message
  std::string field{};    // for example "query.filter"; empty: no known field
  std::string what{};     // for example "ends before its length, 7"
  bool too_deep = false;  // nested more than kMessageDepthMax deep
};

// The first fault of `bytes`, which is not a message of type `descriptor`.
MessageFault FindFault(const google::protobuf::Descriptor& descriptor,
                       const grpc::ByteBuffer& bytes);

}  // namespace eris::server

#endif  // ERIS_SERVER_GUARD_MESSAGE_FAULT_H_
