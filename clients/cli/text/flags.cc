#include "clients/cli/text/flags.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

#include <CLI/CLI.hpp>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "text/nearest.h"

namespace eris::cli {
namespace {

// Parse texts as values; false: invalid.
bool Read(const std::string& text, std::string& value) {
  value = text;
  return true;
}
template <class Number>
requires std::is_unsigned_v<Number>
bool Read(const std::string& text, Number& value) {
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && rest == end;
}
bool Read(const std::string& text, double& value) { return absl::SimpleAtod(text, &value); }
bool Read(const std::string& text, bool& value) { return absl::SimpleAtob(text, &value); }
template <class T>
bool Read(const std::string& text, std::optional<T>& value) {
  T read{};
  if (!Read(text, read)) return false;
  value = std::move(read);
  return true;
}

template <class T>
std::string TextOf(const T& value) {
  std::ostringstream text;
  text << value;
  return text.str();
}
template <class T>
std::string TextOf(const std::optional<T>&) {
  return "";
}

// The word that --help shows for a value.
const char* TypeOf(const std::string&) { return "TEXT"; }
const char* TypeOf(double) { return "FLOAT"; }
const char* TypeOf(bool) { return "BOOLEAN"; }
template <class Number>
requires std::is_unsigned_v<Number>
const char* TypeOf(Number) { return "UINT"; }
template <class T>
const char* TypeOf(const std::optional<T>&) {
  return TypeOf(T{});
}

template <class T>
CLI::Option* AddValue(CLI::App& app, const std::string& names, T& value,
                      const std::string& description) {
  return app
      .add_option(
          names, [&value](const CLI::results_t& texts) { return Read(texts.at(0), value); },
          description)
      ->type_name(TypeOf(value));
}

std::vector<std::string> VerbsOf(CLI::App& app) {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](CLI::App*) { return true; })) {
    verbs.push_back(verb->get_name());
  }
  return verbs;
}

bool TakesPositionals(const CLI::App& app) {
  const std::vector<const CLI::Option*> options = app.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

[[noreturn]] void ThrowUsage(const std::string& what, const std::vector<std::string>& verbs) {
  throw CLI::ParseError(absl::StrCat(what, "\nThe verbs are: ", absl::StrJoin(verbs, ", ")),
                        CLI::ExitCodes::RequiredError);
}

// Throws if a verb is missing or unknown: the library itself only reports that one is required.
void CheckVerbs(CLI::App& program, const std::vector<std::string>& arguments) {
  CLI::App* app = &program;
  std::vector<std::string> verbs = VerbsOf(*app);
  std::string before;  // the verbs so far
  for (auto argument = arguments.begin(); argument != arguments.end(); ++argument) {
    if (verbs.empty() || *argument == "--") return;
    if (absl::StartsWith(*argument, "-")) {
      if (*argument == "--help" || *argument == "-h" || *argument == "--version") return;
      const CLI::Option* option = app->get_option_no_throw(*argument);
      if (option == nullptr) option = program.get_option_no_throw(*argument);
      const bool value_follows = option != nullptr && option->get_items_expected_min() > 0;
      if (value_follows && std::next(argument) != arguments.end()) ++argument;
      continue;
    }
    if (std::find(verbs.begin(), verbs.end(), *argument) == verbs.end()) {
      // `bench compare a b` has a verb, `bench load` an argument: the library checks those.
      if (TakesPositionals(*app)) return;
      const std::string nearest = text::NearestOf(verbs, *argument);
      const std::string meant =
          nearest.empty() ? "" : absl::StrCat("; did you mean '", before, nearest, "'?");
      ThrowUsage(absl::StrCat("no verb '", before, *argument, "'", meant), verbs);
    }
    app = app->get_subcommand(*argument);
    absl::StrAppend(&before, *argument, " ");
    verbs = VerbsOf(*app);
  }
  if (app->get_require_subcommand_min() == 0) return;
  ThrowUsage(
      before.empty() ? "a verb is missing" : absl::StrCat("a verb is missing behind ", before),
      verbs);
}

// The program, the verb that the arguments name, and the verb's own verb.
std::vector<CLI::App*> AppsOf(CLI::App& program, const std::vector<std::string>& arguments) {
  std::vector<CLI::App*> apps{&program};
  for (const std::string& argument : arguments) {
    const auto named = apps.back()->get_subcommands(
        [&](const CLI::App* verb) { return verb->get_name() == argument; });
    if (!named.empty()) apps.push_back(named[0]);
  }
  return apps;
}

// The part of "--name=value" before the sign; `value` is the part after it, if there is a sign.
std::string NameOf(const std::string& argument, std::optional<std::string>& value) {
  const size_t sign = argument.find('=');
  if (sign != argument.npos) value = argument.substr(sign + 1);
  return argument.substr(0, sign);
}

// For arguments with an unknown flag: the message for the first one.
std::string MeantFlag(CLI::App& program, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::App* app : AppsOf(program, arguments)) {
    for (const CLI::Option* option : app->get_options()) {
      for (const std::string& name : option->get_lnames())
        names.push_back(absl::StrCat("--", name));
      for (const std::string& name : option->get_fnames())
        names.push_back(absl::StrCat("--", name));
    }
  }
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    std::optional<std::string> value;
    const std::string name = NameOf(argument, value);
    if (!absl::StartsWith(name, "--")) continue;
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::string nearest = text::NearestOf(names, name);
    return nearest.empty() ? "" : absl::StrCat("; did you mean '", nearest, "'?");
  }
  return "";
}

