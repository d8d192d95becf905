#include "train/cli/sample_messages.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>

#include "train/chat/answer_format.h"
#include "train/chat/read_conversation.h"
#include "train/cli/answers_file.h"
#include "train/cli/sample_gpt.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/text.h"
#include "train/sample/prompt_cache.h"
#include "train/system/machine_memory.h"
#include "train/system/sha256.h"
#include "train/text/json_line.h"
#include "train/web/serve/answer.h"
#include "train/web/serve/answer_constraints.h"
#include "train/web/serve/stream_plan.h"

// A file of questions is answered by the parts of the server that know no network. So an answer is that of a server.
namespace dikkat {
namespace {

using serve::ApiRequest, serve::ServedModel;
using Object = nlohmann::ordered_json;

constexpr const char* kFormOfQuestion = R"(an object with "messages" or "prompt", or a string)";
constexpr const char* kChooseTemplate = "; choose one with --template chatml, llama3, plain or a file";

/// The questions, in the order of the lines.
struct Questions {
  std::vector<Object> objects{};
  std::vector<ApiRequest> requests{};
  std::vector<std::vector<Token>> prompts{};
};

/// Returns the model with its chat template, if it has one: the one that the user names, the run was trained with, or the model came with.
ServedModel model_of(const SampleArguments& arguments, const TrainedModel& trained) {
  const ChatConfig& chat = trained.origin.config().chat;
  const std::string none = TemplateArguments().name;
  ServedModel model{
      .gpt = trained.model->gpt(), .tokenizer = *trained.tokenizer, .name = trained.origin.path().string(), .fingerprint = ""};
  if (arguments.chat.name != none || chat.template_name != none || !chat.jinja.empty()) {
    model.form = template_of(arguments.chat, trained);
    model.answers = answer_format_of(*model.form);
  }
  require_input(model.form || !arguments.chat.system, "--system begins a conversation, but ", model.name, " has no chat template",
                kChooseTemplate);
  return model;
}

/// Returns the request of every question, without the question.
ApiRequest request_of(const SampleArguments& arguments) {
  ApiRequest request{.special_names = arguments.no_special ? SpecialNames::text : SpecialNames::tokens, .structure = arguments.structure};
  request.max_tokens = arguments.options.max_new_tokens;
  request.options = arguments.options;
  request.seed = serve::Seed{.bits = arguments.options.seed};
  request.stops = arguments.stop;
  if (arguments.options.log_probabilities) {
    request.alternatives = 0;
  }
  return request;
}

/// Returns the object of a line; a string becomes the field "prompt" of one.
Object object_on(const std::string& line) {
  Object found = parse_json_line<Object>(line), object = Object::object();
  if (found.is_string()) {
    object["prompt"] = std::move(found);
    return object;
  }
  require_input(found.is_object(), "is a JSON ", json_type(found), ", expected ", kFormOfQuestion);
  for (const char* const field : kAnswerFields) {
    require_input(!found.contains(field), "has the field \"", field, "\", which its answer would replace: rename it");
  }
  return found;
}

/// Asks a question in the chat template, or without one as a text to continue.
void ask(const ServedModel& model, const Object& question, ApiRequest& request) {
  ExampleFindings ignored;
  Conversation asked = read_unanswered(question, ignored);
  require_input(asked.tools.empty(), "has \"tools\", which only answers of dikkat serve can call: leave them out");
  if (model.form) {
    request.endpoint = serve::Endpoint::chat;
    request.messages = asked.messages.empty() ? std::vector<Message>{{"user", asked.text}} : std::move(asked.messages);
    return;
  }
  require_input(asked.messages.empty(), "is a conversation, but ", model.name, " has no chat template", kChooseTemplate);
  request.prompts = {{.text = std::move(asked.text)}};
}

/// Reads all questions. Throws InputError, which names the line.
Questions read_questions(const SampleArguments& arguments, const ServedModel& model, const std::string& name, const std::string& text) {
  Questions questions;
  const ApiRequest unasked = request_of(arguments);
  serve::AnswerConstraints constraints(model);
  index number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (line.find_first_not_of(" \t") == std::string::npos) {
      continue;
    }
    try {
      questions.objects.push_back(object_on(line));
      ApiRequest& request = questions.requests.emplace_back(unasked);
      ask(model, questions.objects.back(), request);
      questions.prompts.push_back(std::move(prompt_tokens(model, request).front()));
      request.options.constraint = constraints.of(request, questions.prompts.back());
    } catch (const Error& error) {
      fail_input(name, ": line ", number, ": ", error.what());
    }
  }
  require_input(!questions.objects.empty(), name, " has no questions, expected ", kFormOfQuestion, " on each line");
  return questions;
}

/// Plans the memory as a server does, but for the longest question instead of a full context.
serve::StreamPlan plan_of(const SampleArguments& arguments, const TrainedModel& trained, const Questions& questions) {
  TransformerConfig config = trained.model->gpt().config();
  const auto longest = std::ranges::max_element(questions.prompts, {}, [](const auto& prompt) { return prompt.size(); });
  const index positions = 2 * (std::ssize(*longest) + arguments.options.max_new_tokens);  // keys and values grow by doubling
  config.block_size = std::min(config.block_size, std::max(Gpt::kFirstPositions, positions));
  const auto needs = serve::stream_needs(config, trained.model->parameters().weight_bytes(), arguments.options.cache);
  const auto wished = arguments.parallel > 0 ? std::optional<index>(arguments.parallel) : std::nullopt;
  return plan_streams(needs, {.streams = wished}, serve::free_memory(machine_memory(), process_memory()));
}

/// Returns "MODEL-OPTIONS": a hash of the model, and one of all else that decides the answer to a question.
std::string fingerprint_of(const SampleArguments& arguments, const TrainedModel& trained, const ServedModel& model,
                           const std::string& weights_hash) {
  constexpr std::size_t kDigits = 12;
  const SampleOptions& o = arguments.options;
  const Object options = Object::array({o.max_new_tokens, o.temperature, o.top_k, o.top_p, o.min_p, o.repetition_penalty, o.seed,
                                        o.log_probabilities, arguments.weights, arguments.cache, arguments.no_special, arguments.stop,
                                        static_cast<int>(arguments.structure.kind), arguments.structure.text, model.context(),
                                        model.form ? model.form->jinja() : "", trained.origin.config().chat.variables});
  const auto digits = [](const std::string& text) { return to_hex(sha256(text)).substr(0, kDigits); };
  return concat(digits(weights_hash + trained.tokenizer->to_json()), '-', digits(json_text(options)));
}

/// An answer that is being generated.
struct RunningAnswer {
  RunningAnswer(const ServedModel& model, ApiRequest request, std::vector<Token> prompt)
      : job(model, std::move(request), {std::move(prompt)}), answer(job) {}

