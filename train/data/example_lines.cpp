#include "train/data/example_lines.h"

#include "autograd/base/error.h"
#include "train/data/corpus_files.h"
#include "train/data/jsonl_lines.h"
#include "train/text/json_line.h"

namespace dikkat {

ExampleFiles for_example_lines(std::span<const std::string> paths, const char* otherwise,
                               const std::function<void(std::string_view line, const std::string& place)>& f) {
  ExampleFiles found;
  for (const CorpusFile& file : find_corpus_files(paths)) {
    require_input(is_jsonl(file.name), "corpus: ", file.name, " is not a .jsonl file, ", otherwise);
    const std::string text = read_text_file(file);
    ++found.files;
    found.bytes += std::ssize(text);
    for_lines(text, [&](std::string_view line, index number) {
      const std::string place = concat(file.name, ": line ", number);
      try {
        f(line, place);
      } catch (const BadJson& error) {
        fail_input("corpus: ", place, ", ", error.what());
      } catch (const InputError& error) {
        fail_input("corpus: ", place, ": ", error.what());
      }
      return true;
    });
  }
  return found;
}

}  // namespace dikkat
