#include "train/data/corpus.h"

#include "autograd/base/error.h"
#include "train/data/fingerprint.h"
#include "train/tasks/tasks.h"

namespace dikkat {

Corpus open_corpus(std::span<const std::string> paths, const CorpusOptions& options) {
  Corpus corpus{.options = options};
  corpus.files = find_corpus_files(paths, kTextExtensions, &corpus.passed_over);
  return corpus;
}

[[noreturn]] void refuse_text(const Corpus& corpus, const Stretch& stretch, const EncodeError& error) {
  const std::string& name = corpus.files[stretch.file].name;
  const index at = stretch.offset + error.offset();
  throw RefusedText(stretch.line == 0 ? concat(name, ": byte ", at, ": ", error.problem())
                                      : concat(name, ": line ", stretch.line, ": byte ", at, " of its text: ", error.problem()));
}

CorpusFacts survey(const Corpus& corpus, TokenizerMaker* maker, const std::function<void(index)>& progress) {
  CorpusReader reader(corpus,
                      [&](std::string_view text) { return maker != nullptr ? maker->settled(text) : static_cast<index>(text.size()); });
  CorpusFacts facts;
  Fingerprint fingerprint;
  struct Read {
    std::vector<Stretch> stretches;
    std::unique_ptr<TokenizerMaker> maker;  // that has read them
  };
  run_pipeline<Read, Read>(
      [&]() -> std::optional<Read> {
        Read read{.stretches = reader.next(), .maker = maker != nullptr ? maker->another() : nullptr};
        return read.stretches.empty() ? std::nullopt : std::optional(std::move(read));
      },
      [&](Read read) {
        for (const Stretch& stretch : read.stretches) {
          if (read.maker != nullptr) {
            try {
              read.maker->read(stretch.text);
            } catch (const EncodeError& error) {
              refuse_text(corpus, stretch, error);
            }
          }
        }
        return read;
      },
      [&](const Read& read) {
        for (const Stretch& stretch : read.stretches) {
          facts.documents += stretch.begins ? 1 : 0;
          facts.bytes += static_cast<index>(stretch.text.size());
          fingerprint.add(stretch.text);
          if (stretch.ends) {
            fingerprint.end_document();
          }
        }
        if (maker != nullptr) {
          maker->absorb(*read.maker);
        }
        if (progress) {
          progress(facts.bytes);
        }
      });
  require_input(facts.bytes > 0, "corpus: ", corpus.files.front().name,
                corpus.files.size() == 1 ? " is" : concat(" and all other files (", corpus.files.size(), " in all) are"),
                " empty, expected text");
  facts.fingerprint = fingerprint.finish();
  return facts;
}

}  // namespace dikkat
