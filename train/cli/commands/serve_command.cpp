#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <span>

#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/chosen_template.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/model/adapted_model.h"
#include "train/model/classifier.h"
#include "train/model/text_vectors.h"
#include "train/run/build_info.h"
#include "train/system/byte_size.h"
#include "train/system/format_numbers.h"
#include "train/system/machine_memory.h"
#include "train/system/reserved_memory.h"
#include "train/web/http/loopback.h"
#include "train/web/serve/completion_server.h"
#include "train/web/serve/loading_server.h"
#include "train/web/serve/stream_plan.h"

namespace dikkat {
namespace {

using namespace serve;

constexpr int kByMemory = 0;  // no number of streams is given

struct ServeArguments {
  ModelArguments model;
  std::string weights = "f32";
  TemplateArguments form;
  std::string name;                   // empty: the file's name
  std::vector<std::string> adapters;  // NAME=RUN
  CompletionServer::Options server;
  int most_waiting = 64;
  int streams = kByMemory;
  std::string prompts, cache = "f32";  // --prompt-cache, which may be empty; --cache
  int grace = 10;                      // seconds
  std::string feedback;                // empty: ratings are not kept
  std::vector<std::string> for_texts;  // given options that a classifier does not have, except the template's
  bool json = false;
};

constexpr const char* kKeyVariable = "DIKKAT_API_KEY";

/// Returns the last part of the path.
std::string name_of_file(const std::string& source) {
  std::error_code unknown;
  std::filesystem::path path = std::filesystem::weakly_canonical(source, unknown);
  path = unknown ? std::filesystem::path(source) : path;
  return path.has_filename() ? path.filename().string() : "model";
}

std::string fingerprint_of(const ModelOrigin& origin) {
  constexpr std::size_t kDigits = 12;
  const std::string program = "dikkat-" + build_info().version;
  return origin.checkpoint() == nullptr
             ? program
             : concat(program, "-step-", origin.state().step, '-', origin.checkpoint()->hash().substr(0, kDigits));
}

std::int64_t seconds_since_1970() { return std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()); }

/// Throws InputError if the system message of the command line leaves no room for a conversation.
void require_room_beside_system(const ServedModel& model) {
  const Message shortest[] = {{"user", ""}};
  const index tokens = std::ssize(encode(model.tokenizer, model.form->ask(shortest)).tokens);
  require_input(tokens < model.context(), "the system message has ", grouped_digits(tokens),
                " tokens in its template, and the model's context of ", grouped_digits(model.context()),
                " leaves no room for a conversation: shorten it (--system)");
}

/// The model that the command line names, and the adapters that share its weights.
struct LoadedModels {
  SharedBase base;
  std::vector<std::string> names{};  // of the adapters
  std::vector<AdaptedModel> adapters{};
};

/// Splits NAME=RUN. Throws InputError.
std::pair<std::string, std::string> named_run(const std::string& adapter) {
  const std::size_t equals = adapter.find('=');
  require_input(equals != std::string::npos && equals > 0 && equals + 1 < adapter.size(), "--adapter is ", adapter,
                ", expected NAME=RUN_DIR, with the name by which clients choose the adapter");
  return {adapter.substr(0, equals), adapter.substr(equals + 1)};
}

std::string name_of_base(const ServeArguments& arguments) {
  return arguments.name.empty() ? name_of_file(arguments.model.source) : arguments.name;
}

LoadedModels load_models(const ServeArguments& arguments) {
  // Names are checked before the base is loaded, which may take long.
  std::vector<std::string> names, sources;
  for (const std::string& adapter : arguments.adapters) {
    auto [name, source] = named_run(adapter);
    require_input(name != name_of_base(arguments) && std::ranges::find(names, name) == names.end(), "--adapter ", adapter,
                  ": there is another model of the name ", name, ", expected a name of its own for each (--name is that of the base)");
    require_model_at(source);
    names.push_back(std::move(name));
    sources.push_back(std::move(source));
  }

  const PackedType packing = packing_named(arguments.weights);
  const ModelOptions options = arguments.model.options();
  LoadedModels models{.base = sources.empty() ? SharedBase{load_trained_model(arguments.model.source, options, packing), ""}
                                              : load_shared_base(arguments.model.source, options, packing),
                      .names = std::move(names)};
  for (const std::string& source : sources) {
    models.adapters.emplace_back(source, models.base);
  }
  return models;
}

ServedModel served_model(const ServeArguments& arguments, const std::string& name, const Gpt& gpt, const ModelOrigin& origin,
                         const Tokenizer& tokenizer) {
  ServedModel model{
      .gpt = gpt, .tokenizer = tokenizer, .name = name, .fingerprint = fingerprint_of(origin), .created = seconds_since_1970()};
  model.vectors = [compute = std::make_shared<TextVectors>(gpt, origin.config().embedding.pooling)](
                      std::span<const std::vector<Token>> texts) { return (*compute)(texts); };
  try {
    model.form = template_of(arguments.form, origin, tokenizer);
    model.answers = answer_format_of(*model.form);
  } catch (const InputError& error) {
    if (arguments.form.name != TemplateArguments().name) {
      throw;
    }
    model.why_no_form = error.what();
    warn(for_terminal(concat("chat requests to ", name, " will be rejected, completions still work: ", error.what())));
  }
  if (model.form && arguments.form.system) {
    require_room_beside_system(model);
  }
  return model;
}

/// Returns the base and its adapters, as clients see them. The base comes first, so it answers requests that name no model.
std::vector<ServedModel> served_models(const ServeArguments& arguments, const LoadedModels& loaded) {
  const TrainedModel& base = loaded.base.model;
  std::vector<ServedModel> models;
  models.push_back(served_model(arguments, name_of_base(arguments), base.model->gpt(), base.origin, *base.tokenizer));
  for (std::size_t i = 0; i < loaded.adapters.size(); ++i) {
    const AdaptedModel& adapter = loaded.adapters[i];
    models.push_back(served_model(arguments, loaded.names[i], adapter.gpt(), adapter.origin(), *base.tokenizer));
    models.back().base = name_of_base(arguments);
  }
  return models;
}

/// Plans the memory of streams and prompts. The model must be loaded.
StreamPlan plan_of(const ServeArguments& arguments, const TrainedModel& trained, std::size_t free) {
  const StreamNeeds needs =
      stream_needs(trained.model->gpt().config(), trained.model->parameters().weight_bytes(), cache_type_named(arguments.cache));
  StreamWishes wishes;
  if (arguments.streams != kByMemory) {
    wishes.streams = arguments.streams;
  }
  if (!arguments.prompts.empty()) {
    wishes.prompts = parse_bytes(arguments.prompts, "--prompt-cache");
  }
  return plan_streams(needs, wishes, free);
}

CompletionServer::Options server_options(const ServeArguments& arguments, const StreamPlan& plan) {
  CompletionServer::Options options = arguments.server;
  if (const char* key = std::getenv(kKeyVariable);
      key != nullptr && options.api_key.empty()) {  // NOLINT(concurrency-mt-unsafe): no thread sets variables
    options.api_key = key;
  }
  options.feedback = arguments.feedback;
  options.most_waiting = static_cast<std::size_t>(arguments.most_waiting);
  options.streams = plan.streams;
  options.cache = cache_type_named(arguments.cache);
  options.prompt_positions = plan.prompt_positions;
  options.grace = std::chrono::seconds(arguments.grace);
  options.log = [](const std::string& line) { print_message(for_terminal(line)); };
  return options;
}

/// Answers with 503 at the server's address, if that is known and free, while the model is loaded. (Otherwise the server says why.)
std::unique_ptr<LoadingServer> loading_server(const CompletionServer::Options& server) {
  try {
    return server.port != 0 ? std::make_unique<LoadingServer>(server.host, server.port) : nullptr;
  } catch (const InputError&) {
    return nullptr;
  }
}

/// Returns a classifier, as clients see it.
ServedModel served_classifier(const ServeArguments& arguments, const TrainedModel& trained) {
  for (const auto* given : {&arguments.form.given, &arguments.for_texts}) {
    require_input(given->empty(), given->empty() ? "" : given->front(), " is for models that write, but ", trained.origin.path().string(),
                  " is a classifier: leave it out");
  }
  const Classifier classifier(trained);
  ServedModel model{.gpt = trained.model->gpt(),
                    .tokenizer = *trained.tokenizer,
                    .name = name_of_base(arguments),
                    .fingerprint = fingerprint_of(trained.origin),
                    .created = seconds_since_1970()};
  model.labels = ServedLabels{.names = classifier.labels(), .several = classifier.several(), .window = classifier.window()};
  model.labels->probabilities = [classifier](std::span<const float> logits) { return classifier.probabilities(logits); };
  model.vectors = [classifier](std::span<const std::vector<Token>> texts) { return classifier.logits(texts); };
  return model;
}

int serve_command(const ServeArguments& arguments) {
  start_threads();
  std::unique_ptr<LoadingServer> loading = loading_server(arguments.server);
  const LoadedModels loaded = load_models(arguments);
  const TrainedModel& trained = loaded.base.model;
  report_chosen_checkpoint(arguments.model, trained.origin);
  const bool classifies = trained.model->is_classifier();
  const std::size_t free = free_memory(machine_memory(), process_memory());
  const StreamPlan plan = classifies ? StreamPlan() : plan_of(arguments, trained, free);
  const std::vector<ServedModel> models =
      classifies ? std::vector{served_classifier(arguments, trained)} : served_models(arguments, loaded);
  const ServedModel& model = models.front();
  CompletionServer::Options options = server_options(arguments, plan);
  if (loading != nullptr) {
    options.socket = loading->hand_over();
  }
  constexpr std::size_t kReserved = std::size_t{32} << 20;  // a request's destructors need up to 6 MB of it
  reserve_memory_for_unwinding(kReserved);
  CompletionServer server(models, options);
  if (!is_loopback(options.host) && options.api_key.empty()) {
    warn(concat("anyone who can reach this machine can use this model; to require a key from clients, set --api-key or the variable ",
                kKeyVariable));
  }
  stop_in_order();
  if (arguments.json && classifies) {
    print_json({{"url", server.url()}, {"model", model.name}, {"labels", model.labels->names}});
  } else if (arguments.json) {
    print_json({{"url", server.url()},
                {"base_url", server.url() + "v1"},
                {"model", model.name},
                {"models", names_of(models)},
                {"parallel", plan.streams},
                {"max_waiting", options.most_waiting},
                {"weights_bytes", plan.needs.weights},
                {"stream_bytes", plan.needs.stream},
                {"cache_bytes", plan.all_streams()},
                {"prompt_cache_bytes", plan.prompts()}});
  }
  flush_results();
  if (classifies) {
    print_message(for_terminal(concat("serving ", model.name, ", a classifier of ", model.labels->names.size(), " labels: POST texts to ",
                                      server.url(), "classify. Ctrl-C stops it")));
  } else {
    print_message(plan_text(plan, free));
    std::string names = model.name;
    for (const std::string& adapter : loaded.names) {
      append_to(names, concat(", ", adapter));
    }
    print_message(for_terminal(
        concat("serving ", names, ": chat at ", server.url(), "; the base URL for clients is ", server.url(), "v1. Ctrl-C stops it")));
  }
  server.serve(stop_requested);
  return 0;
}

}  // namespace

