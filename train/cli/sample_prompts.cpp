#include "train/cli/sample_prompts.h"

#include <map>
#include <span>

#include "train/cli/sample_encoder_decoder.h"
#include "train/cli/sample_gpt.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/text.h"
#include "train/system/json.h"
#include "train/text/json_line.h"

namespace dikkat {
namespace {

using Object = nlohmann::ordered_json;

constexpr const char* kForm = R"(an object such as {"prompt": "TEXT"}, or a string)";

/// Parses a line of JSON and keeps the order of fields.
Object parsed(const std::string& line) {
  try {
    return parse_json_line<Object>(line);
  } catch (const BadJson& error) {
    fail_input(error.what(), "; a line is ", kForm);
  }
}

/// Returns the object of a line; a string becomes the prompt of one. Fields that an earlier answer added are removed. Throws InputError.
Object object_of(const std::string& line) {
  require_input(line.find_first_not_of(" \t") != std::string::npos, "the line is empty, expected ", kForm);
  Object found = parsed(line);
  Object object;
  if (found.is_string()) {
    object["prompt"] = std::move(found);
  } else {
    object = std::move(found);
  }
  require_input(object.is_object(), "the line is a JSON ", json_type(object), ", expected ", kForm);
  object.erase("samples");
  object.erase("error");
  return object;
}

std::string prompt_of(const Object& object) {
  const auto prompt = object.find("prompt");
  require_input(prompt != object.end(), "the object has no field \"prompt\", expected ", kForm);
  require_input(prompt->is_string(), "the field \"prompt\" is a JSON ", json_type(*prompt), ", expected a string");
  return prompt->get<std::string>();
}

/// The prompts that can be answered.
struct Prompts {
  std::vector<std::vector<Token>> tokens;
  std::vector<index> lines;  // the line of each
};

/// The lines of the output. A line is complete when it has samples or an error. It is written when all lines before it are complete.
class Output {
 public:
  index count() const { return std::ssize(lines_); }
  index written() const { return written_; }
  Object& add() { return lines_.emplace_back(Object::object()); }
  Object& operator[](index line) { return lines_[static_cast<std::size_t>(line)]; }

  void write() {
    for (; written_ < count() && ((*this)[written_].contains("samples") || (*this)[written_].contains("error")); ++written_) {
      print_json((*this)[written_]);
      (*this)[written_] = nullptr;  // frees its memory
    }
    flush_results();
  }

 private:
  std::vector<Object> lines_;
  index written_ = 0;
};

/// Receives the samples of prompts, and shows progress.
class PromptAnswers {
 public:
  /// Keeps both by reference. `lines` has each prompt's line of the output.
  PromptAnswers(const std::vector<index>& lines, Output& output) : lines_(lines), output_(output) {}

  void count_tokens(index more) {
    tokens_ += more;
    progress_.show("generating", static_cast<double>(tokens_), static_cast<double>(answered_) / static_cast<double>(lines_.size()),
                   PassingLine::Unit::tokens);
  }
  /// Writes all samples of a prompt.
  void add(index prompt, Object samples) {
    output_[lines_[static_cast<std::size_t>(prompt)]]["samples"] = std::move(samples);
    ++answered_;
    progress_.clear();
    output_.write();
  }
  /// Removes the line with the progress.
  void finish() { progress_.clear(); }

