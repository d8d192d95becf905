#include <cstdio>
#include <memory>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/sample_encoder_decoder.h"
#include "train/cli/sample_gpt.h"
#include "train/cli/sample_messages.h"
#include "train/cli/sample_prompts.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/write_page.h"
#include "train/data/corpus/corpus_files.h"
#include "train/model/adapters.h"
#include "train/model/classifier.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

std::string read_standard_input(const char* what) {
  announce_standard_input(what);
  std::string text;
  char block[4096];
  for (std::size_t count = 0; (count = std::fread(block, 1, sizeof block, stdin)) > 0;) {
    text.append(block, count);
  }
  require(std::ferror(stdin) == 0, what, " cannot be read from standard input");
  return text;
}

void require_no(const std::vector<std::string>& options, const TrainedModel& trained, const char* is, const char* wanted) {
  if (!options.empty()) {
    fail_input(options.front(), " is for ", wanted, ", but ", trained.origin.path().string(), " holds ", is);
  }
}

/// An option, and whether it was given.
struct Given {
  const char* name;
  bool is_given;
};

/// Throws InputError if one of the others was given next to an option. `use` is what that does.
void require_without(const char* option, const char* use, std::initializer_list<Given> others) {
  for (const Given& other : others) {
    require_input(!other.is_given, option, ' ', use, ", so it cannot be combined with ", other.name, "; drop one of the two");
  }
}

/// Throws InputError for options that do not go together, before a model is loaded.
void check(const SampleArguments& a) {
  check(a.options);
  const Given prompt{"--prompt", a.prompt.has_value()}, prompt_file{"--prompt-file", !a.prompt_file.empty()};
  const Given prompts{"--prompts", !a.prompts.empty()}, messages{"--messages", !a.messages.empty()};
  const Given interactive{"--interactive", a.interactive}, json{"--json", a.json}, several{"--num-samples", a.options.num_samples > 1};
  const Given ignore_end{"--ignore-end", a.ignore_end}, reread{"--reread", a.options.rereads}, html{"--html", !a.html.empty()};
  require_input(!prompt.is_given || !prompt_file.is_given, "--prompt and --prompt-file both give a prompt; drop one of the two");
  require_input(!a.options.log_probabilities || a.json || !a.list().empty(),
                "--logprobs works only with --json, --prompts or --messages; add one of them");
  if (prompts.is_given) {
    require_without("--prompts", "reads prompts from a file and writes a JSON object for each", {prompt, prompt_file, json});
  }
  if (messages.is_given) {
    require_without("--messages", "answers each line of a file once, in a JSON object",
                    {prompt, prompt_file, prompts, several, interactive});
    require_without("--messages", "ends an answer where the model ends it, or its context is full", {ignore_end, reread});
  } else {
    require_input(a.out.empty() && a.parallel == 0, a.out.empty() ? "--parallel" : "--out", " is for --messages; leave it out");
    require_input(a.chat.name == TemplateArguments().name && !a.chat.system, "--template and --system are for --messages, ",
                  "and other prompts are texts to continue; leave them out, or talk with dikkat chat");
  }
  if (a.structure.kind != serve::StructuredRequest::Kind::any) {
    require_without(a.structure.field.c_str(), "ends a text where its form is complete", {ignore_end});
  }
  if (html.is_given) {
    require_without("--html", "shows the samples of one prompt", {interactive, json, prompts, messages});
    require_page_name(a.html);
  }
  if (interactive.is_given) {
    require_without("--interactive", "asks for prompts and answers each", {prompt, prompt_file, prompts, several, json});
  }
  for (const std::string& stop : a.stop) {
    require_input(!stop.empty(), "--stop is empty, expected one byte or more");
  }
}

