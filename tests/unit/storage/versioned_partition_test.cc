// Partitions with versions against copies of a std::map, one for each snapshot that is held: random
// writes of all operations, snapshots that begin and end, splits, absorbs, copies of ranges to a
// neighbour, versions freed in pieces, slices of every size. All forms of rows.
#include "storage/index/versioned_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/byte_value.h"
#include "storage/index/bytes_partition.h"
#include "storage/index/index_partition.h"
#include "storage/index/two_part_partition.h"
#include "tests/unit/storage/storage_fixture.h"

namespace eris::storage {
namespace {

enum class RowsForm { kU64, kBytes, kTwoParts };

using KeyPair = std::pair<uint64_t, uint64_t>;
using Contents = std::map<KeyPair, uint64_t>;

// The byte string that stands for a number: some in the word, some in a record.
std::string Text(uint64_t value) {
  return std::to_string(value) + std::string(value % 3 == 0 ? 0 : value % 50, 'x');
}
uint64_t NumberOf(uint64_t word) { return std::stoull(std::string(BytesOf(word))); }

// Words of byte strings that outlive a batch.
class Strings final : public BytesSink {
 public:
  uint64_t Word(const std::string& text) {
    if (text.size() <= kShortBytesMax) return ShortWord(text);
    pieces_.emplace_back(BlockBytes(text.size()));
    return WriteRecord(pieces_.back().data(), text);
  }
  std::byte* Take(size_t least, size_t wanted, size_t& given) override {
    given = std::min(wanted, left);
    if (given < least) return nullptr;
    left -= given;
    pieces_.emplace_back(given);
    return pieces_.back().data();
  }
  size_t left = size_t{1} << 40;

 private:
  std::deque<std::vector<std::byte>> pieces_;
};

class VersionedPartitionTest : public testing::TestWithParam<RowsForm> {
 protected:
  VersionedPartitionTest() : random_(Seed()) { pieces_.push_back(Make(Range{})); }
  ~VersionedPartitionTest() override {
    // Of two-part keys and of byte strings every row and version has blocks of its own.
    pieces_.clear();
    EXPECT_EQ(memory_.manager.Account().used_bytes, 0u);
  }

  bool bytes() const { return GetParam() == RowsForm::kBytes; }
  bool two_parts() const { return GetParam() == RowsForm::kTwoParts; }

  std::unique_ptr<OrderedPartition> Make(const Range& range) {
    std::unique_ptr<OrderedPartition> rows;
    switch (GetParam()) {
      case RowsForm::kU64:
        rows = *IndexPartition::Create(range, memory_.cache);
        break;
      case RowsForm::kBytes:
        rows = *BytesPartition::Create(range, memory_.cache);
        break;
      case RowsForm::kTwoParts:
        rows = *TwoPartPartition::Create(range, memory_.cache);
        break;
    }
    return *VersionedPartition::Create(std::move(rows), memory_.cache, {two_parts(), bytes()});
  }

  // Keys come again often; the ends of the key space are among them.
  KeyPair AnyKey() {
    const uint64_t dice = random_() % 40;
    const uint64_t head = dice == 0   ? 0
                          : dice == 1 ? kKeyMax
                          : dice == 2 ? kKeyMax - 1
                                      : random_() % 200 * 37;
    if (!two_parts()) return {head, 0};
    const uint64_t second = random_() % 8;
    return {head, second == 0 ? 0 : second == 1 ? kKeyMax : random_() % 6};
  }

  OrderedPartition& PieceOf(uint64_t head) {
    for (const auto& piece : pieces_) {
      if (piece->range().ContainsU64(head)) return *piece;
    }
    ADD_FAILURE() << "nobody has key " << head;
    return *pieces_[0];
  }

  struct Write {
    KeyPair key;
    uint64_t value;
    uint64_t expected;
    KeyState state = KeyState::kPending;
  };
  // What the write does to `rows`, and what it is answered.
  KeyState Apply(Operation operation, const Write& write, Contents& rows) {
    const auto found = rows.find(write.key);
    const bool present = found != rows.end();
    const KeyState state = present ? KeyState::kPresent : KeyState::kAbsent;
    switch (operation) {
      case Operation::kErase:
        rows.erase(write.key);
        return state;
      case Operation::kInsertIfAbsent:
        rows.insert({write.key, write.value});
        return state;
      case Operation::kReplaceIfPresent:
        if (present) found->second = write.value;
        return state;
      case Operation::kCompareAndSet:
        if (present && found->second != write.expected) return KeyState::kUnequal;
        if (present) found->second = write.value;
        return state;
      case Operation::kAdd:
        rows[write.key] += write.value;
        return state;
      default:
        rows[write.key] = write.value;
        return state;
    }
  }

