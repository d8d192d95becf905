#include "train/chat/template/text_methods.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "train/chat/template/builtins.h"
#include "train/chat/template/characters.h"
#include "train/chat/template/text_format.h"
#include "train/text/unicode.h"

namespace dikkat::jinja {
namespace {

char32_t character_at(std::string_view text, std::size_t at) { return utf8::decode(text, static_cast<index>(at)).code_point; }

/// Returns the text with each character replaced by `changed(character, place of the character)`.
MarkedText each_character(const MarkedText& text, auto changed) {
  MarkedText out;
  std::string bytes;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_character(text.bytes(), at);
    bytes.clear();
    changed(character_at(text.bytes(), at), at, bytes);
    out.append(bytes, text.marks_at(at));
    at = next;
  }
  return out;
}

void append_upper(std::string& out, char32_t c) {
  if (c == U'ß') {
    out += "SS";
  } else {
    utf8::append(out, to_upper(c));
  }
}

void append_lower(std::string& out, char32_t c) {
  utf8::append(out, to_lower(c));
  if (c == U'İ') {
    utf8::append(out, 0x307);  // keeps the dot
  }
}

void append_title(std::string& out, char32_t c) {
  if (c == U'ß') {
    out += "Ss";
  } else {
    utf8::append(out, to_title(c));
  }
}

/// Where a piece of a text begins and ends.
using Piece = std::pair<std::size_t, std::size_t>;

Value list_of(const MarkedText& text, const std::vector<Piece>& pieces) {
  check_item_count(pieces.size());
  std::vector<Value> items;
  for (const auto& [first, last] : pieces) {
    items.emplace_back(text.between(first, last));
  }
  return Value::list(std::move(items));
}

/// Splits at white space, of which there is none in the pieces. `most` is the number of cuts; negative: any.
std::vector<Piece> split_at_space(const std::string& text, std::int64_t most, bool from_end) {
  std::vector<Piece> words;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t next = next_character(text, at);
    if (!is_python_space(character_at(text, at))) {
      if (words.empty() || words.back().second != at) {
        words.emplace_back(at, at);
      }
      words.back().second = next;
    }
    at = next;
  }
  const auto kept = static_cast<std::size_t>(std::max(most, std::int64_t{0}));
  if (most < 0 || words.size() <= kept + 1) {
    return words;
  }
  if (from_end) {  // the text before the last cuts is one piece, with the white space at its beginning
    const std::size_t joined = words.size() - kept;
    words[joined - 1].first = 0;
    words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(joined - 1));
  } else {  // the text after the first cuts is one piece, with the white space at its end
    words.resize(kept + 1);
    words.back().second = text.size();
  }
  return words;
}

std::vector<Piece> split_at(const std::string& text, const std::string& separator, std::int64_t most, bool from_end) {
  // From the end, the search is of the reversed texts.
  const auto searched = [&](const std::string& bytes) { return from_end ? std::string(bytes.rbegin(), bytes.rend()) : bytes; };
  const std::string searched_text = searched(text), wanted = searched(separator);
  std::vector<std::size_t> cuts;
  for (std::size_t from = 0; most < 0 || static_cast<std::int64_t>(cuts.size()) < most;) {
    const std::size_t cut = find_text(searched_text, wanted, from);
    if (cut == std::string::npos) {
      break;
    }
    from = cut + wanted.size();
    cuts.push_back(from_end ? text.size() - from : cut);
  }
  if (from_end) {
    std::reverse(cuts.begin(), cuts.end());
  }
  std::vector<Piece> pieces;
  std::size_t first = 0;
  for (const std::size_t cut : cuts) {
    pieces.emplace_back(first, cut);
    first = cut + separator.size();
  }
  pieces.emplace_back(first, text.size());
  return pieces;
}

Value split(const MarkedText& text, Arguments& arguments, bool from_end) {
  const std::optional<MarkedText> separator = arguments.take_text("sep");
  const std::int64_t most = arguments.take_integer("maxsplit").value_or(-1);
  if (separator && separator->size() == 0) {
    fail_template("splits a str at an empty separator");
  }
  return list_of(text,
                 separator ? split_at(text.bytes(), separator->bytes(), most, from_end) : split_at_space(text.bytes(), most, from_end));
}

