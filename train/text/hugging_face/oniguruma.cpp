#include <algorithm>
#include <iterator>
#include <optional>
#include <vector>

#include "autograd/base/error.h"
#include "train/text/hugging_face/text_pattern.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

// Sets of characters, as they are written within brackets. PCRE2's \s includes U+180E, which is not White_Space any more; its \w lacks
// marks; its \h and \v are sets of spaces.
constexpr std::string_view kSpaces = R"(\x09-\x0D\x85\p{Z})";
constexpr std::string_view kWord = R"(\p{L}\p{M}\p{Nd}\p{Pc})";
constexpr std::string_view kHexDigit = "0-9a-fA-F";

/// Translates one expression from left to right.
class Translator {
 public:
  explicit Translator(std::string_view in) : in_(in) {}

  std::string translate() {
    while (at_ < in_.size()) {
      step();
    }
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < in_.size() ? in_[at_ + ahead] : '\0'; }
  bool takes(std::string_view text) {
    const bool is_next = in_.substr(at_).starts_with(text);
    at_ += is_next ? text.size() : 0;
    return is_next;
  }
  [[noreturn]] void refuse(const std::string& part, const char* why = "which this program does not translate") const {
    fail_input("it has ", part, ", ", why);
  }

  /// Begins an item that a quantifier may follow.
  void begin_item() { item_ = out_.size(); }

  void step() {
    const char c = peek();
    switch (c) {
      case '\\':
        begin_item();
        escape(false);
        break;
      case '[':
        begin_item();
        bracket();
        break;
      case '(': group(); break;
      case ')':
        require_input(!groups_.empty(), "it closes a group that it does not open");
        item_ = groups_.back();
        groups_.pop_back();
        out_ += c;
        ++at_;
        break;
      case '{': interval(); break;
      case '|':
        item_.reset();
        out_ += c;
        ++at_;
        break;
      case '*':
      case '+':
      case '?':
        out_ += c;
        ++at_;
        break;
      default: {
        begin_item();
        const auto bytes = static_cast<std::size_t>(utf8::decode(in_, static_cast<index>(at_)).bytes);
        out_ += in_.substr(at_, bytes);
        at_ += bytes;
      }
    }
  }

  /// Translates {n}, {n,}, {n,m} or {,m} after an item. In Oniguruma's syntax, {n,m}+ repeats the repeated item, and is not possessive.
  void interval() {
    std::size_t end = at_ + 1;
    std::string first, second;
    bool has_comma = false;
    for (; end < in_.size() && (('0' <= in_[end] && in_[end] <= '9') || (in_[end] == ',' && !has_comma)); ++end) {
      has_comma = has_comma || in_[end] == ',';
      if (in_[end] != ',') {
        (has_comma ? second : first) += in_[end];
      }
    }
    const bool is_interval = end < in_.size() && in_[end] == '}' && !(first.empty() && second.empty()) && item_.has_value();
    if (!is_interval) {
      begin_item();
      out_ += "\\{";
      ++at_;
      return;
    }
    at_ = end + 1;
    out_ += '{' + (first.empty() ? "0" : first) + (has_comma ? "," : "") + second + '}';
    if (peek() == '+') {
      out_.insert(*item_, "(?:");
      out_ += ')';
    } else if (peek() == '?' && !has_comma) {
      refuse("{n}?");
    }
  }

  void group() {
    const std::size_t begin = out_.size();
    if (peek(1) == '*') {
      refuse("(*");
    }
    // Copy a plain group, and leave out a comment.
    if (in_.substr(at_, 2) != "(?") {
      out_ += '(';
      ++at_;
    } else if (takes("(?#")) {
      at_ = std::min(in_.find(')', at_), in_.size() - 1) + 1;
      return;
    } else {
      // Copy a group that both syntaxes write in the same way.
      at_ += 2;
      for (const std::string_view kind : {":", "=", "!", ">", "<=", "<!"}) {
        if (takes(kind)) {
          out_ += "(?";
          out_ += kind;
          open(begin);
          return;
        }
      }
      if (peek() == '<') {  // a name
        const std::size_t end = in_.find('>', at_);
        require_input(end != std::string_view::npos, "it has the name of a group without an end");
        out_ += "(?";
        out_ += in_.substr(at_, end + 1 - at_);
        at_ = end + 1;
      } else {
        options(begin);
        return;
      }
    }
    open(begin);
  }

  void open(std::size_t begin) {
    groups_.push_back(begin);
    item_.reset();
  }

  /// Translates (?i), (?im-x: and the like. Oniguruma's m lets a dot match a line break, which is PCRE2's s.
  void options(std::size_t begin) {
    std::string translated;
    bool ends = false;
    while (!ends) {
      switch (const char c = peek()) {
        case 'm': translated += 's'; break;
        case 'i':
        case '-': translated += c; break;
        case ':':
        case ')': ends = true; continue;
        default: refuse(concat("(?", in_.substr(at_, 1)));
      }
      ++at_;
    }
    if (peek() == ')' && begin != 0) {
      refuse("(?" + translated + ") after its beginning");
    }
    out_ += "(?" + translated + peek();
    if (peek() == ':') {
      open(begin);
    }
    ++at_;
  }

