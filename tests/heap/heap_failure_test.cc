// Allocations of the general heap fail, one after the other, in whatever is done with objects of
// every kind: in the thread that calls, in the AEUs' turns, in the engine's other threads. The call
// says RESOURCE_EXHAUSTED or does what it should, nothing is lost, and all go on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/heap/heap_lab.h"
#include "tests/support/any_object.h"

namespace eris {
namespace {

using test::ActsAs;
using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;
using test::HeapLab;
using test::HeapUser;

constexpr uint64_t kFailingRows = 400;
constexpr uint64_t kFailingStride = 40'000'000'000'000'001;

struct Case {
  AnyKind kind;
  HeapUser user;
};

class HeapFailureTest : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    // Far apart, in both halves of the key space.
    for (uint64_t i = 0; i < kFailingRows; ++i) {
      rows_.push_back(
          {{i * kFailingStride, GetParam().kind == AnyKind::kTwoParts ? i % 3 : 0}, 1 + 2 * i});
    }
    object_ = MakeObject(lab_, "o");
    EXPECT_TRUE(lab_.Do([&] { return object_->Create({kFailingRows / 2 * kFailingStride}); }).ok());
    EXPECT_TRUE(lab_.Do([&] { return object_->Put(rows_); }).ok());
  }
  ~HeapFailureTest() override {
    const ActsAs test(HeapUser::kTest);
    object_.reset();
  }

  static std::unique_ptr<AnyObject> MakeObject(HeapLab& lab, const std::string& name) {
    auto object = std::make_unique<AnyObject>(lab.engine(), GetParam().kind, name);
    // Between the two the thread asks for the engine's memory.
    object->SetAround([caller = std::make_shared<std::optional<ActsAs>>()](bool begins) {
      begins ? (void)caller->emplace(HeapUser::kCaller) : caller->reset();
    });
    return object;
  }

  void ForEachFailure(const std::string& name, const std::function<absl::Status()>& call,
                      const std::function<void(const absl::Status&)>& check) {
    lab_.ForEachFailure(name, call, check);
  }

  std::vector<AnyKey> Keys() const {
    std::vector<AnyKey> keys;
    for (const auto& [key, value] : rows_) keys.push_back(key);
    return keys;
  }
  AnyRows OtherRows() const {
    AnyRows others = rows_;
    for (auto& [key, value] : others) ++value;
    return others;
  }

  absl::Status Move(uint32_t to, TransferKind kind) {
    return HeapLab::InEngine(
        [&] { return lab_.engine().MoveRange("o", KeyRange{}, AeuId{to}, kind); });
  }

  void ExpectRows(const AnyRows& rows) {
    if (!object_->has_keys()) return ExpectAll(rows);
    std::vector<std::optional<uint64_t>> values;
    EXPECT_TRUE(lab_.Do([&] { return object_->Get(Keys(), values); }).ok());
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(values[i], rows[i].second) << "row " << i;
    }
  }
  void ExpectAll(const AnyRows& rows) {
    const auto all = lab_.Do([&] { return object_->All(); });
    ASSERT_TRUE(all.ok()) << all.status();
    EXPECT_EQ(*all, rows);
  }

  HeapLab lab_{GetParam().user};
  std::unique_ptr<AnyObject> object_;
  AnyRows rows_{};
};

