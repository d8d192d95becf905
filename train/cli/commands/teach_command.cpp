#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <memory>

#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "autograd/base/seconds_since.h"
#include "train/cli/commands.h"
#include "train/cli/run_options.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/cli/with_ranks.h"
#include "train/config/override.h"
#include "train/config/parse.h"
#include "train/config/resolve.h"
#include "train/data/tokens/teacher_positions.h"
#include "train/model/adapters.h"
#include "train/model/classifier.h"
#include "train/model/precision.h"
#include "train/model/trained_model.h"
#include "train/run/new_run.h"
#include "train/run/origin.h"
#include "train/run/teach.h"
#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/format_numbers.h"
#include "train/system/free_space.h"

namespace dikkat {
namespace {

constexpr index kLongestWindow = 1024;  // tokens of a stream that the teacher reads at a time, unless --window is given

struct TeachArguments {
  RunOptions run;
  std::string weights = "f32", out;
  std::vector<std::string> temperatures;  // --temperature
  index top = 32, window = 0, stride = 0, batch_size = 4;
  bool json = false;
};

/// Returns whether the student's configuration sets the length of windows.
bool has_window(const RunOptions& run) {
  std::vector<std::string> keys;
  if (!run.config.empty()) {
    load_config(find_config(run.config), {}, &keys);
  }
  std::ranges::transform(run.set, std::back_inserter(keys), key_of_override);
  return std::ranges::any_of(keys, [](const std::string& key) { return key == "data.window" || key == "model.block_size"; });
}

/// Returns the text as a run with this configuration would learn it. Nothing else of the run is used: the model is the teacher's.
NewRun text_of(const TeachArguments& arguments) {
  RunOptions student = arguments.run;
  student.init_from.clear();
  Config config = configuration_of(student);
  require_input(!config.data.training_paths().empty(), "--data is missing: give the texts that the student will learn from");
  config.lora = {};
  config.preference = {};
  config.distill = {};
  const ModelOrigin teacher = ModelOrigin::open(arguments.run.init_from);
  const Config theirs = config_of_origin(teacher);
  const std::string tokenizer = config.tokenizer.path;  // compared with the teacher's
  const index window = config.data.window, context = theirs.model.block_size;
  config.model = theirs.model;
  config.tokenizer = theirs.tokenizer;
  config.tokenizer.path = tokenizer.empty() ? config.tokenizer.path : tokenizer;
  config.data.window = theirs.data.window;
  if (has_window(arguments.run)) {  // streams have windows of their own
    config.data.window = config.data.pack == Packing::stream ? std::min(window, context) : window;
  }
  config.train.init_from = arguments.run.init_from;
  adopt_model(config, teacher);
  validate(config);
  announce_corpus(config.data.training_paths());
  LoadingLine line;
  return load_new_run(std::move(config), std::ref(line), {});
}

std::vector<double> temperatures_of(const TeachArguments& arguments) {
  std::vector<double> all = {1};
  for (const std::string& text : arguments.temperatures) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    require_input(error == std::errc() && end == text.data() + text.size() && 0 < number && number <= 10, "--temperature is ", text,
                  ", expected a number above 0, at most 10");
    all.push_back(number);
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Checks the options, and returns how to score the text.
TeachOptions options_of(const TeachArguments& arguments, const TeacherPositions& text, const NewRun& run) {
  TeachOptions options{.top = arguments.top, .temperatures = temperatures_of(arguments), .batch_size = arguments.batch_size};
  const index tokens = run.data.tokenizer->vocab_size();
  require_input(options.top < tokens, "--top is ", options.top, ", expected less than the vocabulary's ", tokens, " tokens");
  require_input(text.is_stream() || (arguments.window == 0 && arguments.stride == 0),
                "--window and --stride apply to a stream of text, but ",
                "this text is read example by example: leave them out; data.window (--set) is the length at which examples are cut");
  if (text.is_stream()) {
    const index most = run.config->model.block_size;
    options.window = arguments.window > 0 ? arguments.window : std::min(most, kLongestWindow);
    require_input(options.window <= most, "--window is ", options.window, ", expected at most the teacher's context of ", most, " tokens");
    options.stride = arguments.stride > 0 ? arguments.stride : std::max<index>(options.window / 2, 1);
    require_input(options.stride <= options.window, "--stride is ", options.stride, ", expected at most the window of ", options.window,
                  " tokens");
  }
  return options;
}

/// Returns the total size of a folder's files in bytes, or 0 if the folder does not exist.
index bytes_in(const std::filesystem::path& folder) {
  index bytes = 0;
  if (is_folder(folder)) {
    for (const std::filesystem::path& path : paths_in(folder)) {
      std::error_code unknown;
      const auto size = std::filesystem::file_size(path, unknown);
      bytes += unknown ? 0 : static_cast<index>(size);
    }
  }
  return bytes;
}

int teach_command(const TeachArguments& arguments) {
  require_one_process("dikkat teach");
  start_threads();
  temperatures_of(arguments);  // before anything takes long
  // Read the text, and plan the file.
  const NewRun run = text_of(arguments);
  const TeacherPositions text = run.data.trained_targets("dikkat teach");
  const TeachOptions options = options_of(arguments, text, run);
  TeacherHeader header = teacher_header(text, *run.data.tokenizer, options);
  const std::unique_ptr<const Samples> samples = text.samples(options.window, options.stride);
  const std::filesystem::path model = (absolute_path(arguments.run.init_from) / "").lexically_normal();  // ends with a slash
  header.teacher = model.parent_path().filename().string();  // weights_hash identifies it, wherever it lies
  const PackedType packing = packing_named(arguments.weights);
  const DType operands = packing == PackedType::f32 ? operand_type(run.config->train) : DType::f32;
  header.weights = concat(arguments.weights, ", products of ", name_of(operands));
  // Print the plan, and check that the disk has room for it.
  const std::string size = short_bytes(header.bytes() + 64);
  for (const std::string& note : run.data.notes) {
    print_message(note);
  }
  print_message(concat(grouped_digits(header.targets), " targets in ", grouped_digits(header.samples),
                       text.is_stream() ? concat(" windows of ", header.window, " tokens, of which the last ", header.stride, " count")
                                        : std::string(" examples"),
                       "; the ", header.top, " likeliest tokens of each take ", header.record_bytes(), " bytes, ", size, " in all, in ",
                       header.parts(), header.parts() == 1 ? " part of " : " parts of ", arguments.out));
  const std::string lack = lack_of_space(arguments.out, header.bytes() - bytes_in(arguments.out));
  require_input(lack.empty(), lack, "; free some space, or give a lower --top");

  // Load the teacher.
  HashOfBase hash;
  const TrainedModel teacher =
      load_trained_model(arguments.run.init_from, {}, packing, [&](ParameterStore::Entry& entry) { hash.add(entry); });
  require_no_classifier(teacher);
  require_input(teacher.model->is_gpt(), arguments.run.init_from, " is an encoder-decoder, expected a GPT");
  header.weights_hash = hash.finish();
  // Score the text.
  stop_in_order();
  const auto start = std::chrono::steady_clock::now();
  double before = 0;
  bool is_done = false;
  {
    ShareLine line("scoring");
    is_done = teach(
        *teacher.model, header, operands, *samples, arguments.out, [] { return stop_requested(); },
        [&](double done, double there) {
          before = there;
          line(there < 1 ? (done - there) / (1 - there) : 1);
        });
  }
  if (!is_done) {
    print_message(concat("stopped; the complete parts of ", arguments.out, " are kept, and the same command continues"));
    return 128 + stop_signal();
  }
  // Read all of the file back, as a student does, and print the result.
  const TeacherFile file(arguments.out);
  const double seconds = seconds_since(start);
  if (arguments.json) {
    print_json({{"file", arguments.out},
                {"hash", file.hash()},
                {"targets", header.targets},
                {"tokens", header.tokens},
                {"top", header.top},
                {"temperatures", header.temperatures},
                {"parts", header.parts()},
                {"bytes", header.bytes()},
                {"seconds", seconds},
                {"share_before", before}});
  } else {
    print_result(concat(arguments.out, " is complete: ", grouped_digits(header.targets), " targets, ", short_bytes(header.bytes()),
                        ". A student learns from it with --set distill.file=", arguments.out, '\n'));
  }
  flush_results();
  return 0;
}

}  // namespace

void add_teach(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat teach Qwen3-1.7B --data my-texts/ --config llama-tiny --out taught
  dikkat train --config llama-tiny --corpus my-texts/ --set tokenizer.path=Qwen3-1.7B distill.file=taught
  dikkat teach runs/large --data chats.jsonl --config finetune --out taught-chats
  dikkat finetune runs/small --data chats.jsonl --set distill.file=taught-chats distill.share=0.7)";
  const auto a = std::make_shared<TeachArguments>();
  Command command = program.add("teach", "Write a teacher's distributions for a text, from which a smaller model learns (distillation)",
                                kExamples, [a] { return teach_command(*a); });
  command.text("MODEL", a->run.init_from, "", "The teacher: a run, a checkpoint, a Hugging Face folder or a GGUF file").required();
  command.texts("--data", a->run.corpus, "PATH", std::string(kCorpusHelp) + "; only the training part is scored");
  command.text("--out", a->out, "FOLDER", "The folder to write; if it has a part of the work, the command continues it").required();
  command.number("--top", a->top, index{1}, index{1024}, "Likeliest tokens to keep of each target; the others become one number");
  command.repeated("--temperature", a->temperatures, "T",
                   "A temperature that distill.temperature may have, besides 1: more than 0, at most 10. It can be given several times");
  command.number("--window", a->window, index{1}, index{1} << 24,
                 "Tokens that the teacher reads at a time from a stream of text; by default its context, at most 1,024");
  command.number("--stride", a->stride, index{1}, index{1} << 24,
                 "Last predictions of each window that count, the others being context; by default half of a window");
  command.number("--batch-size", a->batch_size, index{1}, index{4096}, "Windows or examples to score at a time");
  add_weights(command, a->weights);
  command.text("--config", a->run.config, "FILE|NAME", "The student's configuration: its [data] and [chat] decide what is scored");
  command.list("--columns", a->run.columns, kColumnsType, kColumnsHelp);
  command.texts("--set", a->run.set, "KEY=VALUE", kSetHelp);
  command.flag("--json", a->json, "Print one JSON object");
}

}  // namespace dikkat
