// Objects with u64 values: indexes with keys of one part and of two, and hashes.
#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clients/batch_stream.h"
#include "tests/linearizability/carried_stream.h"
#include "tests/linearizability/loaded_object.h"

namespace eris {
namespace {

constexpr KeyTypes kTwoParts{ColumnType::kUint64, ColumnType::kUint64};

class NumberObject : public LoadedObject {
 public:
  NumberObject(std::string name, ObjectKind kind, KeyTypes key_type)
      : name_(std::move(name)), kind_(kind), key_type_(key_type) {}

  absl::Status Create(client::Client& client, const Rows& rows) override {
    const std::vector<uint64_t> borders = Borders();
    CreateOptions options{.kind = kind_, .key_type = key_type_};
    options.split_points.assign(borders.begin() + 1, borders.end());
    const auto created = client.Create(name_, options);
    if (!created.ok()) return created.status();
    return WithKeys(rows.keys, [&](const KeyColumns& keys) {
      return client.Upsert(name_, keys, rows.values, key_type_).status();
    });
  }
  bool HasLinks() const override { return kind_ != ObjectKind::kHash; }

  absl::Span<const Verb> Verbs() const override {
    static constexpr Verb kVerbs[] = {Verb::kScan,   Verb::kScan,   Verb::kGet,    Verb::kGet,
                                      Verb::kUpsert, Verb::kUpsert, Verb::kInsert, Verb::kReplace,
                                      Verb::kCas,    Verb::kCas,    Verb::kAdd,    Verb::kAdd,
                                      Verb::kErase};
    // A hash has no scans.
    return absl::MakeConstSpan(kVerbs).subspan(kind_ == ObjectKind::kHash ? 2 : 0);
  }
  size_t BatchMax(Verb verb) const override { return verb == Verb::kScan ? 1 : 6; }

  absl::Status Execute(client::Client& client, absl::Span<Operation> batch) override {
    if (batch[0].verb == Verb::kScan) return Scan(client, batch[0]);
    return WithKeys(KeysOf(batch), [&](const KeyColumns& keys) -> absl::Status {
      switch (batch[0].verb) {
        case Verb::kGet: {
          const auto found = client.Lookup(name_, keys, key_type_);
          if (!found.ok()) return found.status();
          SetFound(batch, *found);
          return absl::OkStatus();
        }
        case Verb::kUpsert:
        case Verb::kErase: {
          const auto existed = batch[0].verb == Verb::kErase
                                   ? client.Erase(name_, keys, key_type_)
                                   : client.Upsert(name_, keys, ValuesOf(batch), key_type_);
          if (!existed.ok()) return existed.status();
          SetExisted(batch, *existed);
          return absl::OkStatus();
        }
        default: {
          const auto written = client.Write(name_, ModeOf(batch[0].verb), keys, ValuesOf(batch),
                                            ExpectedOf(batch), key_type_);
          if (!written.ok()) return written.status();
          SetAllWritten(batch, *written);
          return absl::OkStatus();
        }
      }
    });
  }

  std::unique_ptr<LoadedStream> OpenStream(client::Client& client, size_t number,
                                           std::vector<Verb>& verbs, OnError on_error) override {
    switch (number) {
      case 0:
        verbs = {Verb::kInsert, Verb::kReplace, Verb::kCas, Verb::kAdd, Verb::kAdd};
        return Carry<client::WriteStream, client::WriteResult>(
            client, std::move(on_error), SetAllWritten,
            [this](client::WriteStream& calls, absl::Span<Operation> batch, const Rows& filler,
                   const KeyColumns& keys) {
              return calls.Send(name_, ModeOf(batch[0].verb), keys, ValuesOf(batch, filler),
                                ExpectedOf(batch, filler), key_type_);
            });
      case 1:
        verbs = {Verb::kUpsert};
        return Carry<client::UpsertStream, client::RowBits>(
            client, std::move(on_error), SetExisted,
            [this](client::UpsertStream& calls, absl::Span<Operation> batch, const Rows& filler,
                   const KeyColumns& keys) {
              return calls.Send(name_, keys, ValuesOf(batch, filler), key_type_);
            });
      case 2:
        verbs = {Verb::kGet};
        return Carry<client::LookupStream, client::LookupResult>(
            client, std::move(on_error), SetFound,
            [this](client::LookupStream& calls, absl::Span<Operation>, const Rows&,
                   const KeyColumns& keys) { return calls.Send(name_, keys, key_type_); });
      default:
        return nullptr;
    }
  }

  absl::StatusOr<Rows> ReadAll(client::Client& client) override {
    return kind_ == ObjectKind::kHash ? LookUpAll(client) : Read(client, {});
  }

 protected:
  // The parts of a key; the second counts only if keys have two.
  virtual std::pair<uint64_t, uint64_t> PartsOf(uint64_t key) const { return {key, 0}; }

 private:
  static void SetFound(absl::Span<Operation> batch, const client::LookupResult& found) {
    for (size_t i = 0; i < batch.size(); ++i) SetRead(batch[i], found.found[i], found.values[i]);
  }

  static void SetAllWritten(absl::Span<Operation> batch, const client::WriteResult& written) {
    SetWritten(batch, written, [&](size_t i) { return written.values[i]; });
  }

