#include "tests/fuzz/text/text_machine.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"
#include "base/status_macros.h"
#include "clients/cli/files/cell_text.h"
#include "clients/cli/files/row_file.h"
#include "clients/cli/files/schema_text.h"
#include "server/state/config.h"
#include "text/expression_text.h"

namespace eris::fuzz {
namespace {

absl::string_view View(std::string_view text) { return {text.data(), text.size()}; }

absl::Status Broken(absl::string_view rule, absl::string_view text) {
  return absl::InternalError(absl::StrCat(rule, ": ", text));
}

// --- configuration ---------------------------------------------------------------------------

absl::Status RunConfig(std::string_view bytes, bool plant, bool* taken) {
  server::ServerConfig read, checked;
  const absl::Status applied = server::ApplyConfigText(View(bytes), "f.toml", &read);
  const std::vector<std::string> problems =
      server::CheckConfigText(View(bytes), "f.toml", &checked);
  if (problems.size() > server::kConfigProblemsMax) return Broken("too many problems", "");
  for (const std::string& problem : problems) {
    if (!absl::StartsWith(problem, "f.toml:")) return Broken("a problem without a line", problem);
  }
  if (!applied.ok()) {
    if (!absl::IsInvalidArgument(applied)) return Broken("another error", applied.ToString());
    if (problems.empty() || problems.front() != std::string(applied.message())) {
      return Broken("the check does not begin with the refusal", applied.ToString());
    }
    if (server::ConfigText(read) != server::ConfigText({})) return Broken("half applied", "");
    return absl::OkStatus();
  }
  *taken = true;
  if (problems.empty() != server::ValidateConfig(read).ok()) return Broken("check and values", "");
  // What is printed is read as the same.
  const std::string text = server::ConfigText(read);
  server::ServerConfig again;
  const absl::Status reread = server::ApplyConfigText(text, "again", &again);
  if (!reread.ok()) return Broken("its print is refused", reread.ToString());
  if (server::ConfigText(again) != text) return Broken("its print is another", text);
  // No seed has another number.
  const uint32_t requests_max = read.stream_requests_max;
  const bool changed =
      requests_max != 4 && requests_max != server::ServerConfig().stream_requests_max;
  if (plant && changed) return Broken("a planted limit", "");
  return absl::OkStatus();
}

// --- filters -----------------------------------------------------------------------------------

absl::Status RunFilter(std::string_view bytes, bool plant, bool* taken) {
  (void)text::ParseAggregates(View(bytes));
  (void)text::ParseColumns(View(bytes));
  (void)text::ParseNames(View(bytes));
  const absl::StatusOr<Expression> read = text::ParseExpression(View(bytes));
  if (!read.ok()) {
    const bool said = absl::IsInvalidArgument(read.status()) && !read.status().message().empty();
    return said ? absl::OkStatus() : Broken("an error without a word", read.status().ToString());
  }
  *taken = true;
  const std::string text = text::ExpressionText(*read);
  // Signs and parentheses that the print adds may be too much for the limits of a text.
  constexpr size_t kSurelyWithinLimits = 200, kSeedBytesMax = 120;
  if (text.size() > kSurelyWithinLimits) return absl::OkStatus();
  const absl::StatusOr<Expression> again = text::ParseExpression(text);
  if (!again.ok()) return Broken("its print is refused", again.status().ToString());
  if (!(*again == *read)) return Broken("its print is another", text);
  if (plant && text.size() > kSeedBytesMax) return Broken("a planted length", text);
  return absl::OkStatus();
}

// --- files -------------------------------------------------------------------------------------

const Schema& CsvSchema() {
  static const Schema schema = [] {
    absl::StatusOr<Schema> parsed = cli::ParseSchema(
        "a:int64,b:decimal(2)?,c:string?,d:int32?,e:uint64?,f:float64?,g:date?", "");
    ERIS_CHECK(parsed.ok());
    return *std::move(parsed);
  }();
  return schema;
}

cli::RowFileFormat FormatOf(uint8_t choice) {
  cli::RowFileFormat format;
  if (choice % 2 == 1) format.delimited = {'|', false, true};
  if (choice % 4 >= 2) format.header = std::nullopt;
  if (choice % 8 >= 4) {
    format.json = true;
    format.delimited = {.delimiter = '\n', .quotes = false};
    format.only_keys = choice % 2 == 1;
  }
  return format;
}

// A file in memory.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : fd_(memfd_create("text", MFD_CLOEXEC)) {
    ERIS_CHECK(fd_ >= 0);
    ERIS_CHECK(write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    ERIS_CHECK(lseek(fd_, 0, SEEK_SET) == 0);
  }
  ~MemoryFile() { close(fd_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

struct CsvRows {
  std::vector<std::string> rows;
  std::vector<std::string> complaints;
};

// All rows as text, read `rows_max` at a time.
absl::Status ReadCsv(std::string_view text, const cli::RowFileFormat& format, uint64_t rows_max,
                     CsvRows& out) {
  const Schema& schema = CsvSchema();
  const MemoryFile memory(text);
  cli::RowFile file(memory.fd(), "f", format, schema);
  ERIS_RETURN_IF_ERROR(file.Open());
  client::OwnedRows rows;
  for (;;) {
    ERIS_ASSIGN_OR_RETURN(const cli::RowFile::Result result,
                          file.Read(rows_max, rows, [&](const std::string& complaint) {
                            out.complaints.push_back(complaint);
                            return true;
                          }));
    if (rows.rows > rows_max) return Broken("more rows than asked for", "");
    for (uint64_t row = 0; row < rows.rows; ++row) {
      std::string& line = out.rows.emplace_back();
      for (size_t i = 0; i < schema.columns.size(); ++i) {
        absl::StrAppend(&line, rows.IsNull(i, row) ? "-" : "+");
        if (!rows.IsNull(i, row)) cli::AppendCell(schema.columns[i], rows, i, row, &line);
      }
    }
    cli::RowFile::Reset(rows);
    if (result != cli::RowFile::Result::kEnd) continue;
    return file.bytes_read() == text.size() ? absl::OkStatus() : Broken("not read to its end", "");
  }
}

absl::Status RunCsv(std::string_view bytes, bool plant, bool* taken) {
  if (bytes.empty()) return absl::OkStatus();
  const cli::RowFileFormat format = FormatOf(static_cast<uint8_t>(bytes[0]));
  bytes.remove_prefix(1);
  CsvRows at_once, by_twos;
  const absl::Status status = ReadCsv(bytes, format, 1'000, at_once);
  const absl::Status again = ReadCsv(bytes, format, 2, by_twos);
  if (absl::IsInternal(status)) return status;
  if (absl::IsInternal(again)) return again;
  if (status != again) return Broken("two errors", again.ToString());
  if (at_once.rows != by_twos.rows || at_once.complaints != by_twos.complaints) {
    return Broken("other rows by twos", "");
  }
  for (const std::string& complaint : at_once.complaints) {
    if (!absl::StartsWith(complaint, "f")) return Broken("a complaint without a line", complaint);
  }
  *taken = !at_once.rows.empty();
  if (plant && at_once.rows.size() > 4) return Broken("a planted row", "");
  return absl::OkStatus();
}

}  // namespace

absl::Status RunText(TextKind kind, std::string_view bytes, bool plant, bool* taken) {
  bool ignored = false;
  if (taken == nullptr) taken = &ignored;
  *taken = false;
  switch (kind) {
    case TextKind::kConfig:
      return RunConfig(bytes, plant, taken);
    case TextKind::kFilter:
      return RunFilter(bytes, plant, taken);
    case TextKind::kCsv:
      return RunCsv(bytes, plant, taken);
  }
  return absl::OkStatus();
}

std::vector<std::string> TextSeeds(TextKind kind) {
  switch (kind) {
    case TextKind::kConfig:
      return {server::ConfigText({}),
              "[server]\nlisten = \"unix:/tmp/e\"  # here\nstream_requests_max = 4\n",
              "[engine]\naeu_cpus = [0, 2]\nmemory_limit_bytes = \"4 GiB\"\nplacement = 'none'\n",
              "[balancer]\nenabled = false\nthreshold = 0.5\n\n[server]\nhttp = \"[::1]:0\"\n"};
    case TextKind::kFilter:
      return {"l_shipdate >= 1994-01-01 and l_discount between 0.05 and 0.07 and l_quantity < 24",
              "not (l_shipmode in ('AIR', 'AIR REG') or l_comment is null)",
              "p_name like '%g!_n%' escape '!' and date_part('year', o_orderdate) = 1995",
              "case when a = 'x' then b * (1 - c) else cast(d as decimal(10, 2)) end > -1e3",
              "sum(a * 2) as b, count(*)",
              "\"two words\" % 7 div 2 <> x'00ff'"};
    case TextKind::kCsv:
      return {std::string(1, '\0') + "1,2.50,\"x \"\"y\"\"\n\",7,8,1.5,1994-01-01\n-1,,,,,,\n",
              std::string(1, '\1') + "1|2.50|x|7|8|1.5|1994-01-01|\n2|-0.01||||||\n",
              std::string(1, '\2') + "b,a,c,d,e,f,g\r\n1.00,5,,,,,\r\n",
              std::string(1, '\4') +
                  "{\"a\":1,\"b\":2.5,\"c\":\"x\\n\\u00e9\",\"g\":\"1994-01-01\"}\n"
                  "{\"c\":[1,{\"d\":null}],\"f\":1e3, \"h\":true,\"a\":-2}\n"};
  }
  return {};
}

std::string ChangedText(std::string_view bytes, std::mt19937_64& random) {
  std::string text(bytes);
  for (uint64_t changes = random() % 4 + 1; changes > 0; --changes) {
    const size_t at = random() % (text.size() + 1);
    const size_t from = random() % (text.size() + 1);
    const size_t some = random() % 16;
    switch (random() % 5) {
      case 0:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      case 1:
        text.erase(at, some);
        break;
      case 2:
        text.insert(at, text.substr(from, some * 4));
        break;
      case 3:
        text.insert(at, std::to_string(random() >> (random() % 64)));
        break;
      default:
        if (at < text.size()) text[at] = "\"'\\\n[]=,|().-+0 "[random() % 16];
    }
  }
  return text;
}

}  // namespace eris::fuzz
