#include "train/web/serve/answer_reader.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "train/system/json.h"

namespace dikkat::serve {
namespace {

constexpr std::string_view kSpaceAround = " \t\n\r";

std::size_t space_at_begin(std::string_view text) { return std::min(text.find_first_not_of(kSpaceAround), text.size()); }

std::string_view without_space_at_begin(std::string_view text) { return text.substr(space_at_begin(text)); }

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

AnswerReader::AnswerReader(Options options) : options_(possible(std::move(options))) {
  if (options_->reads_reasoning) {
    state_ = options_->begins_in_reasoning ? State::before_reasoning : State::begin;
  }
}

AnswerParts AnswerReader::push(std::string_view text) {
  AnswerParts parts;
  if (!is_over()) {
    rest_ += text;
    while (read(parts)) {
    }
  }
  return parts;
}

AnswerParts AnswerReader::finish() {
  AnswerParts parts;
  switch (state_) {
    case State::reasoning: parts.reasoning = rest_; break;
    case State::begin:
    case State::answer:
    case State::content:
    case State::before_content:
      if (!options_->has_only_calls) {
        parts.content = rest_;
      }
      break;
    case State::before_list:
    case State::before_name:
    case State::before_call:
    case State::call:
      if (!is_announced_ && !options_->is_certain) {
        parts.content = raw_ + rest_;
      }
      break;
    case State::before_reasoning:
    case State::before_answer:
    case State::after_item:
    case State::after_calls:
    case State::over: break;
  }
  rest_.clear();
  raw_.clear();
  return parts;
}

bool AnswerReader::read(AnswerParts& parts) {
  switch (state_) {
    case State::begin: return read_begin();
    case State::before_reasoning: return skip_space(State::reasoning);
    case State::reasoning: return read_reasoning(parts);
    case State::before_answer: return skip_space(State::answer);
    case State::answer: return read_answer();
    case State::content: return read_content(parts);
    case State::before_list: return read_list_begin(parts);
    case State::before_name: return read_name(parts);
    case State::before_call: return read_call_begin(parts);
    case State::call: return read_call(parts);
    case State::after_item: return read_item_end();
    case State::after_calls: return read_calls_end();
    case State::before_content: return read_last_mark();
    case State::over: break;
  }
  return false;
}

bool AnswerReader::read_begin() {
  const std::string_view text = without_space_at_begin(rest_);
  const std::string& mark = options_->form->think_begin;
  if (may_become(text, mark)) {
    return false;
  }
  if (!text.starts_with(mark)) {
    return enter(State::answer);
  }
  drop(rest_.size() - text.size() + mark.size());
  return enter(State::before_reasoning);
}

bool AnswerReader::read_reasoning(AnswerParts& parts) {
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
  return enter(State::before_answer);
}

/// A call without a mark can only be the whole answer.
bool AnswerReader::read_answer() {
  if (options_->tools.empty() || !form().begin.empty()) {
    return enter(State::content);
  }
  const std::string_view text = without_space_at_begin(rest_), tag = python_tag();
  if (may_become(text, tag)) {
    return false;
  }
  const bool has_tag = text.starts_with(tag);
  if (!has_tag && !text.starts_with('{')) {
    return enter(State::content);
  }
  keep_raw(rest_.size() - text.size() + (has_tag ? tag.size() : 0));
  return begin_call();
}

bool AnswerReader::read_content(AnswerParts& parts) {
  if (options_->tools.empty() || form().begin.empty()) {
    parts.content += std::exchange(rest_, {});
    return false;
  }
  const std::string_view text = rest_;
  const std::string& mark = form().begin;
  const std::size_t begin = text.find(mark), certain = begin == std::string_view::npos ? text.size() - held_for(text, mark)
                                                                                       : without_space_at_end(text.substr(0, begin));
  parts.content += text.substr(0, certain);
  drop(certain);
  if (begin == std::string_view::npos) {
    return false;
  }
  keep_raw(begin - certain + mark.size());
  return form().is_list ? enter(State::before_list) : begin_call();
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
  return begin_call();
}

bool AnswerReader::read_name(AnswerParts& parts) {
  const std::string_view between = without_space_around(form().between), lead = form().lead, text = rest_;
  const std::string_view called = without_space_at_begin(rest_);
  if (may_become(called, lead)) {
    return false;
  }
  if (!called.starts_with(lead)) {
    return fail(parts);
  }
  const std::size_t begin = text.size() - called.size() + lead.size();
  const std::size_t end = between.empty() ? text.find_first_of(" \t\n\r{", begin) : text.find(between, begin);
  if (end == std::string_view::npos) {
    const std::string_view name = text.substr(begin);
    const bool may_be_a_tool = std::ranges::any_of(options_->tools, [&](const std::string& tool) {
      return (tool + std::string(between)).starts_with(name) || name.starts_with(tool);
    });
    return may_be_a_tool ? false : fail(parts);
  }
  name_ = without_space_around(text.substr(begin, end - begin));
  if (std::ranges::find(options_->tools, name_) == options_->tools.end()) {
    return fail(parts);
  }
  keep_raw(end + between.size());
  return enter(State::before_call);
}

bool AnswerReader::read_call_begin(AnswerParts& parts) {
  const std::size_t space = space_at_begin(rest_);
  if (space == rest_.size()) {
    return false;
  }
  if (rest_[space] != '{' && !form().arguments.has_tags()) {
    return fail(parts);
  }
  keep_raw(space);
  call_ = {};
  sent_ = 0;
  return enter(State::call);
}

bool AnswerReader::read_call(AnswerParts& parts) {
  // Follow the call to its end.
  const auto types = options_->types.find(name_);
  call_ = scan_call(rest_, form(), options_->tools, types == options_->types.end() ? nullptr : &types->second);
  switch (call_.progress) {
    case ScannedCall::Progress::more:
      if (options_->is_certain) {
        send_call(parts);
      }
      return false;
    case ScannedCall::Progress::bad: return fail(parts);
    case ScannedCall::Progress::complete: break;
  }

  // Send the parts that were not sent.
  std::optional<std::string> arguments = complete_arguments();
  if (is_announced_) {
    send_call(parts);
    if (sent_ == 0) {  // they are a text, or missing
      parts.calls.push_back({.number = calls_ - 1, .arguments = std::move(arguments).value_or("{}")});
    }
  } else if (!arguments) {
    return fail(parts);
  } else {
    parts.calls.push_back({.number = calls_++, .name = name(), .arguments = *std::move(arguments)});
  }

  // Read what follows.
  drop(call_.end);
  raw_.clear();
  name_.clear();
  is_announced_ = false;
  return enter(!options_->several ? State::over : form().is_list ? State::after_item : State::after_calls);
}

bool AnswerReader::read_item_end() {
  const std::size_t space = space_at_begin(rest_);
  if (space == rest_.size()) {
    return false;
  }
  switch (rest_[space]) {
    case ',': keep_raw(space + 1); return begin_call();
    case ']': drop(space + 1); return enter(State::after_calls);
    default: return enter(State::before_content);
  }
}

bool AnswerReader::read_calls_end() {
  const std::string_view text = without_space_at_begin(rest_), mark = form().end;
  if (may_become(text, mark)) {
    return false;
  }
  if (!mark.empty() && text.starts_with(mark)) {
    drop(rest_.size() - text.size() + mark.size());
  }
  return enter(State::before_content);
}

bool AnswerReader::read_last_mark() {
  const std::string& mark = form().last;
  drop(space_at_begin(rest_));
  if (rest_.empty() || may_become(rest_, mark)) {
    return false;
  }
  return enter(!mark.empty() && rest_.starts_with(mark) ? State::over : State::content);
}

/// Leaves out white space, and continues with the first other byte.
bool AnswerReader::skip_space(State next) {
  drop(space_at_begin(rest_));
  return !rest_.empty() && enter(next);
}

bool AnswerReader::enter(State state) {
  state_ = state;
  return true;
}

bool AnswerReader::begin_call() { return enter(form().name_key.empty() ? State::before_name : State::before_call); }

/// Moves the first bytes of rest_ to the raw text of a call.
void AnswerReader::keep_raw(std::size_t bytes) {
  raw_ += rest_.substr(0, bytes);
  drop(bytes);
}

/// Makes the raw text of a call content, and continues after it.
bool AnswerReader::fail(AnswerParts& parts) {
  parts.content += std::exchange(raw_, {});
  name_.clear();
  is_announced_ = false;
  return enter(State::content);
}

/// Adds the part of a call that has come since the last time.
void AnswerReader::send_call(AnswerParts& parts) {
  const std::string& arguments = call_.arguments;
  if (name().empty() || (!arguments.empty() && arguments.front() != '{')) {
    return;  // arguments that are a text are read when they are complete
  }
  if (!is_announced_) {
    parts.calls.push_back({.number = calls_++, .name = name()});
    is_announced_ = true;
  }
  if (arguments.size() > sent_) {
    parts.calls.push_back({.number = calls_ - 1, .arguments = arguments.substr(sent_)});
    sent_ = arguments.size();
  }
}

/// Returns the complete arguments as JSON; nullopt if this is not a call.
std::optional<std::string> AnswerReader::complete_arguments() const {
  const std::string& arguments = call_.arguments;
  if (name().empty() || !try_json(form().name_key.empty() ? arguments : std::string_view(rest_).substr(0, call_.end))) {
    return std::nullopt;
  }
  if (arguments.empty()) {  // after a mark, a call may have none
    return form().begin.empty() ? std::nullopt : std::optional<std::string>("{}");
  }
  if (!arguments.starts_with('"')) {
    return arguments;
  }
  std::string text = parse_json(arguments).get<std::string>();  // the text of an object
  const std::optional<nlohmann::json> object = try_json(text);
  return object && object->is_object() ? std::optional(std::move(text)) : std::nullopt;
}

}  // namespace dikkat::serve