  serve::Job job;
  serve::Answer answer;
};

/// Adds an answer to its question.
void add_answer(Object& line, serve::Job& job, const std::string& fingerprint) {
  serve::AnswerDelta whole;
  for (serve::AnswerDelta& piece : job.take(std::chrono::milliseconds(0))) {
    whole.append(std::move(piece));
  }
  line["answer"] = whole.text;
  if (!whole.reasoning.empty()) {
    line["reasoning_content"] = whole.reasoning;
  }
  line["finish_reason"] = whole.ending == Ending::length ? "length" : "stop";
  if (job.request().alternatives) {
    line["log_probabilities"] = Object::array();
    for (const serve::TokenScore& token : whole.tokens) {
      line["log_probabilities"].push_back(token.log_probability.value());
    }
  }
  line["fingerprint"] = fingerprint;
}

/// Answers the questions after the first `kept`, until a signal interrupts it. Writes each answer once all before it are written. The
/// random numbers of an answer are those of its question's index. Returns the number of the questions that have answers.
index answer_all(const ServedModel& model, const Scheduler::Options& options, const std::string& fingerprint, index kept,
                 Questions& questions, const std::function<void(const Object&)>& write) {
  Scheduler scheduler(model.gpt, options);
  PassingLine progress;
  std::map<index, RunningAnswer> running;  // and those that are not written; the keys are the numbers of samples
  const index count = std::ssize(questions.objects) - kept;
  index begun = 0, written = 0, tokens = 0;
  while (written < count && !stop_requested()) {
    for (; begun < count && scheduler.running() < options.streams && scheduler.waiting() == 0; ++begun) {
      const auto at = static_cast<std::size_t>(kept + begun);
      auto& next = running.try_emplace(begun, model, std::move(questions.requests[at]), std::move(questions.prompts[at])).first->second;
      SampleRequest sample = next.answer.sample(0);
      sample.sample = kept + begun;
      scheduler.add(std::move(sample));
    }
    for (const Scheduler::Event& event : scheduler.step()) {
      if (event.failure) {
        std::rethrow_exception(event.failure);
      }
      tokens += event.ending ? 0 : 1;
      if (!running.at(event.number).answer.take(0, event) && !event.ending) {
        scheduler.end(event.number, Ending::stop);
      }
    }
    progress.show("answering", static_cast<double>(tokens), static_cast<double>(written) / static_cast<double>(count),
                  PassingLine::Unit::tokens);
    for (; !running.empty() && running.begin()->second.answer.is_over(); ++written) {
      Object& line = questions.objects[static_cast<std::size_t>(kept + written)];
      add_answer(line, running.begin()->second.job, fingerprint);
      progress.clear();
      write(line);
      line = nullptr;  // frees its memory
      running.erase(running.begin());
    }
  }
  return kept + written;
}

}  // namespace

void answer_messages(const SampleArguments& arguments, const TrainedModel& trained, const std::string& weights_hash,
                     const std::string& name, const std::string& text) {
  // Check everything before an answer takes time.
  const ServedModel model = model_of(arguments, trained);
  Questions questions = read_questions(arguments, model, name, text);
  const serve::StreamPlan plan = plan_of(arguments, trained, questions);
  const std::string fingerprint = fingerprint_of(arguments, trained, model, weights_hash);
  const index all = std::ssize(questions.objects);

  // Continue after the answers that the file has.
  std::optional<AnswersFile> file;
  const index kept = arguments.out.empty() ? 0 : file.emplace(arguments.out, questions.objects, fingerprint).kept();
  print_message(
      for_terminal(concat(counted(all, "question"), model.form ? concat(" in the chat template ", name_of(model.form->name())) : "",
                          kept > 0 ? concat(", of which ", kept, " have answers") : "")));
  stop_in_order();
  std::optional<PromptCache> prompts;
  if (plan.prompt_positions > 0) {
    prompts.emplace(model.gpt, PromptCache::Options{.positions = plan.prompt_positions, .cache = arguments.options.cache});
  }
  index cut = 0;
  const index answered =
      answer_all(model, {.streams = plan.streams, .cache = arguments.options.cache, .prompts = prompts ? &*prompts : nullptr}, fingerprint,
                 kept, questions, [&](const Object& line) {
                   cut += arguments.options.constraint && line["finish_reason"] == "length" ? 1 : 0;
                   file ? file->append(line) : print_json(line);
                   flush_results();
                 });
  report_cut_forms(cut);
  if (answered < all) {
    print_message(concat("stopped after ", answered, " of ", all, " answers", file ? "; the same command continues" : ""));
  }
}

}  // namespace dikkat
