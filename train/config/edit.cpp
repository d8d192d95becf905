#include "train/config/edit.h"

#include <charconv>
#include <utility>
#include <variant>
#include <vector>

#include "autograd/base/error.h"
#include "train/config/reading.h"

namespace dikkat {
namespace {

const schema::Key* key_at(std::string_view path) {
  const std::size_t dot = path.find('.');
  return dot == std::string_view::npos ? nullptr : schema::find_key(path.substr(0, dot), path.substr(dot + 1));
}

const schema::Key& known_key(std::string_view path) {
  const schema::Key* key = key_at(path);
  require(key != nullptr, "ConfigEdit: there is no key ", path);
  return *key;
}

/// Writes a value as --set takes it.
struct PlainText {
  std::string operator()(std::monostate) const { return ""; }
  std::string operator()(double value) const {  // 0.0003 and 2e-05
    char text[64];
    return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::general).ptr};
  }
  template <class T>
  std::string operator()(const T& value) const {
    return concat(value);
  }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    std::string text;
    for (const T& value : values) {
      text += concat(text.empty() ? "" : ",", value);
    }
    return text;
  }
};

/// Returns the value as plain text, or as TOML if that is read as another value, such as one for a name with a comma.
std::string text_of(const schema::Key& key, const schema::Value& value) {
  std::string text = std::visit(PlainText{}, value);
  return schema::read_text(key, text).value == value ? text : schema::to_toml(value);
}

}  // namespace

ConfigEdit::ConfigEdit(const schema::Key& key, schema::Value value, std::string_view text)
    : key_(&key), value_(std::move(value)), text_(text) {}

ConfigEdit::ConfigEdit(std::string_view key, schema::Value value, std::string_view text)
    : ConfigEdit(known_key(key), value, text.empty() ? text_of(known_key(key), value) : std::string(text)) {
  const schema::Reading read = schema::read_text(*key_, text_);
  require(read.problem.empty() && read.value == value_, "ConfigEdit: ", key, " does not accept ", schema::to_toml(value_));
}

ConfigEdit ConfigEdit::read(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  const schema::Key* key = key_at(assignment.substr(0, equals));
  require_input(key != nullptr && equals != std::string_view::npos, schema::in_quotes(assignment),
                " sets no known key, expected section.key=value");
  const std::string_view text = assignment.substr(equals + 1);
  schema::Reading found = schema::read_text(*key, text);
  require_input(found.problem.empty(), schema::in_quotes(assignment), ": ", found.problem);
  return {*key, std::move(found.value), text};
}

std::string ConfigEdit::assignment() const { return concat(key_->path(), '=', text_); }

}  // namespace dikkat
