// Memory at its limit: one object is written until it is refused, one key at a time in the end.
// What was acknowledged is there, what was refused is not. Then it is dropped, and another begins.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/stress/loads.h"

namespace eris::stress {
namespace {

using test::AnyKey;
using test::AnyKind;
using test::AnyObject;
using test::AnyRows;

constexpr AnyKind kFullKinds[] = {AnyKind::kBytes, AnyKind::kTable,    AnyKind::kIndex,
                                  AnyKind::kHash,  AnyKind::kTwoParts, AnyKind::kHeapTable};
constexpr uint64_t kBatch = 4096;
constexpr uint64_t kBatchesBefore = 4;  // before the ballast
constexpr uint64_t kSingles = 64;
constexpr absl::Duration kRest = absl::Milliseconds(200);
constexpr char kName[] = "full";
constexpr char kBallast[] = "full-ballast";
constexpr size_t kBallastBytes = 32 << 10;  // a value

uint64_t KeyOfFull(uint64_t number) { return number * 0x9e3779b97f4a7c15; }  // distinct
// Long texts, where the kind has some.
uint64_t ValueOf(uint64_t number) { return (number + 1) * 16; }

class Full final : public Load {
 public:
  explicit Full(World& world) : world_(world) {}

  std::vector<std::function<void()>> Threads() override {
    return {[this] { Run(); }};
  }
  void CheckEnd() override {
    if (world_.Get(Figure::kFills) == 0) world_.Fault("full: memory was never full");
  }

 private:
  void Run() {
    // From a kind that the seed says.
    for (uint64_t i = world_.options().seed; !Ending(); ++i) {
      FillOne(kFullKinds[i % std::size(kFullKinds)]);
      absl::SleepFor(kRest);
    }
  }

  // Memory has to be full once, however slow the machine is.
  bool Ending() const {
    return world_.faults() > 0 || (world_.Ending() && world_.Get(Figure::kFills) > 0);
  }

  void FillOne(AnyKind kind) {
    const std::string where = "full: " + test::NameOf(kind);
    AnyObject object(world_.engine(), kind, kName);
    const absl::Status created =
        object.Create({uint64_t{1} << 62, uint64_t{2} << 62, uint64_t{3} << 62});
    if (!world_.OkOrRefused(created, where) || !created.ok()) return;
    uint64_t acknowledged = 0;  // numbers below
    bool full = false;
    for (uint64_t batch = 0; !full && !Ending(); ++batch) {
      if (batch == kBatchesBefore) PutBallast(where);
      full = !Put(object, acknowledged, kBatch, where);
      if (!full) acknowledged += kBatch;
    }
    // Behind the batch of which some rows were refused, and nobody knows which.
    const uint64_t single = acknowledged + kBatch;
    std::vector<bool> there;
    for (uint64_t i = 0; full && i < kSingles; ++i) {
      there.push_back(Put(object, single + i, 1, where));
    }
    if (kind == AnyKind::kHeapTable) {
      CheckHeap(object, acknowledged, single, there, where);
    } else {
      CheckKeys(object, acknowledged, single, there, where);
    }
    if (full) {
      world_.Count(Figure::kFills);
      world_.Count(Figure::kFilledRows, acknowledged);
    }
    for (const char* name : {kName, kBallast}) {
      const absl::Status dropped = world_.engine().Drop(name);
      if (!dropped.ok() && (name == kName || !absl::IsNotFound(dropped))) {
        world_.Fault(where + ": " + dropped.ToString());
      }
    }
  }