Value split_lines(const MarkedText& text, Arguments& arguments) {
  const std::optional<Value> keep = arguments.take("keepends");
  const bool keeps = keep && is_true(*keep);
  const auto ends_line = [](char32_t c) {
    return (0xA <= c && c <= 0xD) || (0x1C <= c && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
  };
  const std::string& bytes = text.bytes();
  std::vector<Piece> lines;
  std::size_t first = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    std::size_t next = next_character(bytes, at);
    if (ends_line(character_at(bytes, at))) {
      next += bytes[at] == '\r' && next < bytes.size() && bytes[next] == '\n' ? 1 : 0;
      lines.emplace_back(first, keeps ? next : at);
      first = next;
    }
    at = next;
  }
  if (first < bytes.size()) {
    lines.emplace_back(first, bytes.size());
  }
  return list_of(text, lines);
}

/// Returns whether the text begins or ends with the argument, or with one of a tuple.
Value has_affix(const MarkedText& text, Arguments& arguments, bool at_end) {
  const Value affix = arguments.need(at_end ? "suffix" : "prefix");
  const auto matches = [&](const Value& one) {
    if (!one.text()) {
      fail_template("gives ", arguments.function(), " ", one.type_name(), ", expected a str");
    }
    return at_end ? text.bytes().ends_with(one.text()->bytes()) : text.bytes().starts_with(one.text()->bytes());
  };
  if (affix.is(ListKind::tuple)) {
    return Value(std::any_of(affix.list()->items.begin(), affix.list()->items.end(), matches));
  }
  return Value(matches(affix));
}

Value without_affix(const MarkedText& text, Arguments& arguments, bool at_end) {
  const MarkedText affix = arguments.need_text(at_end ? "suffix" : "prefix");
  if (at_end ? !text.bytes().ends_with(affix.bytes()) : !text.bytes().starts_with(affix.bytes())) {
    return Value(text);
  }
  return Value(at_end ? text.between(0, text.size() - affix.size()) : text.between(affix.size(), text.size()));
}

Value stripped(const MarkedText& text, Arguments& arguments, bool begin, bool end) {
  const std::optional<MarkedText> characters = arguments.take_text("chars");
  return Value(strip(text, characters ? &*characters : nullptr, begin, end));
}

Value found_at(const MarkedText& text, Arguments& arguments, bool last) {
  const MarkedText wanted = arguments.need_text("sub");
  if (wanted.size() == 0) {
    return Value(last ? static_cast<std::int64_t>(count_characters(text.bytes())) : 0);
  }
  const std::vector<Piece> pieces = split_at(text.bytes(), wanted.bytes(), 1, last);
  return Value(pieces.size() == 1
                   ? std::int64_t{-1}
                   : static_cast<std::int64_t>(count_characters(std::string_view(text.bytes()).substr(0, pieces[0].second))));
}

Value counted(const MarkedText& text, Arguments& arguments) {
  const MarkedText wanted = arguments.need_text("sub");
  if (wanted.size() == 0) {
    return Value(static_cast<std::int64_t>(count_characters(text.bytes()) + 1));
  }
  return Value(static_cast<std::int64_t>(split_at(text.bytes(), wanted.bytes(), -1, false).size() - 1));
}

Value joined_items(const MarkedText& separator, Arguments& arguments) {
  const std::vector<Value> items = items_of(arguments.need("iterable"));
  MarkedText text;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].text()) {
      fail_template("joins ", items[i].type_name(), " with str.join, expected a str");
    }
    if (i > 0) {
      text.append(separator);
    }
    text.append(*items[i].text());
  }
  return Value(std::move(text));
}

/// Returns whether the text has characters and all of them have a property.
Value all_are(const MarkedText& text, bool (*property)(char32_t)) {
  bool all = text.size() > 0;
  for (std::size_t at = 0; all && at < text.size(); at = next_character(text.bytes(), at)) {
    all = property(character_at(text.bytes(), at));
  }
  return Value(all);
}

