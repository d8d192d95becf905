#include <algorithm>
#include <memory>

#include <unistd.h>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/chosen_template.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/line_reader.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/model/classifier.h"
#include "train/sample/prompt.h"
#include "train/sample/text_generation.h"
#include "train/system/format_numbers.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr int kNotGiven = -1;  // stands for the model's own value

struct ChatArguments {
  ModelArguments model;
  std::string weights = "f32";
  TemplateArguments form;
  SampleOptions options;
};

constexpr const char* kCommands =
    "  /system TEXT   begin again with this system message\n"
    "  /retry         answer the last message once more\n"
    "  /history       show the conversation\n"
    "  /clear         begin again\n"
    "  /exit, /quit   end (Ctrl-D too)\n"
    "Ctrl-C stops an answer. Anything else is a message. A message of several lines begins with \"\"\" and ends with \"\"\";\n"
    "pasted lines are one message.";

/// An entry of the user: a message or a command.
struct Entry {
  std::string text;
  bool is_message = false;  // even if it begins as a command
};

/// Reads the next line, or all lines between """ and """. The line breaks next to the marks are not part of the message. Throws InputError
/// if the end mark is missing.
std::optional<Entry> next_entry(LineReader& lines) {
  constexpr std::string_view kMark = "\"\"\"";
  auto line = lines.next();
  if (!line || !line->starts_with(kMark)) {
    return line ? std::optional(Entry{.text = *line, .is_message = line->find('\n') != std::string::npos}) : std::nullopt;
  }
  std::string text = line->substr(kMark.size());
  bool is_empty = text.empty();  // so far
  while (!text.ends_with(kMark)) {
    const auto more = lines.next("... ");
    if (stop_requested()) {
      return std::nullopt;
    }
    require_input(more.has_value(),
                  R"(the input ended within a message that began with """, so it was not sent; expected a line that ends in """)");
    append_to(text, concat(is_empty ? "" : "\n", *more));
    is_empty = false;
  }
  text.resize(text.size() - kMark.size());
  if (text.ends_with('\n')) {
    text.pop_back();
  }
  return Entry{.text = std::move(text), .is_message = true};
}

/// A conversation with a model, and the commands for it.
class Talk {
 public:
  Talk(const ChatArguments& arguments, const TrainedModel& trained)
      : trained_(trained),
        options_(arguments.options),
        form_(template_of(arguments.form, trained)),
        vocabulary_(answer_vocabulary(*trained.tokenizer, form_.end_token())) {
    options_.interrupted = stop_requested;
    require_usable_template();
    if (const std::string problem = problem_with_system(form_); !problem.empty()) {
      fail_input(problem, " (--system)");
    }
  }

  const ChatTemplate& form() const { return form_; }

  /// Handles an entry. Returns false if it ends the conversation.
  bool take(const Entry& entry) {
    if (entry.text.starts_with('/') && !entry.is_message) {
      return obey(entry.text);
    }
    if (!entry.text.empty()) {
      messages_.push_back({"user", entry.text});
      answer();
    }
    return true;
  }

 private:
  bool obey(const std::string& line) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string command = line.substr(0, blank);
    if (command == "/exit" || command == "/quit" || command == "/bye") {
      return false;
    }
    if (command == "/clear") {
      messages_.clear();
      print_message("cleared");
    } else if (command == "/system") {
      begin_with(line.substr(std::min(blank + 1, line.size())));
    } else if (command == "/history") {
      show_history();
    } else if (command == "/retry") {
      retry();
    } else {
      print_message(concat(command == "/help" || command == "/?" ? "" : concat(command, " is not a command. "), "Commands:\n", kCommands));
    }
    return true;
  }

  void show_history() const {
    if (!form_.system().empty()) {
      print_result(concat("system: ", form_.system(), '\n'));
    }
    for (const Message& message : messages_) {
      print_result(concat(message.role, ": ", message.content, '\n'));
    }
    flush_results();
  }

  void retry() {
    if (!messages_.empty() && messages_.back().role == "assistant") {
      messages_.pop_back();
    }
    if (messages_.empty()) {
      print_message("there is no message to answer yet");
      return;
    }
    answer();
  }

  void begin_with(const std::string& system) {
    ChatTemplate form = form_.with_system(system);
    if (const std::string problem = problem_with_system(form); !problem.empty()) {
      warn(concat(problem, "; the conversation has not changed"));
      return;
    }
    form_ = std::move(form);
    messages_.clear();
    print_message(system.empty() ? "cleared, without a system message" : "cleared, with this system message");
  }

  index context() const { return trained_.model->block_size(); }
  /// Returns how many tokens a conversation may have, so that there is room for an answer.
  index most_tokens() const { return context() - std::min(options_.max_new_tokens, context() / 4); }
  std::vector<Token> tokens_of(const ChatTemplate& form, std::span<const Message> messages) const {
    return encode(*trained_.tokenizer, form.ask(messages)).tokens;
  }
  /// Returns "has 1,601 tokens, but 192 fit ...".
  std::string too_many(index tokens) const {
    return concat(" has ", grouped_digits(tokens), " tokens in its template, but ", grouped_digits(most_tokens()),
                  " fit into the model's context of ", grouped_digits(context()), " with room for an answer: shorten it");
  }

  /// Throws InputError if the template cannot write even a short conversation.
  void require_usable_template() const {
    const Message shortest[] = {{"user", "a"}};
    try {
      form_.ask(shortest);
    } catch (const InputError& error) {
      fail_input("conversations with ", trained_.origin.path().string(), " are not possible: ", error.what(),
                 "; choose another template with --template chatml, llama3, plain or FILE");
    }
  }

  /// Returns why no conversation can begin with the system message, or an empty string if one can.
  std::string problem_with_system(const ChatTemplate& form) const {
    if (form.system().empty()) {
      return {};
    }
    try {
      const Message shortest[] = {{"user", ""}};
      const index tokens = std::ssize(tokens_of(form, shortest));
      return tokens <= most_tokens() ? "" : concat("the system message", too_many(tokens));
    } catch (const EncodeError& error) {
      return concat("the system message cannot be encoded: ", error.what());
    }
  }

  /// Returns the tokens of the conversation. Drops the oldest turns while there is no room for an answer. If even the newest message leaves
  /// no room, drops none and throws InputError.
  std::vector<Token> prompt() {
    std::vector<Token> tokens = tokens_of(form_, messages_);
    if (std::ssize(tokens) <= most_tokens()) {
      return tokens;
    }
    const index newest = std::ssize(tokens_of(form_, std::span(messages_).last(1)));
    require_input(newest <= most_tokens(), "the message", form_.system().empty() ? "" : " with the system message", too_many(newest));
    index dropped = 0;
    while (std::ssize(tokens) > most_tokens()) {
      do {  // the rest must begin with a message of the user
        messages_.erase(messages_.begin());
        ++dropped;
      } while (messages_.size() > 1 && messages_.front().role != "user");
      tokens = tokens_of(form_, messages_);
    }
    print_message(concat("the context of ", context(), " tokens is full: the oldest ",
                         dropped == 1 ? "message was" : concat(dropped, " messages were"), " dropped"));
    return tokens;
  }

  void answer() {
    // Encode the conversation.
    std::vector<Token> tokens;
    try {
      tokens = prompt();
    } catch (const EncodeError& error) {
      warn(concat("the message cannot be encoded: ", error.what()));
      messages_.pop_back();
      return;
    } catch (const InputError& error) {
      warn(error.what());
      messages_.pop_back();
      return;
    }

    // Generate the answer, and show it meanwhile.
    TextGeneration generation(trained_.model->gpt(), *trained_.tokenizer, vocabulary_, {std::move(tokens)}, options_, {},
                              SampleText::answer);
    std::string text;
    Ending ending = Ending::length;
    while (const auto event = generation.next()) {
      print_model_text(event->text);
      flush_results();
      text += event->text;
      ending = event->ended ? event->ended->sample.ending : ending;
    }
    print_result(text.ends_with('\n') ? "" : "\n");
    flush_results();
    if (ending == Ending::length) {
      print_message(concat("(cut at ", grouped_digits(options_.max_new_tokens), options_.max_new_tokens == 1 ? " token)" : " tokens)"));
    }

    // Add it to the conversation.
    std::string valid;  // a model may write bytes that are not UTF-8, and an answer may be cut within a character
    utf8::append_valid(valid, text);
    messages_.push_back({"assistant", std::move(valid)});
    ++options_.first_sample;  // the next answer has other random numbers
    forget_interrupt();
  }

  const TrainedModel& trained_;
  SampleOptions options_;
  ChatTemplate form_;
  Vocabulary vocabulary_;
  std::vector<Message> messages_;
};

/// Returns "runs/tuned, step 150; template plain; context of 256 tokens".
std::string description_of(const std::string& source, const TrainedModel& trained, const ChatTemplate& form) {
  return concat(source, trained.origin.checkpoint() == nullptr ? "" : concat(", step ", trained.origin.state().step), "; template ",
                name_of(form.name()), "; context of ", grouped_digits(trained.model->block_size()), " tokens");
}

/// Takes values that the user has not set from the model. At temperature 0 nothing is drawn, so the model's limits do not apply.
void settle_sampling(SampleOptions& options, AnswerSampling of_model) {
  options.temperature = options.temperature == kNotGiven ? of_model.temperature : options.temperature;
  options.repetition_penalty = options.repetition_penalty == kNotGiven ? of_model.repetition_penalty : options.repetition_penalty;
  if (options.temperature == 0) {
    of_model = greedy();
  }
  options.top_k = options.top_k == kNotGiven ? of_model.top_k : options.top_k;
  options.top_p = options.top_p == kNotGiven ? of_model.top_p : options.top_p;
  options.min_p = options.min_p == kNotGiven ? of_model.min_p : options.min_p;
}

int chat_command(ChatArguments arguments) {
  start_threads();
  const TrainedModel trained = load_trained_model(arguments.model.source, arguments.model.options(), packing_named(arguments.weights));
  require_no_classifier(trained);
  settle_sampling(arguments.options, trained.origin.config().chat);
  check(arguments.options);
  report_chosen_checkpoint(arguments.model, trained.origin);
  Talk talk(arguments, trained);
  if (::isatty(STDIN_FILENO) == 1) {
    print_message(for_terminal(description_of(arguments.model.source, trained, talk.form())));
  }
  stop_in_order();
  print_message("a message for the model, or /help");
  LineReader lines;
  for (auto entry = next_entry(lines); entry && talk.take(*entry) && !stop_requested(); entry = next_entry(lines)) {
  }
  flush_results();
  return stop_requested() ? 128 + stop_signal() : 0;
}

}  // namespace

void add_chat(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat chat runs/tuned
  dikkat chat models/qwen2.5-0.5b-instruct --weights q8 --system "You answer in one sentence."
  echo "What is a tape?" | dikkat chat runs/tuned --temperature 0
Lines of standard input are messages, and answers go to standard output. A message of several lines begins with """ and ends with """; text that is
pasted in a terminal is one message. The conversation is written in the template that the run was trained with
(chat.template), or in the model's own. When it outgrows the model's context, its oldest turns are dropped, and a message reports it. A message
that leaves no room for an answer is refused, and the conversation does not change.
/help lists the commands.)";
  const auto a = std::make_shared<ChatArguments>();
  a->options.temperature = a->options.top_p = a->options.min_p = a->options.repetition_penalty = kNotGiven;
  a->options.top_k = kNotGiven;
  Command command = program.add("chat", "Talk with a model", kExamples, [a] { return chat_command(*a); });
  add_model(command, a->model);
  add_weights(command, a->weights);
  add_template(command, a->form);
  SampleOptions& o = a->options;
  constexpr index kMost = 1'000'000'000;
  command.number("--max-new-tokens", o.max_new_tokens, index{0}, kMost, "Most tokens of an answer");
  command.number("--temperature", o.temperature, 0.0, kHighestTemperature,
                 "0: always the likeliest token; higher: more random. By default the model's own, chat.temperature (0.7)");
  command.number("--top-k", o.top_k, index{0}, kMost, "Draw among the K likeliest tokens; 0: among all. By default chat.top_k (0)");
  command.number(
      "--top-p", o.top_p, 0.0, 1.0,
      "Draw among the smallest set of likeliest tokens whose probabilities add up to X; 1: among all. By default chat.top_p (1)");
  command.number("--min-p", o.min_p, 0.0, 1.0,
                 "Draw among tokens at least X times as likely as the likeliest; 0: among all. By default chat.min_p (0)");
  command.number("--repetition-penalty", o.repetition_penalty, 0.0, 1000.0,
                 "Above 1: makes tokens that the text already has less likely. By default chat.repetition_penalty (1)");
  command.number("--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(), "The same seed gives the same answers");
}

}  // namespace dikkat
