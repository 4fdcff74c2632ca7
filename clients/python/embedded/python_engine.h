// The engine as Python sees it. An engine lives as long as something of it does: a database that is
// open, a call under way, a snapshot, a stream, an array of a scan. Any thread; calls that may
// block run without the GIL.
#ifndef ERIS_CLIENTS_PYTHON_EMBEDDED_PYTHON_ENGINE_H_
#define ERIS_CLIENTS_PYTHON_EMBEDDED_PYTHON_ENGINE_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "eris/engine.h"

namespace eris::python {

namespace nb = nanobind;

// An engine with its sessions that no call uses. A session belongs to one call at a time, and to
// the NumaNode of the thread that made it.
class SharedEngine {
 public:
  explicit SharedEngine(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
  Engine& engine() { return *engine_; }
  std::unique_ptr<Session> TakeSession();
  void ReturnSession(std::unique_ptr<Session> session);

 private:
  const std::unique_ptr<Engine> engine_;  // outlives the sessions
  absl::Mutex mu_;
  std::map<NumaNodeId, std::vector<std::unique_ptr<Session>>> idle_ ABSL_GUARDED_BY(mu_);
};

// The answer to a lookup or a write.
struct Answer {
  BatchResult result;
  std::vector<ColumnSchema> types;  // of the result's columns
};

struct HeldObject {
  std::shared_ptr<SharedEngine> engine;  // outlives the object
  Object object;
};

struct HeldSnapshot {
  std::shared_ptr<SharedEngine> engine;  // outlives the snapshot
  std::shared_ptr<Snapshot> snapshot;    // nullptr: released
};

// Rows of a scan, one chunk or a copy of it.
class Rows {
 public:
  Rows(ArrowArray array, std::shared_ptr<const Schema> schema)
      : array_(array), schema_(std::move(schema)) {}
  ~Rows() { array_.release(&array_); }
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  uint64_t rows() const { return static_cast<uint64_t>(array_.length); }
  size_t columns() const { return schema_->columns.size(); }
  // The first row's value. REQUIRES: column i is of kUint64.
  uint64_t Uint64(size_t i) const {
    return static_cast<const uint64_t*>(array_.children[i]->buffers[1])[0];
  }
  // As ColumnOut. `owner`: this, in Python.
  nb::tuple Column(size_t i, nb::handle owner) const;

 private:
  ArrowArray array_;
  const std::shared_ptr<const Schema> schema_;
};

// A scan under way.
class Stream {
 public:
  Stream(std::shared_ptr<SharedEngine> engine, std::unique_ptr<Scan> scan);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // nullptr: the end. Blocks.
  std::unique_ptr<Rows> Next();
  // The rest of it, for a program that takes Arrow streams: a capsule. Once.
  nb::object ArrowStream();

 private:
  // Takes the stream for one call: FailedPrecondition if another thread has it, or it has been
  // handed over. Guarded by the GIL.
  class Use;

  const std::shared_ptr<const Schema> schema_;
  ArrowArrayStream stream_{};
  bool in_use_ = false;
};

class PythonEngine {
 public:
  // Throws StatusError, as everything here.
  explicit PythonEngine(const Options& options);
  // Later calls get FailedPrecondition.
  void Close();

  void Create(const std::string& name, const CreateOptions& options);
  void Drop(const std::string& name);
  nb::dict Describe(const std::string& name);
  nb::list List();
  std::unique_ptr<HeldObject> Open(const std::string& name);
  std::unique_ptr<Answer> Lookup(const HeldObject& its, const nb::list& keys);
  std::unique_ptr<Answer> Write(const HeldObject& its, uint8_t mode, const nb::list& columns,
                                const nb::list& expected);
  std::unique_ptr<Stream> OpenScan(const HeldObject& its, Query query);
  RangeAggregate Aggregate(const HeldObject& its, AggregateOptions options);
  std::unique_ptr<HeldSnapshot> TakeSnapshot();

 private:
  class Call;  // an engine and a session for one call, without the GIL

  std::shared_ptr<SharedEngine> Use();

  absl::Mutex mu_;
  std::shared_ptr<SharedEngine> engine_ ABSL_GUARDED_BY(mu_);  // nullptr: closed
};

}  // namespace eris::python

#endif  // ERIS_CLIENTS_PYTHON_EMBEDDED_PYTHON_ENGINE_H_
