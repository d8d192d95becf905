#include "train/chat/template/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <string>

#include "train/chat/template/characters.h"
#include "train/chat/template/template_error.h"

namespace dikkat::jinja {
namespace {

using Kind = TemplateToken::Kind;

// Jinja's longest operators come first.
constexpr std::string_view kSymbols[] = {"//", "**", "==", "!=", "<=", ">=", "+", "-", "*", "/", "%", "~", "<",
                                         ">",  "=",  "|",  ".",  ",",  ":",  "(", ")", "[", "]", "{", "}", ";"};

constexpr std::string_view kBaseLetters = "xXoObB";  // the letters of 0x1F, 0o17 and 0b101

bool is_digit(char c) { return '0' <= c && c <= '9'; }
bool is_name_begin(char c) { return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || c == '_'; }

/// Returns the end of the white space that begins at byte `at`.
std::size_t skip_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_python_space(utf8::decode(text, static_cast<index>(at)).code_point)) {
    at = next_character(text, at);
  }
  return at;
}

/// Returns the text without white space at its end.
std::string_view strip_end(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_character(text, at);
    end = is_python_space(utf8::decode(text, static_cast<index>(at)).code_point) ? end : next;
    at = next;
  }
  return text.substr(0, end);
}

/// Returns the source with LF line ends and without the last one.
std::string normalized(std::string_view source) {
  std::string text;
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      text += '\n';
      i += i + 1 < source.size() && source[i + 1] == '\n' ? 1 : 0;
    } else {
      text += source[i];
    }
  }
  if (!text.empty() && text.back() == '\n') {
    text.pop_back();
  }
  return text;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<TemplateToken> tokens() {
    while (at_ < source_.size()) {
      const std::size_t tag = find_tag();
      const std::string_view begin = tag < source_.size() ? rest(tag).substr(0, 2) : "";
      add_text(tag, begin);
      if (begin == "{#") {
        skip_comment();
      } else if (begin == "{%") {
        read_statement();
      } else if (begin == "{{") {
        read_tag(Kind::print_begin, Kind::print_end, "}}");
      }
    }
    add(Kind::end, "");
    return std::move(tokens_);
  }

 private:
  std::string_view rest(std::size_t at) const { return std::string_view(source_).substr(at); }
  bool follows(std::string_view text) const { return rest(at_).starts_with(text); }

  void add(Kind kind, std::string text) { tokens_.push_back({kind, std::move(text), line_}); }

  /// Moves to byte `at` and counts the lines up to it.
  void move_to(std::size_t at) {
    line_ += static_cast<int>(
        std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_), source_.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
    at_ = at;
  }

  std::size_t find_tag() const {
    std::size_t at = at_;
    while ((at = source_.find('{', at)) != std::string::npos) {
      if (at + 1 < source_.size() && (source_[at + 1] == '{' || source_[at + 1] == '%' || source_[at + 1] == '#')) {
        return at;
      }
      ++at;
    }
    return source_.size();
  }

  /// Removes the white space before a tag, as the sign in the tag and lstrip_blocks demand.
  std::string_view before_tag(std::string_view text, std::string_view tag) const {
    const char sign = tag.size() > 2 ? tag[2] : ' ';
    if (sign == '-') {
      return strip_end(text);
    }
    if (sign == '+' || tag.starts_with("{{")) {
      return text;
    }
    const std::size_t line = text.rfind('\n') + 1;  // 0 if there is no line break
    const bool begins_line = line > 0 || line_begins_;
    return begins_line && skip_space(text, line) == text.size() ? text.substr(0, line) : text;
  }

  void add_text(std::size_t tag, std::string_view begin) {
    const std::string_view text = rest(at_).substr(0, tag - at_);
    const std::string_view kept = begin.empty() ? text : before_tag(text, rest(tag).substr(0, 3));
    if (!kept.empty()) {
      add(Kind::text, std::string(kept));
    }
    move_to(tag);
  }

  /// Moves past the end of a tag and the white space that belongs to it. `at` is the byte of its last two characters.
  void leave_tag(std::size_t at, char sign, bool trims) {
    std::size_t next = at + 2;
    if (sign == '-') {
      next = skip_space(source_, next);
    } else if (sign != '+' && trims && next < source_.size() && source_[next] == '\n') {
      ++next;
    }
    move_to(next);
    line_begins_ = next > 0 && source_[next - 1] == '\n';
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_ + 2);
    if (end == std::string::npos) {
      fail_template("line ", line_, ": has a comment {# without its end #}");
    }
    leave_tag(end, source_[end - 1], true);
  }

  void read_statement() {
    // {% raw %} is text up to {% endraw %}.
    std::size_t name = at_ + 2;
    name = skip_space(source_, name + (name < source_.size() && (source_[name] == '-' || source_[name] == '+') ? 1 : 0));
    if (rest(name).starts_with("raw")) {
      const std::size_t sign = skip_space(source_, name + 3);
      const std::size_t end = sign + (sign < source_.size() && source_[sign] == '-' ? 1 : 0);
      if (rest(end).starts_with("%}")) {
        return read_raw(end, source_[sign]);
      }
    }
    read_tag(Kind::statement_begin, Kind::statement_end, "%}");
  }

  void read_raw(std::size_t end_of_tag, char sign) {
    const int line = line_;
    leave_tag(end_of_tag, sign, false);  // the line break after this tag stays
    for (std::size_t tag = at_; (tag = source_.find("{%", tag)) != std::string::npos; ++tag) {
      std::size_t name = tag + 2;
      name = skip_space(source_, name + (name < source_.size() && (source_[name] == '-' || source_[name] == '+') ? 1 : 0));
      if (!rest(name).starts_with("endraw")) {
        continue;
      }
      const std::size_t closing = skip_space(source_, name + 6);
      const std::size_t end = closing + (closing < source_.size() && (source_[closing] == '-' || source_[closing] == '+') ? 1 : 0);
      if (rest(end).starts_with("%}")) {
        add_text(tag, "{%");
        return leave_tag(end, source_[closing], true);
      }
    }
    fail_template("line ", line, ": has {% raw %} without {% endraw %}");
  }

  void read_tag(Kind begin, Kind end, std::string_view closing) {
    const int line = line_;
    add(begin, "");
    move_to(at_ + 2);
    if (follows("-") || follows("+")) {
      move_to(at_ + 1);
    }
    std::string brackets;  // the ends of the open brackets
    for (;;) {
      move_to(skip_space(source_, at_));
      if (at_ >= source_.size()) {
        fail_template("line ", line, ": has a tag that does not end, expected ", closing);
      }
      const char sign = source_[at_];
      const std::size_t after_sign = at_ + (sign == '-' || (sign == '+' && closing == "%}") ? 1 : 0);
      if (brackets.empty() && (follows(closing) || rest(after_sign).starts_with(closing))) {
        add(end, "");
        return leave_tag(follows(closing) ? at_ : after_sign, sign, closing == "%}");
      }
      read_token(brackets);
    }
  }

  void read_token(std::string& brackets) {
    const char c = source_[at_];
    if (c == '"' || c == '\'') {
      return read_string(c);
    }
    if (is_digit(c)) {
      return read_number();
    }
    if (is_name_begin(c)) {
      std::size_t end = at_;
      while (end < source_.size() && (is_name_begin(source_[end]) || is_digit(source_[end]))) {
        ++end;
      }
      add(Kind::name, source_.substr(at_, end - at_));
      return move_to(end);
    }
    const auto* const symbol = std::find_if(std::begin(kSymbols), std::end(kSymbols), [&](std::string_view s) { return follows(s); });
    if (symbol == std::end(kSymbols)) {
      fail_template("line ", line_, ": has ", utf8::name_of(utf8::decode(source_, static_cast<index>(at_)).code_point), " in a tag");
    }
    if (*symbol == "(" || *symbol == "[" || *symbol == "{") {
      brackets += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (*symbol == ")" || *symbol == "]" || *symbol == "}") {
      if (brackets.empty() || brackets.back() != c) {
        fail_template("line ", line_, ": has '", c, "', expected ",
                      brackets.empty() ? "no closing bracket" : concat("'", brackets.back(), "'"));
      }
      brackets.pop_back();
    }
    add(Kind::symbol, std::string(*symbol));
    move_to(at_ + symbol->size());
  }

  void read_number() {
    std::string digits;
    std::size_t end = at_;
    const bool follows_dot = at_ > 0 && source_[at_ - 1] == '.';  // list.0.1 has two integers
    if (source_[at_] == '0' && at_ + 1 < source_.size() && kBaseLetters.find(source_[at_ + 1]) != std::string_view::npos) {
      return read_digits_of_base();
    }
    // Read the integer part, in which _ may separate digits.
    const auto take_digits = [&] {
      while (end < source_.size() &&
             (is_digit(source_[end]) || (source_[end] == '_' && end + 1 < source_.size() && is_digit(source_[end + 1])))) {
        digits += source_[end] == '_' ? "" : std::string(1, source_[end]);
        ++end;
      }
    };
    take_digits();
    // Read a fraction and an exponent, which make the number a float.
    bool is_real = false;
    if (!follows_dot && end + 1 < source_.size() && source_[end] == '.' && is_digit(source_[end + 1])) {
      is_real = true;
      digits += source_[end++];
      take_digits();
    }
    if (!follows_dot && end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      std::size_t exponent = end + 1;
      exponent += exponent < source_.size() && (source_[exponent] == '-' || source_[exponent] == '+') ? 1 : 0;
      if (exponent < source_.size() && is_digit(source_[exponent])) {
        is_real = true;
        digits += source_.substr(end, exponent - end);
        end = exponent;
        take_digits();
      }
    }
    // Refuse numbers that Python refuses.
    if (end < source_.size() && is_name_begin(source_[end])) {
      fail_template("line ", line_, ": has the number ", digits, " followed by '", source_[end], "', expected a number");
    }
    if (!is_real && digits.front() == '0') {
      if (digits.find_first_not_of('0') != std::string::npos) {
        fail_template("line ", line_, ": has the integer ", digits, ", expected one without zeros at its beginning");
      }
      digits = "0";
    }
    add(is_real ? Kind::real : Kind::integer, digits);
    move_to(end);
  }

  /// Reads 0x1F, 0o17 or 0b101.
  void read_digits_of_base() {
    constexpr int kBases[] = {16, 16, 8, 8, 2, 2};
    const int base = kBases[kBaseLetters.find(source_[at_ + 1])];
    std::string digits;
    std::size_t end = at_ + 2;
    for (; end < source_.size() && (is_name_begin(source_[end]) || is_digit(source_[end])); ++end) {
      const bool separates = source_[end] == '_' && end + 1 < source_.size() && source_[end + 1] != '_';
      digits += separates ? "" : source_.substr(end, 1);
    }
    std::int64_t number = 0;
    const char* const last = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), last, number, base);
    if (stop != last || digits.empty() || error != std::errc()) {
      fail_template("line ", line_, ": has the number ", source_.substr(at_, end - at_),
                    ", expected an integer of 64 bits: 17, 0x1F, 0o17 or 0b101");
    }
    add(Kind::integer, std::to_string(number));
    move_to(end);
  }

  void read_string(char quote) {
    std::string text;
    std::size_t at = at_ + 1;
    for (; at < source_.size() && source_[at] != quote; ++at) {
      if (source_[at] != '\\' || at + 1 == source_.size()) {
        text += source_[at];
      } else {
        at = read_escape(at + 1, text);
      }
    }
    if (at >= source_.size()) {
      fail_template("line ", line_, ": has a string that does not end, expected ", quote);
    }
    add(Kind::string, std::move(text));
    move_to(at + 1);
  }

  /// Appends the meaning of the escape at byte `at`, as in Python, and returns its last byte.
  std::size_t read_escape(std::size_t at, std::string& text) const {
    constexpr std::string_view kLetters = "abfnrtv\\'\"", kBytes = "\a\b\f\n\r\t\v\\'\"";
    const char c = source_[at];
    // Read an escape of one letter.
    if (const std::size_t letter = kLetters.find(c); letter != std::string_view::npos) {
      text += kBytes[letter];
      return at;
    }
    if (c == '\n') {
      return at;  // continues the line
    }
    // Count the digits of a code: hexadecimal after x, u and U, otherwise octal.
    std::size_t first = at + 1, digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    int base = 16;
    if ('0' <= c && c <= '7') {
      first = at;
      base = 8;
      for (digits = 1; digits < 3 && at + digits < source_.size() && '0' <= source_[at + digits] && source_[at + digits] <= '7';) {
        ++digits;
      }
    }
    if (c == 'N') {
      fail_template("line ", line_, ": has the escape \\N in a string, which is not supported; expected the character itself, or \\u");
    }
    if (digits == 0) {
      text += '\\';  // Python keeps an unknown escape
      text += c;
      return at;
    }
    // Read the code of the character.
    std::uint32_t code = 0;
    const char* const begin = source_.data() + first;
    const char* const end = source_.data() + std::min(first + digits, source_.size());
    if (const auto [stop, error] = std::from_chars(begin, end, code, base);
        error != std::errc() || stop != begin + digits || !utf8::is_character(code)) {
      fail_template("line ", line_, ": has the escape \\", c, " in a string, expected ", digits, " digits of a character behind it");
    }
    utf8::append(text, code);
    return first + digits - 1;
  }

  std::string source_;
  std::size_t at_ = 0;
  int line_ = 1;
  bool line_begins_ = true;  // whether the text before at_ ends with a line break, or is empty
  std::vector<TemplateToken> tokens_;
};

}  // namespace

std::vector<TemplateToken> template_tokens(std::string_view source) { return Lexer(normalized(source)).tokens(); }

}  // namespace dikkat::jinja
