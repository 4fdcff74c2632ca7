// A few AEUs stepped by hand, the first of which owns an object's whole key space, and a driver
// that plays the engine's part when ranges of it change hands.
#ifndef ERIS_TESTS_UNIT_AEU_TRANSFER_FIXTURE_H_
#define ERIS_TESTS_UNIT_AEU_TRANSFER_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "aeu/transfers/transfer_runner.h"
#include "routing/reply_bytes.h"
#include "routing/snapshot_registry.h"
#include "storage/byte_value.h"
#include "tests/sim/aeu_peer.h"
#include "tests/support/aeu_lab.h"
#include "tests/support/transfer_driver.h"

namespace eris::aeu {

using routing::CommandType;
using routing::PartOutcome;
using routing::StepOutcome;
using storage::KeyState;
using storage::Range;
using test::TestReply;
using test::TestScanPart;
using test::TestStep;
using test::TransferDriver;
using End = storage::Partition::End;

inline constexpr uint64_t kLastKey = std::numeric_limits<uint64_t>::max();

inline Range Of(uint64_t lo, std::optional<uint64_t> hi) { return Range::FromPublic({lo, hi}); }

// First and second part -> value.
using Rows = std::map<std::pair<uint64_t, uint64_t>, uint64_t>;

struct Kind {
  const char* name;
  routing::InstallSegment like;
  bool links = true;
  friend std::ostream& operator<<(std::ostream& out, const Kind& kind) { return out << kind.name; }
};

inline Kind U64() { return {.name = "u64", .like = {}}; }
inline std::vector<Kind> Kinds() {
  Kind bytes{.name = "bytes", .like = {}}, two_part{.name = "two_part", .like = {}};
  Kind hash{.name = "hash", .like = {}, .links = false};
  bytes.like.value_type = ColumnType::kString;
  two_part.like.two_parts = true;
  hash.like.kind = ObjectKind::kHash;
  hash.like.seed = 77;
  return {U64(), bytes, two_part, hash};
}

class TransferTest : public testing::Test {
 protected:
  // `aeus` AEUs, of which the first owns all and the last one nothing, not even a slot.
  void Build(const Kind& kind, uint32_t aeus = 3, size_t half_bytes = 64 << 10,
             uint32_t numa_nodes = 1) {
    kind_ = kind;
    model_.clear();
    port_.reset();  // of the lab before
    lab_ = std::make_unique<test::AeuLab>(memory_, aeus, half_bytes, 1 << 10);
    port_ = std::make_unique<routing::Port>(
        lab_->directory(),
        routing::PortOptions{.outgoing_bytes = 1 << 10, .pool_bytes_max = 4 << 20});
    // The clock decides nothing; a test of that sets another one.
    for (uint32_t i = 0; i < aeus; ++i) lab()[i].SetWorkClock([] { return uint64_t{0}; });
    route_ = &lab_->Create(0, {1}, {0}, {{0}}, kind.like, numa_nodes);
    routing::InstallSegment slot = kind.like;
    slot.slot_only = true;
    for (uint32_t i = 1; i + 1 < aeus; ++i) lab_->Install(*route_, {i}, {}, slot);
    driver_.emplace(*lab_, *route_);
  }
  test::AeuLab& lab() { return *lab_; }
  TransferDriver& driver() { return *driver_; }
  routing::SnapshotRegistry& registry() { return lab().directory().snapshots(); }
  ObjectSlot& Slot(uint32_t aeu) { return *AeuTestPeer::SlotOf(lab()[aeu], *route_); }
  std::vector<Range> RangesOf(uint32_t aeu) {
    std::vector<Range> ranges;
    for (const OwnedRange& owned : Slot(aeu).ranges()) ranges.push_back(owned.partition->range());
    return ranges;
  }
  bool two_parts() const { return kind_.like.two_parts; }
  bool byte_strings() const { return IsByteString(kind_.like.value_type); }

