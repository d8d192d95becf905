#include "train/run/objectives/teacher_reader.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/error.h"
#include "autograd/tape/tape.h"
#include "train/data/tokens/teacher_positions.h"
#include "train/system/file.h"

namespace dikkat {
namespace {

std::string listed(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) {
    text += concat(text.empty() ? "" : ", ", number);
  }
  return text;
}

TeacherFile open_teacher(const std::string& path) {
  require_input(is_there(path), "distill.file is ", path, ", which does not exist; if the folder has moved: --set distill.file=NEW_PATH");
  return TeacherFile(path);
}

}  // namespace

TeacherReader::TeacherReader(const Config& config, const TrainingData& data)
    : config_(config.distill), file_(open_teacher(config.distill.file)) {
  const TeacherHeader& header = file_.header();
  // Check the vocabulary: ids may be compared only if they stand for the same texts.
  const Tokenizer& tokenizer = *data.tokenizer;
  require_input(header.vocab_size == tokenizer.vocab_size() && header.vocabulary == hash_of_vocabulary(tokenizer),
                "distill.file: ", config_.file, " was written by a teacher with another vocabulary (", header.vocab_size,
                " tokens), expected the student's tokens and texts (", tokenizer.vocab_size(),
                "); choose a teacher and a student with the same tokenizer");
  // Check the tokens.
  const TeacherPositions text = data.trained_targets("distill.file");
  const std::string tokens = text.hash();
  require_input(header.targets == text.targets() && header.tokens == tokens, "distill.file: ", config_.file,
                " belongs to other tokens: it has ", header.targets, " targets with hash ", header.tokens.substr(0, 12),
                ", and the training part of this run has ", text.targets(), " with hash ", tokens.substr(0, 12),
                "; give dikkat teach the same corpus and the same keys of [data] and [chat] (--config, --set), among them "
                "data.val_fraction, data.split, "
                "data.pack, data.window and chat.template");
  // Find the temperature.
  const auto found = std::ranges::find(header.temperatures, config_.temperature);
  require_input(found != header.temperatures.end(), "distill.temperature is ", config_.temperature, ", but ", config_.file,
                " has the temperatures ", listed(header.temperatures),
                "; set one of these, or write it again with dikkat teach --temperature ", config_.temperature);
  temperature_ = static_cast<std::size_t>(found - header.temperatures.begin());
  log_probabilities_.resize(static_cast<std::size_t>(header.top));
  tails_.resize(header.temperatures.size());
}

Teacher TeacherReader::on(Tape& tape, const Batch& batch) {
  const index top = file_.header().top, all = std::ssize(batch.targets);
  const auto size = static_cast<std::size_t>(top);
  ids_.resize(static_cast<std::size_t>(all * top));
  probabilities_.resize(static_cast<std::size_t>(all * (top + 1)));
  for (index i = 0; i < all; ++i) {
    const std::int64_t number = batch.numbers[static_cast<std::size_t>(i)];
    if (number < 0) {  // not scored, so nothing of it is read
      continue;
    }
    const auto ids = std::span(ids_).subspan(static_cast<std::size_t>(i * top), size);
    file_.read(number, {.ids = ids, .log_probabilities = log_probabilities_, .tails = tails_});
    // Compute probabilities at the temperature: the bins' parts of their sum.
    const auto out = std::span(probabilities_).subspan(static_cast<std::size_t>(i * (top + 1)), size + 1);
    double sum = std::exp(static_cast<double>(tails_[temperature_]));
    const double tail = sum;
    for (std::size_t j = 0; j < size; ++j) {
      const double own = std::exp(static_cast<double>(log_probabilities_[j]) / config_.temperature);
      out[j] = static_cast<float>(own);
      sum += own;
    }
    for (std::size_t j = 0; j < size; ++j) {
      out[j] = static_cast<float>(static_cast<double>(out[j]) / sum);
    }
    out[size] = static_cast<float>(tail / sum);
  }
  const Shape shape{batch.rows, batch.lengths.cols};
  return {.ids = tape.input<std::int32_t>({shape[0], shape[1], top}, ids_),
          .probabilities = tape.input<float>({shape[0], shape[1], top + 1}, probabilities_),
          .share = config_.share,
          .temperature = config_.temperature};
}

}  // namespace dikkat
