// Fuzzes a line of JSONL: an example to fine-tune on, or a question of `eval --tasks`.

#include <algorithm>

#include "tests/fuzz/fuzz.h"
#include "train/chat/read_conversation.h"
#include "train/sample/questions.h"

namespace dikkat {
namespace {

void fuzz_conversation(std::string_view line) {
  Conversation example;
  ExampleFindings found;
  if (!fuzz::accepts([&] { example = read_conversation(line, "text", found); })) {
    return;
  }
  const auto has_role = [](std::initializer_list<std::string_view> roles) {
    return [=](const Message& message) { return std::ranges::find(roles, message.role) != roles.end(); };
  };
  fuzz::hold(std::ranges::all_of(example.messages, has_role({"system", "user", "assistant"})), "roles are those of templates");
  fuzz::hold(example.messages.empty() || std::ranges::any_of(example.messages, has_role({"assistant"})), "a conversation has an answer");
  fuzz::hold(example.messages.empty() || example.text.empty(), "an example is a conversation or a text");
  fuzz::hold(std::ranges::none_of(found.notes(), &std::string::empty), "a note says something");
}

void fuzz_question(std::string_view line) {
  Question question;
  if (!fuzz::accepts([&] { question = read_question(line); })) {
    return;
  }
  const auto choices = std::ssize(question.choices);
  const bool has_answer =
      choices == 0   ? !question.answer.empty() || question.refuse
      : choices == 1 ? question.is_sample()
                     : !question.right.empty() && std::ranges::all_of(question.right, [&](index i) { return 0 <= i && i < choices; });
  fuzz::hold(has_answer, "a question has an answer");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view line = fuzz::text_of(data, size);
  fuzz::choice(line, 2) == 0 ? fuzz_conversation(line) : fuzz_question(line);
  return 0;
}

}  // namespace dikkat
