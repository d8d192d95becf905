#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/placed_texts.h"
#include "train/data/examples/labels.h"
#include "train/model/classifier.h"
#include "train/system/csv_quoted.h"

namespace dikkat {
namespace {

struct ClassifyArguments {
  ModelArguments model;
  std::string weights = "f32";
  std::string file;
  std::vector<std::string> columns;
  bool json = false;
};

/// Returns a field of CSV, in quotes if it needs them.
std::string csv_field(const std::string& text) { return text.find_first_of(",\"\r\n") == std::string::npos ? text : csv_quoted(text); }

void print_cells(std::vector<std::string> cells) {
  std::ranges::transform(cells, cells.begin(), csv_field);
  print_result(fmt::format("{}\n", fmt::join(cells, ",")));
}

/// Returns the labels of a text that may have several.
std::vector<std::string> labels_of(const Classifier& classifier, const Classifier::Answer& answer) {
  std::vector<std::string> labels;
  for (std::size_t i = 0; i < answer.probabilities.size(); ++i) {
    if (answer.probabilities[i] >= 0.5) {
      labels.push_back(classifier.labels()[i]);
    }
  }
  return labels;
}

void print_as_json(const Classifier& classifier, const Classifier::Answer& answer) {
  nlohmann::ordered_json object;
  if (classifier.several()) {
    object["labels"] = labels_of(classifier, answer);
  } else {
    object["label"] = classifier.labels()[answer.best()];
    object["probability"] = answer.probabilities[answer.best()];
  }
  for (std::size_t i = 0; i < answer.probabilities.size(); ++i) {
    object["probabilities"][classifier.labels()[i]] = answer.probabilities[i];
  }
  print_json(object);
}

void print_header(const Classifier& classifier) {
  std::vector<std::string> cells = {"labels"};
  cells.insert(cells.end(), classifier.labels().begin(), classifier.labels().end());
  print_cells(classifier.several() ? std::move(cells) : std::vector<std::string>{"label", "probability"});
}

/// Prints a row: the label and its probability, or the labels with a semicolon between them, and the probability of each label.
void print_row(const Classifier& classifier, const Classifier::Answer& answer) {
  if (!classifier.several()) {
    return print_cells({classifier.labels()[answer.best()], fmt::format("{:.6f}", answer.probabilities[answer.best()])});
  }
  std::vector<std::string> cells = {fmt::format("{}", fmt::join(labels_of(classifier, answer), ";"))};
  for (const double probability : answer.probabilities) {
    cells.push_back(fmt::format("{:.6f}", probability));
  }
  print_cells(std::move(cells));
}

int classify_command(const ClassifyArguments& arguments) {
  constexpr std::size_t kAtOnce = 1024;  // texts
  start_threads();
  const TrainedModel trained = load_trained_model(arguments.model.source, arguments.model.options(), packing_named(arguments.weights));
  const Classifier classifier(trained);
  report_chosen_checkpoint(arguments.model, trained.origin);
  // Read all texts, so that nothing is printed for a file with a bad row.
  DataConfig data = trained.config.data;
  if (!arguments.columns.empty()) {
    data.columns = arguments.columns;
    check_columns(data, trained.config.classify);
  }
  if (arguments.file == kStandardInput) {
    announce_standard_input("the texts");
  }
  const std::vector<PlacedText> placed =
      read_texts(arguments.file, {.name = column_of(data.text_field, data), .option = "--columns text=NAME"});
  std::vector<std::string> texts;
  std::ranges::transform(placed, std::back_inserter(texts), &PlacedText::text);
  stop_in_order();
  // Classify some at a time.
  index cut = 0;
  std::string first_cut;
  if (!arguments.json) {
    print_header(classifier);
  }
  for (std::size_t first = 0; first < texts.size() && !stop_requested(); first += kAtOnce) {
    const auto some = std::span(texts).subspan(first, std::min(kAtOnce, texts.size() - first));
    const std::vector<Classifier::Answer> answers = classifier(some);
    for (std::size_t i = 0; i < some.size(); ++i) {
      arguments.json ? print_as_json(classifier, answers[i]) : print_row(classifier, answers[i]);
      if (answers[i].is_cut && ++cut == 1) {
        first_cut = placed[first + i].place;
      }
    }
    flush_results();
  }
  if (cut > 0) {
    print_message(
        for_terminal(concat(grouped_digits(cut), cut == 1 ? " text has" : " texts have", " more than ", grouped_digits(classifier.window()),
                            " tokens (data.window), and only the first ones were read; first ", first_cut)));
  }
  flush_results();
  return stop_requested() ? 128 + stop_signal() : 0;
}

}  // namespace

void add_classify(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat classify runs/mails new-mails.csv --columns text=Message > labels.csv
  dikkat classify runs/mails new-mails.jsonl --json
  echo "You have won a prize, call now" | dikkat classify runs/mails -
A table (.csv, .tsv) has a column of texts, a JSONL or JSON file objects with a "text", and any other file a text on each line. The output
has a row for each text, in their order: its label and the probability of that label. If a text may have several labels, the row has those
with a probability of 1/2 or more, and then the probability of each label.)";
  const auto a = std::make_shared<ClassifyArguments>();
  Command command =
      program.add("classify", "Give texts the labels that a model was trained on", kExamples, [a] { return classify_command(*a); });
  add_model(command, a->model);
  command.text("FILE", a->file, "", "The texts: a table, JSONL, JSON, or lines; - is standard input: lines or JSONL").required();
  add_weights(command, a->weights);
  command.list("--columns", a->columns, kColumnsType, "The column or key of the texts, as text=NAME; by default that of the run");
  command.flag("--json", a->json, "Print an object on each line: label, probability and probabilities of all labels");
}

}  // namespace dikkat
