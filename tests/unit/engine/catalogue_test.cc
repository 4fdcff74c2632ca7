#include "engine/objects/catalogue.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "engine/objects/object_kinds.h"

namespace eris::engine {
namespace {

using Code = absl::StatusCode;

ObjectRef RefOf(const Reservation& place) {
  return std::make_shared<ObjectEntry>(
      place.name, ObjectKind::kIndex, place.slot, place.id,
      std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0}, std::vector<AeuId>{{0}}),
      *LayoutOf(ObjectKind::kIndex, KeyValueSchema()));
}

constexpr auto kAlways = [](ObjectEntry&) { return absl::OkStatus(); };

TEST(CatalogueTest, AReservedNameIsTakenButNotFound) {
  Catalogue catalogue;
  const auto place = catalogue.Reserve("a");
  ASSERT_TRUE(place.ok());
  EXPECT_EQ(catalogue.Reserve("a").status().code(), Code::kAlreadyExists);
  EXPECT_EQ(catalogue.Find("a").status().code(), Code::kNotFound);
  EXPECT_TRUE(catalogue.List().empty());
  catalogue.Publish(*place, RefOf(*place));
  EXPECT_EQ((*catalogue.Find("a"))->name, "a");
  EXPECT_EQ(catalogue.List().size(), 1u);
}

TEST(CatalogueTest, AWithdrawnNameStaysTakenUntilItsRelease) {
  Catalogue catalogue;
  const auto place = catalogue.Reserve("a");
  catalogue.Publish(*place, RefOf(*place));
  Reservation withdrawn;
  ASSERT_TRUE(catalogue.Withdraw("a", kAlways, withdrawn).ok());
  EXPECT_EQ(withdrawn.slot, place->slot);
  EXPECT_EQ(withdrawn.id, place->id);
  EXPECT_EQ(catalogue.Withdraw("a", kAlways, withdrawn).status().code(), Code::kNotFound);
  EXPECT_EQ(catalogue.Find("a").status().code(), Code::kNotFound);
  EXPECT_EQ(catalogue.Reserve("a").status().code(), Code::kAlreadyExists);
  catalogue.Release(withdrawn);
  EXPECT_TRUE(catalogue.Reserve("a").ok());
}

TEST(CatalogueTest, AnObjectWhoseCheckFailsIsNotWithdrawn) {
  Catalogue catalogue;
  const auto place = catalogue.Reserve("a");
  catalogue.Publish(*place, RefOf(*place));
  Reservation withdrawn;
  const auto refuse = [](ObjectEntry&) { return absl::FailedPreconditionError("no"); };
  EXPECT_EQ(catalogue.Withdraw("a", refuse, withdrawn).status().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(catalogue.Find("a").ok());
}

TEST(CatalogueTest, WritesAreCountedUntilTheExpectedCountIsSealed) {
  const ObjectRef object = RefOf({.name = "a", .slot = 0, .id = {1}});
  EXPECT_TRUE(object->CountWritten(3));
  EXPECT_TRUE(object->CountWritten(4));
  uint64_t counted = 0;
  EXPECT_FALSE(object->SealWritten(6, counted));
  EXPECT_EQ(counted, 7u);
  EXPECT_TRUE(object->SealWritten(7, counted));
  EXPECT_FALSE(object->CountWritten(1));
}

TEST(CatalogueTest, SlotsAreUsedAgainAndIdsAreNot) {
  Catalogue catalogue;
  const auto first = catalogue.Reserve("a");
  const auto second = catalogue.Reserve("b");
  EXPECT_NE(first->slot, second->slot);
  EXPECT_NE(first->id, second->id);
  catalogue.Release(*first);
  const auto third = catalogue.Reserve("c");
  EXPECT_EQ(third->slot, first->slot);
  EXPECT_GT(third->id, second->id);
}

TEST(CatalogueTest, AtTheLimitAnObjectMustGoFirst) {
  Catalogue catalogue;
  Reservation last;
  for (uint32_t i = 0; i < kObjectsMax; ++i) {
    auto place = catalogue.Reserve(std::to_string(i));
    ASSERT_TRUE(place.ok());
    ASSERT_LT(place->slot, kObjectsMax);
    last = *place;
  }
  EXPECT_EQ(catalogue.Reserve("more").status().code(), Code::kResourceExhausted);
  catalogue.Release(last);
  EXPECT_TRUE(catalogue.Reserve("more").ok());
}

TEST(CatalogueTest, NamesAreUtf8WithoutControlCharacters) {
  Catalogue catalogue;
  for (const char* name : {"a", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "a b/c.d"}) {
    EXPECT_TRUE(catalogue.Reserve(name).ok()) << name;
  }
  EXPECT_TRUE(catalogue.Reserve(std::string(kObjectNameBytesMax, 'x')).ok());
  const std::vector<std::string> bad{"",
                                     std::string(kObjectNameBytesMax + 1, 'x'),
                                     std::string(1, '\0'),
                                     "\t",
                                     "\x7f",
                                     "\xc2\x80",          // a control character in two bytes
                                     "\xff",              // no first byte
                                     "\x80",              // a second byte alone
                                     "\xc3",              // cut off
                                     "\xe2\x82",          // cut off
                                     "\xc0\xaf",          // overlong
                                     "\xe0\x80\xaf",      // overlong
                                     "\xed\xa0\x80",      // a surrogate
                                     "\xf4\x90\x80\x80",  // beyond U+10FFFF
                                     "\xf8\x88\x80\x80\x80"};
  for (const std::string& name : bad) {
    EXPECT_EQ(catalogue.Reserve(name).status().code(), Code::kInvalidArgument) << name;
  }
}

TEST(CatalogueTest, OneOfManyThreadsGetsAName) {
  Catalogue catalogue;
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> got{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([&] {
        const auto place = catalogue.Reserve("contended");
        if (!place.ok()) return;
        got.fetch_add(1);
        catalogue.Publish(*place, RefOf(*place));
      });
    }
    for (std::thread& thread : threads) thread.join();
    ASSERT_EQ(got.load(), 1);
    Reservation place;
    ASSERT_TRUE(catalogue.Withdraw("contended", kAlways, place).ok());
    catalogue.Release(place);
  }
}

}  // namespace
}  // namespace eris::engine
