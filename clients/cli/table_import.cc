// ImportRows: a thread parses batches while this one sends those before.
#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "clients/cli/files/progress_bar.h"
#include "clients/cli/table_verbs.h"

namespace eris::cli {
namespace {

// Read ahead of the sender.
constexpr size_t kBatchesMax = 2;
// While a slow file gives nothing, the stream is looked at so often.
constexpr absl::Duration kLookAtStream = absl::Milliseconds(200);

// Batches between the two threads: full ones one way, used ones back.
class Batches {
 public:
  struct Batch {
    client::OwnedRows rows;
    uint64_t bytes_read = 0;
  };

  // A batch to fill; nullopt: the sender has given up.
  std::optional<Batch> TakeFree() {
    absl::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](Batches* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return self->closed_ || self->full_.size() < kBatchesMax;
        },
        this));
    if (closed_) return std::nullopt;
    Batch batch;
    if (!free_.empty()) {
      batch = std::move(free_.front());
      free_.pop_front();
    }
    return batch;
  }
  void PutFull(Batch batch) {
    absl::MutexLock lock(&mu_);
    full_.push_back(std::move(batch));
  }
  // Nothing more comes; `status` says whether that is the end of the file.
  void End(absl::Status status, uint64_t skipped) {
    absl::MutexLock lock(&mu_);
    ended_ = true;
    status_ = std::move(status);
    skipped_ = skipped;
  }

  // The next full one; nullopt: there was none within the time, or the reader has ended.
  std::optional<Batch> TakeFull(absl::Duration wait, bool& ended) {
    absl::MutexLock lock(&mu_);
    (void)mu_.AwaitWithTimeout(absl::Condition(
                                   +[](Batches* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                     return self->ended_ || !self->full_.empty();
                                   },
                                   this),
                               wait);
    ended = ended_ && full_.empty();
    if (full_.empty()) return std::nullopt;
    Batch batch = std::move(full_.front());
    full_.pop_front();
    return batch;
  }
  void PutFree(Batch batch) {
    absl::MutexLock lock(&mu_);
    free_.push_back(std::move(batch));
  }
  void Close() {
    absl::MutexLock lock(&mu_);
    closed_ = true;
  }
  absl::Status status(uint64_t& skipped) {
    absl::MutexLock lock(&mu_);
    skipped = skipped_;
    return status_;
  }

 private:
  absl::Mutex mu_;
  std::deque<Batch> full_ ABSL_GUARDED_BY(mu_);
  std::deque<Batch> free_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
  uint64_t skipped_ ABSL_GUARDED_BY(mu_) = 0;
};

void ReadBatches(const TableImport& options, TableFile& file, Batches& batches) {
  uint64_t skipped = 0;
  absl::Status status;
  const auto on_bad_line = [&](const std::string& complaint) {
    if (!options.skip_bad_lines) {
      status = absl::InvalidArgumentError(complaint);
      return false;
    }
    ++skipped;
    std::fprintf(stderr, "eris: skipped: %s\n", complaint.c_str());
    return true;
  };
  for (bool more = true; more && status.ok();) {
    std::optional<Batches::Batch> batch = batches.TakeFree();
    if (!batch) break;
    TableFile::Reset(batch->rows);
    const absl::StatusOr<TableFile::Result> result =
        file.Read(options.rows_max, batch->rows, on_bad_line, options.text_bytes_max);
    if (!result.ok()) status = result.status();
    more = result.ok() && *result == TableFile::Result::kFull;
    batch->bytes_read = file.bytes_read();
    // Also the rows before a bad line.
    if (batch->rows.rows > 0) {
      batches.PutFull(*std::move(batch));
    } else {
      batches.PutFree(*std::move(batch));
    }
  }
  batches.End(std::move(status), skipped);
}

// What has been acknowledged.
class Acknowledged {
 public:
  void Add(absl::Status status, const client::WrittenRows& written) {
    absl::MutexLock lock(&mu_);
    rows_ += written.stored;
    replaced_ += written.replaced;
    if (error_.ok()) error_ = std::move(status);
  }
  absl::Status error() {
    absl::MutexLock lock(&mu_);
    return error_;
  }
  void Into(ImportedRows& imported) {
    absl::MutexLock lock(&mu_);
    imported.rows = rows_;
    imported.replaced = replaced_;
  }

 private:
  absl::Mutex mu_;
  uint64_t rows_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t replaced_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mu_);  // the first one
};

}  // namespace

absl::Status ImportRows(client::Client& client, const Schema& schema,
                        const TableImport& options, TableFile& file, ImportedRows& imported) {
  Acknowledged acknowledged;
  client::RowStream stream(
      client, {.in_flight_max = options.in_flight, .stall_timeout = client.options().timeout},
      [&](uint64_t, absl::Status status, client::WrittenRows written) {
        acknowledged.Add(std::move(status), written);
      });
  ProgressBar bar(options.file_bytes, options.progress);
  Batches batches;
  std::thread reader([&] { ReadBatches(options, file, batches); });
  absl::Status status;
  for (bool ended = false; status.ok();) {
    std::optional<Batches::Batch> batch = batches.TakeFull(kLookAtStream, ended);
    if (ended) break;
    status = acknowledged.error();
    if (!batch) {
      // Nothing to send: the server may be gone, and the file give nothing for ever.
      if (status.ok()) status = stream.AwaitRoom();
      continue;
    }
    if (status.ok()) status = stream.Send(options.table, schema, batch->rows);
    imported.sent += batch->rows.rows;
    bar.Show(batch->bytes_read, imported.sent);
    batches.PutFree(*std::move(batch));
  }
  batches.Close();
  if (!status.ok()) file.Interrupt();
  reader.join();
  const absl::Status end = stream.Finish();
  acknowledged.Into(imported);
  imported.bytes = file.bytes_read();
  const absl::Status read = batches.status(imported.skipped);
  if (absl::Status error = acknowledged.error(); !error.ok()) return error;
  if (!status.ok()) return status;
  return end.ok() ? read : end;
}

}  // namespace eris::cli
