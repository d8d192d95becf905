#include "train/chat/example_keys.h"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "train/system/json.h"

namespace dikkat {
namespace {

using json = nlohmann::ordered_json;

/// A key that changes what is learned or answered, and why it is refused.
struct RefusedKey {
  std::string_view name;
  std::string_view what;
  bool only_in_messages = false;  // elsewhere it often has another meaning, such as the "file" of a line
};

constexpr std::string_view kTools =
    "only \"tools\" beside \"messages\", and \"tool_calls\" and \"tool_call_id\" in messages, are supported";
constexpr std::string_view kReasoning = "reasoning is expected in \"reasoning_content\" of a message";
constexpr std::string_view kMedia = "only text is supported";
constexpr std::string_view kPreferences = "pairs are learned only with preference.method, which dikkat finetune sets";
constexpr std::string_view kSystem = "a system message is expected as the first of \"messages\", with the role system";
constexpr std::string_view kDocuments = "documents for a template are not supported";
constexpr std::string_view kTemplate = "settings of a template are expected in chat.template and chat.variables";
constexpr std::string_view kHistory = "earlier turns are expected in \"messages\"";
constexpr std::string_view kMarks =
    "messages that are not to be learned must be marked with \"weight\": 0, \"train\": false or \"loss\": false";
constexpr std::string_view kContinued = "continuing a message is not supported";
constexpr std::string_view kRefusal = "a refusal outside of the content is not supported";

constexpr RefusedKey kRefused[] = {
    {"tool_calls", kTools},
    {"tool_call_id", kTools},
    {"function_call", kTools},
    {"tools", kTools},
    {"functions", kTools},
    {"tool_choice", kTools},
    {"tool_responses", kTools},
    {"recipient", kTools, true},
    {"channel", "channels are not supported", true},
    {"reasoning_content", kReasoning},
    {"reasoning", kReasoning},
    {"reasoning_details", kReasoning},
    {"thinking", kReasoning},
    {"thinking_blocks", kReasoning},
    {"enable_thinking", kTemplate},
    {"image", kMedia},
    {"images", kMedia},
    {"image_url", kMedia},
    {"video", kMedia},
    {"videos", kMedia},
    {"video_url", kMedia},
    {"audio", kMedia},
    {"audios", kMedia},
    {"audio_url", kMedia},
    {"input_audio", kMedia},
    {"file", kMedia, true},
    {"files", kMedia, true},
    {"attachments", kMedia, true},
    {"chosen", kPreferences},
    {"rejected", kPreferences},
    {"preferred_output", kPreferences},
    {"non_preferred_output", kPreferences},
    {"system", kSystem},
    {"system_prompt", kSystem},
    {"developer", kSystem},
    {"documents", kDocuments},
    {"chat_template", kTemplate},
    {"chat_template_kwargs", kTemplate},
    {"history", kHistory},
    {"train_detail", kMarks},
    {"training", kMarks},
    {"trainable", kMarks},
    {"loss_mask", kMarks},
    {"loss_weight", kMarks},
    {"loss_scale", kMarks},
    {"mask", kMarks},
    {"masked", kMarks},
    {"completion_mask", kMarks},
    {"assistant_masks", kMarks},
    {"prefix", kContinued, true},
    {"partial", kContinued, true},
    {"refusal", kRefusal, true},
};

}  // namespace

void check_keys(const json& object, KeyPlace place, std::span<const std::string_view> used, const std::string& path,
                ExampleFindings& found) {
  for (const auto& item : object.items()) {
    const std::string& key = item.key();
    const json& value = item.value();
    if (value.is_null() || std::ranges::find(used, key) != used.end()) {
      continue;
    }
    const auto refused = std::ranges::find_if(
        kRefused, [&](const RefusedKey& one) { return one.name == key && (place != KeyPlace::line || !one.only_in_messages); });
    if (refused == std::end(kRefused)) {
      ++found.unused[{place, key}];
    } else if (!is_nothing(value) && value != 0) {
      throw BadExample(path.empty() ? key : concat(path, '.', key),
                       concat("is given, but ", refused->what, "; leave it out only if the text is right without it"));
    }
  }
}

std::optional<bool> read_marks(const json& object, std::span<const std::string_view> names, const std::string& path) {
  std::optional<bool> learn;
  std::string_view first;
  for (const std::string_view name : names) {
    const json* value = find_value(object, name);
    if (value == nullptr) {
      continue;
    }
    const std::string where = concat(path, path.empty() ? "" : ".", name);
    const bool is_number = value->is_number() && (*value == 0 || *value == 1);
    if (!value->is_boolean() && !is_number) {
      throw BadExample(where, concat("is ", short_text(*value), ", expected 1 or true to learn it, or 0 or false not to"));
    }
    const bool says = value->is_boolean() ? value->get<bool>() : *value == 1;
    if (learn && *learn != says) {
      throw BadExample(where, concat("is ", short_text(*value), ", but \"", first, "\" says the opposite; leave out one of the two"));
    }
    learn = says;
    first = first.empty() ? name : first;
  }
  return learn;
}

}  // namespace dikkat