  void bracket() {
    out_ += '[';
    ++at_;
    if (takes("^")) {
      out_ += '^';
    }
    for (bool is_first = true;; is_first = false) {
      require_input(at_ < in_.size(), "it has a bracket without an end");
      const char c = peek();
      if (c == ']' && !is_first) {
        break;
      }
      if (c == '\\') {
        escape(true);
      } else if (c == '[') {
        posix();
      } else if (in_.substr(at_, 2) == "&&") {
        refuse("&& within brackets (an intersection)");
      } else {
        out_ += c == ']' ? "\\]" : std::string(1, c);
        ++at_;
      }
    }
    out_ += ']';
    ++at_;
  }

  /// Translates [:name:] within brackets.
  void posix() {
    const std::size_t end = in_.find(":]", at_);
    constexpr std::string_view kSame[] = {"alpha", "upper", "lower", "digit", "cntrl"};
    if (peek(1) != ':' || end == std::string_view::npos) {
      refuse("brackets within brackets");
    }
    const std::string_view name = in_.substr(at_ + 2, end - at_ - 2);
    at_ = end + 2;
    if (name == "space") {
      out_ += kSpaces;
    } else if (name == "word") {
      out_ += kWord;
    } else if (name == "alnum") {
      out_ += R"(\p{L}\p{M}\p{Nd})";
    } else if (name == "xdigit") {
      out_ += kHexDigit;
    } else if (std::find(std::begin(kSame), std::end(kSame), name) != std::end(kSame)) {
      out_ += concat("[:", name, ":]");
    } else {
      refuse(concat("[:", name, ":]"));
    }
  }

  void set(std::string_view characters, bool negated, bool in_bracket, char name) {
    if (!in_bracket) {
      out_ += concat(negated ? "[^" : "[", characters, ']');
    } else if (!negated) {
      out_ += characters;
    } else if (name == 'S') {
      out_ += "\\S";  // differs only in U+180E
    } else {
      refuse(concat('\\', name, " within brackets"));
    }
  }

  void escape(bool in_bracket) {
    const char c = peek(1);
    require_input(c != '\0', "it ends with a backslash");
    at_ += 2;
    // Translate the escapes that PCRE2 reads in another way, and those with braces.
    switch (c) {
      case 's':
      case 'S': return set(kSpaces, c == 'S', in_bracket, c);
      case 'w':
      case 'W': return set(kWord, c == 'W', in_bracket, c);
      case 'h':
      case 'H': return set(kHexDigit, c == 'H', in_bracket, c);
      case 'v': out_ += "\\x0B"; return;
      case 'b':
      case 'B':
        if (in_bracket) {
          refuse(concat('\\', c, " within brackets"));
        }
        out_ += c == 'b' ? concat("(?:(?<=[", kWord, "])(?![", kWord, "])|(?<![", kWord, "])(?=[", kWord, "]))")
                         : concat("(?:(?<=[", kWord, "])(?=[", kWord, "])|(?<![", kWord, "])(?![", kWord, "]))");
        return;
      case 'u': return code_point();
      case 'x':
      case 'p':
      case 'P': {
        out_ += '\\';
        out_ += c;
        if (peek() != '{') {
          require_input(c == 'x', "it has \\", c, " without {");
          return;
        }
        const std::size_t end = in_.find('}', at_);
        require_input(end != std::string_view::npos, "it has \\", c, "{ without an end");
        out_ += in_.substr(at_, end + 1 - at_);
        at_ = end + 1;
        return;
      }
      default: break;
    }
    // Refuse the other letters and digits that PCRE2 reads in another way.
    constexpr std::string_view kSame = "dDrntfaeAzZGRXkK123456789";
    const bool is_letter = ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9');
    if (is_letter &&
        (kSame.find(c) == std::string_view::npos || (in_bracket && std::string_view("AzZGRXkK").find(c) != std::string_view::npos))) {
      refuse(concat('\\', c, in_bracket ? " within brackets" : ""));
    }
    out_ += '\\';
    if (static_cast<unsigned char>(c) < 0x80) {
      out_ += c;
    } else {  // an escaped character that needs no escape
      out_.pop_back();
      --at_;
      const auto bytes = static_cast<std::size_t>(utf8::decode(in_, static_cast<index>(at_)).bytes);
      out_ += in_.substr(at_, bytes);
      at_ += bytes;
    }
  }

  /// Translates \uHHHH.
  void code_point() {
    const std::string_view digits = in_.substr(at_, 4);
    require_input(digits.size() == 4 && digits.find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos,
                  "it has \\u without four hexadecimal digits");
    out_ += concat("\\x{", digits, '}');
    at_ += 4;
  }

  std::string_view in_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<std::size_t> groups_;    // where the open groups begin in out_
  std::optional<std::size_t> item_{};  // where the last item begins in out_, if a quantifier may follow
};

}  // namespace

std::string pcre2_pattern_of(std::string_view oniguruma) { return Translator(oniguruma).translate(); }

}  // namespace dikkat
