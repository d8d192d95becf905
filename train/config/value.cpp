#include "train/config/value.h"

#include <algorithm>
#include <array>

#include "autograd/base/error.h"

namespace dikkat::schema {
namespace {

std::string number_text(double value) {
  std::string text = concat(value);
  const std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) {
    const bool is_whole = text.find_first_of(".n") == std::string::npos;  // n: nan and inf, which errors show
    return is_whole ? text + ".0" : text;
  }
  if (text[exponent + 2] == '0') {  // writes 1e-08 as 1e-8
    text.erase(exponent + 2, 1);
  }
  return text;
}

/// Returns the length of the UTF-8 sequence at the start of `text`; 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) {
    return 1;
  }
  if (first >= 0xC2 && first <= 0xDF) {
    return follows(1) ? 2 : 0;
  }
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) > 0x9F;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool too_high = first == 0xF4 && byte(1) > 0x8F;
    return follows(1) && follows(2) && follows(3) && !overlong && !too_high ? 4 : 0;
  }
  return 0;
}

struct Text {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(bool value) const { return concat(value); }
  std::string operator()(index value) const { return concat(value); }
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(const std::string& value) const { return toml_string(value); }
  template <class Item>
  std::string operator()(const std::vector<Item>& values) const {
    std::string text;
    for (const Item& value : values) {
      text += concat(text.empty() ? "" : ", ", (*this)(value));
    }
    return concat("[", text, "]");
  }
};

}  // namespace

std::string_view name_of(Type type) {
  constexpr std::array<std::string_view, 7> kNames = {"nothing",  "true or false",     "an integer",       "a number",
                                                      "a string", "a list of strings", "a list of numbers"};
  return kNames[static_cast<std::size_t>(type)];
}

std::string to_toml(const Value& value) { return std::visit(Text{}, value); }

std::string toml_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += concat('\\', c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (byte < 0x20 || byte == 0x7F) {
      constexpr std::string_view kHex = "0123456789ABCDEF";
      out += concat("\\u00", kHex[byte / 16], kHex[byte % 16]);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  std::string shown;
  while (!text.empty()) {
    if (shown.size() >= kLongest) {
      return toml_string(shown) + "...";
    }
    const std::size_t length = sequence_length(text);
    shown += length == 0 ? "\uFFFD" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return toml_string(shown);
}

std::string one_line(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, ' ');
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) {
      return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace dikkat::schema
