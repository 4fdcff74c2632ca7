// Random index commands for properties: each field shrinks towards 0, and commands are left out.
#ifndef ERIS_TESTS_FUZZ_INDEX_COMMAND_GEN_H_
#define ERIS_TESTS_FUZZ_INDEX_COMMAND_GEN_H_

#include <rapidcheck.h>

#include <cstdint>
#include <vector>

#include "tests/fuzz/index_command.h"

namespace eris::fuzz {

// Commands on keys of the family; kExisting: of any. A third of the commands name existing rows.
inline rc::Gen<IndexCommand> AnyCommand(KeyFamily family) {
  namespace gen = rc::gen;
  using Kind = CommandKind;
  const auto number = [](unsigned end) {  // of full range, however large the case is
    return gen::resize(100, gen::inRange<unsigned>(0, end));
  };
  const auto byte = [](rc::Gen<unsigned> from) { return gen::cast<uint8_t>(std::move(from)); };
  const rc::Gen<KeyFamily> families =
      family == KeyFamily::kExisting
          ? gen::map(number(kKeyFamilies), [](unsigned at) { return static_cast<KeyFamily>(at); })
          : gen::weightedElement<KeyFamily>({{2, family}, {1, KeyFamily::kExisting}});
  return gen::build<IndexCommand>(
      gen::set(&IndexCommand::kind, gen::weightedElement<Kind>({{12, Kind::kUpsert},
                                                                {8, Kind::kErase},
                                                                {2, Kind::kLookup},
                                                                {3, Kind::kInsertIfAbsent},
                                                                {1, Kind::kReplaceIfPresent},
                                                                {2, Kind::kCompareAndSet},
                                                                {3, Kind::kAdd},
                                                                {5, Kind::kScan},
                                                                {8, Kind::kSplit},
                                                                {6, Kind::kAbsorb},
                                                                {5, Kind::kMoveChunks},
                                                                {4, Kind::kReload},
                                                                {1, Kind::kHandOver},
                                                                {1, Kind::kInvalidCalls},
                                                                {1, Kind::kTrim},
                                                                {1, Kind::kAbandon},
                                                                {6, Kind::kLend},
                                                                {6, Kind::kConclude},
                                                                {2, Kind::kMaintain},
                                                                {3, Kind::kRehome}})),
      gen::set(&IndexCommand::family, families),
      gen::set(&IndexCommand::order,
               gen::map(number(kKeyOrders), [](unsigned at) { return static_cast<KeyOrder>(at); })),
      gen::set(&IndexCommand::place, byte(number(8))),
      gen::set(&IndexCommand::first,
               gen::map(number(2000), [](unsigned at) { return static_cast<uint16_t>(at); })),
      gen::set(&IndexCommand::count, byte(number(256))),
      gen::set(&IndexCommand::scale, gen::map(number(100),
                                              [](unsigned dice) {
                                                return static_cast<uint8_t>((dice >= 75) +
                                                                            (dice >= 92));
                                              })),
      gen::set(&IndexCommand::detail, byte(number(256))),
      gen::set(&IndexCommand::failure, gen::map(number(256), [](unsigned dice) {
        return static_cast<uint8_t>(dice < IndexCommand::kFailures ? 0 : dice);
      })));
}

inline rc::Gen<std::vector<IndexCommand>> AnyCommands(KeyFamily family) {
  return rc::gen::container<std::vector<IndexCommand>>(AnyCommand(family));
}

}  // namespace eris::fuzz

#endif  // ERIS_TESTS_FUZZ_INDEX_COMMAND_GEN_H_
