#include "server/state/resume_token.h"

#include <random>
#include <string>
#include <utility>

#include "eris/query.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::server {
namespace {

using ::testing::HasSubstr;

constexpr uint64_t kSeed = 20240711;

TEST(ResumeTokenTest, DecodesWhatEncodeWrote) {
  const ResumeTokenCodec codec(kSeed);
  const ResumePoint points[] = {
      {},
      {ObjectId{1}, 0, 5, "key 7"},
      {ObjectId{~uint32_t{0}}, ~uint64_t{0}, ~uint64_t{0}, std::string("a\0b", 3)},
      {ObjectId{7}, 1, 2, std::string(kResumeBytesMax, 'x')},
  };
  for (const ResumePoint& point : points) {
    const std::string token = codec.Encode(point);
    const auto decoded = codec.Decode(token);
    ASSERT_TRUE(decoded.ok()) << decoded.status();
    EXPECT_EQ(*decoded, point);
  }
}

TEST(ResumeTokenTest, EveryFlippedBitIsRefused) {
  const ResumeTokenCodec codec(kSeed);
  const std::string token = codec.Encode({ObjectId{7}, 5, 10, "somewhere"});
  for (size_t bit = 0; bit < token.size() * 8; ++bit) {
    std::string damaged = token;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_EQ(codec.Decode(damaged).status().code(), absl::StatusCode::kInvalidArgument)
        << "bit " << bit;
  }
}

TEST(ResumeTokenTest, EveryOtherLengthIsRefused) {
  const ResumeTokenCodec codec(kSeed);
  const std::string whole = codec.Encode({ObjectId{7}, 5, 10, "somewhere"});
  const std::string token = whole + "more";
  for (size_t length = 0; length <= token.size(); ++length) {
    if (length == whole.size()) continue;
    EXPECT_EQ(codec.Decode(token.substr(0, length)).status().code(),
              absl::StatusCode::kInvalidArgument);
  }
  EXPECT_FALSE(codec.Decode(std::string(ResumeTokenCodec::kTokenBytesMax + 1, '\4')).ok());
}

TEST(ResumeTokenTest, TokenOfAnotherServerIsRefusedAsSuch) {
  const std::string token = ResumeTokenCodec(kSeed + 1).Encode({ObjectId{7}, 5, 10, "somewhere"});
  const auto decoded = ResumeTokenCodec(kSeed).Decode(token);
  EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(decoded.status().message()), HasSubstr("another server"));
}

TEST(ResumeTokenTest, RandomBytesAreRefused) {
  std::mt19937_64 random(kSeed);
  const ResumeTokenCodec codec(kSeed);
  for (int i = 0; i < 10000; ++i) {
    std::string token(random() % 100, '\0');
    for (char& c : token) c = static_cast<char>(random());
    if (!token.empty()) token[0] = 4;
    EXPECT_FALSE(codec.Decode(token).ok()) << "seed " << kSeed << ", token " << i;
  }
}

TEST(ResumeTokenTest, TokensOfOlderFormsAreRefusedAsSuch) {
  for (const auto& [form, bytes] :
       {std::pair(1, 46), std::pair(2, 62), std::pair(3, 78), std::pair(65, 60)}) {
    std::string token(bytes, '\x07');
    token[0] = static_cast<char>(form);
    const auto decoded = ResumeTokenCodec(kSeed).Decode(token);
    EXPECT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(decoded.status().message()),
                HasSubstr("of form " + std::to_string(form)));
    EXPECT_THAT(std::string(decoded.status().message()), HasSubstr("start the scan again"));
  }
}

// Bytes of any length, tokens cut, lengthened, overwritten and spliced: refused with a message, or
// the very point that was encoded.
TEST(ResumeTokenTest, MutatedTokensAreRefusedOrDecodeToWhatWasEncoded) {
  std::mt19937_64 random(kSeed);
  const ResumeTokenCodec codec(kSeed);
  const auto any_bytes = [&](size_t count) {
    std::string bytes(count, '\0');
    for (char& c : bytes) c = static_cast<char>(random());
    return bytes;
  };
  int intact = 0;
  for (int i = 0; i < 100'000; ++i) {
    SCOPED_TRACE(testing::Message() << "seed " << kSeed << ", token " << i);
    const ResumePoint point{ObjectId{static_cast<uint32_t>(random())}, random() % 2 * random(),
                            random(), any_bytes(random() % 100)};
    const std::string whole = codec.Encode(point);
    std::string token = whole;
    switch (random() % 6) {
      case 0:
        token = any_bytes(random() % 100);
        break;
      case 1:
        token.resize(random() % token.size());
        break;
      case 2:
        token += any_bytes(1 + random() % 20);
        break;
      case 3:
        token.replace(random() % token.size(), 1, any_bytes(1));
        break;
      case 4:  // the head of one token, the tail of another
        token.resize(random() % token.size());
        token += codec.Encode({ObjectId{1}, 0, 1, std::string(200, 'p')}).substr(token.size());
        break;
      default:
        break;
    }
    const auto decoded = codec.Decode(token);
    if (decoded.ok()) {
      ++intact;
      ASSERT_EQ(codec.Encode(*decoded), token);
    } else {
      ASSERT_EQ(decoded.status().code(), absl::StatusCode::kInvalidArgument);
      ASSERT_NE(token, whole);
    }
  }
  EXPECT_GT(intact, 10'000) << "seed " << kSeed;
}

}  // namespace
}  // namespace eris::server