  // Runs the writes as one batch on one piece, in several parts.
  void Execute(Operation operation, std::vector<Write*> writes) {
    Strings strings;
    const size_t count = writes.size();
    std::vector<uint64_t> keys, seconds, values, expected, answers(count);
    std::vector<uint32_t> positions;
    std::vector<KeyState> states(count, KeyState::kPending);
    for (const Write* write : writes) {
      keys.push_back(write->key.first);
      seconds.push_back(write->key.second);
      values.push_back(bytes() ? strings.Word(Text(write->value)) : write->value);
      expected.push_back(bytes() ? strings.Word(Text(write->expected)) : write->expected);
      positions.push_back(static_cast<uint32_t>(positions.size()));
    }
    std::vector<BatchPart> parts;
    for (size_t begin = 0; begin < count;) {
      const size_t length = std::min<size_t>(1 + random_() % 100, count - begin);
      parts.push_back({.count = static_cast<uint32_t>(length),
                       .keys = keys.data() + begin,
                       .values_in = values.data() + begin,
                       .positions = positions.data() + begin,
                       .values_out = answers.data(),
                       .states_out = states.data(),
                       .expected = expected.data() + begin,
                       .seconds = two_parts() ? seconds.data() + begin : nullptr,
                       .bytes_out = bytes() ? &strings : nullptr});
      begin += length;
    }
    PieceOf(keys[0]).Execute({.operation = operation, .parts = parts, .snapshots = &view_});
    for (size_t i = 0; i < count; ++i) writes[i]->state = states[i];
  }

  void WriteSome() {
    static constexpr Operation kOperations[] = {
        Operation::kUpsert,           Operation::kUpsert,        Operation::kErase,
        Operation::kInsertIfAbsent,   Operation::kCompareAndSet, Operation::kAdd,
        Operation::kReplaceIfPresent, Operation::kErase};
    Operation operation = kOperations[random_() % std::size(kOperations)];
    if (bytes() && operation == Operation::kAdd) operation = Operation::kUpsert;
    std::vector<Write> writes(1 + random_() % (random_() % 4 == 0 ? 150 : 4));
    for (Write& write : writes) write = {AnyKey(), random_() % 1000, random_() % 1000};
    for (Write& write : writes) {
      const auto found = rows_.find(write.key);
      if (random_() % 2 == 0 && found != rows_.end()) write.expected = found->second;
    }
    // By piece; within one in the order of the writes.
    std::map<OrderedPartition*, std::vector<Write*>> by_piece;
    for (Write& write : writes) {
      if (away_ && away_->ContainsU64(write.key.first)) continue;
      by_piece[&PieceOf(write.key.first)].push_back(&write);
    }
    for (auto& [piece, some] : by_piece) {
      Execute(operation, some);
      for (Write* write : some) {
        if (write->state == KeyState::kNoMemory) {
          ASSERT_NE(operation, Operation::kErase);
          ++refused_;
          continue;
        }
        // The tree adds keys of a batch that are there before those that are new; answers of keys
        // that stand in it twice are told by the tests of the partitions.
        const KeyState state = Apply(operation, *write, rows_);
        EXPECT_EQ(write->state, state) << "operation " << int(operation);
      }
    }
  }

  void BeginSnapshot() {
    held_[view_.epoch] = rows_;
    view_.active.push_back(view_.epoch++);
  }
  void EndSnapshot(size_t i) {
    held_.erase(view_.active[i]);
    view_.active.erase(view_.active.begin() + static_cast<ptrdiff_t>(i));
  }

