// Scans as Arrow streams: what is a chunk and what a copy, who keeps what, and errors.
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "eris/query.h"
#include "tests/support/hand_engine.h"
#include "tests/support/objects.h"

namespace eris {
namespace {

constexpr uint64_t kStreamRows = 300'000;

class ArrowStreamTest : public testing::TestWithParam<ObjectKind> {
 protected:
  ~ArrowStreamTest() override {
    for (ArrowArray& array : kept_) array.release(&array);
    if (stream_.release != nullptr) stream_.release(&stream_);
    engine_.StepUntil([&] { return engine_->core().scans.size() == 0; });
  }

  // Keys and values 0 .. kStreamRows.
  Object Create() {
    Schema schema = KeyValueSchema();
    const Object object =
        engine_.Create("o", {.kind = GetParam(), .schema = schema, .expected = {0, kStreamRows}});
    std::vector<uint64_t> keys(10'000);
    for (uint64_t from = 0; from < kStreamRows; from += keys.size()) {
      std::iota(keys.begin(), keys.end(), from);
      const ColumnView columns[] = {{.values = keys.data()}, {.values = keys.data()}};
      const WriteBatch batch{.rows = {.rows = keys.size(), .columns = columns}};
      EXPECT_TRUE(engine_.While([&] { return session_->Write(object, batch).status; }).ok());
    }
    return object;
  }
  void Open(const Object& object, std::shared_ptr<const void> owner = nullptr) {
    auto scan = test::OrDie(session_->OpenScan(object, {}));
    keepable_ = scan->keepable();
    scan_ = scan.get();
    ExportArrowStream(std::move(scan), &stream_, std::move(owner));
  }
  // False at the end; errors are `error`.
  bool Next(int error = 0) {
    ArrowArray array;
    EXPECT_EQ(engine_.While([&] { return stream_.get_next(&stream_, &array); }), error);
    if (array.release == nullptr) return false;
    const auto* const values = static_cast<const uint64_t*>(array.children[1]->buffers[1]);
    rows_ += static_cast<uint64_t>(array.length);
    sum_ = std::accumulate(values, values + array.length, sum_);
    memory_.insert(values);
    kept_.push_back(array);
    return true;
  }
  void ReleaseFirst() {
    kept_.front().release(&kept_.front());
    kept_.erase(kept_.begin());
  }

  test::HandEngine engine_{2};
  std::unique_ptr<Session> session_ = engine_->NewSession();
  ArrowArrayStream stream_{};
  Scan* scan_ = nullptr;  // the stream's
  uint32_t keepable_ = 0;
  std::vector<ArrowArray> kept_;
  std::set<const void*> memory_;  // of values
  uint64_t rows_ = 0;
  uint64_t sum_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Kinds, ArrowStreamTest,
                         testing::Values(ObjectKind::kIndex, ObjectKind::kTable));

TEST_P(ArrowStreamTest, AReaderThatLetsGoSeesTheChunksThemselves) {
  Open(Create());
  ASSERT_GE(keepable_, 1u);
  int arrays = 0;
  for (; Next(); ++arrays) {
    while (kept_.size() >= keepable_) ReleaseFirst();
  }
  EXPECT_EQ(rows_, kStreamRows);
  EXPECT_EQ(sum_, kStreamRows * (kStreamRows - 1) / 2);
  EXPECT_GT(arrays, 4);
  EXPECT_LE(memory_.size(), 4u);  // the chunks that go round
}

TEST_P(ArrowStreamTest, AReaderThatKeepsAllArraysGetsAllRows) {
  Open(Create());
  while (Next()) continue;
  EXPECT_EQ(rows_, kStreamRows);
  EXPECT_GT(kept_.size(), size_t{4});
  EXPECT_EQ(memory_.size(), kept_.size());
  uint64_t sum = 0;  // again: none has been overwritten
  for (const ArrowArray& array : kept_) {
    const auto* const values = static_cast<const uint64_t*>(array.children[1]->buffers[1]);
    sum = std::accumulate(values, values + array.length, sum);
  }
  EXPECT_EQ(sum, kStreamRows * (kStreamRows - 1) / 2);
}

// Chunks that other parts do not need go to the only one that has rows, although none comes back.
TEST(ArrowStreamOfOnePartTest, AReaderThatKeepsAllArraysGetsAllRows) {
  test::HandEngine engine{6};
  const std::unique_ptr<Session> session = engine->NewSession();
  // Keys far below the even pieces of all keys: one AEU has all rows.
  const Object object =
      engine.Create("o", {.kind = ObjectKind::kTable, .schema = KeyValueSchema()});
  std::vector<uint64_t> keys(100'000);
  for (uint64_t from = 0; from < 10 * keys.size(); from += keys.size()) {
    std::iota(keys.begin(), keys.end(), from);
    const ColumnView columns[] = {{.values = keys.data()}, {.values = keys.data()}};
    const WriteBatch batch{.rows = {.rows = keys.size(), .columns = columns}};
    ASSERT_TRUE(engine.While([&] { return session->Write(object, batch).status; }).ok());
  }
  ArrowArrayStream stream;
  ExportArrowStream(test::OrDie(session->OpenScan(object, {})), &stream);
  std::vector<ArrowArray> kept;
  int64_t rows = 0;
  for (;;) {
    ArrowArray& array = kept.emplace_back();
    ASSERT_EQ(engine.While([&] { return stream.get_next(&stream, &array); }), 0);
    if (array.release == nullptr) break;
    rows += array.length;
  }
  EXPECT_EQ(rows, int64_t{1'000'000});
  EXPECT_GT(kept.size(), size_t{12});
  for (ArrowArray& array : kept) {
    if (array.release != nullptr) array.release(&array);
  }
  stream.release(&stream);
  engine.StepUntil([&] { return engine->core().scans.size() == 0; });
}

TEST_P(ArrowStreamTest, TheOwnerIsKeptUntilTheLastArrayIsReleased) {
  const Object object = Create();
  auto owner = std::make_shared<int>(7);
  const std::weak_ptr<int> seen = owner;
  Open(object, std::move(owner));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Next());
  stream_.release(&stream_);
  EXPECT_FALSE(seen.expired());
  while (!kept_.empty()) {
    EXPECT_FALSE(seen.expired());
    ReleaseFirst();
  }
  EXPECT_TRUE(seen.expired());
}

TEST_P(ArrowStreamTest, TheSchemaComesBeforeTheFirstArray) {
  Open(Create());
  ArrowSchema schema;
  ASSERT_EQ(stream_.get_schema(&stream_, &schema), 0);
  EXPECT_STREQ(schema.format, "+s");
  ASSERT_EQ(schema.n_children, 2);
  EXPECT_STREQ(schema.children[0]->name, "key");
  EXPECT_STREQ(schema.children[1]->format, "L");
  schema.release(&schema);
  EXPECT_EQ(stream_.get_last_error(&stream_), nullptr);
}

TEST_P(ArrowStreamTest, AnErrorHasANumberAndATextAndStays) {
  Open(Create());
  ASSERT_TRUE(Next());
  scan_->Cancel();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(Next(ECANCELED));
    EXPECT_STREQ(stream_.get_last_error(&stream_), "the scan was cancelled");
  }
}

}  // namespace
}  // namespace eris
