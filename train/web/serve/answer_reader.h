#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "train/chat/answer_format.h"

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

/// Follows the text of a JSON object that is a call.
class CallScan {
 public:
  enum class State { more, complete, bad };

  /// `form` has the keys of name and arguments. Without keys, the object is the arguments. `names` are the tools that can be called.
  CallScan(const CallFormat& form, const std::vector<std::string>& names) : form_(&form), names_(&names) {}

  /// Continues with a text that begins with the one of the last call.
  State scan(std::string_view text);
  std::size_t end() const { return at_; }  // valid if complete
  bool has_name() const { return !name_.empty(); }
  const std::string& name() const { return name_; }
  /// Returns the bytes of the arguments so far, from the object's brace on; empty before it.
  std::string_view arguments(std::string_view text) const;

 private:
  State begin_value(char c);
  State end_text(std::string_view text);

  const CallFormat* form_;
  const std::vector<std::string>* names_;
  std::size_t at_ = 0, text_begin_ = 0, arguments_begin_ = std::string_view::npos, arguments_end_ = std::string_view::npos;
  int depth_ = 0;
  bool in_text_ = false, escaped_ = false, wants_value_ = false, in_value_ = false;
  std::string key_, name_;
};

/// Splits the text of an answer, as it is generated, into content, reasoning and calls of tools. Text is held back only while it may become
/// a mark, or white space around one, which is not part of the answer. A call that is not well-formed, or of a tool that is not there, is
/// content.
class AnswerReader {
 public:
  struct Options {
    const AnswerFormat* form = nullptr;  // must outlive the reader
    bool reads_reasoning = false;        // between its marks, at the beginning
    bool begins_in_reasoning = false;    // the prompt ends with the mark
    std::vector<std::string> tools{};    // the names that can be called; empty: no calls are read
    bool several = false;                // whether more than one call is read, if the form has more
    bool is_certain = false;             // every call is well-formed, so its parts are given as they come, and a part of one is no content
    bool has_only_calls = false;         // the answer has no content: what may become a mark is a part of one
  };

  explicit AnswerReader(Options options);

  /// Continues the answer. Returns the parts that have become certain.
  AnswerParts push(std::string_view text);
  /// Returns the text that was held back. Call it after the last text.
  AnswerParts finish();

  /// Whether nothing can follow: the only call that the answer may have is complete.
  bool is_over() const { return is_over_; }
  /// Whether there were calls, of which none is cut off.
  bool has_calls() const { return calls_ > 0 && !is_announced_; }

 private:
  enum class State { start, reasoning, content, before_list, before_call, in_call, behind_call };

  // These read the beginning of rest_. They return whether there is more to do before more text comes.
  bool read_start(AnswerParts& parts);
  bool read_reasoning(AnswerParts& parts);
  bool read_content(AnswerParts& parts);
  bool read_bare_call(AnswerParts& parts);
  bool read_list_begin(AnswerParts& parts);
  bool read_call_begin(AnswerParts& parts);
  bool read_call(AnswerParts& parts);
  bool read_call_end();

  void drop(std::size_t bytes) { rest_.erase(0, bytes); }
  void keep_raw(std::size_t bytes);
  bool fail(AnswerParts& parts);
  void give_call(AnswerParts& parts);
  bool is_call(std::string& arguments) const;

  std::shared_ptr<const Options> options_;  // scan_ refers to it
  State state_ = State::content;
  std::string rest_;          // text that was not read yet
  std::string raw_;           // what was read of a call before its object: content, if the call is not well-formed
  bool at_begin_ = true;      // nothing but reasoning was read
  bool skips_space_ = false;  // white space is not part of what comes next
  bool is_over_ = false;
  bool is_behind_list_ = false;
  CallScan scan_;
  std::string name_;           // of the call, if it is not in the object
  std::size_t given_ = 0;      // bytes of the arguments
  bool is_announced_ = false;  // whether the call's name was given
  index calls_ = 0;            // calls of which a part was given
};

}  // namespace dikkat::serve