// For arguments in which a switch has an invalid value.
std::string BadSwitch(CLI::App& program, const std::vector<std::string>& arguments) {
  const std::vector<CLI::App*> apps = AppsOf(program, arguments);
  for (const std::string& argument : arguments) {
    std::optional<std::string> value;
    const std::string name = NameOf(argument, value);
    bool read = false;
    if (!absl::StartsWith(name, "--") || !value || Read(*value, read)) continue;
    for (const CLI::App* app : apps) {
      const CLI::Option* const option = app->get_option_no_throw(name);
      if (option == nullptr || option->get_items_expected_max() > 0) continue;
      return absl::StrCat(name, " is '", *value, "'");
    }
  }
  return "a switch has a value that is";
}

}  // namespace

Checker OneOf(std::vector<std::string> texts) {
  const std::string all = absl::StrCat("{", absl::StrJoin(texts, ","), "}");
  return {[texts = std::move(texts), all](const std::string& text) {
            for (const std::string& one : texts) {
              if (text == one) return std::string();
            }
            return absl::StrCat(text, " not in ", all);
          },
          all};
}

Checker WithinReals(double min, double max) {
  const std::string limits = absl::StrCat("[", min, " - ", max, "]");
  return {[min, max, limits](const std::string& text) -> std::string {
            double number = 0;
            if (Read(text, number) && number >= min && number <= max) return "";
            return absl::StrCat("'", text, "' is no number in ", limits);
          },
          absl::StrCat("in ", limits)};
}

Checker WithinIntegers(uint64_t min, uint64_t max) {
  const std::string limits = absl::StrCat("[", min, " - ", max, "]");
  return {[min, max, limits](const std::string& text) -> std::string {
            uint64_t number = 0;
            const bool octal = text.size() > 1 && text[0] == '0';
            if (!octal && Read(text, number) && number >= min && number <= max) return "";
            return absl::StrCat("'", text, "' is no number in ", limits);
          },
          absl::StrCat("in ", limits)};
}

const Flag& Flag::Required() const {
  option_->required();
  return *this;
}
const Flag& Flag::Check(const Checker& checker) const {
  option_->check(checker.problem, checker.description);
  return *this;
}
const Flag& Flag::Env(const std::string& variable) const {
  option_->envname(variable);
  return *this;
}
const Flag& Flag::ShowDefault() const {
  option_->default_str(default_text_);
  return *this;
}
const Flag& Flag::Group(const std::string& heading) const {
  option_->group(heading);
  return *this;
}
const Flag& Flag::Type(const std::string& name) const {
  option_->type_name(name);
  return *this;
}
const Flag& Flag::OptionalValue() const {
  // --help shows "=true" behind the type.
  option_->expected(0, 1)->default_str("true")->type_name("[true|false]; alone");
  return *this;
}
const Flag& Flag::Excludes(const Flag& other) const {
  option_->excludes(other.option_);
  return *this;
}
const Flag& Flag::Needs(const Flag& other) const {
  option_->needs(other.option_);
  return *this;
}

// The program's own app, or a verb's, which the program's app owns.
struct Flags::Command {
  std::unique_ptr<CLI::App> owned;
  CLI::App& app;
  Command* program;  // the program's command
  std::vector<std::unique_ptr<Flags>> verbs;
  std::function<int()> run;  // for the program: the function of the given verb
  bool passes_on = false;

  void MarkRest(std::vector<std::string>& arguments) const;
};

Flags::Flags(const std::string& description, const std::string& name)
    : command_([&] {
        auto app = std::make_unique<CLI::App>(description, name);
        app->fallthrough();
        CLI::App& borrowed = *app;
        auto command =
            std::unique_ptr<Command>(new Command{std::move(app), borrowed, {}, {}, {}, false});
        command->program = command.get();
        return command;
      }()) {}
Flags::Flags(std::unique_ptr<Command> command) : command_(std::move(command)) {}
Flags::~Flags() = default;

Flag Flags::Add(const std::string& names, std::string& value, const std::string& description) {
  return {AddValue(command_->app, names, value, description), value};
}
Flag Flags::Add(const std::string& names, uint32_t& value, const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, uint64_t& value, const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, double& value, const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, std::optional<std::string>& value,
                const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, std::optional<uint32_t>& value,
                const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, std::optional<uint64_t>& value,
                const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, std::optional<double>& value,
                const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, std::optional<bool>& value,
                const std::string& description) {
  return {AddValue(command_->app, names, value, description), TextOf(value)};
}
Flag Flags::Add(const std::string& names, std::vector<std::string>& value,
                const std::string& description) {
  CLI::Option* option = command_->app.add_option(
      names,
      [&value](const CLI::results_t& texts) {
        value = texts;
        return true;
      },
      description);
  option->type_name("TEXT")->expected(CLI::detail::expected_max_vector_size);
  return {option, ""};
}
Flag Flags::Add(const std::string& names, bool& value, const std::string& description) {
  CLI::Option* option = command_->app.add_flag_function(
      names, [&value](int64_t count) { value = count > 0; }, description);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return {option, ""};
}
Flag Flags::AddSwitch(const std::string& names, std::optional<bool>& value,
                      const std::string& description) {
  CLI::Option* option = command_->app.add_flag_function(
      names, [&value](int64_t count) { value = count > 0; }, description);
  option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return {option, ""};
}

