// Partitions with versions side by side, which together own all keys, and copies of a std::map: one
// of now and one for each snapshot that is held.
#ifndef ERIS_TESTS_UNIT_STORAGE_VERSIONED_PIECES_H_
#define ERIS_TESTS_UNIT_STORAGE_VERSIONED_PIECES_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/index/versioned_partition.h"
#include "tests/support/write_model.h"
#include "tests/unit/storage/partition_kinds.h"

namespace eris::storage {

using KeyPair = std::pair<uint64_t, uint64_t>;
using Contents = std::map<KeyPair, uint64_t>;

class VersionedPieces : public testing::TestWithParam<RowsKind> {
 protected:
  VersionedPieces() : random_(Seed()) { pieces_.push_back(Make(Range{})); }
  ~VersionedPieces() override {
    // Two-part keys and byte strings have blocks for every row and version.
    pieces_.clear();
    EXPECT_EQ(memory_.manager.Account().used_bytes, 0u);
  }

  bool bytes() const { return GetParam() == RowsKind::kBytes; }
  bool two_parts() const { return GetParam() == RowsKind::kTwoParts; }

  std::unique_ptr<OrderedPartition> Make(const Range& range) {
    return NewVersioned(GetParam(), range, memory_.cache);
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
  // Runs the writes as one batch on one piece, in several parts.
  void Execute(Operation operation, std::vector<Write*> writes) {
    Strings strings;
    const auto word = [&](uint64_t v) { return bytes() ? strings.Word(TextOf(v)) : v; };
    test::TestBatch batch{.operation = operation,
                          .part_keys = static_cast<uint32_t>(1 + random_() % 100),
                          .bytes = bytes() ? &strings : nullptr,
                          .snapshots = &view_};
    for (const Write* write : writes) {
      batch.keys.push_back(write->key.first);
      if (two_parts()) batch.seconds.push_back(write->key.second);
      batch.values.push_back(word(write->value));
      batch.expected.push_back(word(write->expected));
    }
    batch.Run(PieceOf(batch.keys[0]));
    for (size_t i = 0; i < writes.size(); ++i) writes[i]->state = batch.states[i];
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
        const test::ModelAnswer answer =
            test::RunOnModel(rows_, operation, write->key, write->value, write->expected);
        EXPECT_EQ(write->state, answer.state) << "operation " << int(operation);
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
        const uint64_t value = query.keys_only ? 0
                               : bytes()       ? NumberOf(BytesOf(values[i]))
                                               : values[i];
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
  std::optional<Range> away_;          // lent, and nobody's
  std::map<uint64_t, Contents> held_;  // what each snapshot shows
  SnapshotView view_;
  uint64_t refused_ = 0;
  uint64_t lost_ = 0;
};

}  // namespace eris::storage

#endif  // ERIS_TESTS_UNIT_STORAGE_VERSIONED_PIECES_H_
