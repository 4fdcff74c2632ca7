// A test program that starts itself again as something else, such as a server, because a library
// does not survive a fork: static OtherMain server("--as-server", &RunAsServer); Then `program
// --as-server a b` calls RunAsServer({"a", "b"}), runs no test and ends with what it returns.
#ifndef ERIS_TESTS_SUPPORT_OTHER_MAIN_H_
#define ERIS_TESTS_SUPPORT_OTHER_MAIN_H_

#include <string_view>

namespace eris::test {

class OtherMain {
 public:
  // `arguments`: what follows the word; a null pointer ends it.
  using Function = int (*)(char** arguments);

  // Define the object at namespace scope in a source of the program. `word` must live as long.
  OtherMain(std::string_view word, Function function)
      : word_(word), function_(function), next_(first_) {
    first_ = this;
  }

  // The function for `word`; nullptr if there is none.
  static Function Find(std::string_view word) {
    for (const OtherMain* one = first_; one != nullptr; one = one->next_) {
      if (one->word_ == word) return one->function_;
    }
    return nullptr;
  }

 private:
  static inline OtherMain* first_ = nullptr;

  const std::string_view word_;
  const Function function_;
  OtherMain* const next_;
};

}  // namespace eris::test

#endif  // ERIS_TESTS_SUPPORT_OTHER_MAIN_H_