  // `keys` as columns of the object's type, for the length of the call.
  template <class Function>
  absl::Status WithKeys(const std::vector<uint64_t>& keys, Function function) const {
    if (!key_type_.two_parts()) return function(KeyColumns(keys));
    std::vector<uint64_t> first, second;
    for (const uint64_t key : keys) {
      const auto parts = PartsOf(key);
      first.push_back(parts.first);
      second.push_back(parts.second);
    }
    return function(KeyColumns(first, second));
  }
  uint64_t KeyAt(const client::ScanRows& rows, size_t i) const {
    const uint64_t key = key_type_.two_parts() ? rows.second_keys[i] : rows.keys[i];
    if (PartsOf(key).first != rows.keys[i]) Fail("a scan has answered a key that nobody wrote");
    return key;
  }

  absl::StatusOr<Rows> Read(client::Client& client, const KeyRange& range) {
    Rows rows;
    const auto reader = client.Scan(name_, range, 0, key_type_);
    client::ScanRows chunk;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next(chunk);
      if (!more.ok()) return more.status();
      if (!*more) return rows;
      for (size_t i = 0; i < chunk.keys.size(); ++i) {
        rows.keys.push_back(KeyAt(chunk, i));
        rows.values.push_back(chunk.values[i]);
      }
    }
  }

  absl::Status Scan(client::Client& client, Operation& one) {
    KeyRange range{.lo = one.key};
    if (key_type_.two_parts()) {
      std::tie(range.lo, range.lo_second) = PartsOf(one.key);
      if (one.key != kKeys[kKeyCount - 1]) {
        range.hi = range.lo;
        range.hi_second = range.lo_second + 1;
      }
    } else if (one.key != kKeys[kKeyCount - 1]) {
      range.hi = one.key + 1;
    }
    const auto rows = Read(client, range);
    if (!rows.ok()) return rows.status();
    SetScanned(one, *rows);
    return absl::OkStatus();
  }

  // Opens one of the client's streams: `send` sends a batch with these keys, `set` its answers.
  template <class Calls, class Result, class Set, class SendBatch>
  std::unique_ptr<LoadedStream> Carry(client::Client& client, OnError on_error, Set set,
                                      SendBatch send) {
    return std::make_unique<CarriedStream<Calls, Result>>(
        client,
        [this, send](Calls& calls, absl::Span<Operation> batch, const Rows& filler) {
          return WithKeys(KeysOf(batch, filler),
                          [&](const KeyColumns& keys) { return send(calls, batch, filler, keys); });
        },
        set, std::move(on_error));
  }

  // A hash cannot be scanned, so the rows that it counts must be those that lookups find.
  absl::StatusOr<Rows> LookUpAll(client::Client& client) {
    Rows rows;
    for (size_t i = 0; i < kKeyCount; ++i) {
      rows.keys.push_back(kKeys[i]);
      const Rows behind = RowsBehind(i, i);
      rows.keys.insert(rows.keys.end(), behind.keys.begin(), behind.keys.end());
    }
    const auto found = client.Lookup(name_, rows.keys, key_type_);
    if (!found.ok()) return found.status();
    Rows there;
    for (size_t i = 0; i < rows.keys.size(); ++i) {
      if (!found->found[i]) continue;
      there.keys.push_back(rows.keys[i]);
      there.values.push_back(found->values[i]);
    }
    // The count follows at the end of the AEUs' turns, so it may be late.
    constexpr absl::Duration kWait = absl::Milliseconds(1);
    uint64_t counted = 0;
    for (int tries = 0; tries < 10'000; ++tries) {
      const auto info = client.Get(name_);
      if (!info.ok()) return info.status();
      counted = info->keys;
      if (counted == there.keys.size()) return there;
      absl::SleepFor(kWait);
    }
    Fail("the hash counts " + std::to_string(counted) + " keys, lookups find " +
         std::to_string(there.keys.size()));
  }

  const std::string name_;
  const ObjectKind kind_;
  const KeyTypes key_type_;
};

// Two neighbours of the load's keys share a first part; rows that share one are up to four.
class TwoPartObject final : public NumberObject {
 public:
  explicit TwoPartObject(std::string name)
      : NumberObject(std::move(name), ObjectKind::kIndex, kTwoParts) {}

  std::vector<uint64_t> Borders() const override {
    std::vector<uint64_t> firsts;
    for (size_t i = 0; i < kKeyCount; i += 2) firsts.push_back(FirstOf(i));
    return firsts;
  }

 protected:
  std::pair<uint64_t, uint64_t> PartsOf(uint64_t key) const override {
    const auto at = std::lower_bound(std::begin(kKeys), std::end(kKeys), key);
    if (at == std::end(kKeys) || *at != key) return {key & ~uint64_t{3}, key};
    return {FirstOf(static_cast<size_t>(at - std::begin(kKeys))), key};
  }

 private:
  // From 0 to the largest number.
  static uint64_t FirstOf(size_t i) { return i < 2 ? 0 : kKeys[i | 1]; }
};

}  // namespace

std::unique_ptr<LoadedObject> MakeIndex(const std::string& name) {
  return std::make_unique<NumberObject>(name, ObjectKind::kIndex, KeyTypes{});
}
std::unique_ptr<LoadedObject> MakeHash(const std::string& name) {
  return std::make_unique<NumberObject>(name, ObjectKind::kHash, KeyTypes{});
}
std::unique_ptr<LoadedObject> MakeTwoPart(const std::string& name) {
  return std::make_unique<TwoPartObject>(name);
}

}  // namespace eris
