#include "server/flight/put_batch.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "eris/errors.h"

namespace eris::server {
namespace {

// Well within the engine's limits for a batch, with bytes that its copies need.
constexpr uint64_t kPieceRowsMax = 1 << 19;
constexpr uint64_t kPieceBytesMax = 16 << 20;
constexpr uint64_t kPieceRowsMultiple = 8;  // bits of nulls begin with a byte
static_assert(kPieceRowsMax <= kBatchKeysMax && kPieceRowsMax <= kTableBatchRowsMax);
static_assert(kPieceBytesMax <= kBatchValueBytesMax && kPieceBytesMax <= kTableBatchBytesMax);

uint64_t BytesOf(const Schema& schema, const RowBatch& rows, uint64_t first, uint64_t count) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    const uint32_t* const offsets = rows.columns[i].offsets;
    bytes += offsets == nullptr ? count * ColumnValueBytes(schema.columns[i].type)
                                : offsets[first + count] - offsets[first];
  }
  return bytes;
}

}  // namespace

RowPiece PieceFrom(const Schema& schema, const RowBatch& rows, uint64_t first) {
  RowPiece piece{.rows = std::min(rows.rows - first, kPieceRowsMax)};
  while (piece.rows > kPieceRowsMultiple &&
         BytesOf(schema, rows, first, piece.rows) > kPieceBytesMax) {
    piece.rows = std::max(piece.rows / 2 / kPieceRowsMultiple, uint64_t{1}) * kPieceRowsMultiple;
  }
  for (size_t i = 0; i < rows.columns.size(); ++i) {
    ColumnView& view = piece.columns.emplace_back(rows.columns[i]);
    if (view.validity != nullptr) view.validity += first / 8;
    if (view.offsets != nullptr) {
      view.offsets += first;
    } else {
      view.values =
          static_cast<const char*>(view.values) + first * ColumnValueBytes(schema.columns[i].type);
    }
  }
  return piece;
}

void PutBatch::Start(Session& session, const Object& object) {
  const RowBatch rows = batch_->rows.batch();
  {
    base::MutexLock lock(&mu_);
    rows_left_ = rows.rows;
  }
  if (rows.rows == 0) return Count({}, absl::OkStatus());
  const WriteMode mode =
      object.kind() == ObjectKind::kHeapTable ? WriteMode::kAppend : WriteMode::kUpsert;
  for (uint64_t first = 0; first < rows.rows;) {
    const RowPiece piece = PieceFrom(object.schema(), rows, first);
    Session::StartedCall started =
        session.WriteAsync(object, {.mode = mode, .rows = piece.batch(), .holder = batch_},
                           [self = shared_from_this(), count = piece.rows](BatchResult result) {
                             self->Count(PutTotalsOf(result, count), result.status);
                           });
    if (!started.ok()) {
      absl::Status status = started.status();
      if (first > 0) {  // the engine counts rows in what it gets
        status = WithText(
            status, absl::StrCat(status.message(), "; counted from row ", first, " of the batch"));
      }
      return Count({.refused = rows.rows - first}, status);
    }
    {
      base::MutexLock lock(&mu_);
      // Else all rows have been counted meanwhile, and it would keep this for ever.
      if (rows_left_ > 0) pending_.push_back(*std::move(started));
    }
    first += piece.rows;
  }
}

void PutBatch::Cancel(absl::Status status) {
  std::vector<std::shared_ptr<Pending>> pending;
  {
    base::MutexLock lock(&mu_);
    pending.swap(pending_);
  }
  for (const auto& one : pending) one->Cancel(status);
}

void PutBatch::Count(const PutTotals& totals, const absl::Status& status) {
  std::vector<std::shared_ptr<Pending>> pending;  // destroyed outside the lock
  PutTotals all;
  absl::Status first;
  {
    base::MutexLock lock(&mu_);
    totals_.Add(totals);
    if (status_.ok()) status_ = status;
    rows_left_ -= totals.written + totals.refused + totals.unknown;
    if (rows_left_ > 0) return;
    pending.swap(pending_);
    all = totals_;
    first = status_;
  }
  done_(all, first);
}

}  // namespace eris::server