TEST_P(HeapFailureTest, Writes) {
  const ActsAs test(HeapUser::kTest);
  if (!object_->has_keys()) {
    // Each row is there as often as calls have said that they put it; those that failed may have
    // put some.
    uint64_t puts = 1, perhaps = 0;
    return ForEachFailure(
        "append", [&] { return object_->Put(rows_); },
        [&](const absl::Status& status) {
          puts += status.ok();
          perhaps += !status.ok();
          const auto all = lab_.Do([&] { return object_->All(); });
          ASSERT_TRUE(all.ok()) << all.status();
          EXPECT_GE(all->size(), puts * rows_.size());
          EXPECT_LE(all->size(), (puts + perhaps) * rows_.size());
        });
  }
  const AnyRows others = OtherRows();
  const std::vector<AnyKey> keys = Keys();
  const auto check = [&](bool puts) {
    return [&, puts](const absl::Status& status) {
      std::vector<std::optional<uint64_t>> values;
      ASSERT_TRUE(lab_.Do([&] { return object_->Get(keys, values); }).ok());
      for (size_t i = 0; i < rows_.size(); ++i) {
        const auto after = puts ? std::optional<uint64_t>(others[i].second) : std::nullopt;
        const bool unchanged = !status.ok() && values[i] == rows_[i].second;
        ASSERT_TRUE(unchanged || values[i] == after) << i;
      }
      ASSERT_TRUE(lab_.Do([&] { return object_->Put(rows_); }).ok());
    };
  };
  ForEachFailure(
      "put", [&] { return object_->Put(others); }, check(true));
  ForEachFailure(
      "erase", [&] { return object_->Erase(keys); }, check(false));
}

TEST_P(HeapFailureTest, Reads) {
  const ActsAs test(HeapUser::kTest);
  if (object_->has_keys()) {
    const std::vector<AnyKey> keys = Keys();
    std::vector<std::optional<uint64_t>> values;
    ForEachFailure(
        "get", [&] { return object_->Get(keys, values); },
        [&](const absl::Status& status) {
          if (!status.ok()) return;
          for (size_t i = 0; i < rows_.size(); ++i) ASSERT_EQ(values[i], rows_[i].second);
        });
  }
  if (!object_->scans()) return;
  for (const ScanDirection direction : {ScanDirection::kForward, ScanDirection::kBackward}) {
    AnyRows found;
    if (object_->is_table() && direction == ScanDirection::kBackward) continue;
    ForEachFailure(
        direction == ScanDirection::kForward ? "scan" : "scan backward",
        [&]() -> absl::Status {
          auto all = object_->All(nullptr, direction);
          if (all.ok()) found = *std::move(all);
          return all.status();
        },
        [&](const absl::Status& status) {
          if (!status.ok()) return;
          if (direction == ScanDirection::kBackward) std::reverse(found.begin(), found.end());
          ASSERT_EQ(found, rows_);
        });
  }
}

TEST_P(HeapFailureTest, Moves) {
  const ActsAs test(HeapUser::kTest);
  if (!object_->has_keys()) return;  // no range of keys moves
  uint32_t to = 1;
  const auto move = [&](TransferKind kind) { return [&, kind] { return Move(to, kind); }; };
  const auto check = [&](const absl::Status& status) {
    ExpectRows(rows_);
    if (status.ok()) to = 1 - to;
  };
  ForEachFailure("copy", move(TransferKind::kCopy), check);
  if (object_->links()) ForEachFailure("link", move(TransferKind::kLink), check);
}

// Versions move along, and scans at the snapshot see what it was taken of.
TEST_P(HeapFailureTest, MovesUnderASnapshot) {
  const ActsAs test(HeapUser::kTest);
  if (!object_->has_keys() || !object_->scans()) return;
  auto snapshot = lab_.Do([&] { return lab_.engine().TakeSnapshot(); });
  ASSERT_TRUE(snapshot.ok());
  const AnyRows others = OtherRows();
  ASSERT_TRUE(lab_.Do([&] { return object_->Put(others); }).ok());
  uint32_t to = 1;
  ForEachFailure(
      "copy", [&] { return Move(to, TransferKind::kCopy); },
      [&](const absl::Status& status) {
        ExpectRows(others);
        if (status.ok()) to = 1 - to;
        const auto all = lab_.Do([&] { return object_->All(*snapshot); });
        ASSERT_TRUE(all.ok()) << all.status();
        ASSERT_EQ(*all, rows_);
      });
}

