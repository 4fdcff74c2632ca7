// Cases that lead to every kind of block and every command: where the fuzzer begins, and what every
// build runs once. And the inputs that have failed, which stay.
#ifndef ERIS_TESTS_FUZZ_INDEX_SEEDS_H_
#define ERIS_TESTS_FUZZ_INDEX_SEEDS_H_

#include <string>
#include <vector>

#include "tests/fuzz/index_command.h"

namespace eris::fuzz {

struct SeedCase {
  const char* name;
  std::vector<IndexCommand> commands;
};

inline std::vector<SeedCase> SeedCases() {
  using Kind = CommandKind;
  using Family = KeyFamily;
  using Order = KeyOrder;
  // `count` times 16 keys.
  const auto many = [](Kind kind, Family family, Order order, uint8_t count, uint8_t place = 0,
                       uint8_t detail = 0) {
    return IndexCommand{.kind = kind,
                        .family = family,
                        .order = order,
                        .place = place,
                        .count = count,
                        .scale = 2,
                        .detail = detail};
  };
  const auto split_at_row = [](uint16_t row) {
    return IndexCommand{.kind = Kind::kSplit, .family = Family::kExisting, .first = row};
  };
  const auto refused = [](IndexCommand command, uint8_t failure) {
    command.failure = failure;
    return command;
  };
  std::vector<SeedCase> cases;
  for (unsigned family = 0; family < kKeyFamilies - 1; ++family) {
    for (const Order order : {Order::kAscending, Order::kDescending, Order::kScattered}) {
      const auto keys = static_cast<Family>(family);
      cases.push_back({"build up, cut, join, take down",
                       {many(Kind::kUpsert, keys, order, 120, 3),
                        split_at_row(100),
                        split_at_row(1000),
                        many(Kind::kInsertIfAbsent, keys, Order::kRepeated, 150, 1, 13),
                        {.kind = Kind::kAbsorb, .detail = 1},
                        {.kind = Kind::kMoveChunks, .count = 200, .detail = 4},
                        many(Kind::kScan, keys, order, 255, 0, 45),
                        many(Kind::kScan, keys, Order::kScattered, 255, 2, 110),  // backward, keys
                        many(Kind::kScan, keys, Order::kDescending, 255, 3, 65),  // filtered
                        many(Kind::kScan, keys, order, 255, 3, 176),              // aggregate
                        {.kind = Kind::kReload, .count = 100, .detail = 2},
                        many(Kind::kCompareAndSet, keys, order, 40, 3, 3),
                        many(Kind::kErase, Family::kExisting, Order::kAscending, 60),
                        {.kind = Kind::kHandOver},
                        {.kind = Kind::kInvalidCalls, .detail = 1},
                        many(Kind::kErase, Family::kExisting, Order::kScattered, 250, 0, 6)}});
    }
  }
  // A TreeNode256: children of a byte each, more than 48 of them.
  cases.push_back({"many pages below one TreeNode",
                   {many(Kind::kUpsert, Family::kDense, Order::kAscending, 255),
                    split_at_row(2000),
                    refused({.kind = Kind::kAbsorb}, 0xc0),
                    {.kind = Kind::kAbsorb},
                    many(Kind::kErase, Family::kExisting, Order::kDescending, 255)}});
  cases.push_back({"many runs below one TreeNode",
                   {many(Kind::kUpsert, Family::kSparse, Order::kScattered, 255),
                    many(Kind::kUpsert, Family::kSparse, Order::kScattered, 255, 1),
                    split_at_row(3000),
                    split_at_row(17),
                    {.kind = Kind::kAbsorb, .detail = 2},
                    {.kind = Kind::kReload, .count = 255, .scale = 1, .detail = 5},
                    many(Kind::kErase, Family::kExisting, Order::kScattered, 230),
                    many(Kind::kErase, Family::kExisting, Order::kAscending, 200)}});
  cases.push_back({"abandoned, and on",
                   {many(Kind::kUpsert, Family::kOneByte, Order::kAscending, 64, 2),
                    {.kind = Kind::kAbandon},
                    many(Kind::kAdd, Family::kOneByte, Order::kRepeated, 64, 5, 8),
                    {.kind = Kind::kTrim},
                    many(Kind::kLookup, Family::kExisting, Order::kScattered, 64)}});
  for (const auto family : {Family::kDense, Family::kSparse, Family::kClustered}) {
    for (const uint8_t end : {0, 1}) {
      // Half is forgotten, then all; taken back; to the other cache and joined there.
      cases.push_back({"lend, conclude, change homes",
                       {many(Kind::kUpsert, family, Order::kScattered, 120, 3),
                        many(Kind::kLend, family, Order::kAscending, 40, 0, uint8_t(4 + end)),
                        many(Kind::kUpsert, family, Order::kRepeated, 60, 3),
                        {.kind = Kind::kConclude, .count = 9},
                        {.kind = Kind::kMaintain, .count = 20},
                        many(Kind::kLend, family, Order::kAscending, 20, 0, uint8_t(8 * end + end)),
                        {.kind = Kind::kInvalidCalls, .detail = end},
                        {.kind = Kind::kSplit, .family = Family::kExisting, .first = 900},
                        many(Kind::kErase, Family::kExisting, Order::kScattered, 20),
                        {.kind = Kind::kConclude, .detail = 1},
                        {.kind = Kind::kRehome, .detail = end},
                        {.kind = Kind::kAbsorb},
                        refused(many(Kind::kLend, family, Order::kAscending, 60, 0, end), 0xff),
                        refused({.kind = Kind::kConclude, .count = 100}, 0xe0),
                        refused({.kind = Kind::kMaintain, .count = 100}, 0xe0),
                        {.kind = Kind::kAbsorb, .detail = 1}}});
    }
  }
  return cases;
}

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_INDEX_SEEDS_H_
