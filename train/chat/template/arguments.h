#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "train/chat/template/template_error.h"
#include "train/chat/template/value.h"

namespace dikkat::jinja {

/// The arguments of a call in a template, by place and by name. A function takes the arguments that it knows, and then calls end().
class Arguments {
 public:
  /// `function` names the called function, for errors: "the filter join".
  Arguments(std::string function, std::vector<Value> placed, std::vector<std::pair<std::string, Value>> named = {})
      : function_(std::move(function)), placed_(std::move(placed)), named_(std::move(named)) {}

  /// Takes the next argument, or the one with this name.
  std::optional<Value> take(std::string_view name) {
    if (next_ < placed_.size()) {
      return std::move(placed_[next_++]);
    }
    return take_named(name);
  }
  /// Takes an argument that must be there. Throws TemplateError.
  Value need(std::string_view name) {
    std::optional<Value> value = take(name);
    if (!value) {
      fail_template("calls ", function_, " without its argument ", name);
    }
    return *std::move(value);
  }
  /// Takes the argument with this name.
  std::optional<Value> take_named(std::string_view name) {
    for (std::size_t i = 0; i < named_.size(); ++i) {
      if (named_[i].first == name) {
        Value value = std::move(named_[i].second);
        named_.erase(named_.begin() + static_cast<std::ptrdiff_t>(i));
        return value;
      }
    }
    return std::nullopt;
  }
  /// Takes all arguments without a name that are left.
  std::vector<Value> take_placed() {
    std::vector<Value> values(std::make_move_iterator(placed_.begin() + static_cast<std::ptrdiff_t>(next_)),
                              std::make_move_iterator(placed_.end()));
    next_ = placed_.size();
    return values;
  }
  /// Takes all arguments with a name that are left.
  std::vector<std::pair<std::string, Value>> take_named() { return std::exchange(named_, {}); }

  /// Take an argument of a type. Throw TemplateError for another type; nullopt is for a missing one and for None.
  std::optional<MarkedText> take_text(std::string_view name) { return converted<MarkedText>(take(name), name); }
  std::optional<std::int64_t> take_integer(std::string_view name) { return converted<std::int64_t>(take(name), name); }
  MarkedText need_text(std::string_view name) {
    const std::optional<MarkedText> text = converted<MarkedText>(need(name), name);
    if (!text) {
      fail_template("gives ", function_, " None as ", name, ", expected a str");
    }
    return *text;
  }

  /// Adds an argument with a name.
  void add(std::string name, Value value) { named_.emplace_back(std::move(name), std::move(value)); }
  /// Returns whether `is_meant` holds for an argument that is left.
  bool has(auto is_meant) const {
    return std::any_of(placed_.begin() + static_cast<std::ptrdiff_t>(next_), placed_.end(), is_meant) ||
           std::any_of(named_.begin(), named_.end(), [&](const auto& one) { return is_meant(one.second); });
  }

  /// Throws TemplateError if arguments are left.
  void end() const {
    if (next_ < placed_.size()) {
      fail_template("gives ", function_, " ", placed_.size(), " arguments, expected ", next_);
    }
    if (!named_.empty()) {
      fail_template("gives ", function_, " the argument ", named_.front().first, ", which it does not take");
    }
  }

  const std::string& function() const { return function_; }

 private:
  template <class T>
  std::optional<T> converted(std::optional<Value> value, std::string_view name) const {
    if (!value || value->is_none()) {
      return std::nullopt;
    }
    if constexpr (std::is_same_v<T, MarkedText>) {
      if (value->text()) {
        return *value->text();
      }
    } else if (value->is_integer()) {
      return value->integer();
    }
    fail_template("gives ", function_, " ", value->type_name(), " as ", name, ", expected ",
                  std::is_same_v<T, MarkedText> ? "a str" : "an int");
  }

  std::string function_;
  std::vector<Value> placed_;
  std::vector<std::pair<std::string, Value>> named_;
  std::size_t next_ = 0;  // index in placed_
};

}  // namespace dikkat::jinja
