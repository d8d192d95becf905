#include "train/chat/template/text_format.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "train/chat/template/attributes.h"
#include "train/chat/template/characters.h"
#include "train/chat/template/print.h"

namespace dikkat::jinja {
namespace {

constexpr std::int64_t kWidest = 100'000;  // the widest field, and the most digits of a precision

/// A format specification: [[fill]align][sign][#][0][width][grouping][.precision][type].
struct Style {
  std::string fill = " ";
  char align = 0;  // 0: the type's default
  char sign = '-';
  bool is_alternate = false;
  std::int64_t width = 0;
  char grouping = 0;
  std::optional<std::int64_t> precision{};
  char type = 0;
};

/// Reads the parts of a format from its beginning to its end.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool is_at_end() const { return at_ == text_.size(); }
  char now() const { return is_at_end() ? '\0' : text_[at_]; }
  std::size_t at() const { return at_; }
  char take() { return text_[at_++]; }
  bool take_if(char c) { return now() == c && !is_at_end() && (++at_, true); }
  /// Takes one of these characters; 0 if the next one is another.
  char take_one_of(std::string_view some) { return !is_at_end() && some.find(now()) != std::string_view::npos ? take() : '\0'; }
  std::optional<std::int64_t> take_number() {
    std::int64_t number = 0;
    const std::size_t begin = at_;
    for (; '0' <= now() && now() <= '9'; ++at_) {
      number = 10 * number + (now() - '0');
      if (number > kWidest) {
        fail_template("formats with a width or precision above ", kWidest, ", which is not supported");
      }
    }
    return at_ == begin ? std::nullopt : std::optional(number);
  }
  /// Takes the text before one of these characters, or before the end.
  std::string_view take_until(std::string_view ends) {
    const std::size_t begin = at_;
    at_ = std::min(text_.find_first_of(ends, at_), text_.size());
    return text_.substr(begin, at_ - begin);
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
};

Style style_of(std::string_view spec) {
  constexpr std::string_view kAligns = "<>=^";
  Style style;
  // A character before an alignment is the fill.
  std::size_t begin = 0;
  const std::size_t second = spec.empty() ? 0 : next_character(spec, 0);
  if (second < spec.size() && kAligns.find(spec[second]) != std::string_view::npos) {
    style.fill = spec.substr(0, second);
    style.align = spec[second];
    begin = second + 1;
  }
  // Read the other parts in their order.
  Cursor rest(spec.substr(begin));
  if (style.align == 0) {
    style.align = rest.take_one_of(kAligns);
  }
  if (const char sign = rest.take_one_of("+- ")) {
    style.sign = sign;
  }
  style.is_alternate = rest.take_if('#');
  if (rest.take_if('0') && begin == 0) {
    style.fill = "0";
    style.align = style.align == 0 ? '=' : style.align;
  }
  style.width = rest.take_number().value_or(0);
  style.grouping = rest.take_one_of(",_");
  if (rest.take_if('.')) {
    style.precision = rest.take_number();
    if (!style.precision) {
      fail_template("has the format '", spec, "', expected digits after the point");
    }
  }
  // Read the type, which ends the specification.
  style.type = rest.is_at_end() ? '\0' : rest.take();
  if (!rest.is_at_end() || (style.grouping != 0 && style.align == '=')) {
    fail_template("has the format '", spec, "', which is not supported");
  }
  return style;
}

[[noreturn]] void fail_style(const Style& style, const Value& value) {
  fail_template("formats ", value.type_name(), style.type == 0 ? std::string() : concat(" with the type '", style.type, "'"),
                " in a way that is not possible or not supported");
}

/// Fills a text up to the width of its field. A fill of the align '=' follows the first `sign` bytes.
MarkedText in_field(const MarkedText& text, std::size_t sign, const Style& style, char default_align) {
  const std::int64_t missing = style.width - static_cast<std::int64_t>(count_characters(text.bytes()));
  if (missing <= 0) {
    return text;
  }
  const char align = style.align == 0 ? default_align : style.align;
  const std::int64_t before = align == '<' ? 0 : align == '^' ? missing / 2 : missing;
  MarkedText all = text.between(0, align == '=' ? sign : 0);
  const auto fill = [&](std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      all.append(MarkedText(style.fill));
    }
  };
  fill(before);
  all.append(text, align == '=' ? sign : 0, text.size());
  fill(missing - before);
  return all;
}

/// Puts a sign between groups of digits, from the end of the digits at the beginning of `number`.
std::string grouped(std::string number, char sign, std::size_t size) {
  const std::size_t digits = std::min(number.find_first_not_of("0123456789abcdefABCDEF"), number.size());
  for (std::size_t at = digits; sign != 0 && at > size;) {
    at -= size;
    number.insert(at, 1, sign);
  }
  return number;
}

std::string real_digits(double number, const Style& style, const Value& value) {
  const auto precision = static_cast<int>(style.precision.value_or(6));
  const double size = std::abs(number);
  switch (style.type) {
    case 'e': return fmt::format("{:.{}e}", size, precision);
    case 'E': return fmt::format("{:.{}E}", size, precision);
    case 'f': return fmt::format("{:.{}f}", size, precision);
    case 'F': return fmt::format("{:.{}F}", size, precision);
    case 'g': return fmt::format("{:.{}g}", size, std::max(precision, 1));
    case 'G': return fmt::format("{:.{}G}", size, std::max(precision, 1));
    case '%': return fmt::format("{:.{}f}%", 100 * size, precision);
    default: break;
  }
  if (style.type != 0 || style.precision) {
    fail_style(style, value);
  }
  return float_text(size);
}

MarkedText format_number(const Value& value, const Style& style) {
  constexpr std::string_view kRealTypes = "eEfFgG%";
  const bool is_real = value.as<double>() || (style.type != 0 && kRealTypes.find(style.type) != std::string_view::npos);
  std::string digits, prefix;
  bool is_negative = false;
  // Write the digits without a sign: those of a float, or of an integer in some base.
  if (is_real) {
    if (style.is_alternate) {
      fail_style(style, value);
    }
    is_negative = std::signbit(value.real());
    digits = real_digits(value.real(), style, value);
    digits = digits.find('e') == std::string::npos ? grouped(digits, style.grouping, 3) : digits;
  } else {
    const char type = style.type == 0 ? 'd' : style.type;
    const std::string_view kTypes = "dxXob";
    if (style.precision || kTypes.find(type) == std::string_view::npos || (type != 'd' && !value.is_integer()) ||
        (style.grouping == ',' && type != 'd')) {
      fail_style(style, value);
    }
    digits = value.digits();
    is_negative = digits.starts_with('-');
    digits.erase(0, is_negative ? 1 : 0);
    if (type != 'd') {
      const std::uint64_t bits = static_cast<std::uint64_t>(value.integer());
      const std::uint64_t size = is_negative ? 0 - bits : bits;
      digits = type == 'x'   ? fmt::format("{:x}", size)
               : type == 'X' ? fmt::format("{:X}", size)
               : type == 'o' ? fmt::format("{:o}", size)
                             : fmt::format("{:b}", size);
      prefix = style.is_alternate ? std::string{'0', type} : "";
    }
    digits = grouped(digits, style.grouping, type == 'd' ? 3 : 4);
  }
  // Put the sign and the prefix before the digits.
  const std::string sign = is_negative ? "-" : style.sign == '-' ? "" : std::string(1, style.sign);
  return in_field(MarkedText(sign + prefix + digits), sign.size() + prefix.size(), style, '>');
}

MarkedText format_text(const MarkedText& text, const Style& style, const Value& value) {
  if ((style.type != 0 && style.type != 's') || style.sign != '-' || style.is_alternate || style.grouping != 0 ||
      (style.align == '=' && style.fill != "0")) {
    fail_style(style, value);
  }
  Style left = style;
  left.align = style.align == '=' ? '<' : style.align;  // a width that begins with 0
  const std::size_t size = style.precision ? character_offset(text.bytes(), static_cast<std::size_t>(*style.precision)) : text.size();
  return in_field(text.between(0, size), 0, left, '<');
}

/// Returns Python's format(value, spec).
MarkedText format_value(const Value& value, std::string_view spec) {
  if (spec.empty()) {
    return to_text(value);
  }
  const Style style = style_of(spec);
  if (value.text()) {
    return format_text(*value.text(), style, value);
  }
  if (!value.is_number()) {
    fail_style(style, value);
  }
  return format_number(value, style);
}

/// Formats with the fields of a text: {}, {0}, {name.attribute[item]!r:spec}.
class FieldFormatter {
 public:
  FieldFormatter(std::vector<Value> placed, std::vector<std::pair<std::string, Value>> named)
      : placed_(std::move(placed)), named_(std::move(named)) {}