  void MoveSome() {
    const size_t i = random_() % pieces_.size();
    switch (random_() % 4) {
      case 0: {
        const uint64_t cut = AnyKey().first;
        const Range range = pieces_[i]->range();
        if (cut <= range.lo.head || !range.ContainsU64(cut) || pieces_.size() > 5) return;
        auto upper = pieces_[i]->SplitAt(Key::FromU64(cut));
        if (!upper.ok()) return;
        pieces_.insert(pieces_.begin() + static_cast<ptrdiff_t>(i) + 1, *std::move(upper));
        return;
      }
      case 1: {
        if (i + 1 == pieces_.size()) return;
        size_t gone = i + 1;
        if (random_() % 2 == 0) {
          if (!pieces_[i]->Absorb(*pieces_[i + 1]).ok()) return;
        } else {
          if (!pieces_[i + 1]->Absorb(*pieces_[i]).ok()) return;
          gone = i;
        }
        EXPECT_EQ(pieces_[gone]->version_bytes(), 0u);
        pieces_.erase(pieces_.begin() + static_cast<ptrdiff_t>(gone));
        return;
      }
      case 2:
        return Lend(i);
      default:  // to the other AEU, which must be the neighbours' for the next absorb
        ASSERT_TRUE(pieces_[i]->Rehome(random_() % 2 == 0 ? memory_.cache : second_).ok());
    }
  }

