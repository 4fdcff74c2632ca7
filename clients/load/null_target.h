// A target that answers at once, and correctly: measures the generator itself. One thread.
#ifndef ERIS_CLIENTS_LOAD_NULL_TARGET_H_
#define ERIS_CLIENTS_LOAD_NULL_TARGET_H_

#include <cstdint>
#include <string>
#include <vector>

#include "clients/load/key_set.h"
#include "clients/load/target.h"

namespace eris::load {

class NullTarget final : public Target {
 public:
  // Both must outlive the target. `new_keys`: upserts find no previous value.
  NullTarget(const KeySet& keys, AnswerSink& sink, bool new_keys)
      : keys_(keys), sink_(sink), new_keys_(new_keys) {}

  void Send(Request& request) override;
  // Answers the oldest request; sleeps until the deadline if there is none.
  void Await(int64_t deadline_ns) override;
  void Cancel() override {}
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  void AnswerScan(Request& request);

  const KeySet& keys_;
  AnswerSink& sink_;
  const bool new_keys_;
  std::vector<Request*> waiting_;  // from first_ on; never longer than a round of slots
  size_t first_ = 0;
  std::vector<uint64_t> row_keys_, values_;
  std::string bits_;
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_NULL_TARGET_H_
