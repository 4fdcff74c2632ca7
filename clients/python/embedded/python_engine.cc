#include "clients/python/embedded/python_engine.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <utility>

#include "clients/python/embedded/columns.h"
#include "clients/python/embedded/status_error.h"

namespace eris::python {
namespace {

constexpr char kArrowStreamName[] = "arrow_array_stream";  // Arrow's PyCapsule interface

const char* KindName(ObjectKind kind) {
  switch (kind) {
    case ObjectKind::kIndex:
      return "index";
    case ObjectKind::kHash:
      return "hash";
    case ObjectKind::kTable:
      return "table";
    case ObjectKind::kHeapTable:
      return "heap table";
  }
  return "unknown";
}

nb::dict InfoOut(const ObjectInfo& info) {
  nb::list beside, key;
  for (const std::string& name : info.beside) beside.append(nb::cast(name));
  for (const uint32_t column : info.schema.key) key.append(column);
  nb::dict out;
  out["name"] = info.name;
  out["id"] = info.id.value;
  out["kind"] = KindName(info.kind);
  out["columns"] = SchemaOut(info.schema.columns);
  out["key"] = key;
  out["keys"] = info.keys;
  out["memory_bytes"] = info.memory_bytes;
  out["partitions"] = info.partition_starts.size();
  out["beside"] = beside;
  return out;
}

void ReleaseCapsule(PyObject* capsule) noexcept {
  auto* const stream =
      static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule, kArrowStreamName));
  if (stream->release != nullptr) stream->release(stream);
  delete stream;
}

}  // namespace

std::unique_ptr<Session> SharedEngine::TakeSession() {
  const NumaNodeId here = engine_->NumaNodeHere();
  {
    absl::MutexLock lock(&mu_);
    std::vector<std::unique_ptr<Session>>& idle = idle_[here];
    if (!idle.empty()) {
      std::unique_ptr<Session> session = std::move(idle.back());
      idle.pop_back();
      return session;
    }
  }
  return ValueOrThrow(engine_->NewSession(here));
}

void SharedEngine::ReturnSession(std::unique_ptr<Session> session) {
  absl::MutexLock lock(&mu_);
  idle_[session->numa_node()].push_back(std::move(session));
}

nb::tuple Rows::Column(size_t i, nb::handle owner) const {
  if (i >= columns()) throw nb::index_error();
  const ColumnSchema& type = schema_->columns[i];
  const void* const* const buffers = array_.children[i]->buffers;
  const bool strings = ColumnValueBytes(type.type) == 0;
  const ColumnView view{.values = buffers[strings ? 2 : 1],
                        .validity = static_cast<const uint8_t*>(buffers[0]),
                        .offsets = strings ? static_cast<const uint32_t*>(buffers[1]) : nullptr};
  return ColumnOut(type, view, rows(), owner);
}

Stream::Stream(std::shared_ptr<SharedEngine> engine, std::unique_ptr<Scan> scan)
    : schema_(std::make_shared<const Schema>(scan->schema())) {
  ExportArrowStream(std::move(scan), &stream_, std::move(engine));
}

Stream::~Stream() {
  if (stream_.release == nullptr) return;
  nb::gil_scoped_release release;  // the last user of an engine waits for its threads
  stream_.release(&stream_);
}