  // An end of a piece goes to the neighbour there, to a new piece, or back.
  void Lend(size_t i) {
    const bool low = random_() % 2 == 0;
    OrderedPartition& lender = *pieces_[i];
    ExchangeChunk chunk;
    const Range before = lender.range();
    const uint64_t size = lender.size();
    const auto rows_max = static_cast<uint32_t>(random_() % (random_() % 4 == 0 ? 3'000 : 60));
    if (!lender.Lend(before, low ? Partition::End::kLow : Partition::End::kHigh, rows_max, chunk)
             .ok()) {
      return;
    }
    // Rows and versions together are bounded; but one first part may leave in any case.
    if (chunk.weight() > rows_max && !(chunk.keys.empty() && chunk.versions.keys.empty())) {
      const uint64_t first = chunk.keys.empty() ? chunk.versions.keys.front() : chunk.keys.front();
      const auto same = [first](uint64_t key) { return key == first; };
      EXPECT_TRUE(std::all_of(chunk.keys.begin(), chunk.keys.end(), same));
      EXPECT_TRUE(std::all_of(chunk.versions.keys.begin(), chunk.versions.keys.end(), same));
    }
    EXPECT_EQ(lender.size(), size - chunk.keys.size());
    away_ = chunk.covers;
    if (random_() % 2 == 0) WriteSome();
    away_.reset();
    std::unique_ptr<OrderedPartition> fresh;
    OrderedPartition* target = nullptr;
    if (low && i > 0) target = pieces_[i - 1].get();
    if (!low && i + 1 < pieces_.size()) target = pieces_[i + 1].get();
    if (target == nullptr && !chunk.covers.Empty() && pieces_.size() < 6) {
      const Range nothing{chunk.covers.lo, chunk.covers.lo};
      fresh = Make(nothing);
      target = fresh.get();
    }
    if (target == nullptr || random_() % 4 == 0 || !target->Ingest(chunk).ok()) {
      lender.TakeBack();
      EXPECT_EQ(lender.range(), before);
      return;
    }
    if (fresh != nullptr) pieces_.insert(pieces_.begin() + (low ? 0 : i + 1), std::move(fresh));
    lender.Forget(view_, static_cast<uint32_t>(1 + random_() % 80));
    std::erase_if(pieces_, [](const auto& piece) { return piece->range().Empty(); });
  }

  // Slices of the range as an AEU takes them; false: the snapshot was lost.
  template <class Slice>
  bool ForEachSlice(ScanCursor& cursor, const Slice& slice) {
    while (!cursor.rest.Empty() && cursor.rows_left > 0) {
      OrderedPartition& piece =
          PieceOf(cursor.query.Backward() ? LastFirstPartOf(cursor.rest) : cursor.rest.lo.head);
      const Range owned = piece.range();
      ScanCursor here = cursor;
      if (owned.lo > here.rest.lo) here.rest.lo = owned.lo;
      if (owned.hi && (!here.rest.hi || *here.rest.hi > *owned.hi)) here.rest.hi = owned.hi;
      const Range asked = here.rest;
      slice(piece, here);
      if (here.snapshot_lost) return false;
      cursor.rows_left = here.rows_left;
      if (cursor.query.Backward()) {
        cursor.rest.hi = here.done ? asked.lo : here.rest.hi;
      } else if (!here.done) {
        cursor.rest.lo = here.rest.lo;
      } else if (asked.hi) {
        cursor.rest.lo = *asked.hi;
      } else {
        cursor.rest.hi = cursor.rest.lo;
      }
    }
    return true;
  }

  Range AnyRange() {
    if (random_() % 3 == 0) return {};
    KeyPair a = AnyKey();
    KeyPair b = AnyKey();
    if (b < a) std::swap(a, b);
    Range range{{a.first, a.second}, Key{b.first, b.second}};
    if (random_() % 4 == 0) range.hi.reset();
    return range;
  }

  void Check(uint64_t snapshot) {
    SCOPED_TRACE("at snapshot " + std::to_string(snapshot) + " of epoch " +
                 std::to_string(view_.epoch));
    const Contents& contents = snapshot == 0 ? rows_ : held_.at(snapshot);
    ScanCursor cursor{.rest = AnyRange(), .snapshot = snapshot};
    ScanQuery& query = cursor.query;
    if (random_() % 2 == 0) query.direction = ScanDirection::kBackward;
    if (random_() % 4 == 0) query.keys_only = true;
    if (!bytes() && random_() % 3 == 0) {
      query.values = {random_() % 500, 500 + random_() % 500};
    }
    if (random_() % 3 == 0) cursor.rows_left = random_() % 50;
    const Range range = cursor.rest;
    const uint64_t limit = cursor.rows_left;

    std::vector<std::pair<KeyPair, uint64_t>> expected;
    RangeAggregate sum;
    for (const auto& [key, value] : contents) {
      if (!range.Contains({key.first, key.second}) || !query.values.Contains(value)) continue;
      expected.push_back({key, query.keys_only ? 0 : value});
      RangeAggregate one{.count = 1, .min = value, .max = value, .sum_low = value};
      one.first_key = one.last_key = key.first;
      if (two_parts()) one.first_second = one.last_second = key.second;
      sum.Add(one);
    }
    if (query.Backward()) std::reverse(expected.begin(), expected.end());
    if (expected.size() > limit) expected.resize(limit);

    std::vector<std::pair<KeyPair, uint64_t>> given;
    const bool scanned = ForEachSlice(cursor, [&](OrderedPartition& piece, ScanCursor& here) {
      uint64_t keys[40], seconds[40], values[40];
      Strings strings;
      if (random_() % 3 == 0) strings.left = 200;
      ScanRows out{.keys = keys,
                   .values = values,
                   .capacity = static_cast<uint32_t>(1 + random_() % 40),
                   .seconds = two_parts() ? seconds : nullptr,
                   .bytes = bytes() ? &strings : nullptr};
      const uint64_t deadline_ns = random_() % 2 == 0 ? 0 : kKeyMax;  // spent after each run
      piece.Scan(here, {deadline_ns}, out);
      if (here.snapshot_lost) return;
      for (uint32_t i = 0; i < out.rows; ++i) {
        const uint64_t value = query.keys_only ? 0 : bytes() ? NumberOf(values[i]) : values[i];
        given.push_back({{keys[i], two_parts() ? seconds[i] : 0}, value});
      }
    });
    if (!scanned) {
      ++lost_;
      return;
    }
    EXPECT_EQ(given, expected);

    const bool count_only = bytes() || random_() % 2 == 0;
    ScanCursor counted{.rest = range, .snapshot = snapshot};
    counted.query = query;
    counted.query.direction = ScanDirection::kForward;
    counted.query.keys_only = false;
    counted.query.count_only = count_only;
    RangeAggregate aggregate;
    const bool added = ForEachSlice(counted, [&](OrderedPartition& piece, ScanCursor& here) {
      piece.Aggregate(here, {random_() % 2 == 0 ? 0 : kKeyMax}, aggregate);
    });
    if (!added) {
      ++lost_;
      return;
    }
    if (count_only) {
      EXPECT_EQ(aggregate.count, sum.count);
    } else {
      EXPECT_EQ(aggregate, sum);
    }
  }

  void FreeSome() {
    for (const auto& piece : pieces_) {
      piece->Maintain(view_, static_cast<uint32_t>(1 + random_() % 100));
      piece->FreeVersions(view_, static_cast<uint32_t>(1 + random_() % 100));
    }
  }
  void FreeAll() {
    for (const auto& piece : pieces_) {
      while (piece->Maintain(view_, 64)) {
      }
      while (piece->FreeVersions(view_, 64)) {
      }
    }
  }
  uint64_t VersionBytes() const {
    uint64_t total = 0;
    for (const auto& piece : pieces_) total += piece->version_bytes();
    return total;
  }

  void DoAnything() {
    const uint64_t dice = random_() % 16;
    if (dice < 6) {
      WriteSome();
    } else if (dice == 6 && view_.active.size() < 5) {
      BeginSnapshot();
    } else if (dice == 7 && !view_.active.empty()) {
      EndSnapshot(random_() % view_.active.size());
    } else if (dice == 8) {
      FreeSome();
    } else if (dice < 11) {
      MoveSome();
    } else if (!view_.active.empty() && dice < 15) {
      Check(view_.active[random_() % view_.active.size()]);
    } else {
      Check(0);
    }
  }

  // Upserts one key with the turn's epoch.
  KeyState Upsert(KeyPair key, uint64_t value) {
    Write write{key, value, 0};
    Execute(Operation::kUpsert, {&write});
    if (write.state != KeyState::kNoMemory) rows_[key] = value;
    return write.state;
  }
  KeyState Erase(KeyPair key) {
    Write write{key, 0, 0};
    Execute(Operation::kErase, {&write});
    rows_.erase(key);
    return write.state;
  }

  TreeMemory memory_;
  memory::LocalCache& second_ = *memory_.manager.NewCache();
  Random random_;
  std::vector<std::unique_ptr<OrderedPartition>> pieces_;
  Contents rows_;
  std::optional<Range> away_;          // lent, and not yet anybody's
  std::map<uint64_t, Contents> held_;  // what each snapshot shows
  SnapshotView view_;
  uint64_t refused_ = 0;
  uint64_t lost_ = 0;
};

TEST_P(VersionedPartitionTest, SnapshotsShowTheirMomentWhateverIsDone) {
  SCOPED_TRACE(SeedText());
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) DoAnything();
  for (const uint64_t snapshot : view_.active) Check(snapshot);
  EXPECT_EQ(lost_, 0u);
  while (!view_.active.empty()) EndSnapshot(0);
  FreeAll();
  EXPECT_EQ(VersionBytes(), 0u);
  Check(0);
}

TEST_P(VersionedPartitionTest, WithoutMemoryWritesAreRefusedOrSnapshotsLostButNothingIsWrong) {
  SCOPED_TRACE(SeedText());
  for (int i = 0; i < 20'000 && !HasFailure(); ++i) {
    const uint64_t nth = random_() % 4 == 0 ? 1 + random_() % 6 : 0;
    memory_.cache.FailAllocationsFrom(nth);
    second_.FailAllocationsFrom(nth);
    DoAnything();
    memory_.cache.FailAllocationsFrom(0);
    second_.FailAllocationsFrom(0);
  }
  for (const uint64_t snapshot : view_.active) Check(snapshot);
  EXPECT_GT(refused_, 0u);
}

TEST_P(VersionedPartitionTest, NoSnapshotNoRecords) {
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i);
  EXPECT_EQ(VersionBytes(), 0u);
  BeginSnapshot();
  EndSnapshot(0);
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i + 1);
  EXPECT_EQ(VersionBytes(), 0u);
}

// The records of a range stand on one side or the other, erased rows' too, and are counted once.
TEST_P(VersionedPartitionTest, RecordsGoWithALoanThatIsKept) {
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i);
  BeginSnapshot();
  for (uint64_t i = 0; i < 100; ++i) Upsert({i * 37, 0}, i + 1);
  for (uint64_t i = 0; i < 100; i += 3) Erase({i * 37, 0});
  const uint64_t all = VersionBytes();
  ExchangeChunk chunk;
  ASSERT_EQ(pieces_[0]->Lend(Range{}, Partition::End::kHigh, 20 * 17, chunk), absl::OkStatus());
  EXPECT_EQ(VersionBytes(), all);
  EXPECT_GT(chunk.versions.keys.size(), chunk.keys.size());
  pieces_[0]->TakeBack();
  Check(view_.active[0]);
  ASSERT_EQ(pieces_[0]->Lend(Range{}, Partition::End::kHigh, 20 * 17, chunk), absl::OkStatus());
  pieces_.push_back(Make({chunk.covers.lo, chunk.covers.lo}));
  ASSERT_EQ(pieces_[1]->Ingest(chunk), absl::OkStatus());
  const uint64_t moved = pieces_[1]->version_bytes();
  EXPECT_GT(moved, 0u);
  bool more = pieces_[0]->Forget(view_, 5);  // in pieces: some are left
  EXPECT_TRUE(more);
  EXPECT_GT(pieces_[0]->version_bytes(), all - moved);
  while (more) more = pieces_[0]->Forget(view_, 5);
  EXPECT_EQ(pieces_[0]->version_bytes(), all - moved);
  Check(view_.active[0]);
  EndSnapshot(0);
  FreeAll();
  EXPECT_EQ(VersionBytes(), 0u);
}

