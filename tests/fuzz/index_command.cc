#include "tests/fuzz/index_command.h"

#include <algorithm>
#include <ostream>

namespace eris::fuzz {
namespace {

constexpr const char* kKindNames[kCommandKinds] = {
    "Lookup",        "Upsert", "Erase",    "InsertIfAbsent", "ReplaceIfPresent",
    "CompareAndSet", "Add",    "Scan",     "Split",          "Absorb",
    "MoveChunks",    "Reload", "HandOver", "InvalidCalls",   "Trim",
    "Abandon",       "Lend",   "Conclude", "Maintain",       "Rehome"};
constexpr const char* kFamilyNames[kKeyFamilies] = {"dense",       "sparse",         "clustered",
                                                    "one-byte",    "zeros-and-ones", "extremes",
                                                    "long-prefix", "existing"};
constexpr const char* kOrderNames[kKeyOrders] = {"ascending", "descending", "scattered",
                                                 "repeated"};

// Where dense keys begin: at the end of the key space, before a carry into each higher byte, in
// the middle of nowhere.
constexpr uint64_t kDenseBases[8] = {0,
                                     ~uint64_t{0} - 999,
                                     0xff80,
                                     0xffff'ff80,
                                     0x00ff'ffff'ffff'fe00,
                                     0x7fff'ffff'ffff'ff00,
                                     0x0123'4567'89ab'cdef,
                                     0xffff'ffff'ffff'0000};

uint64_t Mix(uint64_t number) {  // splitmix64
  number += 0x9e3779b97f4a7c15;
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9;
  number = (number ^ number >> 27) * 0x94d049bb133111eb;
  return number ^ number >> 31;
}

// Most operations ask for memory a few times, a chunk's build many.
constexpr uint8_t kFailNths[32] = {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,  2,  2,  3,  3,  3,
                                   3, 4, 4, 4, 5, 5, 6, 7, 8, 9, 10, 12, 20, 40, 80, 160};

}  // namespace

uint64_t IndexCommand::FailNth() const {
  return failure < kFailures ? 0 : kFailNths[failure & 0x1f];
}

uint64_t KeyAt(KeyFamily family, unsigned place, uint64_t index,
               std::span<const uint64_t> existing) {
  switch (family) {
    case KeyFamily::kDense:
      return kDenseBases[place] + index;
    case KeyFamily::kSparse:
      return Mix(uint64_t{place} << 32 | index);
    case KeyFamily::kClustered: {
      const unsigned shift = 8 * place;
      const uint64_t group = Mix(index / 64 % 40) & (~uint64_t{0} << shift << (place < 7 ? 8 : 0));
      return group ^ (index % 64) << shift;
    }
    case KeyFamily::kOneByte:
      return Mix(index >> 8) ^ (index & 0xff) << (8 * place);
    case KeyFamily::kZerosAndOnes: {
      uint64_t key = 0;
      for (unsigned i = 0; i < 8; ++i) key |= (index >> i & 1) * (uint64_t{0xff} << (8 * i));
      return key;
    }
    case KeyFamily::kExtremes: {
      const uint64_t at = index / 4;
      const uint64_t power = uint64_t{1} << (at % 64);
      const uint64_t keys[4] = {at, ~at, power - 1, power + 1};
      return keys[index % 4];
    }
    case KeyFamily::kLongPrefix:
      return Mix(place) ^ (Mix(index + 1000) & (~uint64_t{0} >> (8 * place)));
    case KeyFamily::kExisting:
      if (existing.empty()) return 0;
      return existing[index % existing.size()] + place % 2;
  }
  return 0;
}

std::vector<uint64_t> KeysOf(const IndexCommand& command, std::span<const uint64_t> existing) {
  const size_t count = command.Count();
  std::vector<uint64_t> keys(count);
  for (size_t i = 0; i < count; ++i) {
    size_t index = i;
    switch (command.order) {
      case KeyOrder::kAscending:
        break;
      case KeyOrder::kDescending:
        index = count - 1 - i;
        break;
      case KeyOrder::kScattered:
        index = i * 7919 % count;
        break;
      case KeyOrder::kRepeated:
        index = i % ((count + 1) / 2);
        break;
    }
    keys[i] = KeyAt(command.family, command.place, command.first + index, existing);
  }
  return keys;
}

//  0     1               2      4      5              6       7
//  |kind |family, place  |first |count |scale, order  |detail |failure |
std::vector<IndexCommand> DecodeCommands(std::span<const uint8_t> bytes) {
  std::vector<IndexCommand> commands;
  for (; bytes.size() >= kCommandBytes; bytes = bytes.subspan(kCommandBytes)) {
    const unsigned scale = bytes[5] & 15;
    commands.push_back({.kind = static_cast<CommandKind>(bytes[0] % kCommandKinds),
                        .family = static_cast<KeyFamily>(bytes[1] % kKeyFamilies),
                        .order = static_cast<KeyOrder>(bytes[5] >> 4 & 3),
                        .place = static_cast<uint8_t>(bytes[1] >> 4 & 7),
                        .first = static_cast<uint16_t>(bytes[2] | bytes[3] << 8),
                        .count = bytes[4],
                        // Many keys are seldom: they cost time, and little is seen of them.
                        .scale = static_cast<uint8_t>(scale < 14 ? 0 : scale - 13),
                        .detail = bytes[6],
                        .failure = bytes[7]});
  }
  return commands;
}

std::vector<uint8_t> EncodeCommands(std::span<const IndexCommand> commands) {
  std::vector<uint8_t> bytes;
  for (const IndexCommand& command : commands) {
    const unsigned scale = command.scale == 0 ? 0u : command.scale + 13u;
    const unsigned words[kCommandBytes] = {
        static_cast<unsigned>(command.kind),
        static_cast<unsigned>(command.family) | static_cast<unsigned>(command.place) << 4,
        command.first & 0xffu,
        static_cast<unsigned>(command.first) >> 8,
        command.count,
        scale | static_cast<unsigned>(command.order) << 4,
        command.detail,
        command.failure};
    for (const unsigned word : words) bytes.push_back(static_cast<uint8_t>(word));
  }
  return bytes;
}

std::string HexOf(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % kCommandBytes == 0) hex += ' ';
    hex += kDigits[bytes[i] >> 4];
    hex += kDigits[bytes[i] & 15];
  }
  return hex;
}

std::vector<uint8_t> BytesOfHex(const std::string& hex) {
  std::vector<uint8_t> bytes;
  unsigned digits = 0, byte = 0;
  for (const char c : hex) {
    if (c == ' ') continue;
    byte = byte << 4 | static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    if (++digits % 2 == 0) bytes.push_back(static_cast<uint8_t>(byte));
  }
  return bytes;
}

std::string TextOf(const IndexCommand& command) {
  std::string text = kKindNames[static_cast<unsigned>(command.kind)];
  text += " " + std::to_string(command.Count()) + " " +
          kFamilyNames[static_cast<unsigned>(command.family)] + "/" +
          std::to_string(command.place) + " from " + std::to_string(command.first) + " " +
          kOrderNames[static_cast<unsigned>(command.order)] + ", detail " +
          std::to_string(command.detail);
  if (command.FailNth() > 0) {
    text += ", request " + std::to_string(command.FailNth()) + " refused";
    if (command.FailMode() == memory::FailurePoint::Mode::kFromThen) text += " and all after it";
  }
  return text;
}

std::ostream& operator<<(std::ostream& out, const IndexCommand& command) {
  return out << TextOf(command);
}

}  // namespace eris::fuzz
