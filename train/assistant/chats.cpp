#include "train/assistant/chats.h"

#include <algorithm>
#include <span>
#include <vector>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/read_conversation.h"
#include "train/cli/run_options.h"
#include "train/data/corpus/file_objects.h"
#include "train/system/json.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;
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

/// Appends the conversations of a file or a folder. If `name` is not null, it replaces "{name}" in each line.
void read_lines(const std::string& path, const std::string* name, std::vector<Example>& examples) {
  ExampleFindings found;
  for_objects(std::span(&path, 1), "text", "conversations: objects in JSONL or in a JSON array",
              [&](std::string_view text, const std::string&) {
                std::string line = name == nullptr ? on_one_line(text) : with_name(on_one_line(text), *name);
                Conversation conversation = read_conversation(line, "text", found);
                examples.push_back({.line = std::move(line), .conversation = std::move(conversation)});
              });
}

/// A question with its answer, from the beginning of a conversation.
struct Asked {
  std::string prompt, answer;
};

/// Returns whether a question has room for an answer.
bool fits(const std::string& prompt, const std::string& answer, index most) { return std::ssize(prompt) + std::ssize(answer) <= most; }

std::vector<Asked> questions_of(const std::vector<Conversation>& conversations, index most) {
  std::vector<Asked> asked;
  for (const Conversation& one : conversations) {
    const auto& messages = one.messages;
    if (messages.size() >= 2 && messages[0].role == "user" && messages[1].role == "assistant" && messages[1].fields.empty() &&
        fits(messages[0].content, messages[1].content, most) && !messages[1].content.empty() &&
        messages[1].content.find('\n') == std::string::npos) {
      asked.push_back({.prompt = messages[0].content, .answer = messages[1].content});
    }
  }
  return asked;
}

/// Writes the questions: to choose an answer, and to write it.
void write_tasks(const std::vector<Asked>& asked, index most, AssistantChats& chats) {
  constexpr std::size_t kChoices = 4;
  for (std::size_t i = 0; i < asked.size(); ++i) {
    std::vector<std::string> choices = {asked[i].answer};
    for (std::size_t step = 1; step < asked.size() && choices.size() < kChoices; ++step) {
      const std::string& other = asked[(i + step) % asked.size()].answer;
      if (fits(asked[i].prompt, other, most) && std::ranges::find(choices, other) == choices.end()) {
        choices.push_back(other);
      }
    }
    if (choices.size() == kChoices) {
      const std::size_t right = i % kChoices;
      std::rotate(choices.begin(), choices.begin() + static_cast<std::ptrdiff_t>(kChoices - right), choices.end());
      chats.tasks += json_text(OrderedJson{{"prompt", asked[i].prompt}, {"choices", choices}, {"answer", right}}) + '\n';
    }
    chats.tasks += json_text(OrderedJson{{"prompt", asked[i].prompt}, {"answer", asked[i].answer}}) + '\n';
  }
  chats.asked = std::ssize(asked);
}

}  // namespace

AssistantChats read_assistant_chats(const fs::path& file, const std::string& name, index most) {
  constexpr index kFewest = 20, kEvery = 10, kMostTasks = 100;
  std::vector<Example> examples;
  if (file.empty()) {
    for (const char* own : {"assistant-chats.jsonl", "questions.jsonl"}) {
      read_lines(shipped_data(own), &name, examples);
    }
  } else {
    read_lines(file.string(), nullptr, examples);
  }
  require_input(!examples.empty(), file.string(), " has no conversations, expected JSON objects such as ",
                R"({"prompt": "...", "completion": "..."})");
  AssistantChats chats;
  std::vector<Conversation> held_out;
  const index count = std::ssize(examples), every = std::max(kEvery, count / kMostTasks);
  for (index i = 0; i < count; ++i) {
    Example& example = examples[static_cast<std::size_t>(i)];
    if (count >= kFewest && i % every == every - 1) {
      chats.held_out += example.line + '\n';
      held_out.push_back(std::move(example.conversation));
      continue;
    }
    chats.learned += example.line + '\n';
    ++chats.conversations;
    chats.bytes += std::ssize(example.conversation.text);
    for (const Message& message : example.conversation.messages) {
      ++chats.messages;
      chats.bytes += std::ssize(message.content);
    }
  }
  write_tasks(questions_of(held_out, most), most, chats);
  return chats;
}

std::string some_lines(const std::string& path, index count) {
  std::vector<std::string> all;
  for_objects(std::span(&path, 1), "text", "examples: objects in JSONL or in a JSON array",
              [&](std::string_view text, const std::string&) { all.push_back(on_one_line(text)); });
  const index size = std::ssize(all), wanted = std::min(count, size);
  std::string some;
  for (index i = 0; i < wanted; ++i) {
    some += all[static_cast<std::size_t>(i * size / wanted)] + '\n';
  }
  return some;
}

}  // namespace dikkat
