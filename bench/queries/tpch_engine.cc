#include "bench/queries/tpch_engine.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "bench/must.h"
#include "clients/cli/files/key_bounds.h"
#include "clients/cli/files/row_file.h"
#include "clients/cli/files/tpch_tables.h"
#include "clients/cli/loading/key_sample.h"
#include "server/substrait/plan_reader.h"

namespace eris::bench {
namespace {

constexpr cli::DelimitedFormat kTbl{.delimiter = '|', .quotes = false, .trailing_delimiter = true};

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) Die("cannot read " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

absl::Status QueryAnswer::Read(Scan& query) {
  schema = query.schema();
  for (;;) {
    const absl::StatusOr<std::shared_ptr<const Chunk>> chunk = query.Next();
    if (!chunk.ok()) return chunk.status();
    if (*chunk == nullptr) return absl::OkStatus();
    client::OwnedRows& rows = chunks.emplace_back();
    rows.rows = (*chunk)->rows();
    for (size_t i = 0; i < schema.columns.size(); ++i) {
      rows.columns.push_back((*chunk)->TakeColumn(i));
    }
  }
}

TpchEngine::TpchEngine(uint32_t aeus, const std::string& plans)
    : TpchEngine(Must(Engine::Open({.aeu_count = aeus})), aeus, plans) {}

TpchEngine::TpchEngine(std::unique_ptr<Engine> engine, uint32_t aeus, const std::string& plans)
    : aeus_(aeus), engine_(std::move(engine)) {
  for (uint32_t number = 1; number <= kTpchQueries; ++number) {
    plans_.push_back(FileText(absl::StrFormat("%s/q%02d.plan", plans, number)));
  }
}

TpchEngine::~TpchEngine() { engine_->Close(); }

uint64_t TpchEngine::Load(const std::string& data) {
  const auto session = engine_->NewSession();
  uint64_t rows = 0;
  // Tables whose keys others share come first.
  for (const char* const table :
       {"orders", "lineitem", "customer", "part", "partsupp", "supplier", "nation", "region"}) {
    rows += LoadTable(*session, table, absl::StrFormat("%s/%s.tbl", data, table));
  }
  return rows;
}

std::vector<uint64_t> TpchEngine::SampleOf(int fd, const std::string& path,
                                           const ColumnSchema& column) const {
  struct stat status {};
  if (fstat(fd, &status) != 0) Die("cannot read " + path);
  constexpr size_t kKeyField = 0;  // in all of TPC-H's tables
  return Must(cli::SampleKeys(fd, static_cast<uint64_t>(status.st_size), kTbl, kKeyField,
                              cli::kSampleRecordsMax, column));
}

uint64_t TpchEngine::LoadTable(Session& session, const std::string& table,
                               const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) Die("cannot read " + path);
  CreateOptions create{.kind = ObjectKind::kTable, .schema = cli::TpchSchema(table)};
  const ColumnSchema& key = create.schema.columns[create.schema.key[0]];
  std::vector<uint64_t> sample = SampleOf(fd, path, key);
  if (sample.empty()) Die(path + " has no row");
  const auto [first, last] = std::minmax_element(sample.begin(), sample.end());
  if (key.type == ColumnType::kInt64) cut_tables_.push_back({table, *first, *last});
  const std::vector<uint64_t> words = cli::SplitPoints(std::move(sample), aeus_, cuts_[key.type]);
  for (const uint64_t word : words) {
    create.split_points.push_back(cli::CutOf(create.kind, key, word));
  }
  cuts_[key.type].push_back(words);
  schemas_[table] = create.schema;
  Must(engine_->Create(table, create));
  const Object object = Must(session.Open(table));

  cli::RowFile file(fd, path, {.delimited = kTbl}, create.schema);
  Must(file.Open());
  constexpr uint64_t kBatch = 32768;
  client::OwnedRows rows;
  uint64_t loaded = 0;
  for (bool more = true; more;) {
    cli::RowFile::Reset(rows);
    more = Must(file.Read(kBatch, rows, [](const std::string& complaint) -> bool {
             Die(complaint);
           })) != cli::RowFile::Result::kEnd;
    if (rows.rows == 0) continue;
    const client::RowView view = rows.view();
    Must(session.Write(object, {.rows = view.batch()}).status);
    loaded += rows.rows;
  }
  close(fd);
  return loaded;
}

absl::StatusOr<QueryPlan> TpchEngine::Plan(uint32_t number) const {
  return server::PlanFromSubstrait(
      plans_[number - 1], [&](absl::string_view name) -> absl::StatusOr<Schema> {
        const auto found = schemas_.find(name);
        if (found != schemas_.end()) return found->second;
        return absl::NotFoundError(absl::StrFormat("no table %s is loaded", name));
      });
}

absl::StatusOr<std::unique_ptr<Scan>> TpchEngine::Open(Session& session, uint32_t number) const {
  const absl::StatusOr<QueryPlan> plan = Plan(number);
  if (!plan.ok()) return plan.status();
  return session.OpenQuery(*plan);
}

absl::StatusOr<QueryAnswer> TpchEngine::Run(Session& session, uint32_t number) const {
  absl::StatusOr<std::unique_ptr<Scan>> query = Open(session, number);
  if (!query.ok()) return query.status();
  QueryAnswer answer;
  if (absl::Status status = answer.Read(**query); !status.ok()) return status;
  return answer;
}

}  // namespace eris::bench
