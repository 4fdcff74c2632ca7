// The reader's handle of a scan, a join or a query, with its reference. Running work ends with it.
#ifndef ERIS_ENGINE_READS_READER_HANDLE_H_
#define ERIS_ENGINE_READS_READER_HANDLE_H_

#include <memory>
#include <utility>

#include "base/lean_status.h"
#include "engine/core/reader_state.h"
#include "eris/query.h"

namespace eris::engine {

// Why work ends that its reader has given up. `what`: ReaderState::what.
inline absl::Status GivenUp(absl::string_view what, bool destroyed) {
  const auto cancelled = [](absl::string_view text) {
    return base::LeanStatus(absl::StatusCode::kCancelled, text);
  };
  if (what == "join") {
    return cancelled(destroyed ? "the join was destroyed" : "the join was cancelled");
  }
  if (what == "query") {
    return cancelled(destroyed ? "the query was destroyed" : "the query was cancelled");
  }
  return cancelled(destroyed ? "the scan was destroyed" : "the scan was cancelled");
}

struct EndReader {
  void operator()(ReaderState* state) const {
    state->Cancel(GivenUp(state->what(), /*destroyed=*/true));
    state->ReleaseBuffers();
    state->Unref();
  }
};
template <class State>
using Reader = std::unique_ptr<State, EndReader>;

class ScanImpl final : public Scan {
 public:
  explicit ScanImpl(Reader<ReaderState> state) : state_(std::move(state)) {}

  const Schema& schema() const override { return state_->schema(); }
  std::shared_ptr<Snapshot> snapshot() const override { return state_->snapshot(); }
  NextResult Next(absl::Time deadline) override { return state_->Next(deadline); }
  void NextAsync(Callback done) override { state_->NextAsync(std::move(done)); }
  void Cancel() override { state_->Cancel(GivenUp(state_->what(), /*destroyed=*/false)); }
  uint32_t keepable() const override { return state_->keepable(); }

 private:
  const Reader<ReaderState> state_;
};

}  // namespace eris::engine

#endif  // ERIS_ENGINE_READS_READER_HANDLE_H_
