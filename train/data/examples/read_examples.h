#pragma once

#include <numeric>
#include <span>
#include <string>
#include <string_view>

#include "autograd/base/error.h"
#include "train/data/corpus/file_objects.h"
#include "train/data/corpus/opened_source.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/example_corpus.h"

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

}  // namespace dikkat