/// Returns whether Python's str.isdigit() counts the character: decimal digits, and others such as ² that stand for a digit (Unicode's
/// Numeric_Type=Digit).
bool is_python_digit(char32_t c) {
  constexpr utf8::Range kOthers[] = {{0xB2, 0xB3},     {0xB9, 0xB9},       {0x1369, 0x1371},   {0x19DA, 0x19DA},   {0x2070, 0x2070},
                                     {0x2074, 0x2079}, {0x2080, 0x2089},   {0x2460, 0x2468},   {0x2474, 0x247C},   {0x2488, 0x2490},
                                     {0x24EA, 0x24EA}, {0x24F5, 0x24FD},   {0x24FF, 0x24FF},   {0x2776, 0x277E},   {0x2780, 0x2788},
                                     {0x278A, 0x2792}, {0x10A40, 0x10A43}, {0x10E60, 0x10E68}, {0x11052, 0x1105A}, {0x1F100, 0x1F10A}};
  return is_decimal_digit(c) || std::ranges::any_of(kOthers, [&](utf8::Range one) { return one.first <= c && c <= one.last; });
}

Value index_of(const MarkedText& text, Arguments& arguments, bool last) {
  Value found = found_at(text, arguments, last);
  if (found.integer() < 0) {
    fail_template("asks for the index of a text that does not occur in the str");
  }
  return found;
}

/// Returns the text before the first or last separator, the separator, and the text after it.
Value partitioned(const MarkedText& text, Arguments& arguments, bool from_end) {
  const MarkedText separator = arguments.need_text("sep");
  if (separator.size() == 0) {
    fail_template("splits a str at an empty separator");
  }
  const std::vector<Piece> pieces = split_at(text.bytes(), separator.bytes(), 1, from_end);
  std::vector<Value> parts;
  if (pieces.size() == 2) {
    for (const auto& [first, last] : {pieces[0], Piece(pieces[0].second, pieces[1].first), pieces[1]}) {
      parts.emplace_back(text.between(first, last));
    }
  } else {
    parts = {Value(""), Value(""), Value("")};
    parts[from_end ? 2 : 0] = Value(text);
  }
  return Value::list(std::move(parts), ListKind::tuple);
}

MarkedText filling(const MarkedText& character, std::int64_t count) {
  std::string bytes;
  for (std::int64_t i = 0; i < count; ++i) {
    bytes += character.bytes();
  }
  MarkedText fill;
  fill.append(bytes, character.marks_at(0));
  return fill;
}

/// Returns the text in a field of some width: str.ljust(), str.rjust() and str.center().
Value justified(const MarkedText& text, Arguments& arguments, bool left, bool right) {
  const std::optional<std::int64_t> width = arguments.take_integer("width");
  const MarkedText fill = arguments.take_text("fillchar").value_or(MarkedText(" "));
  if (!width || *width > static_cast<std::int64_t>(MarkedText::kMostBytes) || count_characters(fill.bytes()) != 1) {
    fail_template("gives ", arguments.function(),
                  " a width or a character to fill with that is not possible, expected an int and one character");
  }
  const std::int64_t missing = std::max(*width - static_cast<std::int64_t>(count_characters(text.bytes())), std::int64_t{0});
  const std::int64_t before = !left ? 0 : !right ? missing : missing / 2 + (missing & *width & 1);
  MarkedText all = filling(fill, before);
  all.append(text);
  all.append(filling(fill, missing - before));
  return Value(std::move(all));
}

Value zero_filled(const MarkedText& text, Arguments& arguments) {
  const std::int64_t width = arguments.take_integer("width").value_or(0);
  if (width > static_cast<std::int64_t>(MarkedText::kMostBytes)) {
    fail_template("gives the method zfill the width ", width, ", which is too large");
  }
  const std::size_t sign = text.bytes().starts_with('-') || text.bytes().starts_with('+') ? 1 : 0;
  MarkedText all = text.between(0, sign);
  all.append(filling(MarkedText("0"), width - static_cast<std::int64_t>(count_characters(text.bytes()))));
  all.append(text, sign, text.size());
  return Value(std::move(all));
}

