#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "autograd/base/error.h"
#include "train/data/corpus_files.h"
#include "train/data/example_corpus.h"
#include "train/data/jsonl_lines.h"
#include "train/data/opened_source.h"
#include "train/text/json_line.h"

// Files of examples. This header is private to its folder.
namespace dikkat {

/// Reads .jsonl files with one example on each line into a new corpus; blank lines are skipped. read(line) returns an example, and may
/// throw BadJson or InputError, which get the line's place. `otherwise` continues the refusal of a file that is not .jsonl. Throws
/// InputError too if the files have no example.
template <class Example, class F>
void for_examples(std::span<const std::string> paths, const char* otherwise, ExampleCorpus<Example>& corpus, F&& read) {
  Fingerprint fingerprint(&corpus.documents);
  for (const CorpusFile& file : find_corpus_files(paths)) {
    require_input(is_jsonl(file.name), "corpus: ", file.name, " is not a .jsonl file, ", otherwise);
    const std::string text = read_text_file(file);
    corpus.bytes += static_cast<index>(text.size());
    ++corpus.files;
    for_lines(text, [&](std::string_view line, index number) {
      std::string place = concat(file.name, ": line ", number);
      try {
        corpus.examples.push_back(read(line));
      } catch (const BadJson& error) {
        fail_input("corpus: ", place, ", ", error.what());
      } catch (const InputError& error) {
        fail_input("corpus: ", place, ": ", error.what());
      }
      corpus.places.push_back(std::move(place));
      fingerprint.add(line);
      fingerprint.end_document();
      return true;
    });
  }
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
