// An engine with TPC-H's eight tables, loaded from .tbl files as `eris import` loads them, and its
// 22 queries as Substrait plans. For benchmarks: what must not fail ends the program.
#ifndef ERIS_BENCH_QUERIES_TPCH_ENGINE_H_
#define ERIS_BENCH_QUERIES_TPCH_ENGINE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "clients/rows.h"
#include "eris/engine.h"

namespace eris::bench {

inline constexpr uint32_t kTpchQueries = 22;

// An answer as its reader has taken it: out of the engine's buffers.
struct QueryAnswer {
  Schema schema{};
  std::vector<client::OwnedRows> chunks{};

  // Takes chunks until the query ends. Errors: those of Scan::Next.
  absl::Status Read(Scan& query);
};

// A table whose ranges can be cut anywhere between its first and its last key.
struct CutTable {
  std::string name;
  uint64_t first = 0;
  uint64_t last = 0;
};

class TpchEngine {
 public:
  // `plans`: the folder of qNN.plan.
  TpchEngine(uint32_t aeus, const std::string& plans);
  // Over an engine that has so many AEUs and no object.
  TpchEngine(std::unique_ptr<Engine> engine, uint32_t aeus, const std::string& plans);
  TpchEngine(const TpchEngine&) = delete;
  TpchEngine& operator=(const TpchEngine&) = delete;
  ~TpchEngine();

  // Creates and fills the tables from `data`/<table>.tbl. Returns the number of rows. Not twice.
  uint64_t Load(const std::string& data);

  Engine& engine() { return *engine_; }
  // Those with a key of eight bytes; after Load.
  const std::vector<CutTable>& cut_tables() const { return cut_tables_; }

  // For all of these: any thread after Load, each with a session of its own; `number`: 1 to
  // kTpchQueries. The plan is read from its bytes each time, as a server does. Errors: of the plan,
  // and those of Session::OpenQuery.
  absl::StatusOr<QueryPlan> Plan(uint32_t number) const;
  absl::StatusOr<std::unique_ptr<Scan>> Open(Session& session, uint32_t number) const;
  // The whole answer. Errors: also those of Scan::Next.
  absl::StatusOr<QueryAnswer> Run(Session& session, uint32_t number) const;

 private:
  uint64_t LoadTable(Session& session, const std::string& table, const std::string& path);
  std::vector<uint64_t> SampleOf(int fd, const std::string& path, const ColumnSchema& column) const;

  const uint32_t aeus_;
  std::vector<std::string> plans_;  // serialised, by number - 1
  std::unique_ptr<Engine> engine_;
  std::map<std::string, Schema, std::less<>> schemas_;  // by table
  std::vector<CutTable> cut_tables_;
  // Inner bounds of the tables so far, by the type of the first key column: tables that share a key
  // are cut alike.
  std::map<ColumnType, std::vector<std::vector<uint64_t>>> cuts_;
};

}  // namespace eris::bench

#endif  // ERIS_BENCH_QUERIES_TPCH_ENGINE_H_
