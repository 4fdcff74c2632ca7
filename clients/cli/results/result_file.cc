#include "clients/cli/results/result_file.h"

#include <simdjson.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "clients/load/report.h"

namespace eris::cli {
namespace {

using simdjson::dom::element;
using simdjson::dom::object;

// Results with a line for each 0.1 s of a day have less.
constexpr size_t kBytesMax = 256 << 20;

// The figures that are compared, of each operation.
std::vector<std::string> MetricNames() {
  std::vector<std::string> names{"requests_per_second", "keys_per_second", "mean_us"};
  for (const load::Percentile& one : load::kPercentiles) names.push_back(one.name);
  names.push_back("max_us");
  return names;
}

std::string Text(std::string_view view) { return std::string(view.data(), view.size()); }

// Reads the fields of one file. The first problem is kept; after it all reads give nothing.
class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  // A field of `from`, whose own path is `path` ("" at the top).
  template <class T>
  T Get(const object& from, const std::string& path, const char* field, const char* type) {
    T value{};
    if (!status_.ok()) return value;
    element found;
    if (from.at_key(field).get(found) != simdjson::SUCCESS) {
      Fail(absl::StrCat("has no field ", path, field));
    } else if (found.get(value) != simdjson::SUCCESS) {
      Fail(absl::StrCat("has a field ", path, field, " that is no ", type));
    }
    return value;
  }
  object GetObject(const object& from, const std::string& path, const char* field) {
    return Get<object>(from, path, field, "object");
  }
  std::string GetText(const object& from, const std::string& path, const char* field) {
    return Text(Get<std::string_view>(from, path, field, "text"));
  }
  void Fail(const std::string& what) {
    if (!status_.ok()) return;
    status_ = absl::InvalidArgumentError(
        absl::StrCat(name_, " ", what, ": give files that `eris bench --output json` has written"));
  }
  const absl::Status& status() const { return status_; }

 private:
  const std::string& name_;
  absl::Status status_;
};

void ReadMetrics(Reader& reader, const object& figures, const std::string& path,
                 const std::string& run, const std::string& operation, BenchResult& result) {
  for (const std::string& name : MetricNames()) {
    const double value = reader.Get<double>(figures, path, name.c_str(), "number");
    result.metrics.push_back({run, operation, name, value});
  }
}

// The operations of a run, and all together.
void ReadRun(Reader& reader, const object& figures, const std::string& path, const std::string& run,
             BenchResult& result) {
  result.wrong += reader.Get<uint64_t>(figures, path, "wrong", "count");
  result.failed += reader.Get<uint64_t>(figures, path, "failed", "count");
  // Absent if nothing was answered.
  object operations;
  const bool any = figures.at_key("operations").get(operations) == simdjson::SUCCESS;
  if (any && reader.status().ok()) {
    for (const simdjson::dom::key_value_pair one : operations) {
      const std::string name = Text(one.key), of = absl::StrCat(path, "operations.");
      const object kind = reader.GetObject(operations, of, name.c_str());
      if (!reader.status().ok()) return;
      ReadMetrics(reader, kind, absl::StrCat(of, name, "."), run, name, result);
    }
  }
  ReadMetrics(reader, figures, path, run, "all", result);
}

void ReadSweep(Reader& reader, const object& top, BenchResult& result) {
  const object peak = reader.GetObject(top, "", "peak");
  if (reader.status().ok()) ReadRun(reader, peak, "peak.", "peak", result);
  const auto shares = reader.Get<simdjson::dom::array>(top, "", "sweep", "array");
  if (!reader.status().ok()) return;
  size_t index = 0;
  for (const element one : shares) {
    const std::string path = absl::StrCat("sweep[", index++, "]");
    object share;
    if (one.get(share) != simdjson::SUCCESS) {
      return reader.Fail(absl::StrCat("has a field ", path, " that is no object"));
    }
    const uint64_t percent = reader.Get<uint64_t>(share, path + ".", "percent", "count");
    if (!reader.status().ok()) return;
    ReadRun(reader, share, path + ".", absl::StrCat(percent, " %"), result);
  }
}

void ReadSettings(Reader& reader, const object& top, BenchResult& result) {
  const auto add = [&](const object& from, const char* path, const char* field) {
    result.settings.emplace_back(field, reader.GetText(from, path, field));
  };
  for (const char* field : {"workload", "target", "version", "commit", "build"}) {
    add(top, "", field);
  }
  const object machine = reader.GetObject(top, "", "machine");
  if (!reader.status().ok()) return;
  add(machine, "machine.", "cpu");
  result.settings.emplace_back(
      "cpus", absl::StrCat(reader.Get<uint64_t>(machine, "machine.", "cpus", "count")));
  const object flags = reader.GetObject(top, "", "flags");
  if (!reader.status().ok()) return;
  for (const simdjson::dom::key_value_pair one : flags) {
    // Both are told otherwise: what was done, and in which form it was printed.
    if (one.key == "workload" || one.key == "output") continue;
    std::string_view text;
    if (one.value.get(text) != simdjson::SUCCESS) {
      return reader.Fail(absl::StrCat("has a field flags.", Text(one.key), " that is no text"));
    }
    result.settings.emplace_back(Text(one.key), Text(text));
  }
}

}  // namespace

absl::StatusOr<BenchResult> ParseBenchResult(const std::string& name, absl::string_view text) {
  simdjson::dom::parser parser;
  element document;
  const simdjson::padded_string padded(text.data(), text.size());
  if (const auto error = parser.parse(padded).get(document); error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, " is no JSON (", simdjson::error_message(error),
                     "): give files that `eris bench --output json` has written"));
  }
  Reader reader(name);
  object top;
  if (document.get(top) != simdjson::SUCCESS) reader.Fail("is no JSON object");
  const uint64_t format = reader.Get<uint64_t>(top, "", "format", "count");
  if (!reader.status().ok()) return reader.status();
  if (format != load::kReportFormat) {
    return absl::InvalidArgumentError(absl::StrCat(name, " has the field format ", format,
                                                   ", and this eris reads ", load::kReportFormat,
                                                   ": compare it with the eris that wrote it"));
  }
  BenchResult result{.name = name};
  ReadSettings(reader, top, result);
  result.sweep = top.at_key("sweep").error() == simdjson::SUCCESS;
  if (!reader.status().ok()) return reader.status();
  if (result.sweep) {
    ReadSweep(reader, top, result);
  } else {
    ReadRun(reader, top, "", "", result);
  }
  if (!reader.status().ok()) return reader.status();
  return result;
}

absl::StatusOr<BenchResult> ReadBenchResult(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"),
                                                             std::fclose);
  if (file == nullptr) {
    const std::string what = absl::StrCat("cannot read ", path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(what) : absl::InvalidArgumentError(what);
  }
  std::string text;
  char buffer[1 << 16];
  for (size_t read; (read = std::fread(buffer, 1, sizeof buffer, file.get())) > 0;) {
    text.append(buffer, read);
    if (text.size() > kBytesMax) {
      return absl::InvalidArgumentError(absl::StrCat(path, " has more than ", kBytesMax,
                                                     " bytes, so it is no result of a bench"));
    }
  }
  if (std::ferror(file.get()) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot read ", path, ": ", std::strerror(errno)));
  }
  return ParseBenchResult(path, text);
}

}  // namespace eris::cli