void add_serve(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat serve runs/tuned
  dikkat serve models/qwen2.5-0.5b-instruct --weights q8 --port 9000
  dikkat serve runs/tuned --feedback ratings.jsonl
  dikkat serve models/qwen2.5-0.5b-instruct --adapter poems=runs/poems --adapter code=runs/code
Chat in a browser at http://127.0.0.1:8080/. Or, from another terminal:
  curl http://127.0.0.1:8080/v1/chat/completions -H 'Content-Type: application/json' \
    -d '{"messages": [{"role": "user", "content": "What is a tape?"}], "max_tokens": 50}'
Clients of OpenAI's protocol need this URL: OpenAI(base_url="http://127.0.0.1:8080/v1", api_key="none") in Python,
new OpenAI({baseURL: "http://127.0.0.1:8080/v1", apiKey: "none"}) in JavaScript. /v1/completions continues texts. /v1/chat/completions answers
conversations, which are written in the template that the run was trained with, or in the model's own. Additional fields are top_k, min_p and
repetition_penalty. A response has a seed; the request with this seed gives the same text again, whatever other requests the server answers at the
same time. Up to --parallel answers are generated together; the others wait in turn. /tokenize, /detokenize and /apply-template show how texts
become tokens, and /metrics has counters for Prometheus.
A classifier (dikkat finetune --labels) answers only POST /classify and /v1/classify: {"input": "a text"} or a list of texts.)";
  const auto a = std::make_shared<ServeArguments>();
  Command command =
      program.add("serve", "Serve a model to programs that speak OpenAI's protocol", kExamples, [a] { return serve_command(*a); });
  add_model(command, a->model);
  add_weights(command, a->weights);
  command
      .repeated("--adapter", a->adapters, "NAME=RUN_DIR",
                "Also serve the adapters of a run (lora.rank above 0) over this model, whose weights are in memory once; clients choose "
                "them by NAME as their model. Can be given several times")
      .note_in(a->for_texts);
  add_template(command, a->form);
  command.text("--name", a->name, "NAME", "The model's name for clients; by default the name of its file or folder");
  command.text("--host", a->server.host, "HOST",
               "Address to listen on; with an address that other machines can reach, they can use the model");
  command.number("--port", a->server.port, 0, 65535, "Port to listen on; 0: any free port");
  command.text("--api-key", a->server.api_key, "KEY",
               "The API key that clients must send; or set DIKKAT_API_KEY, which does not appear in process listings");
  command.number("--max-waiting", a->most_waiting, 1, 10'000, "Number of requests that may wait; more are refused");
  command
      .number("--parallel", a->streams, 1, 1024,
              "Number of answers that are generated together, each choice (n) counted; by default as many as fit into half of the free "
              "memory, at most 8. Each one has memory for a full context")
      .note_in(a->for_texts);
  command.text("--cache", a->cache, "TYPE", "Type of keys and values: f32, or bf16 for half the memory and slightly different answers")
      .note_in(a->for_texts);
  command
      .text("--prompt-cache", a->prompts, "SIZE",
            "Memory for the keys and values of conversations that were read before, such as 512MB; 0: none. By default as much as the "
            "parallel answers take, and at most a quarter of the free memory")
      .note_in(a->for_texts);
  command.number("--grace", a->grace, 0, 86'400,
                 "Seconds that running answers have to end after SIGTERM or Ctrl-C; a second signal ends the server at once");
  command
      .text("--feedback", a->feedback, "FILE.jsonl",
            "Show thumbs below the answers on the page, and append each rating to this file, for preference tuning")
      .note_in(a->for_texts);
  command.flag("--json", a->json, "Also print a line of JSON with the URL once it listens");
}

}  // namespace dikkat
