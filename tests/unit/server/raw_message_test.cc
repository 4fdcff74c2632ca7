// What a message is said to take before it is parsed, against what it takes.
#include "server/guard/raw_message.h"

#include <gmock/gmock.h>
#include <grpcpp/impl/grpc_library.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "eris/errors.h"
#include "eris/v1/admin.pb.h"
#include "eris/v1/catalog.pb.h"
#include "eris/v1/data.pb.h"

namespace eris::server {
namespace {

// What makes byte buffers work; a server or a channel brings it along.
const grpc::internal::GrpcLibraryInitializer kGrpc;

grpc::ByteBuffer Raw(const std::string& bytes) {
  // In pieces, as they arrive.
  std::vector<grpc::Slice> slices;
  for (size_t at = 0; at < bytes.size(); at += 5000) slices.emplace_back(bytes.substr(at, 5000));
  return grpc::ByteBuffer(slices.data(), slices.size());
}

// Parses `bytes` as `message` and compares; returns what was estimated.
template <class Parsed>
uint64_t ExpectEnough(const std::string& bytes, bool parses = true) {
  Parsed message;
  grpc::ByteBuffer raw = Raw(bytes);
  const uint64_t estimate = ParsedBytesMax(*message.GetDescriptor(), raw);
  EXPECT_EQ(raw.Length(), bytes.size());  // still there
  EXPECT_EQ(ParseMessage(&raw, &message).ok(), parses);
  EXPECT_EQ(raw.Length(), 0u);
  EXPECT_GE(estimate, message.SpaceUsedLong() - sizeof(Parsed)) << bytes.size() << " bytes";
  return estimate;
}

std::string Repeated(const std::string& field, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += field;
  return bytes;
}

// Field `number` of a message, with `inside`.
std::string Field(int number, const std::string& inside) {
  std::string bytes(1, static_cast<char>(number << 3 | 2));
  for (size_t length = inside.size();;) {
    const bool last = length < 128;
    bytes += static_cast<char>((length & 127) | (last ? 0 : 128));
    length >>= 7;
    if (last) return bytes + inside;
  }
}

TEST(RawMessageTest, BatchTakesLittleMoreThanItsBytes) {
  v1::WriteRequest request;
  request.set_object("orders");
  request.add_columns()->set_data(std::string(1 << 20, 'k'));
  request.add_columns()->set_data(std::string(1 << 20, 'v'));
  const uint64_t estimate = ExpectEnough<v1::WriteRequest>(request.SerializeAsString());
  EXPECT_LT(estimate, (2 << 20) + 4096);
}

TEST(RawMessageTest, MessagesThatGrowWhenTheyAreParsedAreSeenBefore) {
  constexpr size_t kCount = 20'000;
  const std::string empty_columns = Field(1, "t") + Repeated(std::string("\x1a\0", 2), kCount);
  EXPECT_GT(ExpectEnough<v1::WriteRequest>(empty_columns), 10 * empty_columns.size());
  const std::string arguments = Repeated(std::string("\x22\0", 2), kCount);
  ExpectEnough<v1::ScanRequest>(Field(2, Field(1, arguments)));
  ExpectEnough<v1::LocatedMemory>(Field(4, std::string(kCount, '\1')));
  ExpectEnough<v1::LocatedMemory>(Repeated("\x20\1", kCount));  // the same, not packed
  ExpectEnough<v1::CreateObjectRequest>(Repeated(std::string("\x2a\0", 2), kCount));
  ExpectEnough<v1::LookupRequest>(Repeated(std::string("\x1a\0", 2), kCount));      // strings
  ExpectEnough<v1::LookupRequest>(Repeated(std::string("\xa0\x06\1", 3), kCount));  // unknown
  ExpectEnough<v1::LookupRequest>(Repeated(std::string("\xa2\x06\0", 3), kCount));
  // Known numbers in another form than their fields': kept as unknown fields.
  ExpectEnough<v1::DropObjectRequest>(Repeated(std::string("\x08\x08", 2), kCount));
  ExpectEnough<v1::LookupRequest>(Repeated(std::string("\x22\0", 2), kCount));
  // The same inside a group, which is unknown as a whole.
  ExpectEnough<v1::LookupRequest>("\x33" + Repeated("\x20\1", kCount) + "\x34");
}

TEST(RawMessageTest, DeepOnesAreFollowedAsFarAsTheyAreParsed) {
  std::string inside = Field(2, "c");
  for (int depth = 0; depth < 90; ++depth)
    inside = Field(4, inside) + Field(2, std::string(100, 'x'));
  ExpectEnough<v1::ScanRequest>(Field(2, Field(1, inside)));
  for (int depth = 0; depth < 30; ++depth) inside = Field(4, inside);
  ExpectEnough<v1::ScanRequest>(Field(2, Field(1, inside)), /*parses=*/false);
}

TEST(RawMessageTest, SmallOnesCountAsTheWorst) {
  const std::string bytes = Field(1, "t") + Repeated(std::string("\x1a\0", 2), 400);
  ASSERT_LT(bytes.size(), 1024u);
  EXPECT_EQ(ExpectEnough<v1::WriteRequest>(bytes), bytes.size() * 128);
}

// What a length claims is no memory: neither is it charged, nor does the parser make room for it.
TEST(RawMessageTest, ALengthBeyondTheEndCountsNothing) {
  const std::string good = Field(1, std::string(2000, 't'));
  const std::string hundred_mib = "\x80\x80\x80\x32";
  for (const std::string& tail : {"\x0a" + hundred_mib + "text",         // a text
                                  "\x12" + hundred_mib + "\x1a\x02..",   // a submessage
                                  "\x12\x08\x1a" + hundred_mib + "...",  // in one that ends
                                  "\xfa\x01" + hundred_mib + "unknown"}) {
    EXPECT_LT(ExpectEnough<v1::LookupRequest>(good + tail, /*parses=*/false), 10'000u);
    v1::LookupRequest message;
    grpc::ByteBuffer raw = Raw(good + tail);
    EXPECT_FALSE(ParseMessage(&raw, &message).ok());
    EXPECT_LT(message.SpaceUsedLong(), 10'000u);
  }
}

TEST(RawMessageTest, GarbageIsRefusedByTheNameOfTheMessage) {
  for (const std::string& bytes :
       {std::string(5000, '\xff'), std::string("\x0a\x7f"), Field(2, std::string(2000, '\x0a')),
        std::string(2000, '\x03')}) {
    v1::LookupRequest message;
    grpc::ByteBuffer raw = Raw(bytes);
    static_cast<void>(ParsedBytesMax(*message.GetDescriptor(), raw));
    const absl::Status status = ParseMessage(&raw, &message);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(status.message()), testing::HasSubstr("eris.v1.LookupRequest"));
  }
}

// The status of bytes that are no message of the type.
template <class Parsed>
absl::Status FaultOf(const std::string& bytes) {
  Parsed message;
  grpc::ByteBuffer raw = Raw(bytes);
  const absl::Status status = ParseMessage(&raw, &message);
  EXPECT_EQ(raw.Length(), 0u);
  return status;
}

// gRPC cuts a message where the network did. A message that ends early, behind a tag of 0 or an end
// of a group without a begin, is refused wherever the cut is. (gRPC's own reader aborts the process
// at some.)
TEST(RawMessageTest, MessagesThatEndEarlyAreRefusedWhereverTheyAreCut) {
  const std::string good = Field(1, "v") + Field(2, Field(2, "key"));
  for (const std::string& end : {std::string(1, '\0'), std::string("\x54"), std::string()}) {
    const std::string bytes = good + end + std::string(end.empty() ? 0 : 20, '\x01');
    for (size_t first = 0; first <= bytes.size(); ++first) {
      for (size_t second = first; second <= bytes.size(); ++second) {
        const std::vector<grpc::Slice> slices = {
            bytes.substr(0, first), bytes.substr(first, second - first), bytes.substr(second)};
        grpc::ByteBuffer raw(slices.data(), slices.size());
        v1::LookupRequest message;
        const absl::Status status = ParseMessage(&raw, &message);
        ASSERT_EQ(status.ok(), end.empty()) << first << ", " << second;
        if (!end.empty()) {
          ASSERT_EQ(ErrorDetailsOf(status).value, std::to_string(good.size())) << status;
        }
      }
    }
  }
}

TEST(RawMessageTest, FaultIsToldByItsOffsetAndField) {
  struct Case {
    std::string bytes;  // behind a good field of 5000 bytes
    std::string field;
    std::string text;
  };
  const std::string good = Field(2, Field(4, std::string(4994, 'k')));  // keys, their data
  for (const Case& one :
       {Case{"\x0a\x7f", "object", "the length is 127, only 0 bytes follow"},
        Case{Field(1, "\xff"), "object", "the text is not UTF-8"},
        Case{"\x20\xff", "answer_bytes_max", "the number is cut off"},
        Case{"\x20" + std::string(11, '\xff'), "answer_bytes_max", "too long"},
        Case{std::string("\0\0", 2), "", "has the number 0"},
        Case{"\x0f", "object", "wire type 7 is unknown"}, Case{"\xff", "", "tag is cut off"},
        Case{"\x53", "", "group 10 has no end"},
        Case{"\x54", "", "an end of group 10, which has not begun"}}) {
    const absl::Status status = FaultOf<v1::LookupRequest>(good + one.bytes);
    const std::string text(status.message());
    const ErrorDetails details = ErrorDetailsOf(status);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(details.reason, "REQUEST_MALFORMED") << text;
    EXPECT_EQ(details.field, one.field) << text;
    EXPECT_THAT(text, testing::HasSubstr(one.text));
    // A group's end is missed where the message ends.
    const size_t offset = one.bytes == "\x53" ? good.size() + 1 : good.size();
    EXPECT_EQ(details.value, std::to_string(offset)) << text;
    EXPECT_THAT(text, testing::HasSubstr("at byte " + std::to_string(offset)));
  }
}

TEST(RawMessageTest, FaultInsideMessagesIsToldByItsPlaceInTheWhole) {
  // The second column's data is said to be longer than the column.
  const std::string first = Field(2, Field(2, "k"));
  const std::string bytes = first + Field(2, "\x12\x09x");
  const absl::Status status = FaultOf<v1::LookupRequest>(bytes);
  const ErrorDetails details = ErrorDetailsOf(status);
  EXPECT_EQ(details.field, "keys.data") << status;
  EXPECT_EQ(details.value, std::to_string(first.size() + 2)) << status;
}

TEST(RawMessageTest, TooDeepIsAReasonOfItsOwn) {
  std::string inside = Field(2, "c");
  for (int depth = 0; depth < 98; ++depth) inside = Field(4, inside);
  const std::string deepest = Field(2, Field(1, inside));
  EXPECT_TRUE(FaultOf<v1::ScanRequest>(deepest).ok());
  const absl::Status status = FaultOf<v1::ScanRequest>(Field(2, Field(1, Field(4, inside))));
  const ErrorDetails details = ErrorDetailsOf(status);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(details.reason, "REQUEST_TOO_DEEP") << status;
  EXPECT_EQ(details.limit, "100");
  // Groups count, too: an unknown one may have others inside.
  EXPECT_EQ(ErrorDetailsOf(FaultOf<v1::ScanRequest>(std::string(200, '\x53'))).reason,
            "REQUEST_TOO_DEEP");
}

TEST(RawMessageTest, WhatIsWrittenIsReadBack) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{3} << 20}) {
    v1::LookupRequest request, back;
    request.add_keys()->set_data(std::string(bytes, 'k'));
    grpc::ByteBuffer raw = WriteMessage(request);
    EXPECT_EQ(raw.Length(), request.ByteSizeLong());
    ASSERT_TRUE(ParseMessage(&raw, &back).ok());
    EXPECT_EQ(back.SerializeAsString(), request.SerializeAsString());
  }
}

}  // namespace
}  // namespace eris::server
