// The order of a Port's commands within a turn, and installations that fail half way.
#include <gtest/gtest.h>

#include <vector>

#include "aeu/aeu.h"
#include "aeu/state/reserve_more.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/aeu_lab.h"

namespace eris::aeu {
namespace {

using routing::CommandType;
using storage::Key;
using storage::KeyState;
using test::TestReply;

using enum KeyState;

using States = std::vector<KeyState>;

// Two AEUs, of which the first has all of an object.
class AeuOrderTest : public testing::Test {
 protected:
  test::LabMemory memory_;
  test::AeuLab lab_{memory_, 2};
  test::LabClient client_{lab_};
  routing::ObjectRoute& route_ = lab_.Create(0, {1}, {0}, {{0}});
};

// Commands of one operation run together, but those of one Port keep their order, whatever they
// are.
TEST_F(AeuOrderTest, CommandsOfOnePortRunInTheirOrder) {
  TestReply first(1), erase(1), second(1), lookup(1), third(1);
  client_.Send(route_, CommandType::kUpsert, {7}, {70}, first);
  client_.Send(route_, CommandType::kErase, {7}, {}, erase);
  client_.Send(route_, CommandType::kUpsert, {7}, {71}, second);
  client_.Send(route_, CommandType::kLookup, {7}, {}, lookup);
  client_.Send(route_, CommandType::kUpsert, {7}, {72}, third);
  EXPECT_TRUE(lab_.Step(0));
  EXPECT_EQ(first.state_column, States{kAbsent});
  EXPECT_EQ(erase.state_column, States{kPresent});
  EXPECT_EQ(second.state_column, States{kAbsent});
  EXPECT_EQ(lookup.value_column, std::vector<uint64_t>{71});
  EXPECT_EQ(third.state_column, States{kPresent});
  TestReply last(1);
  client_.Send(route_, CommandType::kLookup, {7}, {}, last);
  lab_.Settle();
  EXPECT_EQ(last.value_column, std::vector<uint64_t>{72});
}

// Nobody would tell the AEU of the object's drop.
TEST_F(AeuOrderTest, AnInstallationThatFailsHalfWayLeavesNothing) {
  const storage::Range range{Key::FromU64(50), Key::FromU64(60)};
  uint64_t refused = 0;
  for (KeyState state = KeyState::kNoMemory; state != kAbsent; ++refused) {
    ReserveFailures().Arm(refused + 1, memory::FailurePoint::Mode::kOnce);
    state = lab_.TryInstall(route_, {1}, range);
    ReserveFailures().Arm(0, memory::FailurePoint::Mode::kOnce);
    ASSERT_TRUE(state == kAbsent || state == KeyState::kNoMemory);
    const bool installed = state == kAbsent;
    EXPECT_EQ(AeuTestPeer::SlotOf(lab_[1], route_) != nullptr, installed);
    EXPECT_EQ(lab_[1].loads().All().size(), installed ? 1u : 0u);
  }
  EXPECT_GE(refused, 2u);
  // A part that it had before stays.
  ReserveFailures().Arm(1, memory::FailurePoint::Mode::kFromThen);
  EXPECT_EQ(lab_.TryInstall(route_, {0}, range), KeyState::kNoMemory);
  ReserveFailures().Arm(0, memory::FailurePoint::Mode::kOnce);
  EXPECT_NE(AeuTestPeer::SlotOf(lab_[0], route_), nullptr);
}

}  // namespace
}  // namespace eris::aeu
