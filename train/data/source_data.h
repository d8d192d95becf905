#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/chat/chat_template.h"
#include "train/data/corpus/fingerprint.h"
#include "train/data/dataset.h"

namespace dikkat {

/// One source of a run, split for training and validation.
struct SourceData {
  std::string name{};                              // the source's name; empty if there is only data.corpus
  double share = 1;                                // the source's share of all training windows
  std::unique_ptr<Dataset> train{}, validation{};  // never null
  std::unique_ptr<const Samples> training{};       // train->training()
  std::optional<ChatTemplate> chat{};              // set for conversations
};

/// A text that is only evaluated.
struct LoadedText {
  std::unique_ptr<Dataset> data{};
  std::vector<std::string> notes{};  // sentences for the user, as in TrainingData
  DocumentHashes documents{};
};

/// Progress while a corpus is read. `opening` is reported once, and only if the program waits for standard input.
struct LoadingReport {
  enum class Stage { opening, reading, learning, tokenizing } stage = Stage::reading;
  index bytes = 0;    // bytes of text read or tokenized so far
  double share = -1;  // the completed share of the stage; below 0 if it is not known
};
using LoadingProgress = std::function<void(const LoadingReport&)>;

}  // namespace dikkat
