#include "train/data/corpus/text_dataset.h"

#include "autograd/base/error.h"
#include "train/data/samples/shuffled_windows.h"
#include "train/text/token_bytes.h"

namespace dikkat {

TextDataset::TextDataset(const DataConfig& config, std::uint64_t seed, const Tokenizer& tokenizer, TokenStore tokens, index bytes)
    : tokens_(std::move(tokens)),
      pack_(config.pack),
      order_(config.order),
      window_(config.window),
      seed_(seed),
      has_separators_(tokenizer.separator().has_value()),
      corpus_(config.corpus.empty() ? "" : concat(config.corpus.front(), config.corpus.size() > 1 ? " and others" : "")) {
  size_ = {.tokens = tokens_.size(), .documents = tokens_.documents()};
  (tokens_.in_files() ? size_.bytes_in_files : size_.bytes_in_memory) = tokens_.bytes();
  if (tokens_.size() <= 1) {
    return;
  }
  size_.predicted_bytes = bytes - given_bytes(tokenizer);
  if (!by_document()) {
    evaluation_ = std::make_unique<SequentialWindows>(tokens_, window_);
  } else if (pack_ == Packing::best_fit) {
    packed_ = document_windows();
    evaluation_ = std::make_unique<PackedSamples>(*packed_, window_);
  } else {
    evaluation_ = document_windows();
  }
}

std::unique_ptr<const DocumentWindows> TextDataset::document_windows() const {
  return std::make_unique<DocumentWindows>(tokens_, window_, has_separators_);
}

std::unique_ptr<const Samples> TextDataset::training() const {
  try {
    return training_windows();
  } catch (const InputError& error) {
    fail_input(error.what(), " (data.corpus is ", corpus_, ")");
  }
}

std::unique_ptr<const Samples> TextDataset::training_windows() const {
  if (packed_ != nullptr) {
    return std::make_unique<PackedSamples>(*packed_, window_);
  }
  if (by_document()) {
    return document_windows();
  }
  if (order_ == DocumentOrder::shuffled) {
    return std::make_unique<ShuffledWindows>(tokens_, window_, seed_);
  }
  return std::make_unique<TrainingWindows>(tokens_, window_, seed_);
}

TeacherPositions TextDataset::trained_targets(const std::string&) const {
  if (packed_ != nullptr) {
    return TeacherPositions(*packed_);
  }
  // Windows of separate documents are their own evaluation.
  const auto* documents = dynamic_cast<const DocumentWindows*>(evaluation());
  return documents != nullptr ? TeacherPositions(*documents) : TeacherPositions(tokens_);
}

void TextDataset::set_stride(index stride) {
  require_input(!by_document(), "a stride needs one stream of text, but the model reads separate documents (data.pack)");
  evaluation_ = std::make_unique<SequentialWindows>(tokens_, window_, stride);
}

index TextDataset::given_bytes(const Tokenizer& tokenizer) const {
  const index documents = by_document() && !has_separators_ ? tokens_.documents() : 1;
  const TokenBytes sizes(tokenizer);
  index bytes = 0;
  for (index i = 0; i < documents; ++i) {
    Token first = 0;
    tokens_.read(tokens_.document_start(i), 1, &first);
    bytes += sizes.of(first);
  }
  return bytes;
}

SourceData source_of_texts(std::unique_ptr<TextDataset> train, std::unique_ptr<TextDataset> validation) {
  SourceData source{.train = std::move(train), .validation = std::move(validation)};
  source.training = source.train->training();
  require_input(source.validation->size().tokens != 1,
                "the validation part has 1 token, expected 2 or more; raise data.val_fraction, or set it to 0 to train without it");
  return source;
}

}  // namespace dikkat
