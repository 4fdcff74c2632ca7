// Clustered tables: rows of a key and a value. A table has no conditional writes, and the answer to
// a batch of rows says only how many there were before, so rows are written one by one.
#include <utility>

#include "clients/expression_text.h"
#include "clients/table_client.h"
#include "tests/linearizability/carried_stream.h"
#include "tests/linearizability/loaded_object.h"

namespace eris {
namespace {

const Schema& Schema() {
  static const Schema schema{.columns = {{.name = "k", .type = ColumnType::kUint64},
                                              {.name = "v", .type = ColumnType::kUint64}},
                                  .key = {0}};
  return schema;
}

ColumnBuffers ColumnOf(const std::vector<uint64_t>& numbers) {
  ColumnBuffers column;
  column.values.assign(reinterpret_cast<const char*>(numbers.data()),
                       numbers.size() * sizeof(uint64_t));
  return column;
}

class TableObject final : public LoadedObject {
 public:
  explicit TableObject(std::string name) : name_(std::move(name)) {}

  absl::Status Create(client::Client& client, const Rows& rows) override {
    client::TableClient tables(client);
    client::TableBounds bounds;
    bounds.splits.assign(std::begin(kKeys) + 1, std::end(kKeys));
    const auto created = tables.Create(name_, Schema(), bounds);
    if (!created.ok()) return created.status();
    client::OwnedRows owned{rows.keys.size(), {ColumnOf(rows.keys), ColumnOf(rows.values)}};
    return tables.Write(name_, Schema(), owned).status();
  }
  bool HasLinks() const override { return false; }

  absl::Span<const Verb> Verbs() const override {
    static constexpr Verb kVerbs[] = {Verb::kScan,   Verb::kGet,    Verb::kGet,  Verb::kUpsert,
                                      Verb::kUpsert, Verb::kUpsert, Verb::kErase};
    return kVerbs;
  }
  size_t BatchMax(Verb verb) const override {
    return verb == Verb::kScan || verb == Verb::kUpsert ? 1 : 6;
  }

  absl::Status Execute(client::Client& client, absl::Span<Operation> batch) override {
    client::TableClient tables(client);
    switch (batch[0].verb) {
      case Verb::kScan: {
        const auto rows = Read(client, batch[0].key);
        if (!rows.ok()) return rows.status();
        SetScanned(batch[0], *rows);
        return absl::OkStatus();
      }
      case Verb::kGet: {
        client::OwnedRows keys = KeyRows(batch);
        const auto found = tables.LookUp(name_, Schema(), keys, {"v"});
        if (!found.ok()) return found.status();
        for (size_t i = 0; i < batch.size(); ++i) {
          SetRead(batch[i], found->found[i], found->rows.Get<uint64_t>(0, i));
        }
        return absl::OkStatus();
      }
      case Verb::kUpsert: {
        client::OwnedRows rows = WholeRows(batch);
        const auto written = tables.Write(name_, Schema(), rows);
        if (!written.ok()) return written.status();
        SetWrittenRow(batch, *written);
        return absl::OkStatus();
      }
      case Verb::kErase: {
        client::OwnedRows keys = KeyRows(batch);
        const auto existed = tables.Erase(name_, Schema(), keys);
        if (!existed.ok()) return existed.status();
        SetExisted(batch, *existed);
        return absl::OkStatus();
      }
      default:
        Fail("a verb that tables do not have");
    }
  }

  std::unique_ptr<LoadedStream> OpenStream(client::Client& client, size_t number,
                                           std::vector<Verb>& verbs, OnError on_error) override {
    if (number > 0) return nullptr;
    verbs = {Verb::kUpsert};
    return std::make_unique<CarriedStream<client::RowStream, client::WrittenRows>>(
        client,
        [this](client::RowStream& calls, absl::Span<Operation> batch, const Rows&) {
          client::OwnedRows rows = WholeRows(batch);
          return calls.Send(name_, Schema(), rows);
        },
        SetWrittenRow, std::move(on_error));
  }

  absl::StatusOr<Rows> ReadAll(client::Client& client) override {
    return Read(client, std::nullopt);
  }

 private:
  static client::OwnedRows KeyRows(absl::Span<const Operation> batch) {
    return {batch.size(), {ColumnOf(KeysOf(batch))}};
  }
  static client::OwnedRows WholeRows(absl::Span<const Operation> batch) {
    return {batch.size(), {ColumnOf(KeysOf(batch)), ColumnOf(ValuesOf(batch))}};
  }
  static void SetWrittenRow(absl::Span<Operation> batch, const client::WrittenRows& written) {
    if (written.stored != 1) Fail("a row was written, and " + std::to_string(written.stored));
    batch[0].answer = Answer::kYes;
    batch[0].was = written.replaced > 0;
  }

  // All rows, or those with one key.
  absl::StatusOr<Rows> Read(client::Client& client, std::optional<uint64_t> key) {
    Query query;
    if (key) {
      auto filter = client::ParseExpression("k = " + std::to_string(*key));
      if (!filter.ok()) return filter.status();
      query.filter = *std::move(filter);
    }
    client::TableClient tables(client);
    const auto reader = tables.Scan(name_, query);
    Rows rows;
    client::OwnedRows chunk;
    for (;;) {
      const absl::StatusOr<bool> more = reader->Next(chunk);
      if (!more.ok()) return more.status();
      if (!*more) return rows;
      for (uint64_t i = 0; i < chunk.rows; ++i) {
        rows.keys.push_back(chunk.Get<uint64_t>(0, i));
        rows.values.push_back(chunk.Get<uint64_t>(1, i));
      }
    }
  }

  const std::string name_;
};

}  // namespace

std::unique_ptr<LoadedObject> MakeTable(const std::string& name) {
  return std::make_unique<TableObject>(name);
}

}  // namespace eris
