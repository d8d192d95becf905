#include "train/config/syntax.h"

#include <algorithm>
#include <cctype>

#include "autograd/base/error.h"
#include "train/config/value.h"

namespace dikkat::schema {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view without_space(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? "" : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

std::string_view line_of(std::string_view text, std::size_t number) {
  for (; number > 1; --number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return "";
    }
    text.remove_prefix(end + 1);
  }
  return without_space(text.substr(0, text.find('\n')));
}

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

/// Returns advice on the right side of "key = value".
std::string_view advice_on_value(std::string_view value) {
  if (value.empty()) {
    return "there is no value after the =";
  }
  const std::string_view word = value.substr(0, value.find_first_of(" \t#,"));
  if (word == "True" || word == "False" || word == "TRUE" || word == "FALSE") {
    return "TOML writes true and false in lower case";
  }
  if (word == "None" || word == "null" || word == "nil") {
    return "leave out the key to get its default";
  }
  if (word.starts_with('.') || word.starts_with("-.") || word.ends_with('.')) {
    return "a number has digits on both sides of its point, as in 0.5 and 5.0";
  }
  const char first = value.front();
  if (is_letter(first) || first == '/' || first == '~') {
    return "a string needs quotes";
  }
  if (is_digit(first) && value.size() > 1 && contains(word, "/")) {
    return "a string needs quotes";
  }
  return "";
}

std::string_view advice(std::string_view text, std::string_view line, std::string_view description) {
  if (contains(description, "utf-8")) {
    return "a configuration is a text file in UTF-8";
  }
  if (contains(description, "could not be interpreted") || contains(description, "not representable")) {
    return "the number is too large";
  }
  if (contains(description, "leading zeroes")) {
    return "write the number without leading zeros";
  }
  if (without_space(text).starts_with('{')) {
    return "this looks like JSON; a configuration is TOML, with lines such as n_layer = 4 under [model]";
  }
  const std::size_t equals = line.find('=');
  if (equals == std::string_view::npos) {
    return line.starts_with('[') || !contains(line, ":") ? "" : "TOML writes key = value";
  }
  if (contains(description, "string")) {
    return contains(description, "end-of-file") || contains(description, "control characters") ? "a quote is not closed" : "";
  }
  return advice_on_value(without_space(line.substr(equals + 1)));
}

/// Returns the description without its preamble, which names the parser's state.
std::string_view gist(std::string_view description) {
  constexpr std::string_view kPreamble = "Error while parsing ";
  const std::size_t colon = description.find(": ");
  return description.starts_with(kPreamble) && colon != std::string_view::npos ? description.substr(colon + 2) : description;
}

/// Returns the part in quotes of "cannot redefine existing integer 'n_layer'".
std::string_view redefined_name(std::string_view description) {
  const std::size_t begin = description.find('\'');
  const std::size_t end = description.rfind('\'');
  return begin < end ? description.substr(begin + 1, end - begin - 1) : "";
}

}  // namespace

std::string syntax_problem(std::string_view text, std::size_t line_number, std::string_view description) {
  const std::string_view line = line_of(text, line_number);
  if (contains(description, "cannot redefine existing")) {
    const bool is_section = line.starts_with('[');
    const std::string name = is_section ? concat('[', redefined_name(description), ']') : std::string(redefined_name(description));
    return concat(is_section ? "section " : "", name, " is given a second time; keep one of the two",
                  is_section ? " and put all its keys there" : "");
  }
  const std::string_view tip = advice(text, line, description);
  std::string problem = concat("this is not TOML: ", gist(description), tip.empty() ? "" : "; ", tip);
  if (!line.empty()) {
    problem += concat(" (the line is ", in_quotes(line), ")");
  }
  // The parser may quote any byte of the text, so control characters are replaced.
  std::ranges::replace_if(problem, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return problem;
}

bool nests_too_deep(std::string_view text) {
  constexpr int kMostDots = 1000;
  int dots = 0;
  for (std::size_t i = 0; i < text.size() && dots <= kMostDots; ++i) {
    const char c = text[i];
    if (c == '.') {
      ++dots;
    } else if (c == '#') {
      i = std::min(text.find('\n', i), text.size());
    } else if (c == '"' || c == '\'') {
      const std::string quote(text.substr(i, 3) == std::string(3, c) ? 3 : 1, c);
      const bool is_long = quote.size() == 3;
      for (i += quote.size(); i < text.size() && text.substr(i, quote.size()) != quote && (is_long || text[i] != '\n'); ++i) {
        i += c == '"' && text[i] == '\\' ? 1U : 0U;
      }
      i += quote.size() - 1;
    }
  }
  return dots > kMostDots;
}

}  // namespace dikkat::schema