Flags& Flags::AddVerb(const std::string& name, const std::string& description) {
  CLI::App& app = *command_->app.add_subcommand(name, description);
  auto verb = std::unique_ptr<Command>(new Command{nullptr, app, command_->program, {}, {}, false});
  command_->verbs.push_back(std::unique_ptr<Flags>(new Flags(std::move(verb))));
  return *command_->verbs.back();
}
void Flags::PassOn() {
  command_->passes_on = true;
  command_->app.prefix_command();
  command_->app.fallthrough(false);
  command_->app.set_help_flag();
}
// Behind a verb that passes on: the library leaves all that follows a word as it is, but would take
// a first "--" for itself.
constexpr char kFirstWord[] = "words";
std::vector<std::string> Flags::Rest() const {
  std::vector<std::string> rest = command_->app.remaining();
  if (!rest.empty() && rest[0] == kFirstWord) rest.erase(rest.begin());
  return rest;
}
void Flags::RequireVerb() { command_->app.require_subcommand(1); }
void Flags::SetVersion(const std::string& text) {
  command_->app.set_version_flag("--version", text, "Print the version and exit");
}
void Flags::SetFooter(const std::string& text) { command_->app.footer(text); }
void Flags::SetRun(std::function<int()> run) {
  // For a verb with verbs of its own: only if none of those was given.
  command_->app.callback([this, run = std::move(run)] {
    if (command_->app.get_subcommands().empty()) command_->program->run = run;
  });
}

// If the first verb passes on, puts kFirstWord behind it.
void Flags::Command::MarkRest(std::vector<std::string>& arguments) const {
  for (auto at = arguments.begin(); at != arguments.end(); ++at) {
    // Behind --output, but not behind --output=json.
    const bool is_value = at != arguments.begin() && absl::StartsWith(*std::prev(at), "-") &&
                          !absl::StrContains(*std::prev(at), '=');
    const auto is_verb = [&](const std::unique_ptr<Flags>& verb) {
      return verb->command_->app.get_name() == *at;
    };
    const auto verb = std::find_if(verbs.begin(), verbs.end(), is_verb);
    if (verb == verbs.end() || is_value) continue;
    if ((*verb)->command_->passes_on) arguments.insert(std::next(at), kFirstWord);
    return;
  }
}

void Flags::ParseOrThrow(std::vector<std::string> arguments) {
  CLI::App& app = command_->app;
  if (app.get_require_subcommand_min() > 0) {
    if (!arguments.empty() && arguments[0] == "help") {
      arguments.erase(arguments.begin());
      arguments.push_back("--help");
    }
    CheckVerbs(app, arguments);
  }
  command_->MarkRest(arguments);
  // as the library requires
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ExtrasError& error) {
    throw CLI::ParseError(absl::StrCat(error.what(), MeantFlag(app, arguments)),
                          CLI::ExitCodes::ExtrasError);
    // "--dry=perhaps": the library does not throw its own error type here
  } catch (const std::logic_error&) {
    throw CLI::ParseError(absl::StrCat(BadSwitch(app, arguments), ", neither true nor false"),
                          CLI::ExitCodes::ConversionError);
  }
}

std::optional<int> Flags::Parse(int argc, const char* const* argv) {
  try {
    ParseOrThrow({argv + std::min(argc, 1), argv + argc});
  } catch (const CLI::ParseError& error) {
    // Prints help or the error; help ends with 0.
    return command_->app.exit(error) == 0 ? 0 : kExitUsage;
  }
  return std::nullopt;
}
absl::Status Flags::Parse(const std::vector<std::string>& arguments) {
  try {
    ParseOrThrow(arguments);
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(error.what());
  }
  return absl::OkStatus();
}
int Flags::Run() const { return command_->run(); }

bool Flags::Given(const std::string& name) const {
  return command_->app.get_option(name)->count() > 0;
}
std::vector<Flags::Value> Flags::Values() const {
  std::vector<Value> values;
  const CLI::App& app = command_->app;
  for (const CLI::Option* option : app.get_options()) {
    Value value{.name = option->get_single_name(),
                .group = option->get_group(),
                .text = option->get_default_str(),
                .given = option->count() > 0};
    if (value.name == "help") continue;
    if (value.given) value.text = absl::StrJoin(option->results(), ",");
    if (value.given || !value.text.empty()) values.push_back(std::move(value));
  }
  return values;
}

}  // namespace eris::cli
