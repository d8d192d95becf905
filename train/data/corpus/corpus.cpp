#include "train/data/corpus/corpus.h"

#include <algorithm>
#include <utility>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/corpus/fingerprint.h"
#include "train/system/format_numbers.h"
#include "train/system/pipeline.h"
#include "train/text/windows_lines.h"

namespace dikkat {

Corpus open_corpus(std::span<const std::string> paths, const CorpusOptions& options) {
  Corpus corpus{.options = options};
  corpus.files = find_corpus_files(paths, kTextExtensions, &corpus.skipped);
  std::optional<CorpusContents> misread;  // the first file of JSON, or table, that is read as plain text
  index others = 0;
  for (CorpusFile& file : corpus.files) {
    FileForm form = form_of(file, options.names);
    file.form = form.objects;
    if (form.objects != ObjectForm::none || form.contents.kind == DataKind::text) {
      continue;
    }
    if (!options.is_known && options.refuses_json) {
      refuse(form.contents, "texts or examples");
    }
    others += misread ? 1 : 0;
    if (!misread) {
      misread = std::move(form.contents);
    }
  }
  if (misread) {
    corpus.notes.push_back(note_on_form(*misread, others));
  }
  return corpus;
}

CorpusFacts survey(const Corpus& corpus, TokenizerMaker* maker, const std::function<void(index)>& progress, DocumentHashes* documents) {
  CorpusReader reader(
      corpus, [&](std::string_view text) { return maker != nullptr ? maker->stable_prefix(text) : static_cast<index>(text.size()); });
  CorpusFacts facts{.bytes_of_files = std::vector<index>(corpus.files.size()), .notes = corpus.notes};
  Fingerprint fingerprint(documents);
  std::vector<bool> has_windows(corpus.files.size());
  struct Read {
    std::vector<Chunk> chunks;
    std::unique_ptr<TokenizerMaker> maker;  // has read the chunks
  };
  // Read chunks in order, and let makers read groups of them in parallel.
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
      // Count and hash the texts in order, and merge the makers.
      [&](const Read& read) {
        for (const Chunk& chunk : read.chunks) {
          facts.documents += chunk.begins ? 1 : 0;
          if (!has_windows[chunk.file] && has_windows_lines(chunk.text)) {
            has_windows[chunk.file] = true;
          }
          facts.bytes += static_cast<index>(chunk.text.size());
          facts.bytes_of_files[chunk.file] += static_cast<index>(chunk.text.size());
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
  facts.notes.insert(facts.notes.end(), reader.found().tables.begin(), reader.found().tables.end());
  if (const std::string unread = reader.found().unused_keys(); !unread.empty()) {
    facts.notes.push_back(concat("keys beside the texts, which are not learned: ", unread));
  }
  if (const index replaced = reader.replaced(); replaced > 0) {
    facts.notes.push_back(concat(grouped_digits(replaced), replaced == 1 ? " place is" : " places are",
                                 " not UTF-8, and U+FFFD is read there (data.invalid_utf8 = \"replace\")"));
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
