// The command line of a program: its flags, positional arguments and verbs, each with a description
// for --help and the variable that it sets. Only flags.cc includes the library behind it, because
// its headers take longer to compile than a whole verb.
//
//   Flags program("ERIS: ...", "eris");
//   program.Add("--server", server, "host:port").Env("ERIS_SERVER").ShowDefault();
//   Flags& verb = program.AddVerb("drop", "Remove a data object");
//   verb.Add("object", object, "Name").Required().Check(CheckName);
//   verb.SetRun([&] { return Drop(object); });
//   if (const std::optional<int> code = program.Parse(argc, argv)) return *code;
//   return program.Run();
//
// A name without dashes is a positional argument. There may be several names:
// "workload,--workload". In "--create,!--no-create" the second name sets the flag to false. One
// thread.
#ifndef ERIS_CLIENTS_CLI_TEXT_FLAGS_H_
#define ERIS_CLIENTS_CLI_TEXT_FLAGS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/status/status.h"

namespace CLI {
class Option;
}  // namespace CLI

namespace eris::cli {

// The exit code for an invalid command line.
constexpr int kExitUsage = 2;

// A condition on the text of an argument.
struct Checker {
  // The problem of a text, or an empty string.
  using Function = std::function<std::string(const std::string&)>;

  Checker(std::string (*function)(const std::string&)) : problem(function) {}
  Checker(Function function, std::string text)
      : problem(std::move(function)), description(std::move(text)) {}

  Function problem;
  std::string description;  // for --help
};

// One of these texts.
Checker OneOf(std::vector<std::string> texts);

Checker WithinReals(double min, double max);
Checker WithinIntegers(uint64_t min, uint64_t max);
// A number from `min` to `max`; if Number is unsigned, only digits.
template <class Number>
Checker Within(Number min, Number max) {
  if constexpr (std::is_floating_point_v<Number>) return WithinReals(min, max);
  static_assert(std::is_floating_point_v<Number> || std::is_unsigned_v<Number>);
  if constexpr (std::is_unsigned_v<Number>) return WithinIntegers(min, max);
}

// One flag or argument that was added; the setters return the same one. Exists as long as its
// Flags.
class Flag {
 public:
  const Flag& Required() const;
  const Flag& Check(const Checker& checker) const;
  // Default from this environment variable.
  const Flag& Env(const std::string& variable) const;
  // --help shows the value that the variable had when the flag was added.
  const Flag& ShowDefault() const;
  // The heading under which --help shows it.
  const Flag& Group(const std::string& heading) const;
  // The word that --help shows for its value, instead of e.g. TEXT.
  const Flag& Type(const std::string& name) const;
  // A text that is "true" or "false"; without it, it is "true".
  const Flag& OptionalValue() const;
  const Flag& Excludes(const Flag& other) const;
  const Flag& Needs(const Flag& other) const;

 private:
  friend class Flags;
  Flag(CLI::Option* option, std::string default_text)
      : option_(option), default_text_(std::move(default_text)) {}

  CLI::Option* option_;
  std::string default_text_;
};

// The flags of a program, or of one of its verbs.
class Flags {
 public:
  explicit Flags(const std::string& description, const std::string& name = "");
  ~Flags();
  Flags(const Flags&) = delete;
  Flags& operator=(const Flags&) = delete;

  // Parsing writes to `value`, which must outlive this and must not move; it is unchanged if the
  // flag is not given. Unsigned numbers are only digits. A bool is a flag without a value: it sets
  // true, and its name with "!" sets false; an optional<bool> takes "true" or "false".
  Flag Add(const std::string& names, std::string& value, const std::string& description);
  Flag Add(const std::string& names, uint32_t& value, const std::string& description);
  Flag Add(const std::string& names, uint64_t& value, const std::string& description);
  Flag Add(const std::string& names, double& value, const std::string& description);
  Flag Add(const std::string& names, bool& value, const std::string& description);
  Flag Add(const std::string& names, std::optional<std::string>& value,
           const std::string& description);
  Flag Add(const std::string& names, std::optional<uint32_t>& value,
           const std::string& description);
  Flag Add(const std::string& names, std::optional<uint64_t>& value,
           const std::string& description);
  Flag Add(const std::string& names, std::optional<double>& value, const std::string& description);
  Flag Add(const std::string& names, std::optional<bool>& value, const std::string& description);
  // One or more texts.
  Flag Add(const std::string& names, std::vector<std::string>& value,
           const std::string& description);
  // A flag without a value; unset if neither of its names is given.
  Flag AddSwitch(const std::string& names, std::optional<bool>& value,
                 const std::string& description);

  // A verb, with its own flags. Flags of the program may follow it.
  Flags& AddVerb(const std::string& name, const std::string& description);
  // All that follows the verb is for another program, also --help: Rest has it, after Parse.
  void PassOn();
  std::vector<std::string> Rest() const;
  // The user must give one verb. `PROGRAM help VERB` then means `PROGRAM VERB --help`.
  void RequireVerb();
  // --version prints this text.
  void SetVersion(const std::string& text);
  // After the list of flags in --help.
  void SetFooter(const std::string& text);
  // The action of the verb: returns the program's exit code.
  void SetRun(std::function<int()> run);

  // For the program, not for a verb: reads and checks the command line and sets the variables.
  // Returns an exit code if the program must end now: the user asked for help, which is printed, or
  // the usage is wrong, and stderr names the mistake.
  std::optional<int> Parse(int argc, const char* const* argv);
  // The same for tests; prints nothing. Errors: InvalidArgument, with the text for stderr (for an
  // unknown verb, with the existing ones).
  absl::Status Parse(const std::vector<std::string>& arguments);
  // After Parse: runs the verb that was given.
  int Run() const;

  // After Parse: whether the command line has the flag of that name.
  bool Given(const std::string& name) const;
  // A flag's given or default value, in the order in which flags were added.
  struct Value {
    std::string name;   // without dashes
    std::string group;  // its heading
    std::string text;
    bool given = false;
  };
  std::vector<Value> Values() const;

 private:
  struct Command;
  explicit Flags(std::unique_ptr<Command> command);
  // Parses; exceptions of the library pass through.
  void ParseOrThrow(std::vector<std::string> arguments);

  const std::unique_ptr<Command> command_;
};

}  // namespace eris::cli

#endif  // ERIS_CLIENTS_CLI_TEXT_FLAGS_H_
