#include "train/grammar/regex.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string>

#include "train/grammar/node.h"

namespace dikkat {
namespace {

using utf8::Range;
using Ranges = std::vector<Range>;

constexpr index kMostQuantified = 10'000;
constexpr int kMostGroups = 100;
constexpr int kMostLookaheads = 8;
constexpr index kLongestPattern = 10'000;

const Ranges& line_breaks() {
  static const Ranges all = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return all;
}
const Ranges& ascii_digits() {
  static const Ranges all = {{'0', '9'}};
  return all;
}
const Ranges& word_characters() {
  static const Ranges all = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return all;
}
/// Returns the white space of ECMA-262: White_Space of Unicode without U+0085, and with U+FEFF.
const Ranges& white_space() {
  static const Ranges all = [] {
    Ranges ranges;
    for (const Range range : utf8::kWhiteSpace) {
      if (range.first != 0x85) {
        ranges.push_back(range);
      }
    }
    ranges.push_back({0xFEFF, 0xFEFF});
    return ranges;
  }();
  return all;
}

Grammar any_text() { return repeat(one_character({{0, utf8::kLastCodePoint}}), 0); }

/// A part of a pattern.
struct Piece {
  Grammar texts;
  /// Returns the texts of the part and of the rest after it, for a part with a lookahead, which depends on the rest. Empty for other parts.
  std::function<Grammar(const Grammar& rest)> before{};
};

/// Returns the texts of pieces one after another, and of the rest after them.
Grammar joined(const std::vector<Piece>& pieces, const Grammar& rest) {
  std::vector<Grammar> parts;  // the pieces after the last lookahead, and the rest
  std::size_t begin = pieces.size();
  while (begin > 0 && !pieces[begin - 1].before) {
    --begin;
  }
  for (std::size_t i = begin; i < pieces.size(); ++i) {
    parts.push_back(pieces[i].texts);
  }
  parts.push_back(rest);
  const Grammar end = sequence(std::move(parts));
  return begin == 0 ? end
                    : joined({pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(begin) - 1}, pieces[begin - 1].before(end));
}

bool looks_ahead(const std::vector<Piece>& pieces) {
  return std::ranges::any_of(pieces, [](const Piece& one) { return static_cast<bool>(one.before); });
}

/// Parses a regular expression by recursive descent.
class RegexParser {
 public:
  RegexParser(std::string_view pattern, const RegexOptions& options) : pattern_(pattern), options_(options) {}

  Grammar parse() {
    if (const auto invalid = utf8::first_invalid(pattern_)) {
      refuse(*invalid, concat("there is ", utf8::describe_fault(pattern_, *invalid), ", expected UTF-8"));
    }
    if (std::ssize(pattern_) > kLongestPattern) {
      refuse(kLongestPattern, concat("the pattern has ", pattern_.size(), " bytes, expected at most ", kLongestPattern));
    }
    std::vector<Grammar> ways;
    do {
      ways.push_back(outermost(options_.whole, options_.whole));
    } while (takes('|'));
    if (!is_over()) {
      refuse(at_, "this ) closes no group: write \\) for the character");
    }
    return any_of(std::move(ways));
  }

 private:
  [[noreturn]] void refuse(index at, const std::string& problem) const {
    throw RegexError(at, concat("the regular expression, at byte ", at, ": ", problem));
  }

  bool is_over() const { return at_ == std::ssize(pattern_); }
  char peek() const { return pattern_[static_cast<std::size_t>(at_)]; }
  bool is_at(std::string_view text) const { return pattern_.substr(static_cast<std::size_t>(at_)).starts_with(text); }
  bool takes(char c) {
    const bool is = !is_over() && peek() == c;
    at_ += is ? 1 : 0;
    return is;
  }
  char32_t take_character() {
    const utf8::Character one = utf8::decode(pattern_, at_);
    at_ += one.bytes;
    return one.code_point;
  }

  /// Parses an outermost alternative, which may have anchors. Without them, other text may stand before or after it.
  Grammar outermost(bool is_begun, bool is_ended) {
    while (takes('^')) {
      is_begun = true;
    }
    const std::vector<Piece> pieces = terms();
    while (takes('$')) {
      is_ended = true;
    }
    if (!is_over() && peek() != '|' && peek() != ')') {
      refuse(at_ - 1, "a $ before the end of the pattern is not supported: write \\$ for the character");
    }
    const Grammar texts = joined(pieces, is_ended ? sequence({}) : any_text());
    return is_begun ? texts : sequence({any_text(), texts});
  }

