// ExportArrowStream: a scan as an Arrow stream. A chunk is memory of which the scan has little: it
// is exported as it is while the reader keeps few enough of them, and copied otherwise, so that a
// reader may collect all arrays.
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/lean_status.h"
#include "eris/query.h"

namespace eris {
namespace {

// Columns that belong to nobody else.
class CopiedChunk final : public Chunk {
 public:
  explicit CopiedChunk(const Chunk& chunk)
      : rows_(chunk.rows()), schema_(chunk.schema()), resume_(chunk.resume()) {
    columns_.reserve(schema_.columns.size());
    // Not TakeColumn, which may move strings out of a chunk that others see.
    for (size_t i = 0; i < schema_.columns.size(); ++i) {
      columns_.push_back(chunk.Chunk::TakeColumn(i));
    }
  }
  uint64_t rows() const override { return rows_; }
  const Schema& schema() const override { return schema_; }
  ColumnView column(size_t i) const override {
    const ColumnBuffers& from = columns_[i];
    return {
        .values = from.values.data(),
        .validity = from.validity.empty() ? nullptr
                                          : reinterpret_cast<const uint8_t*>(from.validity.data()),
        .offsets = from.offsets.empty() ? nullptr
                                        : reinterpret_cast<const uint32_t*>(from.offsets.data())};
  }
  std::string resume() const override { return resume_; }

 private:
  const uint64_t rows_;
  const Schema schema_;
  const std::string resume_;
  std::vector<ColumnBuffers> columns_;
};

// The chunks of a stream that its reader has. Arrays may be released on any thread.
using ChunksOut = std::atomic<uint32_t>;

// A chunk that its reader has, with what must outlive it.
struct ChunkOut {
  ChunkOut(std::shared_ptr<const void> its_owner, std::shared_ptr<ChunksOut> its_out,
           std::shared_ptr<const Chunk> its_chunk)
      : owner(std::move(its_owner)), out(std::move(its_out)), chunk(std::move(its_chunk)) {
    if (out != nullptr) out->fetch_add(1, std::memory_order_relaxed);  // only a count, as below
  }
  ~ChunkOut() {
    chunk.reset();  // before it counts as released, and before its owner
    if (out != nullptr) out->fetch_sub(1, std::memory_order_relaxed);
  }
  ChunkOut(const ChunkOut&) = delete;
  ChunkOut& operator=(const ChunkOut&) = delete;

  const std::shared_ptr<const void> owner;
  const std::shared_ptr<ChunksOut> out;  // nullptr: a copy
  std::shared_ptr<const Chunk> chunk;
};

struct StreamData {
  std::shared_ptr<const void> owner;  // outlives the scan
  std::shared_ptr<ChunksOut> out = std::make_shared<ChunksOut>(0);
  std::unique_ptr<Scan> scan;
  absl::Status status{};
  std::string text{};  // of the status
};

StreamData& DataOf(ArrowArrayStream* stream) {
  return *static_cast<StreamData*>(stream->private_data);
}

int ErrnoOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
    case absl::StatusCode::kFailedPrecondition:
      return EINVAL;
    case absl::StatusCode::kResourceExhausted:
      return ENOMEM;
    case absl::StatusCode::kDeadlineExceeded:
      return ETIMEDOUT;
    case absl::StatusCode::kCancelled:
    case absl::StatusCode::kAborted:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kUnavailable:
      return ECANCELED;
    default:
      return EIO;
  }
}

int Fail(StreamData& data, absl::Status status) {
  data.status = std::move(status);
  return ErrnoOf(data.status);
}

absl::Status NoMemory() { return base::NoMemory("no memory for an Arrow array"); }

int GetSchema(ArrowArrayStream* stream, ArrowSchema* out) {
  StreamData& data = DataOf(stream);
  ExportArrowSchema(data.scan->schema(), out);
  return out->release != nullptr ? 0 : Fail(data, NoMemory());
}

// The array of the next chunk; released at the end of the scan.
absl::Status ExportNext(StreamData& data, ArrowArray* out) {
  if (!data.status.ok()) return data.status;
  Scan::NextResult next = data.scan->Next();
  if (!next.ok()) return next.status();
  if (*next == nullptr) return absl::OkStatus();
  // relaxed: a reader that releases arrays and asks for more on one thread sees its own order; with
  // several threads a release that is not seen costs one copy.
  const bool as_it_is = data.out->load(std::memory_order_relaxed) < data.scan->keepable();
  std::shared_ptr<const Chunk> chunk = *std::move(next);
  if (!as_it_is) chunk = std::make_shared<const CopiedChunk>(*chunk);
  const auto held =
      std::make_shared<const ChunkOut>(data.owner, as_it_is ? data.out : nullptr, std::move(chunk));
  ArrowSchema schema;
  ExportArrow(std::shared_ptr<const Chunk>(held, held->chunk.get()), &schema, out);
  if (schema.release == nullptr) return NoMemory();
  schema.release(&schema);
  return absl::OkStatus();
}

int GetNext(ArrowArrayStream* stream, ArrowArray* out) {
  StreamData& data = DataOf(stream);
  *out = {};
  try {
    absl::Status status = ExportNext(data, out);
    return status.ok() ? 0 : Fail(data, std::move(status));
  } catch (const std::bad_alloc&) {
    return Fail(data, NoMemory());
  }
}

const char* GetLastError(ArrowArrayStream* stream) {
  StreamData& data = DataOf(stream);
  if (data.status.ok()) return nullptr;
  try {
    data.text = std::string(data.status.message());
  } catch (const std::bad_alloc&) {
    return "no memory for the text of an error";
  }
  return data.text.c_str();
}

void Release(ArrowArrayStream* stream) {
  delete &DataOf(stream);
  stream->release = nullptr;
}

}  // namespace

absl::Status ArrowStreamStatus(const ArrowArrayStream& stream) {
  return static_cast<const StreamData*>(stream.private_data)->status;
}

void ExportArrowStream(std::unique_ptr<Scan> scan, ArrowArrayStream* stream,
                       std::shared_ptr<const void> owner) {
  *stream = {};
  auto data = std::make_unique<StreamData>();
  data->owner = std::move(owner);
  data->scan = std::move(scan);
  stream->get_schema = &GetSchema;
  stream->get_next = &GetNext;
  stream->get_last_error = &GetLastError;
  stream->release = &Release;
  stream->private_data = data.release();
}

}  // namespace eris
