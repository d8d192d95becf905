#include <filesystem>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "autograd/base/parallel.h"
#include "train/cli/chosen_checkpoint.h"
#include "train/cli/commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/signals.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/data/corpus/corpus_files.h"
#include "train/data/corpus/placed_texts.h"
#include "train/model/text_vectors.h"
#include "train/model/trained_model.h"
#include "train/system/folder.h"
#include "train/system/format_numbers.h"
#include "train/text/around_text.h"

namespace dikkat {
namespace {

struct EmbedArguments {
  ModelArguments model;
  std::string weights = "f32";
  std::string file, column, out;
  std::string pooling;  // empty: the model's
  bool cut = false;
};

/// Returns the tokens of each text. Throws InputError, which names the place, for a text that the model cannot read.
std::vector<std::vector<Token>> tokens_to_embed(const EmbedArguments& a, const TrainedModel& trained,
                                                const std::vector<PlacedText>& texts) {
  const auto context = static_cast<std::size_t>(trained.model->block_size());
  std::vector<std::vector<Token>> all;
  index cut = 0;
  for (const PlacedText& one : texts) {
    std::vector<Token> tokens;
    try {
      tokens = encode_whole(*trained.tokenizer, one.text);
    } catch (const InputError& error) {
      fail_input(one.place, ": ", error.what());
    }
    require_input(!tokens.empty(), one.place, ": the text has no tokens, expected words");
    require_input(tokens.size() <= context || a.cut, one.place, ": the text has ", tokens.size(),
                  " tokens, expected at most the model's context of ", context, ": shorten it, or cut such texts at their end (--cut)");
    cut += tokens.size() > context ? 1 : 0;
    tokens.resize(std::min(tokens.size(), context));
    all.push_back(std::move(tokens));
  }
  if (cut > 0) {
    warn(fmt::format("{} of {} texts have more than {} tokens and were cut at their end", grouped_digits(cut),
                     grouped_digits(std::ssize(texts)), grouped_digits(trained.model->block_size())));
  }
  return all;
}

/// Returns a NumPy file (numpy.load) of f32, (texts, C).
std::string npy_of(std::span<const float> vectors, index width) {
  const index texts = std::ssize(vectors) / width;
  std::string header = fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", texts, width);
  constexpr std::size_t kBegin = 10, kAligned = 64;
  header.append((kAligned - (kBegin + header.size() + 1) % kAligned) % kAligned, ' ').append("\n");
  std::string bytes = "\x93NUMPY\x01";
  bytes += {'\0', static_cast<char>(header.size() & 255U), static_cast<char>(header.size() >> 8U)};
  bytes += header;
  return bytes.append(reinterpret_cast<const char*>(vectors.data()), vectors.size_bytes());
}

/// Returns the vectors as JSONL.
std::string vectors_text(std::span<const float> vectors, index width) {
  std::string text;
  for (std::size_t i = 0; i < vectors.size(); i += static_cast<std::size_t>(width)) {
    append_to(text, fmt::format("{{\"embedding\":[{}]}}\n", fmt::join(vectors.subspan(i, static_cast<std::size_t>(width)), ",")));
  }
  return text;
}

int embed_command(const EmbedArguments& a) {
  start_threads();
  const std::string end = std::filesystem::path(a.out).extension().string();
  require_input(a.out.empty() || end == ".npy" || end == ".jsonl", "--out is ", a.out, ", expected a name that ends in .npy or .jsonl");
  require_input(a.out.empty() || !is_there(a.out), a.out, " exists and is never overwritten: choose a new name");
  const auto pooling = value_named<Pooling>(a.pooling);
  require_input(pooling || a.pooling.empty(), "--pooling is ", a.pooling, ", expected one of ", all_names<Pooling>());
  const TrainedModel trained = load_trained_model(a.model.source, a.model.options(), packing_named(a.weights));
  report_chosen_checkpoint(a.model, trained.origin);
  const Pooling chosen = pooling.value_or(trained.config.embedding.pooling);
  if (trained.model->is_classifier()) {
    print_message(for_terminal(concat("note: ", trained.origin.path().string(), " is a classifier, and vectors are of its features: its ",
                                      "labels are not used (dikkat classify)")));
  }
  if (a.file == kStandardInput) {
    announce_standard_input("the texts");
  }
  const TextColumn column{.name = a.column.empty() ? "text" : a.column, .option = "--column", .is_strict = !a.column.empty()};
  const std::vector<std::vector<Token>> texts = tokens_to_embed(a, trained, read_texts(a.file, column));
  // Compute the vectors.
  stop_in_order();
  TextVectors compute(trained.model->gpt(), chosen);
  ShareLine line("embedding");
  struct Stopped {};
  std::vector<float> vectors;
  try {
    vectors = compute(texts, [&](index done) {
      line(static_cast<double>(done) / static_cast<double>(texts.size()));
      if (stop_requested()) {
        throw Stopped();
      }
    });
  } catch (const Stopped&) {
    print_message("stopped before the end: nothing was written");
    return 128 + stop_signal();
  }
  // Write them.
  const index width = compute.width();
  const std::string text = end == ".npy" ? npy_of(vectors, width) : vectors_text(vectors, width);
  if (a.out.empty()) {
    print_result(text);
  } else {
    write_new_file(a.out, text);
  }
  print_message(for_terminal(fmt::format("{} vectors of {} numbers, by the {} of the features, from {}", grouped_digits(std::ssize(texts)),
                                         width, chosen == Pooling::mean ? "mean" : "last position", trained.origin.path().string())));
  if (!a.out.empty()) {
    print_result(a.out + '\n');
  }
  flush_results();
  return 0;
}

}  // namespace

void add_embed(Commands& program) {
  constexpr const char* kExamples = R"(  dikkat embed runs/vectors documents.txt --out documents.npy
  dikkat embed runs/vectors faq.csv --column Answer --out answers.npy
  dikkat embed runs/vectors texts.jsonl > vectors.jsonl
  echo "How do I reset it?" | dikkat embed runs/vectors - > question.jsonl
Vectors have length 1, so their products are cosines. NumPy searches:
  d, q = numpy.load("documents.npy"), numpy.load("questions.npy")
  scores = q @ d.T
  best = scores.argsort(axis=1)[:, ::-1][:, :10]
A run that was not trained for vectors (finetune --objective embedding) has vectors too, by the mean
of its features, but they are a poor measure of similarity.)";
  const auto a = std::make_shared<EmbedArguments>();
  Command command =
      program.add("embed", "Compute vectors of texts, for search and clustering", kExamples, [a] { return embed_command(*a); });
  add_model(command, a->model);
  command
      .text("FILE", a->file, "",
            "Texts: lines, a column of a .csv or .tsv table, or a field of .jsonl; - is standard input: lines or JSONL")
      .required();
  add_weights(command, a->weights);
  command.text("--column", a->column, "NAME", "The column of a table, or the field of JSONL, that has the texts; by default text");
  command.text("--out", a->out, "FILE",
               "File to write, which must not exist: .npy (f32, a row for each text) or .jsonl; by default JSONL on standard output");
  command.text("--pooling", a->pooling, "WORD", "How features become a vector: mean or last; by default as the model was trained, or mean");
  command.flag("--cut", a->cut, "Cut texts that are longer than the model's context at their end, instead of refusing them");
}

}  // namespace dikkat
