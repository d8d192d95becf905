#pragma once

#include <span>
#include <string>
#include <string_view>

#include "autograd/base/error.h"
#include "train/data/example_corpus.h"
#include "train/data/example_lines.h"
#include "train/data/opened_source.h"

// Files of examples. This header is private to its folder.
namespace dikkat {

/// Reads .jsonl files with one example on each line into a new corpus; blank lines are skipped. read(line) returns an example, and may
/// throw BadJson or InputError, which get the line's place. `otherwise` continues the refusal of a file that is not .jsonl. Throws
/// InputError too if the files have no example.
template <class Example, class F>
void for_examples(std::span<const std::string> paths, const char* otherwise, ExampleCorpus<Example>& corpus, F&& read) {
  Fingerprint fingerprint(&corpus.documents);
  const ExampleFiles found = for_example_lines(paths, otherwise, [&](std::string_view line, const std::string& place) {
    corpus.examples.push_back(read(line));
    corpus.places.push_back(place);
    fingerprint.add(line);
    fingerprint.end_document();
  });
  corpus.files += found.files;
  corpus.bytes += found.bytes;
  require_input(!corpus.examples.empty(), "corpus: ", paths.front(), " has no example, expected a JSON object on each line");
  corpus.fingerprint = fingerprint.finish();
}

template <class Example>
SourceFacts facts_of(const ExampleCorpus<Example>& corpus) {
  return {.files = corpus.files,
          .documents = static_cast<index>(corpus.examples.size()),
          .bytes = corpus.bytes,
          .fingerprint = corpus.fingerprint};
}

}  // namespace dikkat