  void open_level(index opened) {
    if (++level_ > kMostGroups) {
      refuse(opened, concat("groups are nested more than ", kMostGroups, " levels deep"));
    }
  }
  void close_level(index opened) {
    if (!takes(')')) {
      refuse(opened, "this group is not closed, expected a )");
    }
    --level_;
  }

  Piece group(index opened) {
    open_level(opened);
    std::vector<std::vector<Piece>> alternatives;
    do {
      alternatives.push_back(terms());
      if (takes('$')) {
        if (!is_over() && peek() != '|' && peek() != ')') {
          refuse(at_ - 1, "a $ before the end of an alternative is not supported: write \\$ for the character");
        }
        alternatives.back().push_back(looking_ahead(sequence({}), at_ - 1));
      }
    } while (takes('|'));
    close_level(opened);
    const auto before = [alternatives](const Grammar& rest) {
      std::vector<Grammar> ways;
      for (const std::vector<Piece>& one : alternatives) {
        ways.push_back(joined(one, rest));
      }
      return any_of(std::move(ways));
    };
    Piece piece{before(sequence({}))};
    if (std::ranges::any_of(alternatives, looks_ahead)) {
      piece.before = before;
    }
    return piece;
  }

  /// Parses a lookahead after its (?= or (?!.
  Piece lookahead(index opened, bool is_negative) {
    open_level(opened);
    std::vector<Grammar> ways;
    do {
      if (!is_over() && peek() == '^' && opened > 0 && pattern_.substr(0, static_cast<std::size_t>(opened)) != "^") {
        refuse(at_, "a ^ after the beginning of the pattern is not supported: write \\^ for the character");
      }
      ways.push_back(outermost(true, false));
    } while (takes('|'));
    close_level(opened);
    return looking_ahead(is_negative ? all_but(any_of(std::move(ways))) : any_of(std::move(ways)), opened);
  }

  /// Returns a part without text that requires the rest to match `ahead`.
  Piece looking_ahead(const Grammar& ahead, index at) {
    if (++lookaheads_ > kMostLookaheads) {
      refuse(at, concat("the pattern has more than ", kMostLookaheads, " lookaheads"));
    }
    return {sequence({}), [ahead](const Grammar& rest) { return all_of({ahead, rest}); }};
  }

  /// Parses consecutive parts, up to | ) $ or the end.
  std::vector<Piece> terms() {
    std::vector<Piece> parts;
    while (!is_over() && peek() != '|' && peek() != ')' && peek() != '$') {
      const index begin = at_;
      Piece part = atom();
      while (std::optional<std::pair<index, index>> times = quantifier()) {
        if (part.before && *times != std::pair<index, index>(0, 1)) {
          refuse(begin, "a part with a lookahead that repeats is not supported");
        }
        if (part.before) {
          part.before = [before = std::move(part.before)](const Grammar& rest) { return any_of({before(rest), rest}); };
        }
        part.texts = repeat(std::move(part.texts), times->first, times->second < 0 ? std::nullopt : std::optional(times->second));
        if (!is_over() && (peek() == '*' || peek() == '+' || peek() == '{')) {
          refuse(at_, peek() == '+' ? "possessive repetitions such as a*+ are not supported: leave the + out"
                                    : "nothing stands before this repetition: put the repeated part into a group");
        }
        takes('?');  // a lazy repetition matches the same whole texts
        if (!is_over() && (peek() == '?')) {
          refuse(at_, "nothing stands before this ?: write \\? for the character");
        }
      }
      parts.push_back(std::move(part));
    }
    return parts;
  }

  static Piece character(Ranges ranges) { return {one_character(std::move(ranges))}; }

  Piece atom() {
    const index begin = at_;
    const char c = peek();
    switch (c) {
      case '(':
        ++at_;
        if (is_at("?=") || is_at("?!")) {
          at_ += 2;
          return lookahead(begin, pattern_[static_cast<std::size_t>(at_) - 1] == '!');
        }
        open_group(begin);
        return group(begin);
      case '[': ++at_; return character(character_class(begin));
      case '.': ++at_; return character(other_characters(normal_ranges(line_breaks())));
      case '\\': return character(escape(false));
      case '^': refuse(begin, "a ^ after the beginning of the pattern is not supported: write \\^ for the character");
      case '*':
      case '+':
      case '?': refuse(begin, concat("nothing stands before this ", c, ": write \\", c, " for the character"));
      case '{':
        if (is_quantifier()) {
          refuse(begin, "nothing stands before this repetition: write \\{ for the character");
        }
        break;
      default: break;
    }
    const char32_t one = take_character();
    return character({{one, one}});
  }

