// AEUs stepped by hand that own ranges of one object, and a client that writes and reads its rows.
#ifndef ERIS_TESTS_UNIT_AEU_AEU_FIXTURE_H_
#define ERIS_TESTS_UNIT_AEU_AEU_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/support/aeu_lab.h"

namespace eris::aeu {

using routing::CommandType;
using routing::ObjectRoute;
using storage::Key;
using storage::KeyState;
using storage::Range;
using test::TestReply;
using test::TestScanPart;

inline constexpr uint64_t kKeyMax = std::numeric_limits<uint64_t>::max();

class AeuTest : public testing::Test {
 protected:
  // `count` AEUs; object 1 in slot 0, AEU i owns [1000 i, 1000 (i + 1)).
  void Build(uint32_t count, size_t half_bytes = 64 << 10) {
    std::vector<uint64_t> starts;
    std::vector<AeuId> owners;
    for (uint32_t i = 0; i < count; ++i) starts.push_back(1000 * i), owners.push_back({i});
    BuildRanges(count, starts, owners, half_bytes);
  }
  void BuildRanges(uint32_t count, const std::vector<uint64_t>& starts,
                   const std::vector<AeuId>& owners, size_t half_bytes = 64 << 10) {
    client_.reset();  // of the lab before
    lab_ = std::make_unique<test::AeuLab>(memory_, count, half_bytes);
    client_ = std::make_unique<test::LabClient>(*lab_);
    route_ = &lab_->Create(0, {1}, starts, owners);
  }
  // A way to the same object as a sender with another table knows it.
  std::unique_ptr<ObjectRoute> OtherTable(std::vector<uint64_t> starts, std::vector<AeuId> owners) {
    return std::make_unique<ObjectRoute>(
        route_->slot(), route_->object(),
        std::make_unique<routing::RangeTable>(0, std::move(starts), std::move(owners)));
  }
  // A way to an object that no AEU knows; by its table AEU 0 has all of it.
  static ObjectRoute Unknown(uint32_t slot, ObjectId object) {
    return ObjectRoute(slot, object,
                       std::make_unique<routing::RangeTable>(1, std::vector<uint64_t>{0},
                                                             std::vector<AeuId>{{0}}));
  }
  void Upsert(const std::vector<uint64_t>& keys, const std::vector<uint64_t>& values) {
    TestReply reply(keys.size());
    client_->Send(*route_, CommandType::kUpsert, keys, values, reply);
    lab_->Settle();
    ASSERT_EQ(reply.answered, keys.size());
    for (const KeyState state : reply.state_column) ASSERT_LE(state, KeyState::kPresent);
  }
  // Keys 0 to `rows`, each its own value.
  void UpsertDense(uint64_t rows) {
    for (uint64_t from = 0; from < rows; from += 500) {
      std::vector<uint64_t> keys(500);
      std::iota(keys.begin(), keys.end(), from);
      Upsert(keys, keys);
    }
  }
  uint64_t ValueOf(uint64_t key) {
    TestReply reply(1);
    client_->Send(*route_, CommandType::kLookup, {key}, {}, reply);
    lab_->Settle();
    return reply.state_column[0] == KeyState::kPresent ? reply.value_column[0] : kKeyMax;
  }

  test::LabMemory memory_;
  std::unique_ptr<test::AeuLab> lab_;
  std::unique_ptr<test::LabClient> client_;
  ObjectRoute* route_ = nullptr;
};

}  // namespace eris::aeu

#endif  // ERIS_TESTS_UNIT_AEU_AEU_FIXTURE_H_
