#include "clients/cli/loading/foreign_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"

namespace eris::cli {
namespace {

using absl::string_view;

// %F is the file's name.
constexpr string_view kByParquetReader =
    "the Python client loads it: eris.connect().create_table(NAME, '%F').write('%F')";
constexpr string_view kByFrame =
    "read it into a frame of Polars or pandas; the Python client loads that: "
    "eris.connect().create_table(NAME, frame).write(frame)";
constexpr string_view kUnpackFirst = "gzip and zstd are read here; unpack it first";

struct Kind {
  size_t at;  // where the bytes are
  string_view bytes;
  string_view what;
  string_view help;
};

// string_view of a literal with zeros in it.
template <size_t kSize>
constexpr string_view Bytes(const char (&text)[kSize]) {
  return {text, kSize - 1};
}

// A longer beginning comes before a shorter one that it contains.
constexpr Kind kKinds[] = {
    {0, "PAR1", "a Parquet file", kByParquetReader},
    {0, "PARE", "an encrypted Parquet file", kByFrame},
    {0, "ARROW1", "an Arrow file", kByFrame},
    {0, Bytes("\xff\xff\xff\xff"), "a stream of Arrow", kByFrame},
    {0, "FEA1", "a Feather file", kByFrame},
    {0, "ORC", "an ORC file", kByFrame},
    {0, Bytes("Obj\x01"), "an Avro file", kByFrame},
    {0, Bytes("SQLite format 3\0"), "a database of SQLite",
     "let sqlite3 write a table as text: sqlite3 -header -csv %F 'select * from TABLE'"},
    {8, "DUCK", "a database of DuckDB",
     "let DuckDB write a table: duckdb %F \"copy TABLE to 'table.csv'\""},
    {0, Bytes("PK\x03\x04"), "a ZIP archive, or a document of Excel or another office",
     "unpack it, or save the sheet as CSV"},
    {0, Bytes("\xd0\xcf\x11\xe0"), "a document of an old Excel", "save the sheet as CSV"},
    {0, Bytes("\x89HDF"), "an HDF5 file", kByFrame},
    {0, "BZh", "compressed with bzip2", kUnpackFirst},
    {0,
     Bytes("\xfd"
           "7zXZ\0"),
     "compressed with xz", kUnpackFirst},
    {0, Bytes("7z\xbc\xaf"), "a 7z archive", kUnpackFirst},
    {0, Bytes("\x04\x22\x4d\x18"), "compressed with lz4", kUnpackFirst},
    {257, "ustar", "a tar archive", "unpack it, and import the files in it"},
    {0, Bytes("\xff\xfe\0\0"), "text in UTF-32", "iconv -f UTF-32 -t UTF-8 %F writes it in UTF-8"},
    {0, Bytes("\0\0\xfe\xff"), "text in UTF-32", "iconv -f UTF-32 -t UTF-8 %F writes it in UTF-8"},
    {0, Bytes("\xff\xfe"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8 %F writes it in UTF-8"},
    {0, Bytes("\xfe\xff"), "text in UTF-16", "iconv -f UTF-16 -t UTF-8 %F writes it in UTF-8"},
};

// Text may begin like some of them: a column may be called PAR1. But text has no such characters.
bool HasControlCharacters(string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < ' ' && c != '\t' && c != '\n' && c != '\r';
  });
}

}  // namespace

absl::Status CheckIsText(const InputFile& input) {
  if (!input.seekable()) return absl::OkStatus();
  std::array<char, 512> buffer{};
  const ssize_t got = pread(input.fd(), buffer.data(), buffer.size(), 0);
  if (got <= 0) return absl::OkStatus();  // empty; or reading it will say what is wrong
  const string_view first(buffer.data(), static_cast<size_t>(got));
  if (!HasControlCharacters(first)) return absl::OkStatus();
  for (const Kind& kind : kKinds) {
    if (first.size() < kind.at || first.substr(kind.at, kind.bytes.size()) != kind.bytes) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        input.name(), " is ", kind.what, ", and text is read here: CSV, NDJSON or .tbl; ",
        absl::StrReplaceAll(kind.help, {{"%F", input.name()}})));
  }
  return absl::OkStatus();
}

}  // namespace eris::cli
