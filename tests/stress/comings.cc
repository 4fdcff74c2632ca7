// Objects come and go: each is created, written, moved, read and dropped, while a visitor writes
// and reads under their names. A new one has nothing of the old one of its name.
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/stress/in_order.h"
#include "tests/stress/loads.h"

namespace eris::stress {
namespace {

using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;

constexpr AnyKind kComingKinds[] = {AnyKind::kIndex, AnyKind::kBytes, AnyKind::kTwoParts,
                                    AnyKind::kHash,  AnyKind::kTable, AnyKind::kHeapTable,
                                    AnyKind::kSigned};
constexpr uint32_t kOwners = 2;
constexpr uint64_t kRows = 300;
constexpr uint64_t kOwn = 1, kVisitors = 2;  // whose keys: SpreadKey

std::string ComingName(uint32_t owner) { return absl::StrCat("coming-", owner); }

class Comings final : public Load {
 public:
  explicit Comings(World& world) : world_(world) {}

  std::vector<std::function<void()>> Threads() override {
    std::vector<std::function<void()>> threads;
    for (uint32_t i = 0; i < kOwners; ++i) threads.emplace_back([this, i] { Own(i); });
    threads.emplace_back([this] { Visit(); });
    return threads;
  }
  void CheckEnd() override {
    if (world_.Get(Figure::kLives) == 0) world_.Fault("comings: no object came and went");
    if (world_.Get(Figure::kVisits) == 0) world_.Fault("comings: no visitor was answered");
  }

 private:
  void Own(uint32_t owner) {
    std::mt19937_64 random(world_.SeedOf(absl::StrCat("owner ", owner)));
    while (!world_.Ending())
      LiveOnce(ComingName(owner), kComingKinds[random() % std::size(kComingKinds)], random);
  }

  void LiveOnce(const std::string& name, AnyKind kind, std::mt19937_64& random) {
    const std::string where = absl::StrCat("comings: ", name, ", ", test::NameOf(kind));
    AnyObject object(world_.engine(), kind, name);
    const absl::Status created =
        object.Create({uint64_t{1} << 62, uint64_t{2} << 62, uint64_t{3} << 62});
    if (!world_.OkOrRefused(created, where) || !created.ok()) return;
    AnyRows rows;
    for (uint64_t i = 0; i < kRows; ++i) rows.push_back({{SpreadKey(i, kOwn), 0}, random() >> 1});
    Check(object, {}, where + ", at first");
    const absl::Status put = object.Put(rows);
    world_.OkOrRefused(put, where);
    MoveSome(object, random, where);
    if (put.ok()) Check(object, rows, where);
    const absl::Status dropped = world_.engine().Drop(name);
    if (!dropped.ok()) world_.Fault(where + ": " + dropped.ToString());
    world_.Count(Figure::kLives);
  }

  // The rows under the owner's keys are these.
  void Check(AnyObject& object, const AnyRows& rows, const std::string& where) {
    AnyRows found;
    if (object.has_keys()) {
      std::vector<AnyKey> keys;
      for (uint64_t i = 0; i < kRows; ++i) keys.push_back({SpreadKey(i, kOwn), 0});
      std::vector<std::optional<uint64_t>> values;
      const absl::Status status = object.Get(keys, values);
      if (!status.ok()) return world_.Fault(where + ": " + status.ToString());
      for (uint64_t i = 0; i < kRows; ++i) {
        if (values[i]) found.push_back({keys[i], *values[i]});
      }
    } else {
      auto all = object.All();
      if (!world_.ReadOk(all.status(), where)) return;
      found = *std::move(all);
      std::erase_if(found, [](const auto& row) { return row.first.first % 4 == kVisitors; });
    }
    AnyRows wanted = rows;
    std::sort(wanted.begin(), wanted.end());
    std::sort(found.begin(), found.end());
    if (found != wanted) {
      world_.Fault(absl::StrCat(where, ": ", found.size(), " rows, not the ", wanted.size(),
                                " that were written, or others"));
    }
  }

  void MoveSome(AnyObject& object, std::mt19937_64& random, const std::string& where) {
    for (uint64_t n = random() % 4; n > 0; --n) {
      const uint64_t first = random() % 16;
      const absl::Status moved =
          object.has_keys() ? world_.engine().MoveRange(
                                  object.name(), {.lo = first << 60},
                                  AeuId{static_cast<uint32_t>(random() % world_.options().aeus)},
                                  TransferKind::kCopy)
                            : world_.engine().Rebalance(object.name()).status();
      if (!absl::IsFailedPrecondition(moved)) world_.OkOrRefused(moved, where);  // else paused
    }
  }

  // Whatever is there under a name, or nothing: answers with an error that says so. Every other
  // time it asks an object that it has opened before, and that may be gone by now.
  void Visit() {
    std::mt19937_64 random(world_.SeedOf("visitor"));
    const auto session = world_.engine().NewSession();
    struct Nothing {};
    InOrder<Nothing, absl::Status> calls(
        16, [this](const Nothing&, const absl::Status& status) { CheckVisit(status); });
    Object object;
    while (!world_.Ending()) {
      if (!object || random() % 2 == 0) {
        auto opened = session->Open(ComingName(static_cast<uint32_t>(random() % kOwners)));
        CheckVisit(opened.status());
        if (!opened.ok()) continue;
        object = *std::move(opened);
      }
      if (random() % 8 == 0) {
        VisitScan(*session, object);
        continue;
      }
      std::vector<uint64_t> keys, values;
      for (uint64_t n = 1 + random() % 8; n > 0; --n) {
        keys.push_back(SpreadKey(random() % kRows, kVisitors));
        values.push_back(random());
      }
      auto* const call = calls.Enter({});
      const auto done = [&calls, call](BatchResult result) { calls.Done(call, result.status); };
      const uint64_t what = random() % 3;
      const absl::Status sent = (what == 0   ? session->UpsertAsync(object, keys, values, done)
                                 : what == 1 ? session->EraseAsync(object, keys, done)
                                             : session->LookupAsync(object, keys, done))
                                    .status();
      if (!sent.ok()) calls.Done(call, sent);
    }
    calls.AwaitNone();
  }
  void VisitScan(Session& session, const Object& object) {
    const auto scan = session.OpenScan(object, {});
    if (!scan.ok()) return CheckVisit(scan.status());
    for (;;) {
      const auto chunk = (*scan)->Next(absl::Now() + absl::Seconds(60));
      CheckVisit(chunk.status());
      if (!chunk.ok() || !*chunk) return;
    }
  }
  void CheckVisit(const absl::Status& status) {
    world_.Count(Figure::kVisits);
    if (absl::IsNotFound(status) || absl::IsFailedPrecondition(status) ||
        absl::IsInvalidArgument(status) || absl::IsAborted(status)) {
      return;  // gone, or of another kind
    }
    world_.OkOrRefused(status, "comings: a visitor");
  }

  World& world_;
};

}  // namespace

std::unique_ptr<Load> MakeComings(World& world) { return std::make_unique<Comings>(world); }

}  // namespace eris::stress
