#pragma once

#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/data/corpus/file_objects.h"
#include "train/data/corpus/opened_source.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/example_corpus.h"
#include "train/system/format_numbers.h"
#include "train/system/pipeline.h"

// Files of examples. This header is private to its folder.
namespace dikkat {

/// Reads the objects of files (for_objects()) as examples of a new corpus. read(object) returns an example, and may throw BadJson or
/// InputError, which get the object's place. The error for a file without objects has `expected`. Throws InputError too if the files have
/// no example.
template <class Example, class F>
void for_examples(std::span<const std::string> paths, const FieldNames& names, std::string_view expected, ExampleCorpus<Example>& corpus,
                  F&& read) {
  Fingerprint fingerprint(&corpus.documents);
  corpus.files = for_objects(paths, names, expected, [&](std::string_view json, const FileObjects& objects) {
    corpus.examples.push_back(read(objects.reader().object()));
    corpus.places.push_back(objects.place());
    fingerprint.add(json);
    fingerprint.end_document();
    if (const std::string& note = objects.reader().note(); !note.empty()) {
      corpus.found.tables.insert(note);
    }
  });
  require_input(!corpus.examples.empty(), "corpus: ", paths.front(),
                " has no example, expected a JSON object on each line, an array, or rows of a table");
  corpus.fingerprint = fingerprint.finish();
}

/// Encodes examples `first` to `first + count - 1` in parallel. Returns the results of encode(example) in their order. InputErrors get the
/// example's place.
template <class Example, class F>
auto encode_examples(const ExampleCorpus<Example>& corpus, index first, index count, F&& encode) {
  constexpr index kExamplesOfATask = 64;
  std::vector<decltype(encode(corpus.examples.front()))> encoded(static_cast<std::size_t>(count));
  run_tasks(count, kExamplesOfATask, [&](index i) {
    const auto at = static_cast<std::size_t>(first + i);
    try {
      encoded[static_cast<std::size_t>(i)] = encode(corpus.examples[at]);
    } catch (const InputError& error) {
      fail_input("corpus: ", corpus.places[at], ": ", error.what());
    }
  });
  return encoded;
}

template <class Example>
SourceFacts facts_of(const ExampleCorpus<Example>& corpus) {
  return {.files = std::ssize(corpus.files.names),
          .documents = static_cast<index>(corpus.examples.size()),
          .bytes = corpus.files.bytes,
          .fingerprint = corpus.fingerprint};
}

/// Splits a corpus as the configuration asks: moves the examples for validation after the others, and returns the number of the others.
/// Adds a note on the files.
template <class Example>
index put_training_first(ExampleCorpus<Example>& corpus, const DataConfig& config, std::vector<std::string>& notes) {
  const FileSplit split = split_of(config, corpus.files.objects, 1);
  put_validation_last(corpus.examples, corpus.files.objects, split);
  put_validation_last(corpus.places, corpus.files.objects, split);
  if (std::string note = note_on_split(corpus.files.names, corpus.files.objects, split); !note.empty()) {
    notes.push_back(std::move(note));
  }
  return std::accumulate(split.begin(), split.end(), index{0});
}

/// Returns the note on packed rows: "30 pairs in 4 rows of 64 tokens; 3 % of the positions are padding".
template <class Rows>
std::string note_on_rows(const std::string& units, const Rows& rows) {
  return concat(units, " in ", grouped_digits(rows.count()), rows.count() == 1 ? " row of " : " rows of ",
                grouped_digits(rows.longest().cols), " tokens; ", static_cast<index>(std::lround(100 * rows.padding())),
                " % of the positions are padding");
}

/// Returns the note on texts that are cut: "2 texts have more than 64 tokens (data.window) and are cut at the end". `texts` is "2 texts".
inline std::string note_on_cut(const std::string& texts, index cut, index window, const char* window_key) {
  return concat(texts, cut == 1 ? " has" : " have", " more than ", grouped_digits(window), " tokens (", window_key, ") and ",
                cut == 1 ? "is" : "are", " cut at the end");
}

inline constexpr std::string_view kForTraining = " for training";

/// The parts of a source for training and for validation.
template <class Part>
struct ExampleParts {
  std::unique_ptr<Part> train{}, validation{};

  /// Returns the parts as a run reads them.
  SourceData data(std::optional<ChatTemplate> chat = {}) && {
    SourceData split{.train = std::move(train), .validation = std::move(validation), .chat = std::move(chat)};
    split.training = split.train->training();
    return split;
  }
};

/// A source of examples.
template <class Corpus>
class ExampleSource : public OpenedSource {
 protected:
  /// Reads the examples once: read(paths) returns those of some files. `what` names them in the error for a tokenizer that is not known, an
  /// InputError.
  template <class F>
  ExampleSource(const DataConfig& config, const SourceReading& reading, std::string_view what, F&& read)
      : OpenedSource(config), corpus_(read(config.corpus)), held_out_(has_validation() ? read(config.validation) : Corpus()) {
    require_input(reading.tokenizer != nullptr, config.corpus.front(), " holds ", what,
                  ", and there is no tokenizer for them: start from a trained model with --init-from (train.init_from), or set "
                  "tokenizer.path. The first example is ",
                  corpus_.places.front());
    set_facts(facts_of(corpus_), facts_of(held_out_));
    facts_.documents_of_training = corpus_.documents;
    facts_.documents_of_validation = held_out_.documents;
  }

  /// Returns the parts that part(corpus, first, count, purpose) makes, if the first `training` examples are for training. `purpose` is for
  /// notes.
  template <class F>
  auto parts(index training, F&& part) const {
    const Corpus& others = has_validation() ? held_out_ : corpus_;
    const index first = has_validation() ? 0 : training;
    auto train = part(corpus_, index{0}, training, std::string(kForTraining));
    using Part = typename decltype(train)::element_type;
    return ExampleParts<Part>{.train = std::move(train),
                              .validation = part(others, first, std::ssize(others.examples) - first, std::string(" for validation"))};
  }

  /// Throws InputError if no example is left for training.
  void require_training(index training) const {
    const index all = std::ssize(corpus_.examples);
    require_input(training > 0, config_.corpus.front(), " has ", all, all == 1 ? " example, which is" : " examples, which are",
                  " for validation (data.val_fraction = ", config_.val_fraction,
                  "), so none is left to train on; give more examples, or set data.val_fraction=0");
  }

  /// Adds the notes on the files, and those on both parts.
  template <class Part>
  void add_notes(const ExampleParts<Part>& parts, std::vector<std::string>& notes) const {
    for (const std::vector<std::string>& some :
         {corpus_.found.notes(), held_out_.found.notes(), parts.train->notes(), parts.validation->notes()}) {
      notes.insert(notes.end(), some.begin(), some.end());
    }
  }

  Corpus corpus_, held_out_;
};

}  // namespace dikkat