Value swapped_case(const MarkedText& text) {
  return Value(each_character(text, [](char32_t c, std::size_t, std::string& out) {
    to_upper(c) != c || c == U'ß' ? append_upper(out, c) : append_lower(out, c);
  }));
}

struct NamedMethod {
  std::string_view name;
  Value (*call)(const MarkedText&, Arguments&);
};

constexpr NamedMethod kMethods[] = {
    {"capitalize", [](const MarkedText& t, Arguments&) { return Value(capitalized(t)); }},
    {"center", [](const MarkedText& t, Arguments& a) { return justified(t, a, true, true); }},
    {"count", counted},
    {"endswith", [](const MarkedText& t, Arguments& a) { return has_affix(t, a, true); }},
    {"find", [](const MarkedText& t, Arguments& a) { return found_at(t, a, false); }},
    {"format", [](const MarkedText& t, Arguments& a) { return Value(formatted(t, a)); }},
    {"index", [](const MarkedText& t, Arguments& a) { return index_of(t, a, false); }},
    {"isalnum", [](const MarkedText& t, Arguments&) { return all_are(t, [](char32_t c) { return is_letter(c) || is_number(c); }); }},
    {"isalpha", [](const MarkedText& t, Arguments&) { return all_are(t, is_letter); }},
    {"isascii",
     [](const MarkedText& t, Arguments&) { return Value(std::ranges::all_of(t.bytes(), [](char c) { return (c & 0x80) == 0; })); }},
    {"isdecimal", [](const MarkedText& t, Arguments&) { return all_are(t, is_decimal_digit); }},
    {"isdigit", [](const MarkedText& t, Arguments&) { return all_are(t, is_python_digit); }},
    {"islower", [](const MarkedText& t, Arguments&) { return Value(is_in_case(t, false)); }},
    {"isspace", [](const MarkedText& t, Arguments&) { return all_are(t, is_python_space); }},
    {"isupper", [](const MarkedText& t, Arguments&) { return Value(is_in_case(t, true)); }},
    {"join", joined_items},
    {"ljust", [](const MarkedText& t, Arguments& a) { return justified(t, a, false, true); }},
    {"lower", [](const MarkedText& t, Arguments&) { return Value(lower_case(t)); }},
    {"lstrip", [](const MarkedText& t, Arguments& a) { return stripped(t, a, true, false); }},
    {"partition", [](const MarkedText& t, Arguments& a) { return partitioned(t, a, false); }},
    {"removeprefix", [](const MarkedText& t, Arguments& a) { return without_affix(t, a, false); }},
    {"removesuffix", [](const MarkedText& t, Arguments& a) { return without_affix(t, a, true); }},
    {"replace", replace_in},
    {"rfind", [](const MarkedText& t, Arguments& a) { return found_at(t, a, true); }},
    {"rindex", [](const MarkedText& t, Arguments& a) { return index_of(t, a, true); }},
    {"rjust", [](const MarkedText& t, Arguments& a) { return justified(t, a, true, false); }},
    {"rpartition", [](const MarkedText& t, Arguments& a) { return partitioned(t, a, true); }},
    {"rsplit", [](const MarkedText& t, Arguments& a) { return split(t, a, true); }},
    {"rstrip", [](const MarkedText& t, Arguments& a) { return stripped(t, a, false, true); }},
    {"split", [](const MarkedText& t, Arguments& a) { return split(t, a, false); }},
    {"splitlines", split_lines},
    {"startswith", [](const MarkedText& t, Arguments& a) { return has_affix(t, a, false); }},
    {"strip", [](const MarkedText& t, Arguments& a) { return stripped(t, a, true, true); }},
    {"swapcase", [](const MarkedText& t, Arguments&) { return swapped_case(t); }},
    {"title", [](const MarkedText& t, Arguments&) { return Value(python_title(t)); }},
    {"upper", [](const MarkedText& t, Arguments&) { return Value(upper_case(t)); }},
    {"zfill", zero_filled},
};

}  // namespace