  MarkedText format(const MarkedText& text, int levels) {
    MarkedText out;
    const std::string_view bytes = text.bytes();
    std::size_t kept = 0;
    for (std::size_t at = 0; at < bytes.size();) {
      const char c = bytes[at];
      if (c != '{' && c != '}') {
        ++at;
        continue;
      }
      out.append(text, kept, at);
      if (at + 1 < bytes.size() && bytes[at + 1] == c) {  // {{ is {
        out.append(text, at, at + 1);
        at += 2;
      } else if (c == '}' || levels == 0) {
        fail_template("formats with a single '", c, "', or with fields within fields within fields");
      } else {
        const std::size_t end = end_of_field(bytes, at);
        out.append(field(text.between(at + 1, end), levels));
        at = end + 1;
      }
      kept = at;
    }
    out.append(text, kept, text.size());
    return out;
  }

 private:
  static std::size_t end_of_field(std::string_view text, std::size_t at) {
    int open = 0;
    for (; at < text.size(); ++at) {
      open += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
      if (open == 0) {
        return at;
      }
    }
    fail_template("formats with a '{' without its '}'");
  }

  MarkedText field(const MarkedText& text, int levels) {
    Cursor cursor(text.bytes());
    Value value = named_value(cursor.take_until(".[!:"));
    while (cursor.now() == '.' || cursor.now() == '[') {
      if (cursor.take() == '.') {
        value = attribute(value, cursor.take_until(".[!:"));
      } else {
        const std::string_view key = cursor.take_until("]");
        if (!cursor.take_if(']')) {
          fail_template("formats with a '[' without its ']'");
        }
        value = subscript(value, is_index(key) ? Value::integer_of(key) : Value(key));
      }
    }
    if (cursor.take_if('!')) {
      const char conversion = cursor.take_one_of("sr");
      if (conversion == 0) {
        fail_template("formats with a conversion that is not supported, expected !s or !r");
      }
      value = Value(conversion == 's' ? to_text(value) : representation(value));
    }
    if (!cursor.is_at_end() && !cursor.take_if(':')) {
      fail_template("formats with the field '", text.bytes(), "', expected ':' after its name");
    }
    return format_value(value, format(text.between(cursor.at(), text.size()), levels - 1).bytes());
  }

