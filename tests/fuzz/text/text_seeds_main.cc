#include "tests/fuzz/text/text_machine.h"
#include "tests/fuzz/write_seeds.h"

int main(int argc, char** argv) {
  return eris::fuzz::WriteSeeds(argc, argv,
                                eris::fuzz::TextSeeds(eris::fuzz::TextKind::ERIS_TEXT_KIND));
}
