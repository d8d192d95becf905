#include "train/data/corpus.h"

#include <algorithm>
#include <utility>

#include "autograd/base/error.h"
#include "train/data/corpus_reader.h"
#include "train/data/fingerprint.h"
#include "train/data/json_beginning.h"
#include "train/system/pipeline.h"
#include "train/text/windows_lines.h"

namespace dikkat {

Corpus open_corpus(std::span<const std::string> paths, const CorpusOptions& options) {
  Corpus corpus{.options = options};
  corpus.files = find_corpus_files(paths, kTextExtensions, &corpus.skipped);
  return corpus;
}

CorpusFacts survey(const Corpus& corpus, TokenizerMaker* maker, const std::function<void(index)>& progress, DocumentHashes* documents) {
  CorpusReader reader(
      corpus, [&](std::string_view text) { return maker != nullptr ? maker->stable_prefix(text) : static_cast<index>(text.size()); });
  CorpusFacts facts;
  Fingerprint fingerprint(documents);
  std::pair misread(JsonBeginning::none, std::size_t{0});  // the first plain-text file that looks like JSON
  int misread_files = 0;
  std::vector<bool> has_windows(corpus.files.size());
  struct Read {
    std::vector<Chunk> chunks;
    std::unique_ptr<TokenizerMaker> maker;  // has read the chunks
  };
  // Read chunks, let a maker of each group read them in parallel, and merge the results one after another.
  run_pipeline<Read, Read>(
      [&]() -> std::optional<Read> {
        Read read{.chunks = reader.next(), .maker = maker != nullptr ? maker->empty_copy() : nullptr};
        return read.chunks.empty() ? std::nullopt : std::optional(std::move(read));
      },
      [&](Read read) {
        for (const Chunk& chunk : read.chunks) {
          if (read.maker != nullptr) {
            try {
              read.maker->read(chunk.text);
            } catch (const EncodeError& error) {
              refuse_text(corpus, chunk, error);
            }
          }
        }
        return read;
      },
      [&](const Read& read) {
        for (const Chunk& chunk : read.chunks) {
          facts.documents += chunk.begins ? 1 : 0;
          if (const auto looks =
                  chunk.begins && chunk.line == 0 ? json_beginning(chunk.text, corpus.options.text_field) : JsonBeginning::none;
              looks != JsonBeginning::none && misread_files++ == 0) {
            misread = {looks, chunk.file};
          }
          if (!has_windows[chunk.file] && has_windows_lines(chunk.text)) {
            has_windows[chunk.file] = true;
          }
          facts.bytes += static_cast<index>(chunk.text.size());
          fingerprint.add(chunk.text);
          if (chunk.ends) {
            fingerprint.end_document();
          }
        }
        if (maker != nullptr) {
          maker->merge(*read.maker);
        }
        if (progress) {
          progress(facts.bytes);
        }
      });
  // Check the result, and write the notes.
  require_input(facts.bytes > 0, "corpus: ", corpus.files.front().name,
                corpus.files.size() == 1 ? " is" : concat(" and all other files (", corpus.files.size(), " in all) are"),
                " empty, expected text");
  facts.fingerprint = fingerprint.finish();
  const CorpusFile& file = corpus.files[misread.second];
  if (misread_files > 0) {
    facts.notes.push_back(note_on_json(misread.first, file.name, file.copy.use_count() == 0, misread_files - 1));
  }
  if (const auto files = std::count(has_windows.begin(), has_windows.end(), true); files > 0) {
    const CorpusFile& first =
        corpus.files[static_cast<std::size_t>(std::find(has_windows.begin(), has_windows.end(), true) - has_windows.begin())];
    facts.notes.push_back(
        note_on_windows_lines(files == 1 ? first.name : concat(files, " files (", first.name, " is the first)"), files == 1));
  }
  return facts;
}

}  // namespace dikkat
