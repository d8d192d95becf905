#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "train/chat/chat_template.h"
#include "train/system/json_form.h"

namespace dikkat {

/// How an answer calls tools: open + CALL + separator + CALL + close, as the template writes it. A call is before + NAME + between +
/// ARGUMENTS + after, or before + ARGUMENTS + between + NAME + after. Usually name and arguments are the values of two keys of one JSON
/// object, which models also write with other white space.
struct CallFormat {
  std::string begin{};                      // the mark before a call, without white space; empty: a call is a whole answer
  std::string lead{};                       // what stands between this mark and a name that is not in an object, without white space
  std::string end{};                        // the mark after a call, which may be empty
  std::string name_key{}, arguments_key{};  // the keys in the JSON object; both empty: name and arguments are not in one
  bool is_list = false;                     // the calls are the items of one JSON list, after `begin`
  bool several = false;                     // whether one answer may have several calls
  bool arguments_first = false;             // whether the arguments stand before the name; only in a JSON object
  std::string before{}, between{}, after{};
  std::string open{}, separator{}, close{};  // open and close are empty unless is_list
  std::string last{};                        // a mark after the last call that ends the answer; empty if the usual mark ends it
  bool short_ids = false;                    // the template only writes calls whose ids have nine letters and digits
  JsonForm arguments{};                      // how the arguments are written

  bool operator==(const CallFormat&) const = default;
};

/// The parts of an answer other than its content.
struct AnswerFormat {
  std::string think_begin{}, think_end{};  // the marks around reasoning; empty if the template has none
  std::optional<CallFormat> calls{};       // nullopt if the template writes no tools, or no calls that can be read
  std::string why_no_calls{};              // continues "the chat template": "does not write tools"
  bool writes_calls = false;               // whether the template writes the calls of earlier answers
};

/// Returns the form of a template's answers, found by rendering conversations with reasoning and calls of tools.
AnswerFormat answer_format_of(const ChatTemplate& form);

/// Returns whether an answer to this prompt begins within reasoning, because the prompt ends with the mark that begins it.
bool begins_in_reasoning(const AnswerFormat& form, std::string_view prompt);

/// Returns the mark that Llama 3 may write before a call without a mark of its own.
constexpr std::string_view python_tag() { return "<|python_tag|>"; }

/// Returns a text without white space at its ends.
std::string_view without_space_around(std::string_view text);

}  // namespace dikkat