  /// Reads the rest of a group's opening, after the (.
  void open_group(index begin) {
    if (!takes('?')) {
      return;
    }
    if (is_at("<=") || is_at("<!")) {
      refuse(begin, "lookbehind is not supported");
    }
    if (takes(':')) {
      return;
    }
    takes('P');
    if (takes('<')) {
      const index name = at_;
      while (!is_over() && (std::ranges::any_of(word_characters(), [&](Range range) {
        return range.first <= static_cast<unsigned char>(peek()) && static_cast<unsigned char>(peek()) <= range.last;
      }))) {
        ++at_;
      }
      if (at_ > name && takes('>')) {
        return;
      }
    }
    refuse(begin, "this kind of group is not supported, expected (...), (?:...) or (?<name>...)");
  }

  /// Returns whether a { begins a repetition. Otherwise it is a character, as in ECMA-262 and in Python.
  bool is_quantifier() {
    const index before = at_;
    const bool is = quantifier().has_value();
    at_ = before;
    return is;
  }

  std::optional<index> number() {
    const std::string_view rest = pattern_.substr(static_cast<std::size_t>(at_));
    index value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (end == rest.data() || rest[0] == '-') {
      return std::nullopt;
    }
    if (error != std::errc{} || value > kMostQuantified) {
      refuse(at_, concat("a part is repeated more often than ", kMostQuantified,
                         " times, which is not supported; without a bound it can be: *, + or {1,}"));
    }
    at_ += end - rest.data();
    return value;
  }

  /// Reads a repetition, if there is one: least and most times, or -1.
  std::optional<std::pair<index, index>> quantifier() {
    if (is_over()) {
      return std::nullopt;
    }
    const index begin = at_;
    switch (peek()) {
      case '*': ++at_; return std::pair<index, index>(0, -1);
      case '+': ++at_; return std::pair<index, index>(1, -1);
      case '?': ++at_; return std::pair<index, index>(0, 1);
      case '{': {
        // Read the bounds. Without valid ones, the { is a character.
        ++at_;
        if (!is_over() && peek() == ',') {
          refuse(begin, "{,n} is not supported: write {0,n} for a repetition, or \\{ for the character");
        }
        const std::optional<index> least = number();
        std::optional<index> most = least;
        if (least && takes(',')) {
          most = number();
          if (!most && !is_over() && peek() == '}') {
            most = -1;
          }
        }
        if (!least || !most || !takes('}')) {
          at_ = begin;
          return std::nullopt;
        }
        if (*most >= 0 && *most < *least) {
          refuse(begin, concat("the repetition {", *least, ",", *most, "} has a larger number first"));
        }
        return std::pair(*least, *most);
      }
      default: return std::nullopt;
    }
  }

  char32_t hex(index digits_expected, index begin) {
    const std::string_view rest = pattern_.substr(static_cast<std::size_t>(at_)).substr(0, static_cast<std::size_t>(digits_expected));
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value, 16);
    if (std::ssize(rest) != digits_expected || error != std::errc{} || end != rest.data() + rest.size()) {
      refuse(begin, concat("this escape needs ", digits_expected, " hexadecimal digits"));
    }
    at_ += digits_expected;
    return value;
  }

