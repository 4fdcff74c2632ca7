#include "eris/session.h"

#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace eris {
namespace {

absl::Status NotThere() { return absl::UnimplementedError("the test needs none"); }

// The only row of an analysis. Without memory for a copy it throws as the copy would.
class TextChunk final : public Chunk {
 public:
  TextChunk(std::string text, bool has_memory) : text_(std::move(text)), has_memory_(has_memory) {
    offsets_[1] = static_cast<uint32_t>(text_.size());
  }
  uint64_t rows() const override { return 1; }
  const Schema& schema() const override { return schema_; }
  ColumnView column(size_t) const override {
    if (!has_memory_) throw std::bad_alloc();
    return {.values = text_.data(), .validity = nullptr, .offsets = offsets_};
  }
  std::string resume() const override { return ""; }

 private:
  const std::string text_;
  const bool has_memory_;
  const Schema schema_{};
  uint32_t offsets_[2] = {0, 0};
};

class TextScan final : public Scan {
 public:
  explicit TextScan(std::shared_ptr<const Chunk> text) : text_(std::move(text)) {}
  const Schema& schema() const override { return text_->schema(); }
  std::shared_ptr<Snapshot> snapshot() const override { return nullptr; }
  NextResult Next(absl::Time) override { return text_; }
  void NextAsync(Callback done) override { std::move(done)(NotThere()); }
  void Cancel() override {}

 private:
  const std::shared_ptr<const Chunk> text_;
};

// A session that only analyses.
class AnalysisSession final : public Session {
 public:
  bool has_memory = true;

  absl::StatusOr<std::unique_ptr<Scan>> OpenAnalysis(const QueryPlan&,
                                                     const QueryOptions&) override {
    return std::make_unique<TextScan>(std::make_shared<TextChunk>("a join", has_memory));
  }

  NumaNodeId numa_node() const override { return NumaNodeId{0}; }
  absl::StatusOr<Object> Open(absl::string_view) override { return NotThere(); }
  BatchResult Lookup(const Object&, const LookupBatch&, absl::Time) override { return {}; }
  BatchResult Write(const Object&, const WriteBatch&, absl::Time) override { return {}; }
  StartedCall LookupAsync(const Object&, const LookupBatch&, Callback) override {
    return NotThere();
  }
  StartedCall WriteAsync(const Object&, const WriteBatch&, Callback) override { return NotThere(); }
  absl::StatusOr<std::unique_ptr<Scan>> OpenScan(const Object&, const Query&) override {
    return NotThere();
  }
  absl::StatusOr<Schema> AnswerSchema(const Object&, const Query&) override { return NotThere(); }
  absl::StatusOr<std::vector<ObjectShare>> Shares(const Object&, const Query&,
                                                  absl::Time) override {
    return NotThere();
  }
  absl::StatusOr<std::unique_ptr<Scan>> OpenQuery(const QueryPlan&, const QueryOptions&) override {
    return NotThere();
  }
  absl::StatusOr<std::string> ExplainQuery(const QueryPlan&) override { return NotThere(); }
  absl::StatusOr<RangeAggregate> Aggregate(const Object&, const AggregateOptions&,
                                           absl::Time) override {
    return NotThere();
  }
  StartedCall AggregateAsync(const Object&, const AggregateOptions&, AggregateCallback) override {
    return NotThere();
  }
  absl::StatusOr<std::unique_ptr<Scan>> OpenJoin(const Object&, const Object&,
                                                 const JoinOptions&) override {
    return NotThere();
  }
  absl::StatusOr<uint64_t> ScanInto(const Object&, const Query&, const Object&,
                                    absl::Time) override {
    return NotThere();
  }
  StartedCall ScanIntoAsync(const Object&, const Query&, const Object&, ScanIntoCallback) override {
    return NotThere();
  }
};

TEST(SessionTest, AnalysisWithoutMemoryForItsTextIsAStatus) {
  AnalysisSession session;
  const absl::StatusOr<std::string> text = session.AnalyzeQuery({});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "a join");
  session.has_memory = false;
  EXPECT_EQ(session.AnalyzeQuery({}).status().code(), absl::StatusCode::kResourceExhausted);
}

}  // namespace
}  // namespace eris
