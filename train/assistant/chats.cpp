#include "train/assistant/chats.h"

#include <algorithm>
#include <iterator>
#include <span>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/assistant/assumptions.h"
#include "train/assistant/plan.h"
#include "train/chat/read_conversation.h"
#include "train/data/corpus/file_objects.h"
#include "train/system/json.h"

namespace dikkat::assistant {
namespace {

using OrderedJson = nlohmann::ordered_json;

struct Example {
  std::string line;
  Conversation conversation;
};

std::string with_name(std::string text, const std::string& name) {
  const std::string quoted = json_text(OrderedJson(name)), inner = quoted.substr(1, quoted.size() - 2);
  constexpr std::string_view kPlace = "{name}";
  for (std::size_t at = text.find(kPlace); at != std::string::npos; at = text.find(kPlace, at + inner.size())) {
    text.replace(at, kPlace.size(), inner);
  }
  return text;
}

/// Returns the text of a JSON object without line breaks, which can only be white space between its parts.
std::string on_one_line(std::string_view text) {
  std::string line(text);
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

/// Appends the conversations of a file or a folder. If `name` is not null, it replaces "{name}" in each line. Returns the note on a table.
std::string read_examples(const std::string& path, const std::string* name, std::vector<Example>& examples) {
  ExampleFindings found;
  std::string note;
  for_objects(std::span(&path, 1), {}, "conversations: objects in JSONL or in a JSON array, or rows of a table",
              [&](std::string_view json, const FileObjects& objects) {
                note = objects.reader().note();
                std::string line = name == nullptr ? on_one_line(json) : with_name(on_one_line(json), *name);
                Conversation conversation = read_conversation(line, "text", found);
                examples.push_back({.line = std::move(line), .conversation = std::move(conversation)});
              });
  return note;
}

/// Appends the question of a conversation, if it begins with one whose answer is one line of text.
void add_question(const Conversation& conversation, std::vector<Asked>& questions) {
  const auto& messages = conversation.messages;
  if (messages.size() >= 2 && messages[0].role == "user" && messages[1].role == "assistant" && messages[1].fields.empty() &&
      !messages[1].content.empty() && messages[1].content.find('\n') == std::string::npos) {
    questions.push_back({.prompt = messages[0].content, .answer = messages[1].content});
  }
}

/// Returns whether a context holds a question and an answer.
bool fits(const std::string& prompt, const std::string& answer, index longest) {
  return std::ssize(prompt) + std::ssize(answer) <= longest;
}

/// Returns the right answer and other ones, up to kChoices in all.
std::vector<std::string> choices_for(const std::vector<Asked>& asked, std::size_t question, index longest) {
  std::vector<std::string> choices = {asked[question].answer};
  for (std::size_t step = 1; step < asked.size() && choices.size() < kChoices; ++step) {
    const std::string& other = asked[(question + step) % asked.size()].answer;
    if (fits(asked[question].prompt, other, longest) && std::ranges::find(choices, other) == choices.end()) {
      choices.push_back(other);
    }
  }
  return choices;
}

}  // namespace

Chats read_chats(const Wishes& wishes, const ShippedData& shipped) {
  Chats chats{.path = wishes.chats};
  std::vector<Example> examples;
  if (wishes.chats.empty()) {
    read_examples(shipped("assistant-chats.jsonl"), &wishes.name, examples);
    chats.path = shipped("questions.jsonl");
    read_examples(chats.path, &wishes.name, examples);
  } else {
    chats.note = read_examples(chats.path, nullptr, examples);
  }
  require_input(!examples.empty(), wishes.chats, " has no conversations, expected JSON objects such as ",
                R"({"prompt": "...", "completion": "..."})");
  const index count = std::ssize(examples), every = std::max(kHeldOutEvery, count / kMostHeldOut);
  for (index i = 0; i < count; ++i) {
    const auto& [line, conversation] = examples[static_cast<std::size_t>(i)];
    if (count >= kFewestChats && i % every == every - 1) {
      chats.held_out += line + '\n';
      add_question(conversation, chats.questions);
      continue;
    }
    chats.learned += line + '\n';
    ++chats.conversations;
    chats.bytes += std::ssize(conversation.text);
    for (const Message& message : conversation.messages) {
      ++chats.messages;
      chats.bytes += std::ssize(message.content);
    }
  }
  return chats;
}

Tasks tasks_of(const Chats& chats, index longest) {
  std::vector<Asked> asked;
  std::ranges::copy_if(chats.questions, std::back_inserter(asked), [&](const Asked& one) { return fits(one.prompt, one.answer, longest); });
  Tasks tasks{.asked = std::ssize(asked)};
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::vector<std::string> choices = choices_for(asked, i, longest);
    if (choices.size() == kChoices) {
      const std::size_t right = i % kChoices;
      std::rotate(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(kChoices - right), choices.end());
      tasks.lines += json_text(OrderedJson{{"prompt", asked[i].prompt}, {"choices", choices}, {"answer", right}}) + '\n';
    }
    tasks.lines += json_text(OrderedJson{{"prompt", asked[i].prompt}, {"answer", asked[i].answer}}) + '\n';
  }
  return tasks;
}

std::string some_lines(const std::string& path, index count) {
  std::vector<std::string> all;
  for_objects(std::span(&path, 1), {}, "examples: objects in JSONL or in a JSON array, or rows of a table",
              [&](std::string_view json, const FileObjects&) { all.push_back(on_one_line(json)); });
  const index size = std::ssize(all), wanted = std::min(count, size);
  std::string some;
  for (index i = 0; i < wanted; ++i) {
    some += all[static_cast<std::size_t>(i * size / wanted)] + '\n';
  }
  return some;
}

}  // namespace dikkat::assistant