class Stream::Use {
 public:
  explicit Use(Stream& stream) : stream_(stream) {
    if (stream.stream_.release == nullptr) {
      ThrowUnlessOk(absl::FailedPreconditionError("the scan has been handed over"));
    }
    if (stream.in_use_) {
      ThrowUnlessOk(absl::FailedPreconditionError("another thread is reading the scan"));
    }
    stream.in_use_ = true;
  }
  ~Use() { stream_.in_use_ = false; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;

 private:
  Stream& stream_;
};

std::unique_ptr<Rows> Stream::Next() {
  const Use use(*this);
  ArrowArray array;
  int error = 0;
  {
    nb::gil_scoped_release release;
    error = stream_.get_next(&stream_, &array);
  }
  if (error != 0) ThrowUnlessOk(ArrowStreamStatus(stream_));
  if (array.release == nullptr) return nullptr;
  return std::make_unique<Rows>(array, schema_);
}

nb::object Stream::ArrowStream() {
  const Use use(*this);
  auto stream = std::make_unique<ArrowArrayStream>();
  PyObject* const capsule = PyCapsule_New(stream.get(), kArrowStreamName, ReleaseCapsule);
  if (capsule == nullptr) throw nb::python_error();
  *stream.release() = std::exchange(stream_, {});
  return nb::steal(capsule);
}

// Takes the engine with the GIL, a session without it.
class PythonEngine::Call {
 public:
  explicit Call(PythonEngine& engine) : shared_(engine.Use()), session_(shared_->TakeSession()) {}
  ~Call() { shared_->ReturnSession(std::move(session_)); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  const std::shared_ptr<SharedEngine>& shared() const { return shared_; }
  Engine& engine() { return shared_->engine(); }
  Session& session() { return *session_; }

 private:
  const std::shared_ptr<SharedEngine> shared_;
  std::unique_ptr<Session> session_;
};

PythonEngine::PythonEngine(const Options& options) {
  nb::gil_scoped_release release;
  engine_ = std::make_shared<SharedEngine>(ValueOrThrow(Engine::Open(options)));
}

void PythonEngine::Close() {
  nb::gil_scoped_release release;
  std::shared_ptr<SharedEngine> last;
  absl::MutexLock lock(&mu_);
  last = std::move(engine_);
}

std::shared_ptr<SharedEngine> PythonEngine::Use() {
  absl::MutexLock lock(&mu_);
  if (engine_ == nullptr) {
    ThrowUnlessOk(absl::FailedPreconditionError("the database is closed"));
  }
  return engine_;
}

void PythonEngine::Create(const std::string& name, const CreateOptions& options) {
  nb::gil_scoped_release release;
  ThrowUnlessOk(Use()->engine().Create(name, options).status());
}

void PythonEngine::Drop(const std::string& name) {
  nb::gil_scoped_release release;
  ThrowUnlessOk(Use()->engine().Drop(name));
}

nb::dict PythonEngine::Describe(const std::string& name) {
  return InfoOut(ValueOrThrow(Use()->engine().Describe(name)));
}

nb::list PythonEngine::List() {
  nb::list out;
  for (const ObjectInfo& info : Use()->engine().List()) out.append(InfoOut(info));
  return out;
}

std::unique_ptr<HeldObject> PythonEngine::Open(const std::string& name) {
  nb::gil_scoped_release release;
  Call call(*this);
  return std::make_unique<HeldObject>(
      HeldObject{call.shared(), ValueOrThrow(call.session().Open(name))});
}

std::unique_ptr<Answer> PythonEngine::Lookup(const HeldObject& its, const nb::list& keys) {
  const Object& object = its.object;
  const Schema& schema = object.schema();
  const ColumnsIn columns(keys, KeyOf(schema));
  auto answer = std::make_unique<Answer>();
  for (const ColumnSchema& column : schema.columns) {
    const auto number = static_cast<uint32_t>(&column - schema.columns.data());
    if (std::find(schema.key.begin(), schema.key.end(), number) == schema.key.end()) {
      answer->types.push_back(column);
    }
  }
  nb::gil_scoped_release release;
  answer->result = Call(*this).session().Lookup(object, {.keys = columns.batch()});
  return answer;
}

std::unique_ptr<Answer> PythonEngine::Write(const HeldObject& its, uint8_t mode,
                                            const nb::list& columns, const nb::list& expected) {
  const Object& object = its.object;
  const Schema& schema = object.schema();
  const auto its_mode = static_cast<WriteMode>(mode);
  const ColumnsIn rows(columns, its_mode == WriteMode::kErase ? KeyOf(schema) : schema.columns);
  const std::vector<ColumnSchema> value = {schema.columns.back()};
  const bool expects = its_mode == WriteMode::kCompareAndSet;
  const ColumnsIn others(expected, expects ? value : std::vector<ColumnSchema>{});
  auto answer = std::make_unique<Answer>();
  answer->types = value;
  const WriteBatch batch{.mode = its_mode, .rows = rows.batch(), .expected = others.batch()};
  nb::gil_scoped_release release;
  answer->result = Call(*this).session().Write(object, batch);
  return answer;
}

std::unique_ptr<Stream> PythonEngine::OpenScan(const HeldObject& its, Query query) {
  nb::gil_scoped_release release;
  Call call(*this);
  std::unique_ptr<Scan> scan = ValueOrThrow(call.session().OpenScan(its.object, query));
  return std::make_unique<Stream>(call.shared(), std::move(scan));
}

RangeAggregate PythonEngine::Aggregate(const HeldObject& its, AggregateOptions options) {
  nb::gil_scoped_release release;
  return ValueOrThrow(Call(*this).session().Aggregate(its.object, options));
}

std::unique_ptr<HeldSnapshot> PythonEngine::TakeSnapshot() {
  nb::gil_scoped_release release;
  auto held = std::make_unique<HeldSnapshot>(HeldSnapshot{Use(), nullptr});
  held->snapshot = ValueOrThrow(held->engine->engine().TakeSnapshot());
  return held;
}

}  // namespace eris::python
