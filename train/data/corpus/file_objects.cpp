#include "train/data/corpus/file_objects.h"

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/text/json_line.h"

namespace dikkat {

FileObjects::FileObjects(const CorpusFile& file, ObjectForm form)
    : name_(file.name), source_(open_bytes(file.path, file.name)), reader_(form, [this](std::string& text) {
        constexpr std::size_t kBlock = std::size_t{1} << 20;
        const std::size_t had = text.size();
        text.resize(had + kBlock);
        const std::size_t got = source_->read(text.data() + had, kBlock);
        text.resize(had + got);
        require_text(std::string_view(text).substr(had), static_cast<std::size_t>(bytes_), name_);
        bytes_ += static_cast<index>(got);
        return got > 0;
      }) {}

std::optional<std::string_view> FileObjects::next() {
  try {
    return reader_.next();
  } catch (const BrokenObjects& error) {
    fail_input("corpus: ", place(), ' ', error.what());
  }
}

ObjectFiles for_objects(std::span<const std::string> paths, const std::string& text_field, std::string_view expected,
                        const std::function<void(std::string_view text, const std::string& place)>& f) {
  ObjectFiles found;
  for (const CorpusFile& file : find_corpus_files(paths)) {
    const FileForm form = form_of(file, text_field);
    if (form.objects == ObjectForm::none) {
      refuse({.kind = form.otherwise, .place = file.name, .convert = form.convert}, expected);
    }
    found.names.push_back(file.name);
    index& count = found.objects.emplace_back(0);
    FileObjects objects(file, form.objects);
    while (const auto text = objects.next()) {
      try {
        f(*text, objects.place());
        ++count;
      } catch (const BadJson& error) {
        fail_input("corpus: ", objects.place(), ", ", error.what());
      } catch (const InputError& error) {
        fail_input("corpus: ", objects.place(), ": ", error.what());
      }
    }
    found.bytes += objects.bytes();
  }
  return found;
}

}  // namespace dikkat