  static bool is_index(std::string_view name) {
    return !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == std::string_view::npos;
  }

  Value named_value(std::string_view name) {
    if (name.empty() || is_index(name)) {
      if ((name.empty() && next_ < 0) || (!name.empty() && next_ > 0)) {
        fail_template("formats with fields with and without numbers, expected either");
      }
      const std::size_t at = name.empty() ? static_cast<std::size_t>(next_) : std::stoul(std::string(name));
      next_ = name.empty() ? next_ + 1 : -1;
      if (at >= placed_.size()) {
        fail_template("formats with the argument ", at, " of ", placed_.size());
      }
      return placed_[at];
    }
    const auto found = std::ranges::find_if(named_, [&](const auto& one) { return one.first == name; });
    if (found == named_.end()) {
      fail_template("formats with the argument ", name, ", which is not given");
    }
    return found->second;
  }

  std::vector<Value> placed_;
  std::vector<std::pair<std::string, Value>> named_;
  std::int64_t next_ = 0;  // the index of the next field without one; -1: fields have indices
};

/// The values of text % values.
class PercentValues {
 public:
  explicit PercentValues(const Value& values) : values_(values), is_tuple_(values.is(ListKind::tuple)) {}

  const Value& next() {
    const std::size_t count = is_tuple_ ? values_.list()->items.size() : 1;
    if (next_ >= count) {
      fail_template("formats a text with % and ", count, " values, which are too few");
    }
    ++next_;
    return is_tuple_ ? values_.list()->items[next_ - 1] : values_;
  }
  const Value& named(std::string_view name) {
    const Value* const found = values_.dict() ? values_.dict()->find(name) : nullptr;
    if (!found) {
      fail_template("formats a text with %(", name, "), which is not given");
    }
    return *found;
  }
  void end() const {
    const bool is_left = is_tuple_ ? next_ < values_.list()->items.size() : next_ == 0 && !values_.dict() && !values_.list();
    if (is_left) {
      fail_template("formats a text with % and more values than it has places for");
    }
  }

