// The message of one answer, and a block of memory for it: the columns and status of a small answer
// need no allocation. Lives on the stack of the function that fills
// and serialises it. If filling throws std::bad_alloc, the process must end: protobuf 3.21 may
// destroy a string that was never made.
#ifndef ERIS_SERVER_CALLS_ANSWER_MESSAGE_H_
#define ERIS_SERVER_CALLS_ANSWER_MESSAGE_H_

#include <google/protobuf/arena.h>

#include <array>
#include <cstddef>

namespace eris::server {

template <class Message>
class AnswerMessage {
 public:
  AnswerMessage() = default;
  AnswerMessage(const AnswerMessage&) = delete;
  AnswerMessage& operator=(const AnswerMessage&) = delete;

  Message& operator*() { return message_; }
  Message* operator->() { return &message_; }

 private:
  alignas(std::max_align_t) std::array<char, 1024> block_;
  google::protobuf::Arena arena_{block_.data(), block_.size()};
  Message& message_ = *google::protobuf::Arena::CreateMessage<Message>(&arena_);
};

}  // namespace eris::server

#endif  // ERIS_SERVER_CALLS_ANSWER_MESSAGE_H_
