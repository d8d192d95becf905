#include "train/cli/eval_tasks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/cli/chosen_template.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/sample/prompt.h"
#include "train/sample/questions.h"
#include "train/system/file.h"
#include "train/text/json_line.h"

namespace dikkat {
namespace {

/// Throws InputError if a question does not fit the options, or the first question of the file.
void require_fits(const Question& question, const Question& first, const AskOptions& options) {
  require_input(question.is_sample() == first.is_sample(), question.is_sample() ? "is a sample of lm_eval" : "is not a sample of lm_eval",
                ", unlike the first question: write the two kinds into separate files");
  require_input(!question.refuse || !options.refusals.empty(),
                "has \"refuse\", but it is not known which answers are refusals: add --refusal ",
                "TEXT with words of a refusal, such as --refusal \"I cannot\"");
  require_input(!options.adds_begin || question.is_sample(), "is not a sample of lm_eval, for which --add-bos is: leave it out");
}

/// Returns " +- 0.0123", or nothing for a single question.
std::string error_text(double error) { return std::isnan(error) ? "" : fmt::format(" +- {:.4f}", error); }

std::string table_of(const Answers& answers) {
  std::string table;
  for (const Measure& measure : answers) {
    const Share share = measure.share();
    const auto [low, high] = share.interval();
    table += fmt::format("{:<16}  {:.4f}{}  ({:.3f} to {:.3f}; {} of {})\n", measure.name, share.value(),
                         error_text(share.standard_error()), low, high, share.right, share.all);
  }
  return table;
}

nlohmann::ordered_json object_of(const TrainedModel& trained, const Answers& answers) {
  nlohmann::ordered_json object{{"step", trained.origin.state().step}, {"checkpoint", trained.origin.path().string()}};
  object.update(object_of(answers));
  return object;
}

}  // namespace

std::vector<Question> read_questions(const std::string& file, const AskOptions& options) {
  std::vector<Question> questions;
  index number = 0;
  for (const std::string& line : lines_of(read_bytes(file))) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) {
      continue;
    }
    try {
      questions.push_back(read_question(line));
      require_fits(questions.back(), questions.front(), options);
    } catch (const BadJson& error) {
      fail_input(file, ": line ", number, ", ", error.what());
    } catch (const InputError& error) {
      fail_input(file, ": line ", number, ' ', error.what());
    }
  }
  require_input(!questions.empty(), file, " has no questions, expected a JSON object on each line");
  require_input(options.refusals.empty() || std::ranges::any_of(questions, [](const Question& one) { return one.refuse.has_value(); }),
                file, " has no question with \"refuse\": true or false, for which --refusal is: mark the questions, or leave it out");
  return questions;
}

std::optional<Answers> ask_tasks(const TrainedModel& trained, const std::vector<Question>& questions, AskOptions options) {
  const Tokenizer& tokenizer = *trained.tokenizer;
  std::optional<Token> end;
  options.encode = [&](const std::string& prompt) { return encode_prompt(tokenizer, prompt); };
  if (const ChatConfig& chat = trained.origin.config().chat; chat.template_name != "auto" || !chat.jinja.empty()) {
    const ChatTemplate form = template_of({}, trained);
    end = form.end_token();
    options.encode = [form, &tokenizer](const std::string& prompt) {
      const std::vector<Message> messages = {{"user", prompt}};
      return encode(tokenizer, form.ask(messages)).tokens;
    };
  }
  ShareLine line("asking");
  options.answered = [&](index done) { line(static_cast<double>(done) / static_cast<double>(questions.size())); };
  options.stop = options.stop ? options.stop : [] { return stop_requested(); };
  return ask(trained.model->gpt(), tokenizer, answer_vocabulary(tokenizer, end), questions, options);
}

nlohmann::ordered_json object_of(const Answers& answers) {
  nlohmann::ordered_json object = nlohmann::ordered_json::object();
  for (const Measure& measure : answers) {
    const Share share = measure.share();
    const auto [low, high] = share.interval();
    object[measure.name] = {{"share", share.value()},
                            {"standard_error", share.standard_error()},
                            {"right", share.right},
                            {"questions", share.all},
                            {"low", low},
                            {"high", high}};
  }
  return object;
}

int eval_tasks(const TrainedModel& trained, const TrainedModel* beside, const std::vector<Question>& questions, const AskOptions& options,
               bool json) {
  if (beside != nullptr) {  // refuse a question that does not fit it before the first model takes time
    AskOptions checks = options;
    checks.stop = [] { return true; };
    try {
      ask_tasks(*beside, questions, checks);
    } catch (const InputError& error) {
      fail_input(beside->origin.path().string(), ": ", error.what());
    }
  }
  const auto answers = ask_tasks(trained, questions, options);
  const auto others = answers && beside != nullptr ? ask_tasks(*beside, questions, options) : answers;
  if (!others) {
    return 128 + stop_signal();
  }
  std::string table = table_of(*answers);
  nlohmann::ordered_json object = object_of(trained, *answers);
  if (beside != nullptr) {
    table += concat("\n", beside->origin.path().string(), "\n", table_of(*others), "\ndifference\n");
    object["beside"] = object_of(*beside, *others);
    for (std::size_t i = 0; i < answers->size(); ++i) {
      const auto& [name, right] = (*answers)[i];
      const PairedDifference both(right, (*others)[i].right);
      const double value = both.value(), error = both.standard_error();
      const auto& [all, to_right, to_wrong] = both;
      table += fmt::format("{:<16} {:+.4f}{}  ({} of {} changed: {} to right, {} to wrong)\n", name, value, error_text(error),
                           to_right + to_wrong, all, to_right, to_wrong);
      object["difference"][name] = {
          {"difference", value}, {"standard_error", error}, {"questions", all}, {"to_right", to_right}, {"to_wrong", to_wrong}};
    }
  }
  json ? print_json(object) : print_result(table);
  flush_results();
  return 0;
}

}  // namespace dikkat