  // Until some of it is refused.
  void PutBallast(const std::string& where) {
    const auto session = world_.engine().NewSession();
    CreateOptions options = test::OptionsOf(AnyKind::kBytes);
    options.split_points = {uint64_t{1} << 63};
    absl::Status status = world_.engine().Create(kBallast, options).status();
    if (status.ok()) {
      const Object ballast = test::Open(*session, kBallast);
      const test::StringsColumn values(
          std::vector<std::string>(16, std::string(kBallastBytes, 'b')));
      for (uint64_t first = 0; status.ok() && !Ending(); first += 16) {
        std::vector<uint64_t> keys;
        for (uint64_t i = first; i < first + 16; ++i) keys.push_back(KeyOfFull(i));
        const ColumnView columns[] = {test::ColumnOf(keys), values.view()};
        status = session->Write(ballast, {.rows = {keys.size(), columns}}).status;
      }
    }
    world_.OkOrRefused(status, where + ", ballast");
  }

  // False: some rows were refused; of one row that it was.
  bool Put(AnyObject& object, uint64_t first, uint64_t count, const std::string& where) {
    AnyRows rows;
    for (uint64_t i = first; i < first + count; ++i)
      rows.push_back({{KeyOfFull(i), 0}, ValueOf(i)});
    const absl::Status status = object.Put(rows);
    world_.OkOrRefused(status, where);
    return status.ok();
  }

  // `definite`: each key either was acknowledged or was refused; otherwise any may be there.
  void CheckSome(AnyObject& object, uint64_t first, const std::vector<bool>& there, bool definite,
                 const std::string& where) {
    std::vector<AnyKey> keys;
    for (uint64_t i = 0; i < there.size(); ++i) keys.push_back({KeyOfFull(first + i), 0});
    if (keys.empty()) return;
    std::vector<std::optional<uint64_t>> values;
    const absl::Status status = object.Get(keys, values);
    if (!status.ok()) return world_.Fault(where + ": a lookup: " + status.ToString());
    for (uint64_t i = 0; i < keys.size(); ++i) {
      if ((definite && values[i].has_value() != there[i]) ||
          (values[i].has_value() && *values[i] != ValueOf(first + i))) {
        return world_.Fault(
            absl::StrCat(where, ": row ", first + i, " was ", there[i] ? "acknowledged" : "refused",
                         " and ", values[i] ? absl::StrCat("holds ", *values[i]) : "is absent"));
      }
    }
  }
  void CheckKeys(AnyObject& object, uint64_t acknowledged, uint64_t single,
                 const std::vector<bool>& there, const std::string& where) {
    // Every sixteenth batch, and the last.
    for (uint64_t first = 0; first < acknowledged; first += kBatch) {
      if (first / kBatch % 16 == 0 || first + kBatch == acknowledged) {
        CheckSome(object, first, std::vector<bool>(kBatch, true), true, where);
      }
    }
    CheckSome(object, acknowledged, std::vector<bool>(kBatch, true), false, where);
    CheckSome(object, single, there, true, where);
  }
  void CheckHeap(AnyObject& object, uint64_t acknowledged, uint64_t single,
                 const std::vector<bool>& there, const std::string& where) {
    const auto rows = object.All();
    if (!world_.ReadOk(rows.status(), where)) return;
    std::vector<uint64_t> numbers;
    for (const auto& [key, value] : *rows) numbers.push_back(value / 16 - 1);
    std::sort(numbers.begin(), numbers.end());
    if (std::adjacent_find(numbers.begin(), numbers.end()) != numbers.end()) {
      world_.Fault(where + ": a row is there twice");
    }
    const auto has = [&](uint64_t number) {
      return std::binary_search(numbers.begin(), numbers.end(), number);
    };
    for (uint64_t i = 0; i < acknowledged; ++i) {
      if (!has(i)) return world_.Fault(absl::StrCat(where, ": acknowledged row ", i, " is absent"));
    }
    for (uint64_t i = 0; i < there.size(); ++i) {
      if (has(single + i) != there[i]) {
        return world_.Fault(absl::StrCat(where, ": row ", single + i,
                                         there[i] ? " is absent" : " was refused and is there"));
      }
    }
  }

  World& world_;
};

}  // namespace

std::unique_ptr<Load> MakeFull(World& world) { return std::make_unique<Full>(world); }

}  // namespace eris::stress
