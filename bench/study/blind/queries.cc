#include "bench/study/blind/queries.h"

#include <algorithm>
#include <optional>

#include "bench/routing/machine.h"
#include "bench/study/blind/shared_table.h"

namespace eris::bench::study {
namespace {

// One answer for all threads' parts.
template <class Part>
Answer SumOf(const Team& team, const Part& part) {
  std::vector<Answer> parts(team.size());
  team.Run([&](size_t thread) { parts[thread] = part(thread); });
  Answer sum;
  for (const Answer& one : parts) sum += one;
  return sum;
}

uint64_t ShareBegin(uint64_t count, size_t thread, const Team& team) {
  return count * thread / team.size();
}

struct ValuesNode {
  explicit ValuesNode(uint64_t its_key) : key(its_key) {}
  void Take(uint64_t value) { values.push_back(value); }
  uint64_t Second() { return TwiceTheMedian(values) + 1; }

  const uint64_t key;
  ValuesNode* next = nullptr;
  std::vector<uint64_t> values;
};

struct CountNode {
  explicit CountNode(uint64_t its_key) : key(its_key) {}
  void Take(uint64_t) { ++count; }
  uint64_t Second() const { return count; }

  const uint64_t key;
  CountNode* next = nullptr;
  uint64_t count = 0;
};

// W1 and W2: a group's result row is its key and its node's Second.
template <class Node>
class Grouping final : public Query {
 public:
  explicit Grouping(const Tables& tables)
      : tables_(tables), table_(tables.keys, tables.advise_huge) {}

  Answer Work(const Team& team) override {
    team.RunShares(tables_.records.size(), [&](size_t, uint64_t begin, uint64_t end) {
      for (const Record& record : tables_.records.subspan(begin, end - begin)) {
        table_.Update(record.key, [&](Node& node) { node.Take(record.value); });
      }
    });
    rows_.resize(team.size());
    return SumOf(team, [&](size_t thread) {
      std::vector<Row>& rows = rows_[thread];
      table_.ForEach(ShareBegin(table_.chains(), thread, team),
                     ShareBegin(table_.chains(), thread + 1, team), [&](Node& node) {
                       rows.push_back({node.key, node.Second()});
                     });
      Answer answer;
      for (const Row& row : rows) answer.Add(row.key + 1, row.second);
      return answer;
    });
  }
  void Free(const Team& team) override {
    team.RunShares(table_.chains(), [&](size_t thread, uint64_t begin, uint64_t end) {
      table_.Free(begin, end);
      if (thread < rows_.size()) std::vector<Row>().swap(rows_[thread]);
    });
  }

 private:
  struct Row {
    uint64_t key, second;
  };
  const Tables tables_;
  SharedTable<Node> table_;
  std::vector<std::vector<Row>> rows_;  // by thread
};

struct PrimaryNode {
  uint64_t key;
  PrimaryNode* next;
  uint64_t value;
};

class HashJoin final : public Query {
 public:
  explicit HashJoin(const Tables& tables)
      : tables_(tables), table_(tables.primary.size(), tables.advise_huge) {}

  Answer Work(const Team& team) override {
    team.RunShares(tables_.primary.size(), [&](size_t, uint64_t begin, uint64_t end) {
      for (const Record& record : tables_.primary.subspan(begin, end - begin)) {
        table_.Add(new PrimaryNode{record.key, nullptr, record.value});
      }
    });
    return SumOf(team, [&](size_t thread) {
      Answer answer;
      const uint64_t begin = ShareBegin(tables_.records.size(), thread, team);
      const uint64_t end = ShareBegin(tables_.records.size(), thread + 1, team);
      for (const Record& record : tables_.records.subspan(begin, end - begin)) {
        table_.ForEachOf(record.key, [&](const PrimaryNode& node) {
          answer.Add(node.value + 1, record.value + 1);
        });
      }
      return answer;
    });
  }
  void Free(const Team& team) override {
    team.RunShares(table_.chains(),
                   [&](size_t, uint64_t begin, uint64_t end) { table_.Free(begin, end); });
  }

 private:
  const Tables tables_;
  SharedTable<PrimaryNode> table_;
};

}  // namespace

uint64_t TwiceTheMedian(std::vector<uint64_t>& values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return values.size() % 2 == 1 ? 2 * *middle : *middle + *std::max_element(values.begin(), middle);
}

std::unique_ptr<Query> MakeQuery(const std::string& name, const Tables& tables) {
  if (name == "w1") return std::make_unique<Grouping<ValuesNode>>(tables);
  if (name == "w2") return std::make_unique<Grouping<CountNode>>(tables);
  if (name == "w3") return std::make_unique<HashJoin>(tables);
  Die("no query " + name);
}

}  // namespace eris::bench::study
