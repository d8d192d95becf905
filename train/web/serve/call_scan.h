#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "train/chat/answer_format.h"

namespace dikkat::serve {

/// Follows the text of a JSON object that is a call of a tool, as it is generated: finds the tool's name, the bytes of the arguments and
/// the object's end. It looks only at the object's own keys and values. Whether all of the object is JSON is for its reader to check.
class CallScan {
 public:
  enum class Progress { more, complete, bad };  // bad: it is not a call of one of the tools

  /// `form` has the keys of name and arguments. Without keys, the object is the arguments. `names` are the tools that can be called. Both
  /// must outlive the scan.
  CallScan(const CallFormat& form, const std::vector<std::string>& names) : form_(&form), names_(&names) {}

  /// Continues with a text that begins with the one of the last call.
  Progress scan(std::string_view text);
  /// Returns the bytes of the object; valid if it is complete.
  std::size_t end() const { return at_; }
  /// Returns the tool's name; empty before it was read, and without keys.
  const std::string& name() const { return name_; }
  /// Returns the bytes of the arguments so far, starting at the first one; empty before it.
  std::string_view arguments(std::string_view text) const;

 private:
  /// Where byte at_ lies. "Inner" is inside of a value that is an object or a list, or of the arguments that have no keys around them.
  enum class State { begin, key, key_text, value, value_text, inner, inner_text, value_end, complete, bad };

  // Each returns the state after byte at_, which lies in the state of its name.
  State after_begin(char c);
  State after_key(char c);
  State after_key_text(std::string_view text);
  State after_value(char c);
  State after_value_text(std::string_view text);
  State after_inner(char c);
  State after_inner_text(std::string_view text) const;
  static State after_value_end(char c);
  State after(std::string_view text);

  bool has_keys() const { return !form_->name_key.empty(); }
  bool ends_text(std::string_view text) const;
  std::string_view said(std::string_view text) const { return text.substr(text_begin_, at_ - text_begin_); }
  State begin_text(State state);

  const CallFormat* form_;
  const std::vector<std::string>* names_;
  State state_ = State::begin;
  std::size_t at_ = 0, text_begin_ = 0, arguments_begin_ = std::string_view::npos, arguments_end_ = std::string_view::npos;
  int depth_ = 0;  // of an inner byte: the objects and lists around it, without the call's own object
  std::string key_, name_;
};

}  // namespace dikkat::serve
