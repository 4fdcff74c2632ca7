// One generator of load: makes requests, keeps them in flight, checks their answers and counts.
// Runs in one thread, with its own target; only Take may be called from other threads.
#ifndef ERIS_CLIENTS_LOAD_GENERATOR_H_
#define ERIS_CLIENTS_LOAD_GENERATOR_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "clients/load/clock.h"
#include "clients/load/key_picker.h"
#include "clients/load/key_set.h"
#include "clients/load/pacing.h"
#include "clients/load/plan.h"
#include "clients/load/tally.h"
#include "clients/load/target.h"

namespace eris::load {

// The results of a generator, valid after Run.
struct GeneratorResult {
  Tally tally;            // after the warm-up
  uint64_t sent = 0;      // requests, in the whole run
  uint64_t answered = 0;  // part of sent, with any status
  uint64_t warm = 0;      // part of answered: with OK during the warm-up
  int64_t begun_ns = 0;   // of the measured part
  int64_t ended_ns = 0;
  double cpu_s = 0;  // processor time of the thread in the measured part
};

class Generator : private AnswerSink {
 public:
  // All must outlive the generator; `stop` ends it early (set by any thread, relaxed: it only ends
  // loops).
  Generator(const Plan& plan, const KeySet& keys, uint32_t index, Clock& clock,
            std::atomic<bool>& stop);

  AnswerSink& sink() { return *this; }
  // Runs the load against `target`, which passes its answers to sink(). Blocks until the run has
  // ended and everything sent has been answered. `start_ns`: when the run begins, on the clock; the
  // same for all generators.
  void Run(Target& target, int64_t start_ns);
  // Valid after Run.
  const GeneratorResult& result() const { return result_; }

  // Moves the counts of past intervals to `into`. Any thread.
  void Take(Tally& into);
  // The end of the interval that contains `now_ns`: intervals begin again after the warm-up.
  static int64_t IntervalEnd(const Plan& plan, int64_t start_ns, int64_t now_ns);

 private:
  void OnAnswer(Request& request, const Answer& answer) override;
  void OnRows(Request& request, const char* keys, const char* values, size_t rows) override;

  void SendAllDue(int64_t now_ns);
  // False: there is nothing more to send.
  bool Prepare(Request& request);
  void PrepareLookup(Request& request);
  void PrepareWrites(Request& request);
  void PrepareInsert(Request& request);
  void PrepareScan(Request& request);
  bool PrepareLoad(Request& request);
  void WriteWhatWasRead(Request& request, const Answer& answer);
  // If the server asks for it: the request is sent again later.
  bool Rest(Request& request, const absl::Status& status);
  void SendRested(int64_t now_ns);
  void NoteInserted(const Request& request);
  void CountError(const Request& request, const absl::Status& status);
  void Count(Request& request, const Answer& answer);
  void AwaitAnswers(int64_t now_ns);
  // Requests that were due but had no room waited at least until `now_ns`, the run's end.
  void CountNotSent(int64_t now_ns);
  // Publishes the counts of the ended interval.
  void EndInterval(int64_t now_ns);
  bool Ending(int64_t now_ns) const;

  // Immutable after construction.
  const Plan& plan_;
  const KeySet& keys_;
  const uint32_t index_;
  Clock& clock_;
  std::atomic<bool>& stop_;

  // Owned by the thread of Run.
  KeyPicker picker_;
  Random random_;  // for everything except the keys
  Target* target_ = nullptr;
  std::vector<Request> requests_;
  std::vector<Request*> free_;
  std::vector<Request*> resting_;  // sent again after their rest_ns
  Tally interval_;
  GeneratorResult result_;
  uint64_t requests_max_ = 0;
  uint64_t load_next_ = 0, load_end_ = 0;  // loading: places in the spread order
  uint64_t inserts_sent_ = 0;
  uint64_t inserted_ = 0;                    // all inserts before this number have been answered
  std::vector<uint64_t> inserts_under_way_;  // by slot: the first of its inserts, or kNone
  double now_s_ = 0;                         // since the start
  int64_t start_ns_ = 0, warm_end_ns_ = 0, end_ns_ = 0, interval_end_ns_ = 0;
  int64_t progress_ns_ = 0;  // time of the last answer or row, or of the first request after none
  double cpu_begun_s_ = 0;
  bool exhausted_ = false;
  bool cancelled_ = false;
  Arrivals arrivals_;

  // Guarded by mu_.
  absl::Mutex mu_;
  Tally shared_ ABSL_GUARDED_BY(mu_);
};

}  // namespace eris::load

#endif  // ERIS_CLIENTS_LOAD_GENERATOR_H_
