#pragma once

#include <cstddef>
#include <optional>

#include "train/chat/conversation.h"

namespace dikkat {

/// The kind of an example for preference tuning, recognized by its fields. "chosen" and "rejected" make a pair; "prompt", "completion" and
/// "label" make an answer with a judgment.
enum class PreferenceKind { none, pair, judged };

/// An example for preference tuning: two answers to one prompt, of which one is preferred, or one answer that somebody has judged.
/// Message::learn marks the messages that belong to an answer.
struct Preference {
  Conversation chosen{};       // the prompt with the preferred answer; or with the only answer
  Conversation rejected{};     // the prompt with the other answer; not used if there is a judgment
  std::size_t prompt = 0;      // the number of messages with which both begin
  std::optional<bool> good{};  // the judgment of the only answer

  bool is_pair() const { return !good; }
  /// Returns whether a pair consists of two texts without messages. Then the prompt is the tokens with which both begin.
  bool is_text() const { return chosen.messages.empty(); }
};

}  // namespace dikkat