MarkedText upper_case(const MarkedText& text) {
  return each_character(text, [](char32_t c, std::size_t, std::string& out) { append_upper(out, c); });
}

MarkedText lower_case(const MarkedText& text) {
  return each_character(text, [](char32_t c, std::size_t, std::string& out) { append_lower(out, c); });
}

MarkedText capitalized(const MarkedText& text) {
  return each_character(text, [](char32_t c, std::size_t at, std::string& out) { at == 0 ? append_title(out, c) : append_lower(out, c); });
}

MarkedText python_title(const MarkedText& text) {
  bool in_word = false;
  return each_character(text, [&](char32_t c, std::size_t, std::string& out) {
    in_word ? append_lower(out, c) : append_title(out, c);
    in_word = is_cased(c);
  });
}

MarkedText jinja_title(const MarkedText& text) {
  bool in_word = false;
  return each_character(text, [&](char32_t c, std::size_t, std::string& out) {
    in_word ? append_lower(out, c) : append_upper(out, c);
    in_word = !(c == '-' || c == '(' || c == '{' || c == '[' || c == '<' || is_python_space(c));
  });
}

bool is_in_case(const MarkedText& text, bool upper) {
  bool has_letters = false;
  for (std::size_t at = 0; at < text.size(); at = next_character(text.bytes(), at)) {
    const char32_t c = character_at(text.bytes(), at);
    if (is_cased(c)) {
      has_letters = true;
      if ((upper ? to_upper(c) : to_lower(c)) != c) {
        return false;
      }
    }
  }
  return has_letters;
}

MarkedText strip(const MarkedText& text, const MarkedText* characters, bool begin, bool end) {
  const auto is_stripped = [&](std::size_t at, std::size_t next) {
    return characters ? find_text(characters->bytes(), std::string_view(text.bytes()).substr(at, next - at)) != std::string::npos
                      : is_python_space(character_at(text.bytes(), at));
  };
  std::size_t first = 0, last = text.size();
  while (begin && first < last) {
    const std::size_t next = next_character(text.bytes(), first);
    if (!is_stripped(first, next)) {
      break;
    }
    first = next;
  }
  while (end && last > first) {
    std::size_t before = last - 1;
    while (before > first && (static_cast<unsigned char>(text.bytes()[before]) & 0xC0) == 0x80) {
      --before;
    }
    if (!is_stripped(before, last)) {
      break;
    }
    last = before;
  }
  return text.between(first, last);
}

Value replace_in(const MarkedText& text, Arguments& arguments) {
  const MarkedText old = arguments.need_text("old"), replacement = arguments.need_text("new");
  const std::int64_t most = arguments.take_integer("count").value_or(-1);
  MarkedText out;
  if (old.size() == 0) {  // Python inserts it before each character and at the end
    std::int64_t count = 0;
    for (std::size_t at = 0; at <= text.size(); ++count) {
      if (most < 0 || count < most) {
        out.append(replacement);
      }
      const std::size_t next = at < text.size() ? next_character(text.bytes(), at) : at + 1;
      out.append(text, at, std::min(next, text.size()));
      at = next;
    }
    return Value(std::move(out));
  }
  bool is_first = true;
  for (const auto& [first, last] : split_at(text.bytes(), old.bytes(), most, false)) {
    if (!is_first) {
      out.append(replacement);
    }
    is_first = false;
    out.append(text, first, last);
  }
  return Value(std::move(out));
}

Value call_text_method(const MarkedText& text, std::string_view name, Arguments& arguments) {
  const auto* const found = std::lower_bound(std::begin(kMethods), std::end(kMethods), name,
                                             [](const NamedMethod& some, std::string_view wanted) { return some.name < wanted; });
  if (found == std::end(kMethods) || found->name != name) {
    fail_template("calls the method ", name, " of a str, which is not supported");
  }
  return found->call(text, arguments);
}

}  // namespace dikkat::jinja