TEST_P(VersionedPartitionTest, OneRecordPerKeyAndSnapshot) {
  Upsert({37, 0}, 1);
  BeginSnapshot();
  Upsert({37, 0}, 3);
  const uint64_t one = VersionBytes();
  EXPECT_GT(one, 0u);
  for (uint64_t i = 0; i < 10; ++i) Upsert({37, 0}, 3 * i);
  EXPECT_EQ(VersionBytes(), one);
  BeginSnapshot();
  Upsert({37, 0}, 9);
  const uint64_t two = VersionBytes();
  EXPECT_GT(two, one);
  for (uint64_t i = 0; i < 10; ++i) Upsert({37, 0}, 6 * i);
  EXPECT_EQ(VersionBytes(), two);
  for (const uint64_t snapshot : view_.active) Check(snapshot);
}

TEST_P(VersionedPartitionTest, WritesThatChangeNothingLeaveNoRecord) {
  BeginSnapshot();
  Erase({74, 0});
  Write replace{{74, 0}, 5, 5};
  Execute(Operation::kReplaceIfPresent, {&replace});
  Execute(Operation::kCompareAndSet, {&replace});
  EXPECT_EQ(VersionBytes(), 0u);
}

TEST_P(VersionedPartitionTest, EndOfTheOldestFreesWhatItAloneNeeded) {
  for (uint64_t i = 0; i < 500; ++i) Upsert({i * 37, 0}, i);
  BeginSnapshot();
  for (uint64_t i = 0; i < 500; ++i) Upsert({i * 37, 0}, 3 * i);
  const uint64_t before = VersionBytes();
  BeginSnapshot();
  EXPECT_FALSE(pieces_[0]->FreeVersions(view_, 100'000));
  EXPECT_EQ(VersionBytes(), before);
  EndSnapshot(0);
  EXPECT_TRUE(pieces_[0]->FreeVersions(view_, 100));  // a bounded piece
  EXPECT_GT(VersionBytes(), 0u);
  FreeAll();
  EXPECT_EQ(VersionBytes(), 0u);
  Check(view_.active[0]);
}

TEST_P(VersionedPartitionTest, EraseWithoutMemoryWorksAndLosesTheSnapshotsBefore) {
  Upsert({37, 0}, 1);
  Upsert({74, 0}, 2);
  BeginSnapshot();
  memory_.cache.FailAllocationsFrom(1);
  EXPECT_EQ(Erase({37, 0}), KeyState::kPresent);
  memory_.cache.FailAllocationsFrom(0);
  ScanCursor cursor{.rest = Range{}, .snapshot = view_.active[0]};
  uint64_t keys[8], seconds[8], values[8];
  ScanRows out{.keys = keys, .values = values, .capacity = 8, .seconds = seconds};
  pieces_[0]->Scan(cursor, {}, out);
  EXPECT_TRUE(cursor.snapshot_lost);
  EXPECT_EQ(out.rows, 0u);
  RangeAggregate aggregate;
  cursor.snapshot_lost = false;
  pieces_[0]->Aggregate(cursor, {}, aggregate);
  EXPECT_TRUE(cursor.snapshot_lost);
  BeginSnapshot();
  Upsert({74, 0}, 3);
  Check(view_.active[1]);
  EXPECT_EQ(lost_, 0u);
}

INSTANTIATE_TEST_SUITE_P(Forms, VersionedPartitionTest,
                         testing::Values(RowsForm::kU64, RowsForm::kBytes, RowsForm::kTwoParts),
                         [](const testing::TestParamInfo<RowsForm>& form) {
                           return form.param == RowsForm::kU64     ? "U64"
                                  : form.param == RowsForm::kBytes ? "Bytes"
                                                                   : "TwoParts";
                         });

}  // namespace
}  // namespace eris::storage
