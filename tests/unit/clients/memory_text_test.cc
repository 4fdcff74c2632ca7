#include "clients/cli/text/memory_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "clients/cli/text/exit_code.h"

namespace eris::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

NumaNodePlacement Bound(uint32_t id, uint64_t local, uint64_t elsewhere) {
  NumaNodePlacement one{.id = NumaNodeId{id},
                        .bound = true,
                        .os_numa_nodes = {id},
                        .pages_asked = local + elsewhere + 5,
                        .pages_local = local,
                        .pages_elsewhere = elsewhere,
                        .pages_absent = 5,
                        .located = {{.os_numa_node = id, .pages = local, .local = true}}};
  if (elsewhere > 0) {
    one.located.push_back({.os_numa_node = 7, .pages = elsewhere, .addresses = {0x7f00001000}});
  }
  return one;
}

NumaNodePlacement Unbound(uint32_t id) {
  return {.id = NumaNodeId{id},
          .pages_asked = 9,
          .located = {{.os_numa_node = 4, .pages = 9}},
          .resident_bytes = 3 << 20,
          .shared_huge_bytes = 2 << 20};
}

TEST(MemoryTextTest, ExitCodeTellsMisplacedFromUnknownFromFine) {
  EXPECT_EQ(ExitCodeOf({{Bound(0, 10, 0), Bound(1, 10, 0)}}), kExitOk);
  EXPECT_EQ(ExitCodeOf({{Bound(0, 0, 0)}}), kExitOk);
  EXPECT_EQ(ExitCodeOf({{Bound(0, 10, 0), Unbound(1)}}), kExitUnverified);
  EXPECT_EQ(ExitCodeOf({{Unbound(0), Bound(1, 10, 1)}}), kExitMisplaced);
}

TEST(MemoryTextTest, AllLocalIsSaidInOneLine) {
  const std::string text =
      ToText(MemoryVerification{.numa_nodes = {Bound(0, 10, 0), Bound(1, 20, 0)}});
  EXPECT_THAT(text, HasSubstr("30 pages found, all where they should be\n"));
  EXPECT_THAT(text, HasSubstr("100.00 %"));
  EXPECT_THAT(text, Not(HasSubstr("FOR EXAMPLE")));
}

TEST(MemoryTextTest, StrayPagesAreNamedAndNeverRoundedAway) {
  const std::string text = ToText(MemoryVerification{.numa_nodes = {Bound(0, 10'000'000, 1)}});
  EXPECT_THAT(text, HasSubstr("1 of 10000001 pages found are not where they should be\n"));
  EXPECT_THAT(text, HasSubstr("99.99 %"));
  EXPECT_THAT(text, HasSubstr("0x7f00001000"));
}

TEST(MemoryTextTest, RowsThatAreElsewhereAreALineForEachAeu) {
  MemoryVerification verification{.numa_nodes = {Bound(0, 10, 0)}};
  EXPECT_THAT(ToText(verification), testing::Not(testing::HasSubstr("REMOTE")));
  EXPECT_EQ(ToJson(verification)["rows"], Json::Array());
  verification.rows = {{.object = "orders", .aeu = AeuId{7}, .bytes = 4096, .remote_bytes = 1024},
                       {.object = "orders", .aeu = AeuId{8}}};
  const std::string text = ToText(verification);
  EXPECT_THAT(text, testing::HasSubstr("PERCENT REMOTE"));
  EXPECT_THAT(text, testing::HasSubstr("25.00 %"));
  const Json rows = ToJson(verification)["rows"];
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["object"], "orders");
  EXPECT_EQ(rows[0]["aeu"], 7);
  EXPECT_EQ(rows[0]["bytes"], "4096");
  EXPECT_EQ(rows[0]["remote_bytes"], "1024");
}

TEST(MemoryTextTest, UnboundMemoryHasNoPercentButAPlace) {
  const MemoryVerification verification{.numa_nodes = {Unbound(0), Bound(1, 0, 0), Unbound(2)}};
  const std::string text = ToText(verification);
  EXPECT_THAT(text, HasSubstr("memory is not bound, and may be anywhere: of NumaNode 0, 2\n"));
  EXPECT_THAT(text, HasSubstr("66.66 %"));  // in huge pages
  EXPECT_THAT(text, HasSubstr("FOUND ON"));
  EXPECT_THAT(text, Not(HasSubstr("where they should")));
  const Json json = ToJson(verification);
  EXPECT_TRUE(json["numa_nodes"][0]["percent_local"].is_null());
  EXPECT_TRUE(json["numa_nodes"][1]["percent_local"].is_null());
  EXPECT_EQ(json["numa_nodes"][0]["located"][0]["os_numa_node"], 4);
}

TEST(MemoryTextTest, ClassesAreShownOnRequest) {
  MemoryStats stats{.pages = {"reserved ones", "others"}};
  stats.objects.push_back(
      {.object = "orders",
       .classes = {{.block_bytes = 704, .used_blocks = 12, .cached_blocks = 3}}});
  EXPECT_THAT(ToText(stats, /*classes=*/false), Not(HasSubstr("704")));
  EXPECT_THAT(ToText(stats, /*classes=*/true), HasSubstr("704    12       3\n"));
  EXPECT_THAT(ToText(stats, false), HasSubstr("pages: reserved ones, then others\n"));
}

TEST(MemoryTextTest, EachFigureIsInTheTableAndUnderItsNameInTheJson) {
  MemoryStats stats;
  stats.numa_nodes = {{.id = NumaNodeId{3},
                       .bound = true,
                       .reserved_bytes = 1 << 20,
                       .in_use_bytes = 2 << 20,
                       .buffers_bytes = 3 << 20,
                       .kept_bytes = 4 << 20,
                       .ready_bytes = 5 << 20,
                       .reserved_huge_bytes = 6 << 20,
                       .mapped_bytes = 7 << 20}};
  EXPECT_THAT(ToText(stats, /*classes=*/false),
              HasSubstr("NUMANODE  RESERVED   IN USE  BUFFERS     KEPT    READY  "
                        "RESERVED HUGE PAGES  ADDRESS SPACE  BOUND\n"
                        "       3   1.0 MiB  2.0 MiB  3.0 MiB  4.0 MiB  5.0 MiB              "
                        "6.0 MiB        7.0 MiB  yes\n"
                        "\nOBJECT  NUMANODE  COMMITTED"));
  EXPECT_EQ(ToJson(stats)["numa_nodes"].Dump(),
            R"([{"id":3,"bound":true,"reserved_bytes":"1048576","in_use_bytes":"2097152",)"
            R"("buffers_bytes":"3145728","kept_bytes":"4194304","ready_bytes":"5242880",)"
            R"("reserved_huge_bytes":"6291456","mapped_bytes":"7340032"}])");
}

}  // namespace
}  // namespace eris::cli