  struct Sent {
    explicit Sent(std::vector<std::pair<uint64_t, uint64_t>> sent_keys)
        : keys(std::move(sent_keys)), reply(keys.size()) {
      reply.bytes_sink = &bytes;
    }
    std::vector<std::pair<uint64_t, uint64_t>> keys;
    routing::ReplyBytes bytes{1 << 20};
    TestReply reply;
  };
  // By the table in force; to `target`, whatever that says, as by the table `older` versions
  // before.
  std::unique_ptr<Sent> Send(CommandType type, const Rows& rows,
                             std::optional<uint32_t> target = std::nullopt, uint64_t older = 0) {
    std::vector<uint64_t> firsts, seconds, values;
    std::vector<std::pair<uint64_t, uint64_t>> keys;
    for (const auto& [key, value] : rows) {
      keys.push_back(key);
      firsts.push_back(key.first);
      if (two_parts()) seconds.push_back(key.second);
      values.push_back(byte_strings() ? storage::ShortWord(std::to_string(value)) : value);
    }
    auto sent = std::make_unique<Sent>(std::move(keys));
    routing::KeyedCommand command{.type = type,
                                  .keys = firsts,
                                  .complete = &TestReply::Answered,
                                  .context = &sent->reply,
                                  .seconds = seconds};
    if (routing::HasValues(type)) command.values = values;
    const uint64_t version = route_->version() - older;
    const uint32_t refused =
        target ? port_->SendAlong({*target}, version, *route_, command, KeyState::kRefused)
               : port_->Send(*route_, command, KeyState::kRefused);
    EXPECT_EQ(refused, 0u);
    port_->Flush();
    return sent;
  }
  void Put(const Rows& rows) {
    // In pieces, so that buffers of any size do.
    for (auto it = rows.begin(); it != rows.end();) {
      Rows piece;
      for (; it != rows.end() && piece.size() < 50; ++it) piece.insert(*it);
      const auto sent = Send(CommandType::kUpsert, piece);
      lab().Settle();
      ASSERT_EQ(sent->reply.answered, piece.size());
      for (const auto& [key, value] : piece) model_[key] = value;
    }
  }
  // Every key of the model and its neighbours, at each AEU that has a slot: one has it, and the
  // others say that they have not.
  void ExpectRows() {
    Rows asked = model_;
    for (const auto& [key, value] : model_) {
      asked.try_emplace({key.first + 1, key.second}, 0);
      asked.try_emplace({key.first - 1, key.second}, 0);
    }
    for (auto it = asked.begin(); it != asked.end();) {
      Rows piece;
      for (; it != asked.end() && piece.size() < 50; ++it) piece.insert(*it);
      for (uint32_t aeu = 0; aeu < lab().size(); ++aeu) {
        if (aeu > 0 && AeuTestPeer::SlotOf(lab()[aeu], *route_) == nullptr) continue;
        ExpectLoads(aeu);
        const auto sent = Send(CommandType::kLookup, piece, aeu);
        lab().Settle();
        ASSERT_EQ(sent->reply.answered, piece.size());
        for (size_t i = 0; i < sent->keys.size(); ++i) {
          const uint64_t key = sent->keys[i].first;
          ASSERT_EQ(Slot(aeu).Find(key) != nullptr, route_->Pin()->OwnerOf(key) == AeuId{aeu});
          if (Slot(aeu).Find(key) != nullptr) {
            ExpectRow(*sent, i);
          } else {
            ASSERT_EQ(sent->reply.state_column[i], KeyState::kMoved) << key;
          }
        }
        if (HasFailure()) return;
      }
    }
  }
  // What an AEU tells others is what it has.
  void ExpectLoads(uint32_t aeu) {
    std::multiset<std::pair<uint64_t, uint64_t>> has, told;
    for (const OwnedRange& owned : Slot(aeu).ranges()) {
      has.emplace(owned.partition->range().lo.head, owned.partition->size());
    }
    if (const auto load = lab()[aeu].loads().Of(route_->object())) {
      for (const auto& range : load->partitions) told.emplace(range->lo(), range->rows());
    }
    EXPECT_EQ(told, has);
  }
  void ExpectRow(const Sent& sent, size_t i) {
    const auto row = model_.find(sent.keys[i]);
    const KeyState state = row == model_.end() ? KeyState::kAbsent : KeyState::kPresent;
    ASSERT_EQ(sent.reply.state_column[i], state) << sent.keys[i].first;
    if (state == KeyState::kAbsent) return;
    const uint64_t word = sent.reply.value_column[i];
    const uint64_t value = row->second;
    EXPECT_EQ(word, byte_strings() ? storage::ShortWord(std::to_string(value)) : value)
        << sent.keys[i].first;
  }
  // Sparse and clustered keys, both ends of the key space; several rows of some first parts.
  Rows ManyRows() {
    Rows rows;
    const auto add = [&](uint64_t key) {
      rows[{key, 0}] = key % 9973;
      if (two_parts() && key % 3 == 0) rows[{key, 5}] = 1 + key % 9973;
    };
    for (uint64_t i = 0; i < 300; ++i) add(i * 0x00d1'b54a'32d1'92ed);
    for (uint64_t i = 0; i < 300; ++i) add(0x7000'0000'0000'0000 + i);
    for (uint64_t i = 0; i < 100; ++i) add(i);
    add(kLastKey);
    add(kLastKey - 1);
    return rows;
  }

  test::LabMemory memory_;
  Kind kind_ = U64();
  std::unique_ptr<test::AeuLab> lab_;
  std::unique_ptr<routing::Port> port_;
  routing::ObjectRoute* route_ = nullptr;
  std::optional<TransferDriver> driver_;
  Rows model_;
};

// Transfers of an index with u64 values.
class HandOverTest : public TransferTest {
 protected:
  HandOverTest() { Build(U64()); }
  Rows Dense(uint64_t lo, uint64_t hi, uint64_t add = 0) {
    Rows rows;
    for (uint64_t key = lo; key < hi; ++key) rows[{key, 0}] = key + add;
    return rows;
  }
  TransferDriver::Transfer Copy(uint64_t lo, std::optional<uint64_t> hi, uint32_t rows_max = 1000) {
    return {.kind = TransferKind::kCopy, .leaving = Of(lo, hi), .rows_max = rows_max};
  }
  TransferDriver::Transfer Linked(uint64_t lo, std::optional<uint64_t> hi) {
    return {.leaving = Of(lo, hi)};
  }
  std::vector<TransferDriver::Transfer> Both(uint64_t lo, std::optional<uint64_t> hi) {
    return {Linked(lo, hi), Copy(lo, hi)};
  }
  // The source may have rows of a chunk before to forget, some in each turn.
  void StepUntilGiven(const TestStep& step) {
    for (int turns = 0; turns < 5'000 && step.rows == 0; ++turns) lab().Step(step.source.value);
    ASSERT_GT(step.rows, 0u);
  }
  // One turn of the source, which gives, and one of the target, which takes.
  std::unique_ptr<TestStep> Move(const TransferDriver::Transfer& transfer) {
    auto step = driver().Give(transfer);
    lab().Step(transfer.from);
    lab().Step(transfer.to);
    return step;
  }
  std::unique_ptr<TestStep> MoveAndConclude(const TransferDriver::Transfer& transfer) {
    auto step = Move(transfer);
    driver().PublishAndConclude(*step);
    return step;
  }
  void StepWhileItHasWork(uint32_t aeu) {
    for (int turns = 0; turns < 5'000 && lab()[aeu].HasWork(); ++turns) lab().Step(aeu);
    ASSERT_FALSE(lab()[aeu].HasWork());
  }
};

}  // namespace eris::aeu

#endif  // ERIS_TESTS_UNIT_AEU_TRANSFER_FIXTURE_H_
