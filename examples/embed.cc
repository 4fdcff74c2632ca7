// The engine inside a program of yours: open, create, upsert, lookup, scan. Includes nothing but
// include/eris. Data lives in memory only and ends with the engine.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "eris/engine.h"

namespace {

absl::Status Run() {
  // One AEU per core unless told otherwise; 64 MiB are plenty here.
  auto engine = eris::Engine::Open({.memory_limit_bytes = 64 << 20});
  if (!engine.ok()) return engine.status();
  // Expected keys: the initial partitions are even pieces of the range.
  auto created = (*engine)->Create("squares", {.expected = {0, 1000}});
  if (!created.ok()) return created.status();

  auto session = (*engine)->NewSession();
  std::vector<uint64_t> keys(1000), values(1000), read(1000);
  std::vector<uint8_t> found(1000);
  for (uint64_t key = 0; key < 1000; ++key) keys[key] = key, values[key] = key * key;
  if (auto status = session->Upsert("squares", keys, absl::MakeSpan(values)); !status.ok())
    return status;
  if (auto status = session->Lookup("squares", keys, absl::MakeSpan(read), absl::MakeSpan(found));
      !status.ok()) {
    return status;
  }
  if (read != values) return absl::InternalError("a value is not what was written");
  std::printf("squares[31] = %llu\n", static_cast<unsigned long long>(read[31]));

  auto scan = session->OpenScan("squares", {.range = {10, 15}});
  if (!scan.ok()) return scan.status();
  uint64_t rows = 0;
  for (;;) {
    auto chunk = (*scan)->Next();
    if (!chunk.ok()) return chunk.status();
    if (!chunk->has_value()) break;  // the scan has ended
    for (size_t i = 0; i < (*chunk)->keys().size(); ++i, ++rows) {
      std::printf("%llu -> %llu\n", static_cast<unsigned long long>((*chunk)->keys()[i]),
                  static_cast<unsigned long long>((*chunk)->values()[i]));
    }
  }
  return rows == 5 ? absl::OkStatus() : absl::InternalError("the scan missed rows");
}

}  // namespace

int main() {
  const absl::Status status = Run();
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
