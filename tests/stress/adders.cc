// Several sessions add to the same keys. Each session's answers on a key only grow, so does what
// snapshots show of it, and in the end a key holds what was acknowledged.
#include <cstring>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "tests/stress/in_order.h"
#include "tests/stress/loads.h"

namespace eris::stress {
namespace {

using test::AnyKind;
using test::AnyObject;

constexpr AnyKind kAddersKinds[] = {AnyKind::kIndex, AnyKind::kTwoParts, AnyKind::kHash};
constexpr size_t kAddersKindCount = std::size(kAddersKinds);
constexpr uint32_t kSessions = 3;
constexpr size_t kUnderWay = 20;
constexpr uint64_t kKeys = 16;
constexpr uint64_t kSecond = 5;  // of keys with two parts

std::string AddersName(AnyKind kind) { return "adders-" + test::NameOf(kind); }
uint64_t KeyOf(uint64_t number) { return SpreadKey(number, 7); }

class Adders final : public Load {
 public:
  explicit Adders(World& world) : world_(world) {}

  void Prepare() override {
    for (const AnyKind kind : kAddersKinds) world_.CreateMovable(kind, AddersName(kind));
  }
  std::vector<std::function<void()>> Threads() override {
    std::vector<std::function<void()>> threads;
    for (uint32_t i = 0; i < kSessions; ++i) threads.emplace_back([this, i] { AddAll(i); });
    threads.emplace_back([this] { Read(); });
    return threads;
  }
  void CheckEnd() override {
    for (size_t kind = 0; kind < kAddersKindCount; ++kind) {
      const std::vector<uint64_t> now = Values(kind, nullptr);
      if (now.empty()) return world_.Fault("adders: the last scan has not ended well");
      for (uint64_t i = 0; i < kKeys; ++i) {
        const uint64_t sum = sums_[kind][i].load(std::memory_order_relaxed);
        if (now[i] != sum) {
          world_.Fault(absl::StrCat("adders: key number ", i, " of ",
                                    AddersName(kAddersKinds[kind]), " holds ", now[i], ", not the ",
                                    sum, " that was acknowledged"));
        }
      }
    }
    if (world_.Get(Figure::kAdds) == 0) world_.Fault("adders: nothing was added");
  }

 private:
  struct Adds {
    size_t kind = 0;
    std::vector<uint64_t> numbers{}, amounts{};
  };
  using Calls = InOrder<Adds, BatchResult>;

  void AddAll(uint32_t number) {
    const auto session = world_.engine().NewSession();
    std::mt19937_64 random(world_.SeedOf(absl::StrCat("adder ", number)));
    std::vector<Object> objects;
    for (const AnyKind kind : kAddersKinds)
      objects.push_back(test::Open(*session, AddersName(kind)));
    std::vector<uint64_t> last(kAddersKindCount * kKeys, 0);  // sums that this session was told
    Calls calls(kUnderWay,
                [&](const Adds& adds, const BatchResult& result) { Take(adds, result, last); });
    while (!world_.Ending()) {
      Adds adds{.kind = random() % kAddersKindCount};
      test::AnyBatch rows(kAddersKinds[adds.kind]);
      for (uint64_t n = 1 + random() % 8; n > 0; --n) {
        adds.numbers.push_back(random() % kKeys);
        adds.amounts.push_back(1 + random() % 100);
        rows.Add({KeyOf(adds.numbers.back()), kSecond}, adds.amounts.back());
      }
      Calls::Call* const call = calls.Enter(std::move(adds));
      const absl::Status sent =
          session
              ->WriteAsync(
                  objects[call->sent.kind], rows.write(WriteMode::kAdd),
                  [&calls, call](BatchResult result) { calls.Done(call, std::move(result)); })
              .status();
      if (!sent.ok()) {
        BatchResult refused;
        refused.status = sent;
        calls.Done(call, std::move(refused));
      }
    }
    calls.AwaitNone();
  }

  // In the order of sending.
  void Take(const Adds& adds, const BatchResult& result, std::vector<uint64_t>& last) {
    if (!world_.OkOrRefused(result.status, "adders") || result.refused == result.count) return;
    for (size_t i = 0; i < adds.numbers.size(); ++i) {
      if (!BitAt(result.executed, i, result.status.ok())) {
        world_.Count(Figure::kRefused);
        continue;
      }
      uint64_t sum = 0;
      std::memcpy(&sum, result.columns[0].values.data() + 8 * i, 8);
      uint64_t& before = last[adds.kind * kKeys + adds.numbers[i]];
      if (sum < before + adds.amounts[i]) {
        world_.Fault(absl::StrCat("adders: a sum of ", sum, " after ", before, " and ",
                                  adds.amounts[i], " more, ", AddersName(kAddersKinds[adds.kind])));
      }
      before = sum;
      // relaxed: read after the threads have been joined.
      sums_[adds.kind][adds.numbers[i]].fetch_add(adds.amounts[i], std::memory_order_relaxed);
      world_.Count(Figure::kAdds);
    }
  }

  // By key number: 0 where there is none. A hash's are looked up.
  std::vector<uint64_t> Values(size_t kind, const std::shared_ptr<Snapshot>& snapshot) {
    AnyObject object(world_.engine(), kAddersKinds[kind], AddersName(kAddersKinds[kind]));
    std::vector<uint64_t> values(kKeys, 0);
    const uint64_t second = kAddersKinds[kind] == AnyKind::kTwoParts ? kSecond : 0;
    if (!object.scans()) {
      std::vector<test::AnyKey> keys;
      for (uint64_t i = 0; i < kKeys; ++i) keys.push_back({KeyOf(i), second});
      std::vector<std::optional<uint64_t>> found;
      const absl::Status status = object.Get(keys, found);
      if (!status.ok()) world_.Fault("adders: " + status.ToString());
      for (uint64_t i = 0; i < kKeys; ++i) values[i] = found[i].value_or(0);
      return values;
    }
    const auto rows = object.All(snapshot);
    if (!world_.ReadOk(rows.status(), "adders")) return {};
    for (const auto& [key, value] : *rows) {
      bool known = false;
      for (uint64_t i = 0; i < kKeys; ++i) {
        if (key != test::AnyKey{KeyOf(i), second}) continue;
        known = true;
        values[i] = value;
      }
      if (!known) world_.Fault(absl::StrCat("adders: nobody has added to key ", key.first));
    }
    return values;
  }

  void Read() {
    std::vector<std::vector<uint64_t>> seen(kAddersKindCount, std::vector<uint64_t>(kKeys, 0));
    while (!world_.Ending()) {
      auto snapshot = world_.engine().TakeSnapshot();
      if (!snapshot.ok()) {
        world_.Fault("adders: " + snapshot.status().ToString());
        return;
      }
      for (size_t kind = 0; kind < kAddersKindCount; ++kind) {
        const std::vector<uint64_t> now = Values(kind, *snapshot);
        if (now.empty()) continue;
        for (uint64_t i = 0; i < kKeys; ++i) {
          if (now[i] < seen[kind][i]) {
            world_.Fault(absl::StrCat("adders: a later snapshot of ",
                                      AddersName(kAddersKinds[kind]), " shows ", now[i], " after ",
                                      seen[kind][i]));
          }
        }
        seen[kind] = now;
      }
      world_.Count(Figure::kSnapshots);
    }
  }

  World& world_;
  // Shared: written by callbacks, read at the end.
  std::atomic<uint64_t> sums_[kAddersKindCount][kKeys] = {};
};

}  // namespace

std::unique_ptr<Load> MakeAdders(World& world) { return std::make_unique<Adders>(world); }

}  // namespace eris::stress