 private:
  const std::vector<index>& lines_;
  Output& output_;
  index tokens_ = 0, answered_ = 0;
  PassingLine progress_;
};

/// Adds a line to the output for each line of the input. If a line has no prompt that can be answered, prints a warning and adds an error.
Prompts read_prompts(const SampleArguments& arguments, const TrainedModel& trained, const std::string& name, const std::string& text,
                     Output& output) {
  Prompts prompts;
  for (const std::string& line : lines_of(text)) {
    Object& object = output.add();
    const std::string place = concat(name, ": line ", output.count(), ": ");
    try {
      object = object_of(line);
      const std::string prompt = prompt_of(object);
      prompts.tokens.push_back(trained.model->is_gpt() ? encode_prompt(arguments, trained, prompt)
                                                       : encode_source_at(place, trained, prompt));
      prompts.lines.push_back(output.count() - 1);
    } catch (const InputError& e) {
      warn(for_terminal(concat("dikkat: ", place, e.what())));
      object["error"] = e.what();
    }
  }
  return prompts;
}

void report_long_prompts(const Prompts& prompts, index context, const std::string& name) {
  index count = 0, first = 0;
  for (std::size_t i = prompts.tokens.size(); i-- > 0;) {
    if (std::ssize(prompts.tokens[i]) > context) {
      ++count;
      first = prompts.lines[i] + 1;
    }
  }
  if (count > 0) {
    print_message(for_terminal(concat(name, ": ", grouped_digits(count), count == 1 ? " prompt has" : " prompts have",
                                      " more tokens than the model's context of ", grouped_digits(context), " (line ", first,
                                      count == 1 ? "" : " is the first", "): the beginning that does not fit is left out")));
  }
}

/// Continues prompts with a GPT, until a signal interrupts it.
void continue_all(const SampleArguments& arguments, const TrainedModel& trained, std::vector<std::vector<Token>> prompts,
                  PromptAnswers& answers) {
  struct Unfinished {
    explicit Unfinished(index count) : samples(Object::array_t(static_cast<std::size_t>(count))), missing(count) {}
    Object samples;
    index missing;
  };
  const index each = arguments.options.num_samples;
  const index total = std::ssize(prompts) * each;
  std::map<index, Unfinished> running;  // prompts with unfinished samples
  TextGeneration generation = continue_prompts(arguments, trained, std::move(prompts));
  while (const auto event = generation.next()) {
    if (!event->ended) {
      answers.count_tokens(1);
      continue;
    }
    if (event->ended->sample.ending == Ending::interrupted) {
      continue;  // its prompt never has all samples
    }
    const index prompt = event->number / each;
    Unfinished& own = running.try_emplace(prompt, each).first->second;
    own.samples[static_cast<std::size_t>(event->number % each)] = json_of(*event->ended, arguments.options.log_probabilities);
    if (--own.missing == 0) {
      answers.add(prompt, std::move(own.samples));
      running.erase(prompt);
    }
  }
  answers.finish();
  report_if_outgrown(generation, trained, total);
  report_cut_forms(generation.cut_forms());
}

/// Answers sources with an encoder-decoder, until a signal interrupts it.
void answer_all(const SampleArguments& arguments, const TrainedModel& trained, std::span<const std::vector<Token>> sources,
                PromptAnswers& answers) {
  constexpr std::size_t kTogether = 64;  // sources that are answered, then written
  for (std::size_t first = 0; first < sources.size(); first += kTogether) {
    const auto some = answers_of(arguments, trained, sources.subspan(first, std::min(kTogether, sources.size() - first)));
    if (some.empty()) {
      break;  // interrupted
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      answers.count_tokens(std::ssize(some[i]["tokens"]));
      answers.add(static_cast<index>(first + i), Object::array({some[i]}));
    }
  }
  answers.finish();
}

}  // namespace

bool answer_prompts(const SampleArguments& arguments, const TrainedModel& trained, const std::string& name, const std::string& text) {
  Output output;
  Prompts prompts = read_prompts(arguments, trained, name, text, output);
  const bool is_gpt = trained.model->is_gpt();
  if (is_gpt) {
    report_long_prompts(prompts, trained.model->block_size(), name);
  }
  stop_in_order();
  output.write();
  PromptAnswers answers(prompts.lines, output);
  if (is_gpt) {
    continue_all(arguments, trained, std::move(prompts.tokens), answers);
  } else {
    answer_all(arguments, trained, prompts.tokens, answers);
  }
  if (output.written() < output.count()) {
    print_message(concat("stopped after ", grouped_digits(output.written()), " of ", grouped_digits(output.count()), " lines"));
  }
  return std::ssize(prompts.lines) == output.count();
}

}  // namespace dikkat
