#include "train/data/corpus/file_objects.h"

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/text/json_line.h"

namespace dikkat {

namespace {

/// Throws InputError for JSON with a NUL character in a string, which is not text.
void require_no_nul(std::string_view json) {
  for (std::size_t at = json.find('\\'); at < json.size(); at = json.find('\\', at + 2)) {
    require_input(json.substr(at, 6) != "\\u0000", "has a NUL character (\\u0000) at byte ", at, ", expected text: remove it");
  }
}

}  // namespace

FileObjects::FileObjects(const CorpusFile& file, ObjectForm form, const FieldNames& names)
    : name_(file.name), source_(open_bytes(file.path, file.name)), reader_(form, names, [this](std::string& text) {
        constexpr std::size_t kBlock = std::size_t{1} << 20;
        const std::size_t got = append(*source_, kBlock, text);
        require_text(std::string_view(text).substr(text.size() - got), static_cast<std::size_t>(bytes_), name_);
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

index for_objects(FileObjects& objects, const std::function<void(std::string_view json, const FileObjects& objects)>& f) {
  index count = 0;
  for (; const auto json = objects.next(); ++count) {
    try {
      require_no_nul(*json);
      f(*json, objects);
    } catch (const BadJson& error) {
      fail_input("corpus: ", objects.place(), ", ", error.what());
    } catch (const InputError& error) {
      fail_input("corpus: ", objects.place(), ": ", error.what());
    }
  }
  return count;
}

ObjectFiles for_objects(std::span<const std::string> paths, const FieldNames& names, std::string_view expected,
                        const std::function<void(std::string_view json, const FileObjects& objects)>& f) {
  ObjectFiles found;
  for (const CorpusFile& file : find_corpus_files(paths)) {
    const FileForm form = form_of(file, names);
    if (form.objects == ObjectForm::none) {
      refuse(form.contents, expected);
    }
    found.names.push_back(file.name);
    FileObjects objects(file, form.objects, names);
    found.objects.push_back(for_objects(objects, f));
    found.bytes += objects.bytes();
  }
  return found;
}

}  // namespace dikkat
