#include "train/cli/command.h"

#include <charconv>
#include <cstdint>
#include <memory>

#include <CLI/CLI.hpp>

#include "autograd/base/error.h"
#include "autograd/base/index.h"

namespace dikkat {
namespace {

const char* kind_of(double) { return "a number"; }
template <std::integral N>
const char* kind_of(N) {
  return "an integer";
}

/// Reads a number. CLI11's own conversion turns -1 into a large unsigned number, and a number that is too large into the largest one.
template <class N>
N read_number(const std::string& option, const std::string& text, N low, N high) {
  N value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  require_input(whole && value >= low && value <= high, option, " is ", text.empty() ? "empty" : text, ", expected ", kind_of(low),
                " from ", low, " to ", high);
  return value;
}

std::string refuse_empty(const std::string& text) { return text.empty() ? "the value is empty" : ""; }

}  // namespace

Option& Option::required() {
  option_->required();
  return *this;
}

Option& Option::note_in(std::vector<std::string>& given) {
  option_->each([&given, name = option_->get_name()](const std::string&) { given.push_back(name); });
  return *this;
}

Option Command::text(const char* name, std::string& value, const char* type, const std::string& help) {
  CLI::Option* option = app_->add_option(name, value, help)->type_name(type)->check(refuse_empty, "");
  if (!value.empty()) {
    option->default_str(value);
  }
  return Option(option);
}

Option Command::texts(const char* name, std::vector<std::string>& values, const char* type, const std::string& help) {
  return Option(app_->add_option(name, values, help)->type_name(type)->check(refuse_empty, ""));
}

Option Command::list(const char* name, std::vector<std::string>& values, const char* type, const std::string& help) {
  const auto read = [&values](const std::string& text) { values = CLI::detail::split(text, ','); };
  return Option(app_->add_option_function<std::string>(name, read, help)->type_name(type)->check(refuse_empty, ""));
}

Option Command::repeated(const char* name, std::vector<std::string>& values, const char* type, const std::string& help) {
  return Option(app_->add_option(name, values, help)->type_name(type)->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll));
}

Option Command::any_text(const char* name, std::optional<std::string>& value, const char* type, const std::string& help) {
  return Option(app_->add_option_function<std::string>(name, [&value](const std::string& text) { value = text; }, help)->type_name(type));
}

template <class N>
Option Command::number(const char* name, N& value, N low, N high, const std::string& help) {
  const auto read = [=, &value, option = std::string(name)](const std::string& text) { value = read_number(option, text, low, high); };
  CLI::Option* option = app_->add_option_function<std::string>(name, read, help)->type_name(std::integral<N> ? "N" : "X");
  if (value >= low && value <= high) {
    option->default_str(concat(value));
  }
  return Option(option);
}
template Option Command::number(const char*, int&, int, int, const std::string&);
template Option Command::number(const char*, index&, index, index, const std::string&);
template Option Command::number(const char*, std::uint64_t&, std::uint64_t, std::uint64_t, const std::string&);
template Option Command::number(const char*, double&, double, double, const std::string&);

Option Command::flag(const char* names, bool& value, const std::string& help) { return Option(app_->add_flag(names, value, help)); }

Command Commands::add(const char* name, const char* what, const char* examples, std::function<int()> action) {
  CLI::App* command = app_->add_subcommand(name, what);
  command->group("Commands");
  command->footer(concat("Examples:\n", examples));
  command->callback([chosen = chosen_, action = std::move(action)] { *chosen = action; });
  return Command(*command);
}

Commands Commands::group(const char* name, const char* what) {
  CLI::App* group = app_->add_subcommand(name, what);
  group->group("Commands");
  group->require_subcommand(1);
  return {*group, *chosen_};
}

Commands Commands::group(const char* name, const char* what, std::function<int()> action) {
  CLI::App* group = app_->add_subcommand(name, what);
  group->group("Commands");
  group->require_subcommand(0, 1);
  group->callback([group, chosen = chosen_, action = std::move(action)] {
    if (group->get_subcommands().empty()) {
      *chosen = action;
    }
  });
  return {*group, *chosen_};
}

std::function<CommandDescription()> Commands::describer() const {
  return [app = app_] { return describe(*app); };
}

}  // namespace dikkat