int sample_command(SampleArguments arguments) {
  start_threads();
  arguments.structure = form_of(arguments.form);
  check(arguments);
  if (arguments.cache != "f32") {
    arguments.options.cache = cache_type_named(arguments.cache);
  }

  // Load the model, and read the prompt unless it comes from standard input.
  const bool is_list = !arguments.list().empty(), has_questions = !arguments.messages.empty();
  const std::string& file = is_list ? arguments.list() : arguments.prompt_file;
  const bool is_piped = is_list ? file == "-" : arguments.prompt == "-";
  std::string given = file.empty() || is_piped ? arguments.prompt.value_or("") : read_bytes(file);
  HashOfBase weights;
  const auto add_weights = [&](ParameterStore::Entry& entry) { weights.add(entry); };
  const TrainedModel trained = load_trained_model(arguments.model.source, arguments.model.options(), packing_named(arguments.weights),
                                                  has_questions ? ParameterStore::Loaded(add_weights) : nullptr);
  report_chosen_checkpoint(arguments.model, trained.origin);
  require_no_classifier(trained);
  const bool is_gpt = trained.model->is_gpt();
  require_no(is_gpt ? arguments.encoder_decoder_options : arguments.gpt_options, trained, is_gpt ? "a GPT" : "an encoder-decoder",
             is_gpt ? "an encoder-decoder" : "a GPT");
  if (is_gpt) {
    arguments.options.constraint = constraint_of(arguments.structure, trained);
  }

  // Answer one prompt, lines that are typed, or the lines of a file.
  bool all_answered = true;
  if (is_piped) {
    given = read_standard_input(has_questions ? "the file of questions" : is_list ? "the list of prompts" : "the prompt");
  }
  if (!file.empty() && given.starts_with(kByteOrderMark)) {  // removed from a corpus too
    given.erase(0, kByteOrderMark.size());
  }
  if (has_questions) {
    answer_messages(arguments, trained, weights.finish(), is_piped ? "standard input" : file, given);
  } else if (arguments.interactive) {
    all_answered = answer_lines(arguments, trained);
  } else if (is_list) {
    all_answered = answer_prompts(arguments, trained, is_piped ? "standard input" : file, given);
  } else if (is_gpt) {
    continue_text(arguments, trained, given);
  } else {
    all_answered = answer(arguments, trained, given);
  }
  flush_results();
  constexpr int kBadInput = 2;
  return stop_requested() ? 128 + stop_signal() : all_answered ? 0 : kBadInput;
}

}  // namespace

