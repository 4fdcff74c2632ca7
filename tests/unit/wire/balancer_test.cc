// Kinds of transfers and their counts as messages.
#include "wire/balancer.h"

#include <cctype>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace eris::wire {
namespace {

using ::testing::HasSubstr;

// The numbers are compared by a static_assert: a kind that got another's number shows here.
TEST(TransferKindMessagesTest, EachKindHasTheNumberOfItsName) {
  for (const TransferKind kind : kTransferKinds) {
    std::string name = "TRANSFER_KIND_";
    for (const char letter : TraitsOf(kind).name) {
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    }
    EXPECT_EQ(v1::TransferKind_Name(static_cast<v1::TransferKind>(kind)), name);
    EXPECT_EQ(TransferKindNamed(TraitsOf(kind).name), kind);
    const auto from = TransferKindFrom(static_cast<v1::TransferKind>(kind));
    ASSERT_TRUE(from.ok()) << from.status();
    EXPECT_EQ(*from, kind);
  }
  EXPECT_EQ(TransferKindNamed(""), std::nullopt);
  EXPECT_EQ(TransferKindNamed("nothing"), std::nullopt);
}

TEST(TransferKindMessagesTest, WhatIsNoKindIsRefusedAndNamesAllKinds) {
  EXPECT_EQ(*TransferKindFrom(v1::TRANSFER_KIND_UNSPECIFIED), std::nullopt);
  for (const int number : {-1, v1::TransferKind_MAX + 1, 255, 256, 257}) {
    const auto from = TransferKindFrom(static_cast<v1::TransferKind>(number));
    ASSERT_EQ(from.status().code(), absl::StatusCode::kInvalidArgument) << number;
    for (const TransferKind kind : kTransferKinds) {
      EXPECT_THAT(from.status().message(),
                  HasSubstr(v1::TransferKind_Name(static_cast<v1::TransferKind>(kind))));
    }
  }
}

TEST(TransferKindMessagesTest, CountsGoRoundAndUnknownKindsAreLeftOut) {
  BalancerStatus status;
  uint64_t count = 10;
  for (const TransferKind kind : kTransferKinds) status.transfers[kind] = ++count;
  v1::GetBalancerResponse message;
  FillBalancer(status, nullptr, &message);
  ASSERT_EQ(message.transfers_size(), static_cast<int>(kTransferKindCount));
  for (const int number : {0, -1, v1::TransferKind_MAX + 1, 256}) {
    v1::TransferCount* const unknown = message.add_transfers();
    unknown->set_kind(static_cast<v1::TransferKind>(number));
    unknown->set_done(99);
  }
  EXPECT_EQ(BalancerFrom(message, nullptr).transfers, status.transfers);
}

}  // namespace
}  // namespace eris::wire
