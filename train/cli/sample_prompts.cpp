#include "train/cli/sample_prompts.h"

#include "train/cli/json_output.h"
#include "train/cli/progress.h"
#include "train/cli/sample_encoder_decoder.h"
#include "train/cli/sample_gpt.h"
#include "train/cli/signals.h"
#include "train/cli/text.h"
#include "train/text/json_line.h"

namespace dikkat {
namespace {

using Object = nlohmann::ordered_json;

constexpr const char* kForm = R"(an object such as {"prompt": "TEXT"}, or a string)";
constexpr int kDeepest = 100;  // objects and arrays in each other: writing JSON takes stack for each level

/// With its fields in their order.
Object parsed(const std::string& line) {
  const auto limit = [](int depth, Object::parse_event_t, Object&) {
    require_input(depth <= kDeepest, "its JSON is nested more than ", kDeepest, " deep, expected fewer levels");
    return true;
  };
  try {
    parse_json_line(line);
  } catch (const BadJson& error) {
    fail_input(error.what(), "; a line is ", kForm);
  }
  return Object::parse(line, limit);
}

/// The object of a line; a string is the prompt of one. What an earlier answer added is removed. Throws InputError.
Object object_of(const std::string& line) {
  require_input(line.find_first_not_of(" \t") != std::string::npos, "the line is empty, expected ", kForm);
  Object found = parsed(line);
  Object object;
  if (found.is_string()) {
    object["prompt"] = std::move(found);
  } else {
    object = std::move(found);
  }
  require_input(object.is_object(), "the line is a JSON ", object.type_name(), ", expected ", kForm);
  object.erase("samples");
  object.erase("error");
  return object;
}

std::string prompt_of(const Object& object) {
  const auto prompt = object.find("prompt");
  require_input(prompt != object.end(), "the object has no field \"prompt\", expected ", kForm);
  require_input(prompt->is_string(), "the field \"prompt\" is a JSON ", prompt->type_name(), ", expected a string");
  return prompt->get<std::string>();
}

/// The lines of the output. Each is written when it and all before it are complete: when they have samples or an error.
class Output {
 public:
  index count() const { return std::ssize(lines_); }
  index written() const { return written_; }
  Object& add() { return lines_.emplace_back(Object::object()); }
  Object& operator[](index line) { return lines_[static_cast<std::size_t>(line)]; }

  void write() {
    for (; written_ < count() && ((*this)[written_].contains("samples") || (*this)[written_].contains("error")); ++written_) {
      put_json((*this)[written_]);
      (*this)[written_] = nullptr;  // its memory is not needed any more
    }
    flush_results();
  }

 private:
  std::vector<Object> lines_;
  index written_ = 0;
};

/// Prompts that can be answered, and their lines.
struct Prompts {
  std::vector<std::vector<Token>> tokens;
  std::vector<index> lines;
};

/// Adds a line to the output for each of the input. One without a prompt that can be answered gives a warning, and has an error.
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

void tell_of_long_prompts(const Prompts& prompts, index context, const std::string& name) {
  index count = 0, first = 0;
  for (std::size_t i = prompts.tokens.size(); i-- > 0;) {
    if (std::ssize(prompts.tokens[i]) > context) {
      ++count;
      first = prompts.lines[i] + 1;
    }
  }
  if (count > 0) {
    tell(for_terminal(concat(name, ": ", grouped_digits(count), count == 1 ? " prompt has" : " prompts have",
                             " more tokens than the model's context of ", grouped_digits(context), " (line ", first,
                             count == 1 ? "" : " is the first", "): what does not fit is left out at the beginning")));
  }
}

}  // namespace

bool answer_prompts(const SampleArguments& arguments, const TrainedModel& trained, const std::string& name, const std::string& text) {
  Output output;
  const Prompts prompts = read_prompts(arguments, trained, name, text, output);
  const auto count = std::ssize(prompts.tokens);
  const bool is_gpt = trained.model->is_gpt();
  if (is_gpt) {
    tell_of_long_prompts(prompts, trained.model->block_size(), name);
  }
  stop_in_order();
  output.write();
  index tokens = 0, answered = 0;
  PassingLine line;
  const auto show = [&] {
    line.show("generating", static_cast<double>(tokens), static_cast<double>(answered) / static_cast<double>(count),
              PassingLine::Unit::tokens);
  };
  const AnswerEvents events{.generated =
                                [&](index more) {
                                  tokens += more;
                                  show();
                                },
                            .answered =
                                [&](index prompt, Object samples, bool complete) {
                                  if (complete) {
                                    output[prompts.lines[static_cast<std::size_t>(prompt)]]["samples"] = std::move(samples);
                                    ++answered;
                                    line.clear();
                                    output.write();
                                  }
                                }};
  (is_gpt ? continue_all : answer_all)(arguments, trained, prompts.tokens, events);
  line.clear();
  if (output.written() < output.count()) {
    tell(concat("stopped after ", grouped_digits(output.written()), " of ", grouped_digits(output.count()), " lines"));
  }
  return count == output.count();
}

}  // namespace dikkat