void add_sample(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat sample runs/mine --prompt "Once upon" --max-new-tokens 200
  dikkat sample runs/mine --temperature 0.7 --top-p 0.9 --num-samples 3 --seed 7
  dikkat sample runs/mine --prompt "Q: why?" --stop "Q:" --temperature 0
  dikkat sample runs/mine --interactive --min-p 0.05 --repetition-penalty 1.2
  dikkat sample runs/mine --prompt "Once upon" --html once.html
  dikkat sample models/smollm2 --weights q8 --prompt "The sea is"
  echo -n "Once upon" | dikkat sample runs/mine --prompt - --json --logprobs
An encoder-decoder answers the prompt, or each line of it:
  dikkat sample runs/pairs --prompt "When you play game of thrones" --attention
  dikkat sample runs/pairs --beam 4 --prompt - < sources.txt
A line that cannot be answered (it is blank, or too long) gives a warning, an empty line as its answer, and exit code 2.
Many prompts are answered together, in much less time and with the same answers as one by one:
  dikkat sample runs/mine --prompts prompts.jsonl --num-samples 2 --max-new-tokens 100 > answers.jsonl
A line of prompts.jsonl is an object with the field "prompt", or a string. Its answer is this object with the field "samples", which has the
samples as --json prints them; all other fields are copied. A line that cannot be answered gets the field "error" instead, and the exit code
is 2.
A file of questions is answered in the model's chat template, for example to label mails:
  dikkat sample models/smollm2 --messages mails.jsonl --choice spam,ham --temperature 0 --out labels.jsonl
A line of mails.jsonl has "messages", a conversation without its last answer, or "prompt", a text: a message of the user if the model was trained
with a chat template or came with one (--template names another), and otherwise a text to continue. The answer is a copy of the line with
"answer", "finish_reason" ("stop", or "length" if it was cut) and "fingerprint" (of model and options). All lines are checked before the first is
answered. An answer depends on the model, the options, its line and the line's number only. After an interruption the same command continues.
Samples of a required form, here moves of a game of chess:
  dikkat sample runs/chess --prompt "e2e4 " --regex '([a-h][1-8][a-h][1-8][qrbn]? )+' --max-new-tokens 100
Samples are shown while they are generated, one after another. Ctrl-C stops and keeps the text so far; with --interactive it stops only the
current answer, Ctrl-D ends the session, and an empty line continues the last text. A text ends where the model ends a document, if its
tokenizer has a token for that. A text may become longer than the model's context: whenever the context is full, its oldest quarter is
dropped, and a message reports it.)";
  constexpr index kMost = 1'000'000'000;
  constexpr index kMostSamples = 1'000'000;
  constexpr index kMostBeam = 1'000;
  const auto a = std::make_shared<SampleArguments>();
  Command command = program.add("sample", "Generate text", kExamples, [a] { return sample_command(*a); });
  // Declare the model, the prompt and the length.
  add_model(command, a->model);
  add_weights(command, a->weights);
  command.any_text("--prompt", a->prompt, "TEXT", "Text to continue, or - for standard input; by default a line break");
  command.text("--prompt-file", a->prompt_file, "FILE", "File with the text to continue");
  command.text("--prompts", a->prompts, "FILE",
               "JSONL file with a prompt in each line, or - for standard input: answers several at once and prints a line for each");
  command
      .text("--messages", a->messages, "FILE",
            "JSONL file with a conversation or a prompt in each line, or - for standard input: prints each line with its answer")
      .note_in(a->gpt_options);
  command.text("--out", a->out, "FILE.jsonl", "With --messages: add the answers to this file, after those that it has");
  add_template(command, a->chat);
  SampleOptions& o = a->options;
  command
      .number("--max-new-tokens", o.max_new_tokens, index{0}, kMost, "Most tokens to generate; an encoder-decoder's answer may end earlier")
      .note_in(a->length_options);
  // Declare options that only a GPT has.
  auto& gpt = a->gpt_options;
  command.number("--num-samples", o.num_samples, index{1}, kMostSamples, "Number of texts").note_in(gpt);
  command
      .number("--temperature", o.temperature, 0.0, kHighestTemperature,
              "0: always the likeliest token; 1: the model's own probabilities; higher: more random")
      .note_in(gpt);
  command.number("--top-k", o.top_k, index{0}, kMost, "Draw among the K likeliest tokens; 0: among all").note_in(gpt);
  command
      .number("--top-p", o.top_p, 0.0, 1.0, "Draw among the smallest set of likeliest tokens whose probabilities add up to X; 1: among all")
      .note_in(gpt);
  command.number("--min-p", o.min_p, 0.0, 1.0, "Draw among tokens at least X times as likely as the likeliest; 0: among all").note_in(gpt);
  command.number("--repetition-penalty", o.repetition_penalty, 0.0, 1000.0, "Above 1: makes tokens that the text already has less likely")
      .note_in(gpt);
  command
      .text("--regex", a->form.regex, "PATTERN",
            "A text matches this regular expression as a whole, such as '([a-h][1-8][a-h][1-8][qrbn]? )+' for moves of chess")
      .note_in(gpt);
  command
      .repeated("--choice", a->form.choices, "A,B",
                "A text is one of these strings, exactly as written; can be given several times. For strings with commas, use --regex")
      .note_in(gpt);
  command.text("--schema", a->form.schema, "FILE.json", "A text is JSON that is valid under this JSON Schema").note_in(gpt);
  command.repeated("--stop", a->stop, "TEXT", "End a text before this string; can be given several times").note_in(gpt);
  command
      .text("--cache", a->cache, "TYPE",
            "How keys and values of earlier tokens lie in memory: f32, or bf16 in half of it, which changes answers slightly")
      .note_in(gpt);
  command
      .flag("--reread", o.rereads,
            "When the context is full, read what is left of it again: slower. By default a model with rotary positions only forgets the "
            "oldest tokens, and still knows something of them")
      .note_in(gpt);
  command
      .number("--seed", o.seed, std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max(),
              "The same seed gives the same text, on any number of threads")
      .note_in(gpt);
  command
      .flag("--no-special", a->no_special,
            "Names of special tokens in the prompt, such as <|im_start|>, are ordinary text; by default they stand for these tokens")
      .note_in(gpt);
  command
      .number("--parallel", a->parallel, 1, 1024,
              "With --messages: answers that are generated together; by default as many as fit into half of the free memory, at most 8")
      .note_in(gpt);
  command.flag("--ignore-end", a->ignore_end, "Continue past the end of a document").note_in(gpt);
  command
      .flag("-i,--interactive", a->interactive,
            "Ask for prompts, with a history; without a terminal, each line of standard input is a prompt")
      .note_in(gpt);
  // Declare options that only an encoder-decoder has.
  auto& encoder_decoder = a->encoder_decoder_options;
  TranslateOptions& search = a->search;
  command
      .number("--beam", search.beam, index{1}, kMostBeam, "For an encoder-decoder: beam search that keeps the N likeliest texts; 1: greedy")
      .note_in(encoder_decoder);
  command.number("--length-penalty", search.length_penalty, 0.0, 100.0, "For beam search: higher values favor longer texts")
      .note_in(encoder_decoder);
  command
      .flag("--attention", a->attention,
            "For an encoder-decoder: show how much each word of the answer attended to each word of the source; with --json all layers")
      .note_in(encoder_decoder);
  // Declare the forms of the output.
  command
      .text("--html", a->html, "FILE.html", "Also write a page with each token's probability, its likeliest alternatives and the attention")
      .note_in(gpt);
  command.flag("--json", a->json, "Print one JSON object with prompt, seed and samples");
  command.flag("--logprobs", o.log_probabilities, "With --json, --prompts or --messages: the log probability of each token, in nats")
      .note_in(gpt);
}

}  // namespace dikkat