 private:
  const Value& values_;
  bool is_tuple_;
  std::size_t next_ = 0;
};

/// Formats a value for a conversion such as %5.2f, whose flags and type are in `style`.
MarkedText percent_value(const Value& value, Style style) {
  // Format strings and decimal integers; for the other types, check the value.
  switch (style.type) {
    case 's':
    case 'r': {
      const MarkedText text = style.type == 's' ? to_text(value) : representation(value);
      style.type = 's';
      style.sign = '-';
      style.fill = " ";
      style.align = style.align == '<' ? '<' : '>';
      return format_text(text, style, value);
    }
    case 'd':
    case 'i':
    case 'u': {
      if (!value.is_number() || style.precision) {
        fail_style(style, value);
      }
      style.type = 'd';
      return format_number(value.as<double>() ? Value::integer_of(fmt::format("{:.0f}", std::trunc(value.real()))) : value, style);
    }
    case 'x':
    case 'X':
    case 'o':
      if (!value.is_whole()) {
        fail_style(style, value);
      }
      break;
    default:
      if (!value.is_number()) {
        fail_style(style, value);
      }
  }
  return format_number(value, style);
}

}  // namespace

MarkedText formatted(const MarkedText& text, Arguments& arguments) {
  std::vector<Value> placed = arguments.take_placed();
  constexpr int kLevels = 2;  // a field may have fields in its specification
  return FieldFormatter(std::move(placed), arguments.take_named()).format(text, kLevels);
}

Value percent_format(const Value& format, const Value& values) {
  if (format.is_safe()) {
    fail_template("formats a text that is marked as safe, which is not supported");
  }
  const MarkedText& text = *format.text();
  const std::string_view bytes = text.bytes();
  PercentValues given(values);
  MarkedText out;
  std::size_t kept = 0;
  for (std::size_t at; (at = bytes.find('%', kept)) != std::string_view::npos;) {
    out.append(text, kept, at);
    // Read the name of a value, the flags, the width and the precision.
    Cursor cursor(bytes.substr(at + 1));
    const Value* value = nullptr;
    if (cursor.take_if('(')) {
      value = &given.named(cursor.take_until(")"));
      cursor.take_if(')');
    }
    Style style;
    while (const char flag = cursor.take_one_of("#0- +")) {
      style.is_alternate = style.is_alternate || flag == '#';
      style.align = flag == '-' ? '<' : flag == '0' && style.align == 0 ? '=' : style.align;
      style.sign = flag == '+' || (flag == ' ' && style.sign == '-') ? flag : style.sign;
    }
    style.fill = style.align == '=' ? "0" : " ";
    style.width = cursor.take_number().value_or(0);
    if (cursor.take_if('.')) {
      style.precision = cursor.take_number().value_or(0);
    }
    // Read the type, and format the value.
    cursor.take_one_of("hlL");
    style.type = cursor.take_one_of("%sdiuxXoeEfFgGr");
    if (style.type == 0) {
      fail_template("formats a text with '", bytes.substr(at, cursor.at() + 2), "', which is not supported");
    }
    out.append(style.type == '%' ? MarkedText("%") : percent_value(value ? *value : given.next(), style));
    kept = at + 1 + cursor.at();
  }
  out.append(text, kept, text.size());
  given.end();
  return Value(std::move(out));
}

}  // namespace dikkat::jinja
