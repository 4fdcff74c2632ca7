// Indexes of byte strings. A value's string follows from it, so that a string that is not whole, or
// is made of two, is found where it is read.
#include <utility>

#include "absl/strings/string_view.h"
#include "tests/linearizability/loaded_object.h"

namespace eris {
namespace {

// REQUIRES: value < 2^56. One value in four is a short string, which the engine keeps in a word of
// its own; the others are up to 200 bytes long, one in 64 several KiB.
std::string StringOf(uint64_t value) {
  const uint64_t mixed = value * 0x9e3779b97f4a7c15u;
  std::string text(reinterpret_cast<const char*>(&value), 7);
  if (mixed >> 62 == 0) return text;
  const size_t length = 8 + (mixed >> 32) % ((mixed >> 8) % 64 == 0 ? 8192 : 192);
  while (text.size() < length) {
    text.push_back(static_cast<char>(mixed >> (text.size() % 8 * 8)));
  }
  return text;
}

uint64_t ValueOf(absl::string_view text) {
  uint64_t value = 0;
  if (text.size() >= 7) text.copy(reinterpret_cast<char*>(&value), 7);
  if (text != StringOf(value)) {
    Fail("a string of " + std::to_string(text.size()) + " bytes that nobody wrote");
  }
  return value;
}

// Strings, and views of them as calls take them.
class Strings {
 public:
  explicit Strings(const std::vector<uint64_t>& values) {
    for (const uint64_t value : values) strings_.push_back(StringOf(value));
    for (const std::string& one : strings_) views_.push_back(one);
  }
  const std::vector<absl::string_view>& views() const { return views_; }

 private:
  std::vector<std::string> strings_;
  std::vector<absl::string_view> views_;
};

class BytesObject final : public LoadedObject {
 public:
  explicit BytesObject(std::string name) : name_(std::move(name)) {}

  absl::Status Create(client::Client& client, const Rows& rows) override {
    CreateOptions options{.value_type = ColumnType::kString};
    options.split_points.assign(std::begin(kKeys) + 1, std::end(kKeys));
    const auto created = client.Create(name_, options);
    if (!created.ok()) return created.status();
    return client.UpsertBytes(name_, rows.keys, Strings(rows.values).views()).status();
  }

  absl::Span<const Verb> Verbs() const override {
    static constexpr Verb kVerbs[] = {Verb::kScan,   Verb::kScan,   Verb::kGet,    Verb::kGet,
                                      Verb::kUpsert, Verb::kUpsert, Verb::kInsert, Verb::kReplace,
                                      Verb::kCas,    Verb::kCas,    Verb::kErase};
    return kVerbs;
  }
  size_t BatchMax(Verb verb) const override { return verb == Verb::kScan ? 1 : 6; }

  absl::Status Execute(client::Client& client, absl::Span<Operation> batch) override {
    const std::vector<uint64_t> keys = KeysOf(batch);
    switch (batch[0].verb) {
      case Verb::kScan:
        return Scan(client, batch[0]);
      case Verb::kGet: {
        const auto found = client.LookupBytes(name_, keys);
        if (!found.ok()) return found.status();
        for (size_t i = 0; i < batch.size(); ++i) {
          if (!found->executed[i]) continue;  // stays unknown
          SetRead(batch[i], found->found[i], found->found[i] ? ValueOf(found->values[i]) : 0);
        }
        return absl::OkStatus();
      }
      case Verb::kUpsert:
      case Verb::kErase: {
        const auto existed =
            batch[0].verb == Verb::kErase
                ? client.Erase(name_, keys)
                : client.UpsertBytes(name_, keys, Strings(ValuesOf(batch)).views());
        if (!existed.ok()) return existed.status();
        SetExisted(batch, *existed);
        return absl::OkStatus();
      }
      default: {
        const auto written =
            client.WriteBytes(name_, ModeOf(batch[0].verb), keys, Strings(ValuesOf(batch)).views(),
                              Strings(ExpectedOf(batch)).views());
        if (!written.ok()) return written.status();
        SetWritten(batch, *written, [&](size_t i) { return ValueOf(written->values[i]); });
        return absl::OkStatus();
      }
    }
  }

  // The client library has no streams of byte strings.
  std::unique_ptr<LoadedStream> OpenStream(client::Client&, size_t, std::vector<Verb>&,
                                           OnError) override {
    return nullptr;
  }

  absl::StatusOr<Rows> ReadAll(client::Client& client) override { return Read(client, {}); }

 private:
  absl::StatusOr<Rows> Read(client::Client& client, const KeyRange& range) {
    Rows rows;
    const auto reader = client.Scan(name_, range);
    client::ScanRows chunk;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next(chunk);
      if (!more.ok()) return more.status();
      if (!*more) return rows;
      for (size_t i = 0; i < chunk.keys.size(); ++i) {
        rows.keys.push_back(chunk.keys[i]);
        rows.values.push_back(ValueOf(chunk.bytes[i]));
      }
    }
  }

  absl::Status Scan(client::Client& client, Operation& one) {
    KeyRange range{.lo = one.key};
    if (one.key != kKeys[kKeyCount - 1]) range.hi = one.key + 1;
    const auto rows = Read(client, range);
    if (!rows.ok()) return rows.status();
    SetScanned(one, *rows);
    return absl::OkStatus();
  }

  const std::string name_;
};

}  // namespace

std::unique_ptr<LoadedObject> MakeBytes(const std::string& name) {
  return std::make_unique<BytesObject>(name);
}

}  // namespace eris
