#include "clients/cli/loading/row_loader.h"

#include <cstdio>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "clients/batch_stream.h"
#include "clients/cli/text/progress_bar.h"

namespace eris::cli {
namespace {

constexpr uint64_t kBadLinesShown = 5;
// Read ahead of the sender.
constexpr size_t kBatchesMax = 2;
// How often the stream is checked while a slow file gives no rows.
constexpr absl::Duration kLookAtStream = absl::Milliseconds(200);

// Batches between the two threads: full ones one way, empty ones back.
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
  // Called after the last batch; `status` is OK at the end of the file.
  void End(absl::Status status) {
    absl::MutexLock lock(&mu_);
    ended_ = true;
    status_ = std::move(status);
  }

  // The next full one; nullopt: none arrived within the time, or the reader has ended.
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
  absl::Status status() {
    absl::MutexLock lock(&mu_);
    return status_;
  }

 private:
  absl::Mutex mu_;
  std::deque<Batch> full_ ABSL_GUARDED_BY(mu_);
  std::deque<Batch> free_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::Status status_ ABSL_GUARDED_BY(mu_);
};

// Reads one batch. Errors: those of the file.
absl::StatusOr<RowFile::Result> ReadBatch(const LoadOptions& options, RowFile& file, BadLines& bad,
                                          client::OwnedRows& rows) {
  RowFile::Reset(rows);
  const auto on_bad_line = [&](const std::string& complaint) {
    return bad.Add(options.hints && !options.skip_bad_lines ? complaint + file.hint() : complaint);
  };
  return file.Read(options.rows_max, rows, on_bad_line, options.text_bytes_max);
}

void ReadBatches(const LoadOptions& options, RowFile& file, BadLines& bad, Batches& batches) {
  absl::Status status;
  for (bool more = true; more && status.ok();) {
    std::optional<Batches::Batch> batch = batches.TakeFree();
    if (!batch) break;
    const absl::StatusOr<RowFile::Result> result = ReadBatch(options, file, bad, batch->rows);
    status = result.ok() ? bad.status() : result.status();
    more = result.ok() && *result == RowFile::Result::kFull;
    batch->bytes_read = file.bytes_read();
    // Send the rows before a bad line too.
    if (batch->rows.rows > 0) {
      batches.PutFull(*std::move(batch));
    } else {
      batches.PutFree(*std::move(batch));
    }
  }
  batches.End(std::move(status));
}

// Counts acknowledged rows.
class Acknowledged {
 public:
  void Add(absl::Status status, const client::WriteResult& result) {
    absl::MutexLock lock(&mu_);
    rows_ += result.written;
    replaced_ += result.existed.Count();
    if (error_.ok()) error_ = status.ok() ? result.refusal : std::move(status);
  }
  absl::Status error() {
    absl::MutexLock lock(&mu_);
    return error_;
  }
  void Into(LoadedRows& loaded) {
    absl::MutexLock lock(&mu_);
    loaded.rows = rows_;
    loaded.replaced = replaced_;
  }

 private:
  absl::Mutex mu_;
  uint64_t rows_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t replaced_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mu_);  // the first one
};

}  // namespace

bool BadLines::Add(const std::string& complaint) {
  if (!skip_) {
    status_ = absl::InvalidArgumentError(complaint);
    return false;
  }
  if (++skipped_ <= kBadLinesShown) {
    // A bar may be on the line: the other thread draws it.
    std::fprintf(stderr, "%seris: skipped: %s\n", ProgressIsSeen() ? "\r\033[K" : "",
                 complaint.c_str());
  }
  return true;
}

void BadLines::End() const {
  if (skipped_ <= kBadLinesShown) return;
  std::fprintf(stderr, "eris: skipped: %llu more bad lines, %llu in all\n",
               static_cast<unsigned long long>(skipped_ - kBadLinesShown),
               static_cast<unsigned long long>(skipped_));
}

absl::Status LoadRows(client::Client& client, const ObjectInfo& object, const LoadOptions& options,
                      RowFile& file, LoadedRows& loaded) {
  const WriteMode mode =
      object.kind == ObjectKind::kHeapTable ? WriteMode::kAppend : WriteMode::kUpsert;
  Acknowledged acknowledged;
  client::WriteStream stream(
      client, {.in_flight_max = options.in_flight, .stall_timeout = client.options().timeout},
      [&](uint64_t, absl::Status status, const client::WriteResult& result) {
        acknowledged.Add(std::move(status), result);
      });
  ProgressBar bar(options.file_bytes, options.progress);
  Batches batches;
  BadLines bad(options.skip_bad_lines);
  std::thread reader([&] { ReadBatches(options, file, bad, batches); });
  absl::Status status;
  uint64_t sent = 0;
  for (bool ended = false; status.ok();) {
    std::optional<Batches::Batch> batch = batches.TakeFull(kLookAtStream, ended);
    if (ended) break;
    status = acknowledged.error();
    if (!batch) {
      // Nothing to send: check the stream, because the server may be down while the file gives no
      // rows.
      if (status.ok()) status = stream.AwaitRoom();
      continue;
    }
    if (status.ok()) status = stream.Send(object, mode, batch->rows.view());
    sent += batch->rows.rows;
    bar.Show(batch->bytes_read, sent);
    batches.PutFree(*std::move(batch));
  }
  batches.Close();
  if (!status.ok()) file.Interrupt();
  reader.join();
  const absl::Status end = stream.Finish();
  acknowledged.Into(loaded);
  bad.End();
  loaded.skipped = bad.skipped();
  loaded.bytes = file.bytes_read();
  if (absl::Status error = acknowledged.error(); !error.ok()) return error;
  if (!status.ok()) return status;
  return end.ok() ? batches.status() : end;
}

absl::Status ReadRows(const LoadOptions& options, RowFile& file, LoadedRows& read) {
  BadLines bad(options.skip_bad_lines);
  ProgressBar bar(options.file_bytes, options.progress);
  client::OwnedRows rows;
  absl::Status status;
  for (bool more = true; more && status.ok();) {
    const absl::StatusOr<RowFile::Result> result = ReadBatch(options, file, bad, rows);
    status = result.ok() ? bad.status() : result.status();
    more = result.ok() && *result == RowFile::Result::kFull;
    read.rows += rows.rows;
    bar.Show(file.bytes_read(), read.rows);
  }
  bad.End();
  read.skipped = bad.skipped();
  read.bytes = file.bytes_read();
  return status;
}

}  // namespace eris::cli
