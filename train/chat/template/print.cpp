#include "train/chat/template/print.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "train/chat/template/characters.h"
#include "train/chat/template/loop_state.h"
#include "train/chat/template/template_error.h"
#include "train/text/unicode.h"

namespace dikkat::jinja {
namespace {

/// Appends the characters of `text`. Those for which `escape` returns a text are replaced by it; it keeps the marks of the character.
void append_escaped(MarkedText& out, const MarkedText& text, auto escape) {
  const std::string& bytes = text.bytes();
  std::size_t kept = 0;
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t next = next_character(bytes, at);
    const std::string escaped = escape(utf8::decode(bytes, static_cast<index>(at)).code_point);
    if (!escaped.empty()) {
      out.append(text, kept, at);
      out.append(escaped, text.marks_at(at));
      kept = next;
    }
    at = next;
  }
  out.append(text, kept, bytes.size());
}

void append(MarkedText& out, std::string_view bytes) { out.append(bytes, TextPart{}); }

void append_quoted(MarkedText& out, const MarkedText& text) {
  const std::string& bytes = text.bytes();
  const char quote = bytes.find('\'') != std::string::npos && bytes.find('"') == std::string::npos ? '"' : '\'';
  append(out, {&quote, 1});
  append_escaped(out, text, [&](char32_t c) -> std::string {
    switch (c) {
      case '\\': return "\\\\";
      case '\n': return "\\n";
      case '\r': return "\\r";
      case '\t': return "\\t";
      default: break;
    }
    if (c == static_cast<char32_t>(quote)) {
      return {'\\', quote};
    }
    if (c == ' ' || is_printable(c)) {
      return "";
    }
    const auto code = static_cast<std::uint32_t>(c);
    return code <= 0xFF ? fmt::format("\\x{:02x}", code) : code <= 0xFFFF ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
  });
  append(out, {&quote, 1});
}

void append_representation(MarkedText& out, const Value& value);

void append_items(MarkedText& out, const ListValue& list, std::string_view type) {
  const bool is_tuple = list.kind == ListKind::tuple, is_view = list.kind > ListKind::range;
  if (list.kind == ListKind::generator) {
    fail_template("prints the result of the filter ", list.printed, ", which has no text; expected |list after the filter");
  }
  if (list.kind == ListKind::range) {
    return append(out, list.printed);
  }
  append(out, is_view ? concat(type, "([") : is_tuple ? "(" : "[");
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    append(out, i == 0 ? "" : ", ");
    append_representation(out, list.items[i]);
  }
  append(out, is_view ? "])" : is_tuple && list.items.size() == 1 ? ",)" : is_tuple ? ")" : "]");
}

/// Returns a dict's key as JSON writes it: as a string.
MarkedText key_text(const Value& key) {
  if (key.as<bool>()) {
    return MarkedText(*key.as<bool>() ? "true" : "false");
  }
  if (key.list()) {
    fail_template("writes a dict as JSON that has a tuple as a key, expected a str, number or None");
  }
  return key.is_none() ? MarkedText("null") : to_text(key);
}

void append_representation(MarkedText& out, const Value& value) {
  if (value.text()) {
    append(out, value.is_safe() ? "Markup(" : "");
    append_quoted(out, *value.text());
    append(out, value.is_safe() ? ")" : "");
  } else if (const ListValue* list = value.list()) {
    append_items(out, *list, value.type_name());
  } else if (const DictValue* dict = value.dict()) {
    append(out, "{");
    for (std::size_t i = 0; i < dict->items.size(); ++i) {
      append(out, i == 0 ? "" : ", ");
      append_representation(out, dict->items[i].first);
      append(out, ": ");
      append_representation(out, dict->items[i].second);
    }
    append(out, "}");
  } else {
    out.append(value.is_undefined() ? MarkedText("Undefined") : to_text(value));
  }
}

