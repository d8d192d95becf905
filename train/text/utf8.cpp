#include "train/text/utf8.h"

#include <algorithm>
#include <cstring>

#include "autograd/base/error.h"
#include "train/text/guess_encoding.h"

namespace dikkat::utf8 {
namespace {

unsigned byte_at(std::string_view text, index at) { return static_cast<unsigned char>(text[static_cast<std::size_t>(at)]); }
index size_of(std::string_view text) { return static_cast<index>(text.size()); }
bool is_continuation(unsigned byte) { return (byte & 0xC0U) == 0x80; }

/// Returns whether all of 16 bytes are ASCII.
bool is_ascii(const char* bytes) {
  std::uint64_t halves[2];
  std::memcpy(halves, bytes, sizeof halves);
  return ((halves[0] | halves[1]) & 0x8080808080808080U) == 0;
}

/// Returns the number of bytes of a character with this first byte; 0 if it is not a first byte.
index length_from(unsigned first) {
  if (first < 0x80) {
    return 1;
  }
  if (first < 0xC2 || first > 0xF4) {
    return 0;
  }
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/// Returns the fault of a second byte. Some first bytes allow only part of 80 to BF: the others would be overlong, a surrogate or too
/// large.
Fault fault_of_second(unsigned first, unsigned second) {
  switch (first) {
    case 0xE0: return second < 0xA0 ? Fault::overlong : Fault::none;
    case 0xED: return second > 0x9F ? Fault::surrogate : Fault::none;
    case 0xF0: return second < 0x90 ? Fault::overlong : Fault::none;
    case 0xF4: return second > 0x8F ? Fault::too_large : Fault::none;
    default: return Fault::none;
  }
}

const char* words_for(Fault fault) {
  switch (fault) {
    case Fault::none: return "a valid character";
    case Fault::stray: return "a continuation byte without a first byte before it";
    case Fault::foreign: return "a byte that never occurs in UTF-8";
    case Fault::overlong: return "an overlong form, which UTF-8 forbids";
    case Fault::surrogate: return "half of a UTF-16 surrogate pair, which UTF-8 forbids";
    case Fault::too_large: return "a number above U+10FFFF, the last code point";
    case Fault::interrupted: return "a character of several bytes that another byte interrupts";
    case Fault::cut_off: return "a character that the end of the text cuts off";
  }
  return "?";
}

void append_hex(std::string& out, std::uint32_t value, int digits) {
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) {
    out += "0123456789ABCDEF"[value >> shift & 0xF];
  }
}

/// Controls, marks that attach to their neighbor or change the direction of writing, and code points that are private or never assigned.
constexpr Range kUnprintable[] = {
    {0x0, 0x1F},      {0x7F, 0xA0},     {0xAD, 0xAD},     {0x300, 0x36F},
    {0x61C, 0x61C},   {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F},
    {0x205F, 0x206F}, {0x3000, 0x3000}, {0xD800, 0xF8FF}, {0xFDD0, 0xFDEF},
    {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF}, {0xFFF0, 0xFFFF}, {0xE0000, kLastCodePoint},
};

bool is_printable(char32_t code_point) {
  return std::none_of(std::begin(kUnprintable), std::end(kUnprintable),
                      [=](Range range) { return range.first <= code_point && code_point <= range.last; });
}

}  // namespace

Character decode(std::string_view text, index at) {
  const unsigned first = byte_at(text, at);
  if (first < 0x80) {
    return {.code_point = first, .bytes = 1};
  }
  const index length = length_from(first);
  if (length == 0) {
    return {.bytes = 1, .fault = is_continuation(first) ? Fault::stray : Fault::foreign};
  }
  char32_t code_point = first & (0x7FU >> length);
  for (index i = 1; i < length; ++i) {
    if (at + i == size_of(text)) {
      return {.bytes = i, .fault = Fault::cut_off};
    }
    const unsigned byte = byte_at(text, at + i);
    if (!is_continuation(byte)) {
      return {.bytes = i + 1, .fault = Fault::interrupted};
    }
    if (const Fault fault = i == 1 ? fault_of_second(first, byte) : Fault::none; fault != Fault::none) {
      return {.bytes = i + 1, .fault = fault};
    }
    code_point = code_point << 6 | (byte & 0x3FU);
  }
  return {.code_point = code_point, .bytes = length};
}

std::optional<index> first_invalid(std::string_view text) {
  for (index at = 0; at < size_of(text);) {
    constexpr index kBlock = 16;
    if (at + kBlock <= size_of(text) && is_ascii(text.data() + at)) {  // the usual case
      at += kBlock;
      continue;
    }
    const Character character = decode(text, at);
    if (character.fault != Fault::none) {
      return at;
    }
    at += character.bytes;
  }
  return std::nullopt;
}

std::string describe_fault(std::string_view text, index at) {
  const Character character = decode(text, at);
  std::string words;
  for (index i = 0; i < character.bytes; ++i) {
    words += i == 0 ? "0x" : " 0x";
    append_hex(words, byte_at(text, at + i), 2);
  }
  return words + ", " + words_for(character.fault);
}

std::string refusal(std::string_view text, index at) {
  const std::string_view likely = guess_encoding(text);
  return concat("not UTF-8: ", describe_fault(text, at), likely.empty() ? "" : concat("; the text looks like ", likely),
                "; convert it to UTF-8 (iconv -f ", likely.empty() ? "ENCODING" : likely, " -t UTF-8 OLD > NEW)");
}

void append(std::string& out, char32_t code_point) {
  const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
  const auto continuation = [&](int shift) { put(0x80U | (code_point >> shift & 0x3FU)); };
  require(is_character(code_point), "utf8: ", static_cast<std::uint32_t>(code_point),
          " is not a character, expected a code point up to U+10FFFF that is not a surrogate");
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | code_point >> 6);
    continuation(0);
  } else if (code_point < 0x10000) {
    put(0xE0U | code_point >> 12);
    continuation(6);
    continuation(0);
  } else {
    put(0xF0U | code_point >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

index append_valid(std::string& out, std::string_view text) {
  index replaced = 0;
  while (!text.empty()) {
    const auto bad = first_invalid(text);
    out += text.substr(0, static_cast<std::size_t>(bad.value_or(size_of(text))));
    if (!bad) {
      break;
    }
    text.remove_prefix(static_cast<std::size_t>(*bad));
    const Character character = decode(text, 0);
    // Some faults show only at a byte that is not part of the character that began.
    const bool at_next = character.fault == Fault::interrupted || character.fault == Fault::overlong ||
                         character.fault == Fault::surrogate || character.fault == Fault::too_large;
    text.remove_prefix(static_cast<std::size_t>(std::max<index>(1, character.bytes - (at_next ? 1 : 0))));
    append(out, kReplacement);
    ++replaced;
  }
  return replaced;
}

std::string name_of(char32_t code_point) {
  std::string name = "U+";
  append_hex(name, code_point, code_point > 0xFFFFF ? 6 : code_point > 0xFFFF ? 5 : 4);
  if (is_printable(code_point)) {
    name += " '";
    append(name, code_point);
    name += '\'';
  }
  return name;
}

index snap(std::string_view text, index at) {
  if (at == size_of(text) || !is_continuation(byte_at(text, at))) {
    return at;
  }
  for (index start = at - 1; start >= std::max<index>(0, at - 3); --start) {
    if (!is_continuation(byte_at(text, start))) {
      const Character character = decode(text, start);
      return character.fault == Fault::none && start + character.bytes > at ? start : at;
    }
  }
  return at;
}

index incomplete_tail(std::string_view text) {
  const index size = size_of(text);
  for (index start = size - 1; start >= std::max<index>(0, size - 3); --start) {
    if (!is_continuation(byte_at(text, start))) {
      return decode(text, start).fault == Fault::cut_off ? size - start : 0;
    }
  }
  return 0;
}

}  // namespace dikkat::utf8
