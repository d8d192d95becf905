#include "train/cli/eval_tasks.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/chat_template.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/data/examples/conversation_template.h"
#include "train/sample/prompt.h"
#include "train/sample/questions.h"
#include "train/system/file.h"
#include "train/text/json_line.h"

namespace dikkat {
namespace {

std::vector<Question> read_questions(const std::string& file) {
  std::vector<Question> questions;
  index number = 0;
  for (const std::string& line : lines_of(read_bytes(file))) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    try {
      questions.push_back(read_question(line));
    } catch (const BadJson& error) {
      fail_input(file, ": line ", number, ", ", error.what());
    } catch (const InputError& error) {
      fail_input(file, ": line ", number, ' ', error.what());
    }
  }
  require_input(!questions.empty(), file, " has no questions, expected a JSON object on each line");
  return questions;
}

/// Calls row(name, share) for each kind of question that was asked.
template <class Row>
void for_each_kind(const Answers& answers, Row&& row) {
  for (const auto& [name, share] :
       {std::pair{"choices", answers.choices}, {"choices_per_byte", answers.choices_per_byte}, {"exact_match", answers.texts}}) {
    if (share.all > 0) {
      row(name, share);
    }
  }
}

}  // namespace

std::optional<Answers> ask_tasks(const TrainedModel& trained, const std::string& file) {
  const std::vector<Question> questions = read_questions(file);
  const Tokenizer& tokenizer = *trained.tokenizer;
  Vocabulary vocabulary = vocabulary_of(tokenizer);
  EncodePrompt encoded = [&](const std::string& prompt) { return encode_prompt(tokenizer, prompt); };
  if (const ChatConfig& chat = trained.origin.config().chat; chat.template_name != "auto") {
    const ChatTemplate form = conversation_template(chat, tokenizer, trained.origin.path().string(), "");
    if (const auto end = form.end_token()) {
      vocabulary.ends.push_back(*end);
    }
    encoded = [form, &tokenizer](const std::string& prompt) {
      const std::vector<Message> messages = {{"user", prompt}};
      return encode(tokenizer, form.ask(messages)).tokens;
    };
  }
  ShareLine line("asking");
  return ask(
      trained.model->gpt(), tokenizer, vocabulary, questions, encoded,
      [&](index done) { line(static_cast<double>(done) / static_cast<double>(questions.size())); }, [] { return stop_requested(); });
}

nlohmann::ordered_json object_of(const Answers& answers) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for_each_kind(answers, [&](const char* name, const Share& share) {
    const auto [low, high] = share.interval();
    object[name] = {{"share", share.value()}, {"right", share.right}, {"questions", share.all}, {"low", low}, {"high", high}};
  });
  return object;
}

int eval_tasks(const TrainedModel& trained, const std::string& file, bool json) {
  const auto answers = ask_tasks(trained, file);
  if (!answers) {
    return 128 + stop_signal();
  }
  if (json) {
    nlohmann::ordered_json object{{"step", trained.origin.state().step}, {"checkpoint", trained.origin.path().string()}};
    object.update(object_of(*answers));
    print_json(object);
  } else {
    for_each_kind(*answers, [](const char* name, const Share& share) {
      const auto [low, high] = share.interval();
      print_result(fmt::format("{:<16}  {:.4f}  ({:.3f} to {:.3f}; {} of {})\n", name, share.value(), low, high, share.right, share.all));
    });
  }
  flush_results();
  return 0;
}

}  // namespace dikkat
