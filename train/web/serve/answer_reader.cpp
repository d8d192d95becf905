#include "train/web/serve/answer_reader.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "train/system/json.h"

namespace dikkat::serve {
namespace {

constexpr std::string_view kSpaceAround = " \t\n\r";

const CallFormat kNoCalls;

bool is_space(char c) { return kSpaceAround.find(c) != std::string_view::npos; }

std::size_t space_at_begin(std::string_view text) { return std::min(text.find_first_not_of(kSpaceAround), text.size()); }

std::size_t without_space_at_end(std::string_view text) { return text.find_last_not_of(kSpaceAround) + 1; }

/// Returns whether a text may become one that begins with the mark.
bool may_become(std::string_view text, std::string_view mark) { return text.size() < mark.size() && mark.starts_with(text); }

/// Returns the number of bytes at the end of the text that may belong to the mark or to white space before it.
std::size_t held_for(std::string_view text, std::string_view mark) {
  std::size_t held = 0;
  for (std::size_t size = 0; size < std::min(text.size() + 1, mark.size()); ++size) {
    if (text.ends_with(mark.substr(0, size))) {
      held = std::max(held, text.size() - without_space_at_end(text.substr(0, text.size() - size)));
    }
  }
  return held;
}

/// Returns the options without what the form does not have.
std::shared_ptr<const AnswerReader::Options> possible(AnswerReader::Options options) {
  if (!options.form->calls) {
    options.tools.clear();
  } else {
    options.several = options.several && options.form->calls->several;
  }
  options.reads_reasoning = options.reads_reasoning && !options.form->think_begin.empty();
  return std::make_shared<const AnswerReader::Options>(std::move(options));
}

}  // namespace

std::string_view CallScan::arguments(std::string_view text) const {
  const std::size_t begin = form_->name_key.empty() ? 0 : arguments_begin_;
  if (begin >= text.size()) {
    return {};
  }
  return text.substr(begin, std::min(arguments_end_, at_) - begin);
}

/// A value of the object begins with `c`.
CallScan::State CallScan::begin_value(char c) {
  if (!wants_value_) {
    return State::bad;
  }
  wants_value_ = false;
  in_value_ = true;
  if (key_ == form_->name_key && c != '"') {
    return State::bad;
  }
  if (key_ == form_->arguments_key) {
    if (c != '{' && c != '"') {
      return State::bad;
    }
    arguments_begin_ = at_;
  }
  return State::more;
}

/// A key, or a text that is a value, ends before byte at_.
CallScan::State CallScan::end_text(std::string_view text) {
  const std::string_view said = text.substr(text_begin_, at_ - text_begin_);
  if (in_value_) {
    if (key_ == form_->name_key) {
      name_ = said;
      return std::ranges::find(*names_, name_) == names_->end() ? State::bad : State::more;
    }
    if (key_ == form_->arguments_key) {
      arguments_end_ = at_ + 1;
    }
    return State::more;
  }
  key_ = said;
  const bool is_known = key_ == form_->name_key || key_ == form_->arguments_key || key_ == "type" || key_ == "id";
  return is_known || !form_->begin.empty() ? State::more : State::bad;
}

CallScan::State CallScan::scan(std::string_view text) {
  const bool has_keys = !form_->name_key.empty();
  for (; at_ < text.size(); ++at_) {
    const char c = text[at_];
    const bool is_key_level = has_keys && depth_ == 1;
    State state = State::more;
    if (in_text_) {
      if (!escaped_ && c == '"') {
        in_text_ = false;
        state = is_key_level ? end_text(text) : state;
      }
      escaped_ = !escaped_ && c == '\\';
    } else if (depth_ == 0 && c != '{') {
      return State::bad;
    } else if (c == '"') {
      if (is_key_level && (wants_value_ || in_value_)) {
        state = begin_value(c);
      }
      in_text_ = true;
      text_begin_ = at_ + 1;
    } else if (c == '{' || c == '[') {
      state = is_key_level ? begin_value(c) : state;
      ++depth_;
    } else if (c == '}' || c == ']') {
      --depth_;
      if (depth_ == 0) {
        ++at_;
        return State::complete;
      }
      if (has_keys && depth_ == 1 && key_ == form_->arguments_key) {
        arguments_end_ = at_ + 1;
      }
    } else if (is_key_level && c == ':') {
      wants_value_ = true;
    } else if (is_key_level && c == ',') {
      in_value_ = false;
    } else if (is_key_level && !is_space(c) && !in_value_) {
      state = begin_value(c);
    }
    if (state == State::bad) {
      return state;
    }
  }
  return State::more;
}

AnswerReader::AnswerReader(Options options)
    : options_(possible(std::move(options))), scan_(options_->form->calls ? *options_->form->calls : kNoCalls, options_->tools) {
  if (options_->reads_reasoning) {
    state_ = options_->begins_in_reasoning ? State::reasoning : State::start;
    skips_space_ = options_->begins_in_reasoning;
  }
}

AnswerParts AnswerReader::push(std::string_view text) {
  AnswerParts parts;
  if (is_over_) {
    return parts;
  }
  rest_ += text;
  for (bool goes_on = true; goes_on && !is_over_;) {
    switch (state_) {
      case State::start: goes_on = read_start(parts); break;
      case State::reasoning: goes_on = read_reasoning(parts); break;
      case State::content: goes_on = read_content(parts); break;
      case State::before_list: goes_on = read_list_begin(parts); break;
      case State::before_call: goes_on = read_call_begin(parts); break;
      case State::in_call: goes_on = read_call(parts); break;
      case State::behind_call: goes_on = read_call_end(); break;
    }
  }
  return parts;
}

AnswerParts AnswerReader::finish() {
  AnswerParts parts;
  switch (state_) {
    case State::reasoning: parts.reasoning = rest_; break;
    case State::start:
    case State::content:
      if (!options_->has_only_calls && (!skips_space_ || space_at_begin(rest_) < rest_.size())) {
        parts.content = rest_;
      }
      break;
    case State::before_list:
    case State::before_call:
    case State::in_call:
      if (!is_announced_ && !options_->is_certain) {
        parts.content = raw_ + rest_;
      }
      break;
    case State::behind_call: break;
  }
  rest_.clear();
  raw_.clear();
  return parts;
}

bool AnswerReader::read_start(AnswerParts&) {
  const std::string_view text = std::string_view(rest_).substr(space_at_begin(rest_));
  if (text.starts_with(options_->form->think_begin)) {
    drop(rest_.size() - text.size() + options_->form->think_begin.size());
    state_ = State::reasoning;
    skips_space_ = true;
    return true;
  }
  if (may_become(text, options_->form->think_begin)) {
    return false;
  }
  state_ = State::content;
  return true;
}

bool AnswerReader::read_reasoning(AnswerParts& parts) {
  if (skips_space_) {
    drop(space_at_begin(rest_));
    skips_space_ = rest_.empty();
  }
  const std::string_view text = rest_;
  const std::string& mark = options_->form->think_end;
  const std::size_t end = text.find(mark);
  if (end == std::string_view::npos) {
    const std::size_t certain = text.size() - held_for(text, mark);
    parts.reasoning += text.substr(0, certain);
    drop(certain);
    return false;
  }
  parts.reasoning += text.substr(0, without_space_at_end(text.substr(0, end)));
  drop(end + mark.size());
  state_ = State::content;
  skips_space_ = true;
  return true;
}

bool AnswerReader::read_content(AnswerParts& parts) {
  if (skips_space_) {
    const std::size_t space = space_at_begin(rest_);
    if (space == rest_.size()) {
      return false;
    }
    drop(space);
    skips_space_ = false;
  }
  if (options_->tools.empty()) {
    parts.content += std::exchange(rest_, {});
    return false;
  }
  const std::string& mark = options_->form->calls->begin;
  if (mark.empty()) {
    return read_bare_call(parts);
  }
  const std::string_view text = rest_;
  const std::size_t begin = text.find(mark);
  if (begin == std::string_view::npos) {
    const std::size_t certain = text.size() - held_for(text, mark);
    parts.content += text.substr(0, certain);
    drop(certain);
    return false;
  }
  const std::size_t said = without_space_at_end(text.substr(0, begin));
  parts.content += text.substr(0, said);
  drop(said);
  keep_raw(begin - said + mark.size());
  state_ = options_->form->calls->is_list ? State::before_list : State::before_call;
  return true;
}

/// A call without a mark can only be the whole answer.
bool AnswerReader::read_bare_call(AnswerParts& parts) {
  if (at_begin_) {
    const std::string_view text = std::string_view(rest_).substr(space_at_begin(rest_));
    const std::size_t space = rest_.size() - text.size();
    if (may_become(text, python_tag())) {
      return false;
    }
    at_begin_ = false;
    if (text.starts_with('{') || text.starts_with(python_tag())) {
      keep_raw(space + (text.starts_with('{') ? 0 : python_tag().size()));
      state_ = State::before_call;
      return true;
    }
  }
  parts.content += std::exchange(rest_, {});
  return false;
}

bool AnswerReader::read_list_begin(AnswerParts& parts) {
  const std::size_t space = space_at_begin(rest_);
  if (space == rest_.size()) {
    return false;
  }
  if (rest_[space] != '[') {
    return fail(parts);
  }
  keep_raw(space + 1);
  state_ = State::before_call;
  return true;
}

bool AnswerReader::read_call_begin(AnswerParts& parts) {
  const CallFormat& form = *options_->form->calls;
  std::size_t begin = space_at_begin(rest_);
  if (form.name_key.empty()) {  // the name, and what is between it and the arguments
    const std::string_view between = without_space_around(form.between), text = rest_;
    const std::size_t name_end = between.empty() ? text.find_first_of(" \t\n\r{", begin) : text.find(between, begin);
    if (name_end == std::string_view::npos) {
      const std::string_view name = text.substr(begin);
      const bool may_be_a_tool = std::ranges::any_of(options_->tools, [&](const std::string& tool) {
        return (tool + std::string(between)).starts_with(name) || name.starts_with(tool);
      });
      return may_be_a_tool ? false : fail(parts);
    }
    name_ = without_space_around(text.substr(begin, name_end - begin));
    if (std::ranges::find(options_->tools, name_) == options_->tools.end()) {
      return fail(parts);
    }
    begin = name_end + between.size();
    begin += space_at_begin(text.substr(begin));
  }
  if (begin == rest_.size()) {
    return false;
  }
  if (rest_[begin] != '{') {
    return fail(parts);
  }
  keep_raw(begin);
  state_ = State::in_call;
  scan_ = CallScan(form, options_->tools);
  given_ = 0;
  return true;
}

bool AnswerReader::read_call(AnswerParts& parts) {
  switch (scan_.scan(rest_)) {
    case CallScan::State::more:
      if (options_->is_certain) {
        give_call(parts);
      }
      return false;
    case CallScan::State::bad: return fail(parts);
    case CallScan::State::complete: break;
  }
  std::string arguments;
  const bool is_valid = is_call(arguments);
  if (is_announced_) {
    give_call(parts);
    if (given_ == 0) {  // they are a text, or missing
      parts.calls.push_back({.number = calls_ - 1, .arguments = is_valid ? std::move(arguments) : "{}"});
    }
  } else if (!is_valid) {
    return fail(parts);
  } else {
    parts.calls.push_back({.number = calls_++, .name = name_.empty() ? scan_.name() : name_, .arguments = std::move(arguments)});
  }
  drop(scan_.end());
  raw_.clear();
  name_.clear();
  is_announced_ = false;
  is_over_ = !options_->several;
  state_ = State::behind_call;
  return true;
}

bool AnswerReader::read_call_end() {
  const CallFormat& form = *options_->form->calls;
  const std::string_view text = std::string_view(rest_).substr(space_at_begin(rest_));
  const std::size_t space = rest_.size() - text.size();
  if (form.is_list && !is_behind_list_) {
    if (text.empty()) {
      return false;
    }
    if (text.front() == ',') {
      keep_raw(space + 1);
      state_ = State::before_call;
      return true;
    }
    if (text.front() == ']') {
      drop(space + 1);
      is_behind_list_ = true;
      return true;
    }
  } else if (!form.end.empty()) {
    if (may_become(text, form.end)) {
      return false;
    }
    if (text.starts_with(form.end)) {
      drop(space + form.end.size());
    }
  }
  is_behind_list_ = false;
  state_ = State::content;
  skips_space_ = true;
  return true;
}

/// Remembers the first bytes of rest_ as raw text of a call.
void AnswerReader::keep_raw(std::size_t bytes) {
  raw_ += rest_.substr(0, bytes);
  drop(bytes);
}

/// Gives what was read of a call as content, and continues behind it.
bool AnswerReader::fail(AnswerParts& parts) {
  parts.content += std::exchange(raw_, {});
  name_.clear();
  is_announced_ = false;
  state_ = State::content;
  return true;
}

/// Gives the part of a call that has come since the last time.
void AnswerReader::give_call(AnswerParts& parts) {
  const std::string_view arguments = scan_.arguments(rest_);
  const std::string& name = name_.empty() ? scan_.name() : name_;
  if (name.empty() || (!arguments.empty() && arguments.front() != '{')) {
    return;  // arguments that are a text are read when they are complete
  }
  if (!is_announced_) {
    parts.calls.push_back({.number = calls_++, .name = name});
    is_announced_ = true;
  }
  if (arguments.size() > given_) {
    parts.calls.push_back({.number = calls_ - 1, .arguments = std::string(arguments.substr(given_))});
    given_ = arguments.size();
  }
}

/// Whether the object that is complete is a call. Sets its arguments.
bool AnswerReader::is_call(std::string& arguments) const {
  const std::optional<nlohmann::json> object = try_json(std::string_view(rest_).substr(0, scan_.end()));
  if (!object || (name_.empty() && !scan_.has_name())) {
    return false;
  }
  arguments = scan_.arguments(rest_);
  if (arguments.starts_with('"')) {  // the text of an object
    arguments = parse_json(arguments).get<std::string>();
    const std::optional<nlohmann::json> inner = try_json(arguments);
    return inner && inner->is_object();
  }
  const bool has_none = arguments.empty();
  if (has_none) {
    arguments = "{}";
  }
  return !has_none || !options_->form->calls->begin.empty();
}

}  // namespace dikkat::serve
