#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/chat/answer_format.h"
#include "train/web/serve/call_scan.h"

namespace dikkat::serve {

/// A part of a call of a tool.
struct CallPart {
  index number = 0;         // of the call in its answer
  std::string name{};       // in the first part of a call
  std::string arguments{};  // JSON, which continues that of the parts before

  bool operator==(const CallPart&) const = default;
};

/// The parts of an answer.
struct AnswerParts {
  std::string content{};
  std::string reasoning{};
  std::vector<CallPart> calls{};
};

/// Splits the text of an answer, as it is generated, into content, reasoning and calls of tools. Text is held back only while it may become
/// a mark, or white space around one, which is not part of the answer. A call that is not well-formed, or of a tool that is not there, is
/// content.
class AnswerReader {
 public:
  struct Options {
    const AnswerFormat* form = nullptr;            // must outlive the reader
    bool reads_reasoning = false;                  // between its marks, at the beginning
    bool begins_in_reasoning = false;              // the prompt ends with the mark
    std::vector<std::string> tools{};              // the names that can be called; empty: no calls are read
    std::map<std::string, ArgumentTypes> types{};  // of the arguments of tools, by the tool's name; others may have any type
    bool several = false;                          // whether more than one call is read, if the form has more
    bool is_certain = false;      // every call is well-formed, so its parts are given as they come, and a part of one is no content
    bool has_only_calls = false;  // the answer has no content: what may become a mark is a part of one
  };

  explicit AnswerReader(Options options);

  /// Continues the answer. Returns the parts that have become certain.
  AnswerParts push(std::string_view text);
  /// Returns the text that was held back. Call it after the last text.
  AnswerParts finish();

  /// Returns whether nothing can follow: the only call that the answer may have is complete.
  bool is_over() const { return state_ == State::over; }
  /// Returns whether there were calls, of which none is cut off.
  bool has_calls() const { return calls_ > 0 && !is_announced_; }

 private:
  enum class State {
    begin,             // nothing was read, and reasoning may begin
    before_reasoning,  // white space after the mark of reasoning
    reasoning,
    before_answer,  // white space after reasoning
    answer,         // nothing but reasoning was read
    content,
    before_list,
    before_name,  // the name of a call, which is not in its object
    before_call,  // the object or the arguments of a call
    call,
    after_item,      // after a call in a list
    after_calls,     // the mark after a call, or after a list of calls, may follow
    before_content,  // white space after calls, and the mark after the last one
    over
  };

  // Each reads the beginning of rest_ in the state of its name. It returns whether there is more to do before more text comes.
  bool read_begin();
  bool read_reasoning(AnswerParts& parts);
  bool read_answer();
  bool read_content(AnswerParts& parts);
  bool read_list_begin(AnswerParts& parts);
  bool read_name(AnswerParts& parts);
  bool read_call_begin(AnswerParts& parts);
  bool read_call(AnswerParts& parts);
  bool read_item_end();
  bool read_calls_end();
  bool read_last_mark();
  bool skip_space(State next);
  bool read(AnswerParts& parts);

  const CallFormat& form() const { return *options_->form->calls; }
  const std::string& name() const { return name_.empty() ? call_.name : name_; }
  bool enter(State state);
  void drop(std::size_t bytes) { rest_.erase(0, bytes); }
  void keep_raw(std::size_t bytes);
  bool begin_call();
  bool fail(AnswerParts& parts);
  void send_call(AnswerParts& parts);
  std::optional<std::string> complete_arguments() const;

  std::shared_ptr<const Options> options_;
  State state_ = State::answer;
  std::string rest_;  // text that was not read yet
  std::string raw_;   // bytes of a call before its object: content, if the call is not well-formed
  ScannedCall call_;
  std::string name_;           // of the call, if it is not in the object
  std::size_t sent_ = 0;       // bytes of the arguments in earlier parts
  bool is_announced_ = false;  // whether the call's name was in a part
  index calls_ = 0;            // calls of which there was a part
};

}  // namespace dikkat::serve