/// Writes values as Python's json module does.
class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  MarkedText take() { return std::move(out_); }

  void write(const Value& value, std::int64_t level) {
    if (value.text()) {
      write_text(*value.text());
    } else if (const ListValue* list = value.list(); list && (list->kind == ListKind::list || list->kind == ListKind::tuple)) {
      write_items('[', ']', list->items, level, [&](const Value& item) { write(item, level + 1); });
    } else if (const DictValue* dict = value.dict()) {
      auto items = dict->items;
      if (style_.sorts_keys) {
        std::stable_sort(items.begin(), items.end(), [](const auto& a, const auto& b) { return compare(a.first, b.first) < 0; });
      }
      write_items('{', '}', items, level, [&](const auto& item) {
        write_text(key_text(item.first));
        out_.append(style_.after_key ? *style_.after_key : MarkedText(": "));
        write(item.second, level + 1);
      });
    } else if (value.is_none()) {
      append(out_, "null");
    } else if (value.as<bool>()) {
      append(out_, *value.as<bool>() ? "true" : "false");
    } else if (value.is_whole()) {
      append(out_, value.digits());
    } else if (value.as<double>()) {
      const double number = value.real();
      append(out_, std::isnan(number) ? "NaN" : std::isinf(number) ? (number < 0 ? "-Infinity" : "Infinity") : float_text(number));
    } else {
      fail_template("writes ", value.type_name(), " as JSON, expected None, a bool, number, str, list or dict");
    }
  }

 private:
  void write_items(char open, char close, const auto& items, std::int64_t level, auto write_item) {
    append(out_, {&open, 1});
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) {
        out_.append(style_.between_items ? *style_.between_items : MarkedText(style_.indent ? "," : ", "));
      }
      start_line(level + 1);
      write_item(items[i]);
    }
    if (!items.empty()) {
      start_line(level);
    }
    append(out_, {&close, 1});
  }

  void start_line(std::int64_t level) {
    if (style_.indent) {
      append(out_,
             "\n" + std::string(static_cast<std::size_t>(level * std::clamp(*style_.indent, std::int64_t{0}, std::int64_t{64})), ' '));
    }
  }

  void write_text(const MarkedText& text) {
    append(out_, "\"");
    append_escaped(out_, text, [&](char32_t c) -> std::string {
      switch (c) {
        case '"': return "\\\"";
        case '\\': return "\\\\";
        case '\n': return "\\n";
        case '\r': return "\\r";
        case '\t': return "\\t";
        case '\b': return "\\b";
        case '\f': return "\\f";
        default: break;
      }
      const auto code = static_cast<std::uint32_t>(c);
      if (code >= 0x20 && (code < 0x7F || !style_.ascii)) {
        return "";
      }
      return code <= 0xFFFF ? fmt::format("\\u{:04x}", code)
                            : fmt::format("\\u{:04x}\\u{:04x}", 0xD7C0 + (code >> 10), 0xDC00 + (code & 0x3FF));
    });
    append(out_, "\"");
  }

  const JsonStyle& style_;
  MarkedText out_;
};

}  // namespace

MarkedText escaped(const MarkedText& text) {
  MarkedText out;
  append_escaped(out, text, [](char32_t c) -> std::string {
    switch (c) {
      case '&': return "&amp;";
      case '<': return "&lt;";
      case '>': return "&gt;";
      case '\'': return "&#39;";
      case '"': return "&#34;";
      default: return "";
    }
  });
  return out;
}

std::string float_text(double number) {
  if (std::isnan(number)) {
    return "nan";
  }
  if (std::isinf(number)) {
    return number < 0 ? "-inf" : "inf";
  }
  char buffer[64];
  const auto text_in = [&](std::chars_format format) {
    return std::string(buffer, std::to_chars(buffer, buffer + sizeof buffer, number, format).ptr);
  };
  // Python switches to an exponent outside 1e-4 to 1e16.
  std::string text = text_in(std::chars_format::scientific);
  const int exponent = std::stoi(text.substr(text.find('e') + 1));
  if (number != 0 && (exponent < -4 || exponent >= 16)) {
    return text;
  }
  text = text_in(std::chars_format::fixed);
  return text.find('.') == std::string::npos ? text + ".0" : text;
}

MarkedText to_text(const Value& value) {
  if (value.text()) {
    return *value.text();
  }
  if (value.is_undefined()) {
    return MarkedText();
  }
  if (value.is_none()) {
    return MarkedText("None");
  }
  if (value.as<bool>()) {
    return MarkedText(*value.as<bool>() ? "True" : "False");
  }
  if (value.is_whole()) {
    return MarkedText(value.digits());
  }
  if (value.as<double>()) {
    return MarkedText(float_text(value.real()));
  }
  if (value.list() || value.dict()) {
    return representation(value);
  }
  if (const LoopState* loop = value.loop()) {
    return MarkedText(concat("<LoopContext ", loop->at + 1, "/", loop->values.size(), ">"));
  }
  fail_template("prints a ", value.type_name(), ", expected a value");
}

MarkedText representation(const Value& value) {
  MarkedText out;
  append_representation(out, value);
  return out;
}

MarkedText json_of(const Value& value, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.write(value, 0);
  return writer.take();
}

}  // namespace dikkat::jinja
