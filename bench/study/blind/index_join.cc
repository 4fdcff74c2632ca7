// W4: the join by an index that is there, the tree that all threads share (bench/shared). The
// tree's memory is the engine's allocator's, without a placement of its own, so it lies where the
// process's policy has it; no malloc takes part.
#include <optional>

#include "bench/routing/machine.h"
#include "bench/shared/shared_memory.h"
#include "bench/shared/shared_tree.h"
#include "bench/study/blind/queries.h"

namespace eris::bench::study {
namespace {

constexpr uint64_t kIndexBytesMax = uint64_t{1} << 40;

class IndexJoin final : public Query {
 public:
  IndexJoin(const Tables& tables, const Team& team)
      : tables_(tables),
        memory_(SharedPlacement::kFirstTouch, kIndexBytesMax),
        tree_(memory_.manager()) {
    team.RunShares(tables_.primary.size(), [&](size_t, uint64_t begin, uint64_t end) {
      SharedTree::Thread thread(tree_);
      for (const Record& record : tables_.primary.subspan(begin, end - begin)) {
        if (thread.Upsert(record.key, record.value) != UpsertResult::kInserted) {
          Die("no memory for the index, or a primary key twice");
        }
      }
    });
  }

  Answer Work(const Team& team) override {
    std::vector<Answer> parts(team.size());
    team.RunShares(tables_.records.size(), [&](size_t part, uint64_t begin, uint64_t end) {
      SharedTree::Thread thread(tree_);
      Answer answer;
      for (const Record& record : tables_.records.subspan(begin, end - begin)) {
        const std::optional<uint64_t> value = thread.Lookup(record.key);
        if (value) answer.Add(*value + 1, record.value + 1);
      }
      parts[part] = answer;
    });
    Answer sum;
    for (const Answer& one : parts) sum += one;
    return sum;
  }
  void Free(const Team&) override {}  // the index stays: it is not the query's

 private:
  const Tables tables_;
  SharedMemory memory_;
  SharedTree tree_;
};

}  // namespace

std::unique_ptr<Query> MakeIndexJoin(const Tables& tables, const Team& team) {
  return std::make_unique<IndexJoin>(tables, team);
}

}  // namespace eris::bench::study