  /// Reads an escape. Returns its characters.
  Ranges escape(bool in_class) {
    const index begin = at_++;
    if (is_over()) {
      refuse(begin, "a \\ ends the pattern: write \\\\ for the character");
    }
    // A character outside of ASCII stands for itself.
    const char c = peek();
    const auto one = [](char32_t character) { return Ranges{{character, character}}; };
    if (static_cast<unsigned char>(c) >= 0x80) {
      return one(take_character());
    }
    ++at_;
    // Read the escapes that stand for characters, and refuse the unsupported ones.
    switch (c) {
      case 'd': return ascii_digits();
      case 'D': return other_characters(normal_ranges(ascii_digits()));
      case 'w': return word_characters();
      case 'W': return other_characters(normal_ranges(word_characters()));
      case 's': return white_space();
      case 'S': return other_characters(normal_ranges(white_space()));
      case 'n': return one('\n');
      case 't': return one('\t');
      case 'r': return one('\r');
      case 'f': return one('\f');
      case 'v': return one('\v');
      case '0':
        if (is_over() || peek() < '0' || peek() > '9') {
          return one(0);
        }
        refuse(begin, "octal escapes are not supported: write \\xHH");
      case 'x': return one(hex(2, begin));
      case 'u': {
        char32_t character = 0;
        if (takes('{')) {
          const std::size_t close = pattern_.find('}', static_cast<std::size_t>(at_));
          const index length = close == std::string_view::npos ? 0 : static_cast<index>(close) - at_;
          if (length < 1 || length > 6) {
            refuse(begin, "this escape needs 1 to 6 hexadecimal digits and a }");
          }
          character = hex(length, begin);
          ++at_;
        } else {
          character = hex(4, begin);
          if (0xD800 <= character && character < 0xDC00 && is_at("\\u")) {
            at_ += 2;
            const char32_t low = hex(4, begin);
            character = 0xDC00 <= low && low < 0xE000 ? 0x10000 + ((character - 0xD800) << 10) + (low - 0xDC00) : 0xD800;
          }
        }
        if (!utf8::is_character(character)) {
          refuse(begin, "this escape is not a Unicode character, expected one up to 10FFFF that is not half of a surrogate pair");
        }
        return one(character);
      }
      case 'b':
        if (in_class) {
          return one('\b');
        }
        [[fallthrough]];
      case 'B': refuse(begin, "word boundaries are not supported");
      case 'A':
      case 'Z':
      case 'z': refuse(begin, concat("\\", c, " is not supported: write ^ or $"));
      case 'p':
      case 'P': refuse(begin, concat("Unicode properties (\\", c, ") are not supported: write ranges such as [\\u0370-\\u03FF]"));
      case 'k': refuse(begin, "references to groups are not supported");
      default: break;
    }
    // Other letters and digits are refused; punctuation stands for itself.
    if ('1' <= c && c <= '9') {
      refuse(begin, "references to groups are not supported");
    }
    if (('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z')) {
      refuse(begin, concat("the escape \\", c, " is not known"));
    }
    return one(static_cast<unsigned char>(c));
  }

  /// Reads a class after its [.
  Ranges character_class(index begin) {
    const bool is_negated = takes('^');
    Ranges ranges;
    for (bool is_first = true;; is_first = false) {
      // Read up to the closing bracket, which cannot be first.
      if (is_over()) {
        refuse(begin, "this class is not closed, expected a ]");
      }
      if (peek() == ']') {
        if (is_first) {
          refuse(begin, "this class is empty; write \\] for the character");
        }
        ++at_;
        break;
      }
      if (is_at("[:")) {
        refuse(at_, "classes such as [:alpha:] are not supported: write a-zA-Z; write \\[ for the character");
      }
      // Read a character, a range or a class such as \d.
      const index here = at_;
      const Ranges low = class_part();
      if (!is_over() && peek() == '-' && at_ + 1 < std::ssize(pattern_) && pattern_[static_cast<std::size_t>(at_) + 1] != ']') {
        ++at_;
        const Ranges high = class_part();
        const bool are_characters = low.size() == 1 && low[0].first == low[0].last && high.size() == 1 && high[0].first == high[0].last;
        if (!are_characters || low[0].first > high[0].last) {
          refuse(here, "this is not a range of characters, expected one such as a-z; write \\- for the character");
        }
        ranges.push_back({low[0].first, high[0].last});
      } else {
        ranges.insert(ranges.end(), low.begin(), low.end());
      }
    }
    // A ^ after the [ selects the other characters.
    ranges = normal_ranges(std::move(ranges));
    return is_negated ? other_characters(ranges) : ranges;
  }

  Ranges class_part() {
    if (is_over()) {
      refuse(at_, "a class is not closed, expected a ]");
    }
    if (peek() == '\\') {
      return escape(true);
    }
    const char32_t one = take_character();
    return {{one, one}};
  }

  const std::string_view pattern_;
  const RegexOptions& options_;
  index at_ = 0;
  int level_ = 0, lookaheads_ = 0;
};

}  // namespace

Grammar regex(std::string_view pattern, const RegexOptions& options) { return RegexParser(pattern, options).parse(); }

}  // namespace dikkat