TEST_P(HeapFailureTest, CreatesAndDrops) {
  const ActsAs test(HeapUser::kTest);
  const std::unique_ptr<AnyObject> other = MakeObject(lab_, "other");
  const auto drop = [&] { return HeapLab::InEngine([&] { return lab_.engine().Drop("other"); }); };
  ForEachFailure(
      "create", [&] { return other->Create({kFailingRows}); },
      [&](const absl::Status& status) {
        const absl::Status dropped = lab_.Do(drop);
        EXPECT_EQ(dropped.code(), status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kNotFound)
            << dropped;
      });
  ASSERT_TRUE(lab_.Do([&] { return other->Create({kFailingRows}); }).ok());
  ForEachFailure("drop", drop, [&](const absl::Status& status) {
    const absl::Status created = lab_.Do([&] { return other->Create({kFailingRows}); });
    EXPECT_EQ(created.code(),
              status.ok() ? absl::StatusCode::kOk : absl::StatusCode::kAlreadyExists)
        << created;
  });
  ExpectRows(rows_);
}

// What AEUs ask for once only, when they do something for the first time.
TEST_P(HeapFailureTest, FirstCalls) {
  const ActsAs test(HeapUser::kTest);
  if (GetParam().user != HeapUser::kAeu) return;
  uint64_t failures = 0, failed = 1;
  for (uint64_t nth = 1; failed > 0; ++nth) {
    SCOPED_TRACE(nth);
    HeapLab lab(HeapUser::kAeu);
    const std::unique_ptr<AnyObject> object = MakeObject(lab, "o");
    ASSERT_TRUE(lab.Do([&] { return object->Create({kFailingRows / 2 * kFailingStride}); }).ok());
    absl::Status put, read;
    AnyRows found;
    failed = lab.Try(
        nth, 1,
        [&] {
          put = object->Put(rows_);
          std::vector<std::optional<uint64_t>> values;
          read = object->has_keys() ? object->Get(Keys(), values) : absl::OkStatus();
          if (!read.ok() || !object->scans()) return read;
          auto all = object->All();
          if (all.ok()) found = *std::move(all);
          return all.status();
        },
        read);
    failures += failed;
    for (const absl::Status& status : {put, read}) {
      EXPECT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    }
    if (put.ok() && read.ok() && object->scans()) {
      EXPECT_EQ(found, rows_);
    }
    ASSERT_TRUE(!HasFailure());
  }
  std::cout << "first calls: " << failures << " failures\n";
}

// An AEU joins an object, and its figures are charged, once: not again with each move that fails.
TEST(HeapChargeTest, MovesThatFailChargeNothing) {
  const ActsAs test(HeapUser::kTest);
  HeapLab lab(HeapUser::kAeu, 3);
  // Two AEUs own parts of the object, the third one none.
  ASSERT_TRUE(
      lab.Do([&] { return lab.engine().Create("o", {.split_points = {kFailingStride}}); }).ok());
  const auto charged = [&] { return lab.engine().Memory().heap_bytes; };
  const uint64_t before = charged();
  uint64_t failed_before = 0;
  std::set<uint64_t> after;
  lab.ForEachFailure(
      "move to a new AEU",
      [&] {
        return HeapLab::InEngine(
            [&] { return lab.engine().MoveRange("o", KeyRange{}, AeuId{2}, TransferKind::kCopy); });
      },
      [&](const absl::Status& status) {
        after.insert(charged());
        failed_before += !status.ok() && charged() == before;
      });
  EXPECT_GT(failed_before, 0u);
  // As before, or with the third AEU in it.
  EXPECT_EQ(after.size(), 2u);
}

std::vector<Case> AllCases() {
  std::vector<Case> cases;
  for (const AnyKind kind : test::kAllKinds) {
    for (const HeapUser user : {HeapUser::kCaller, HeapUser::kAeu}) cases.push_back({kind, user});
  }
  return cases;
}

std::string NameOf(const testing::TestParamInfo<Case>& info) {
  return test::NameOf(info.param.kind) + test::NameOf(info.param.user);
}

INSTANTIATE_TEST_SUITE_P(All, HeapFailureTest, testing::ValuesIn(AllCases()), NameOf);

}  // namespace
}  // namespace eris
