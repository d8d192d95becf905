#include "train/data/corpus/corpus_reader.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/read_conversation.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/file_kind.h"
#include "train/data/corpus/object_reader.h"
#include "train/system/json.h"
#include "train/text/guess_encoding.h"
#include "train/text/json_line.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

// A file is read in blocks of growing size, so that a small file does not cost the memory of a large block.
constexpr std::size_t kFirstBlock = std::size_t{1} << 13, kLargestBlock = std::size_t{1} << 20;

/// Reads the text of a file, without a byte order mark. Depending on the options, refuses NUL bytes and replaces invalid UTF-8.
class TextReader {
 public:
  TextReader(const CorpusFile& file, const CorpusOptions& options)
      : name_(file.name), options_(options), source_(open_bytes(file.path, file.name)) {
    pending_.resize(kByteOrderMark.size());
    std::size_t size = 0;
    for (std::size_t got = 1; got > 0 && size < pending_.size(); size += got) {
      got = source_->read(pending_.data() + size, pending_.size() - size);
    }
    pending_.resize(size);
    if (pending_ == kByteOrderMark) {
      pending_.clear();
      bytes_ = static_cast<index>(kByteOrderMark.size());
    }
  }

  /// Returns the offset in the file of the text that read() appends next.
  index position() const { return bytes_; }
  /// Returns the number of places that were not UTF-8 and were replaced.
  index replaced() const { return replaced_; }

  /// Appends some text to `text`. Returns false at the end of the file.
  bool read(std::string& text) {
    std::string block = std::exchange(pending_, {});
    const std::size_t pending = block.size();
    block.resize(pending + block_);
    const std::size_t got = source_->read(block.data() + pending, block_);
    block_ = std::min(2 * block_, kLargestBlock);
    block.resize(pending + got);
    if (!options_.any_bytes) {
      require_text(block, static_cast<std::size_t>(bytes_), name_);
    }
    if (!options_.replace_invalid) {
      bytes_ += static_cast<index>(block.size());
      text += block;
      return got > 0;
    }
    if (got > 0) {  // hold back an incomplete character
      const auto whole = block.size() - static_cast<std::size_t>(utf8::incomplete_tail(block));
      pending_ = block.substr(whole);
      block.resize(whole);
    }
    bytes_ += static_cast<index>(block.size());
    note_replacements(block, utf8::append_valid(text, block));
    return got > 0 || !block.empty();
  }

  /// Throws InputError if more was replaced than the options allow. A few places in a short file are allowed too.
  void require_few_replacements() const {
    constexpr index kFew = 10;
    const double share = bytes_ > 0 ? static_cast<double>(replaced_) / static_cast<double>(bytes_) : 0;
    if (!options_.is_known && replaced_ > kFew && share > options_.most_replaced) {
      fail_input("corpus: ", name_, " is not UTF-8 at ", replaced_, " places, which is 1 of ", std::max<index>(1, bytes_ / replaced_),
                 " bytes, expected UTF-8 with damage in at most ", 100 * options_.most_replaced,
                 " % of the bytes (data.invalid_utf8, --replace-invalid); ",
                 encoding_.empty() ? "convert it to UTF-8 with iconv, or leave it out" : advice_on_encoding(encoding_, name_));
    }
  }

 private:
  void note_replacements(std::string_view block, index count) {
    if (count > 0 && replaced_ == 0) {
      encoding_ = guess_encoding(block);
    }
    replaced_ += count;
  }

  std::string name_;
  CorpusOptions options_;
  std::unique_ptr<ByteSource> source_;
  std::string pending_;  // read but not returned yet
  std::size_t block_ = kFirstBlock;
  index bytes_ = 0, replaced_ = 0;
  std::string_view encoding_;  // the guessed encoding of a file with replacements
};

/// Returns the text in the last object that was read, and counts its other keys.
std::string text_of_object(const ObjectReader& objects, const std::string& name, const CorpusOptions& options, ExampleFindings& findings) {
  const std::string& field = options.names.text;
  const auto place = [&] { return objects.place(name); };
  const auto refuse_object = [&](const auto&... parts) { fail_input("corpus: ", place(), parts...); };
  // Parse the object.
  nlohmann::ordered_json object;
  try {
    object = objects.object();
  } catch (const BadJson& error) {
    refuse_object(", ", error.what());
  } catch (const InputError& error) {
    refuse_object(": ", error.what());
  }
  if (!object.is_object()) {
    refuse_object(" is a JSON ", json_type(object), ", expected an object");
  }
  // Find the text. Objects of other kinds are refused with advice.
  const auto text = object.find(field);
  if (text == object.end()) {
    if (const std::optional<DataKind> kind = kind_of_object(object, field)) {
      refuse({.kind = *kind, .place = place()}, concat("a text in the field \"", field, "\" (data.text_field, --text-field)"));
    }
    refuse_object(": ", unknown_fields(object, field));
  }
  if (!options.is_known && !label_of(object).empty()) {
    refuse({.kind = DataKind::labels, .place = place(), .advice = advice_on_labels(label_of(object))}, "texts without labels");
  }
  if (!text->is_string()) {
    refuse_object(": its field \"", field, "\" is a JSON ", json_type(*text), ", expected a string");
  }
  // Count the other keys, which are not read.
  for (const auto& item : object.items()) {
    if (item.key() != field) {
      ++findings.unused[{KeyPlace::line, item.key()}];
    }
  }
  // Only the byte tokenizer reads NUL bytes.
  auto found = text->get<std::string>();
  if (!options.any_bytes) {
    if (const std::size_t nul = found.find('\0'); nul != std::string::npos) {
      refuse_object(" is not text: it has a NUL byte at byte ", nul,
                    "; remove it, or use the byte tokenizer, which reads any text (tokenizer.kind = \"byte\", --kind byte)");
    }
  }
  return found;
}

/// Returns the number of the line, from 1, that has a byte of a file's text.
index line_of(const CorpusFile& file, const CorpusOptions& options, index byte) {
  TextReader reader(file, options);
  index line = 1;
  std::string text;
  for (index first = reader.position(); first < byte; first = reader.position()) {
    text.clear();
    if (!reader.read(text)) {
      break;
    }
    const auto before = std::min(static_cast<std::size_t>(byte - first), text.size());
    line += std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(before), '\n');
  }
  return line;
}

}  // namespace

[[noreturn]] void refuse_text(const Corpus& corpus, const Chunk& chunk, const EncodeError& error) {
  const CorpusFile& file = corpus.files[chunk.file];
  const index at = chunk.offset + error.offset();
  throw RefusedText(chunk.line == 0 ? concat(file.name, ": line ", line_of(file, corpus.options, at), ", byte ", at, ": ", error.problem())
                                    : concat(file.name,
                                             file.form == ObjectForm::lines   ? ": line "
                                             : file.form == ObjectForm::table ? ": row "
                                                                              : ": object ",
                                             chunk.line, ": byte ", at, " of its text: ", error.problem()));
}

struct CorpusReader::State {
  const Corpus& corpus;
  StablePrefix stable_prefix;
  FileSplit splits;
  PlaceOfSplit place_of_split;

  std::size_t file = 0;  // the file that is being read, or the next one
  std::unique_ptr<TextReader> source{};
  std::optional<ObjectReader> objects{};  // set for JSON
  std::optional<index> split{};           // the split of this file; empty once it has been passed
  bool source_ended = false;
  std::string buffer{};  // the part of a document that is read but not returned yet
  index line = 0;        // line number in JSONL, or object number
  index offset = 0;      // where the buffer begins in its document
  bool begins = true;    // whether a document begins with the buffer
  index position = 0;    // where the buffer begins in the file's texts
  bool after_split = false;
  ExampleFindings found{};
  index replaced = 0;

  void open() {
    const CorpusFile& next = corpus.files[file];
    source = std::make_unique<TextReader>(next, corpus.options);
    source_ended = false;
    line = 0;
    position = 0;
    after_split = false;
    split = splits.empty() ? std::nullopt : std::optional(splits[file]);
    begin_document();
    if (next.form != ObjectForm::none) {
      objects.emplace(next.form, corpus.options.names, [this](std::string& text) { return source->read(text); });
    } else {
      offset = source->position();
    }
  }

  void close() {
    source->require_few_replacements();
    replaced += source->replaced();
    if (objects && !objects->note().empty()) {
      found.tables.insert(objects->note());
    }
    objects.reset();
    source.reset();
    ++file;
  }

  void begin_document() {
    offset = 0;
    begins = true;
  }

  /// Moves the first `count` bytes of the buffer into a chunk.
  Chunk take(std::size_t count, bool ends) {
    Chunk chunk{.text = buffer.substr(0, count),
                .file = file,
                .line = line,
                .offset = offset,
                .begins = begins,
                .ends = ends,
                .after_split = after_split};
    buffer.erase(0, count);
    offset += static_cast<index>(count);
    position += static_cast<index>(count);
    begins = false;
    return chunk;
  }

  /// Appends to `out` the part of the buffer whose tokens do not depend on later text; all of it if the document ends here.
  void give(std::vector<Chunk>& out, bool ends) {
    if (split && *split < position + static_cast<index>(buffer.size())) {
      const auto before = static_cast<std::size_t>(place_of_split(buffer, *split - position));
      if (before > 0) {
        out.push_back(take(before, false));
      }
      split.reset();
      after_split = true;
      begins = true;
    }
    const std::size_t count = ends ? buffer.size() : static_cast<std::size_t>(stable_prefix(buffer));
    // If all text has been returned before the end of the document is found, an empty chunk marks the end.
    if (count > 0 || (ends && !begins)) {
      out.push_back(take(count, ends));
    }
  }

  void next_of_text(std::vector<Chunk>& out) {
    const std::size_t wanted = std::max(kLargestBlock, 2 * buffer.size());  // doubles as long as the text cannot be cut
    while (buffer.size() < wanted && !source_ended) {
      source_ended = !source->read(buffer);
    }
    give(out, source_ended);
    if (source_ended) {
      close();
    }
  }

  void next_of_objects(std::vector<Chunk>& out) {
    const std::string& name = corpus.files[file].name;
    try {
      if (!objects->next()) {
        close();
        return;
      }
      line = objects->number();
      buffer = text_of_object(*objects, name, corpus.options, found);
    } catch (const BrokenObjects& error) {
      fail_input("corpus: ", objects->place(name), ' ', error.what());
    }
    begin_document();
    give(out, true);
  }
};

CorpusReader::CorpusReader(const Corpus& corpus, StablePrefix stable_prefix, FileSplit split, PlaceOfSplit place_of_split)
    : state_(new State{.corpus = corpus,
                       .stable_prefix = std::move(stable_prefix),
                       .splits = std::move(split),
                       .place_of_split = std::move(place_of_split)}) {}
CorpusReader::~CorpusReader() = default;

const ExampleFindings& CorpusReader::found() const { return state_->found; }
index CorpusReader::replaced() const { return state_->replaced; }

std::vector<Chunk> CorpusReader::next() {
  State& s = *state_;
  std::vector<Chunk> chunks;
  std::size_t bytes = 0;
  while (bytes < kLargestBlock && s.file < s.corpus.files.size()) {
    if (s.source == nullptr) {
      s.open();
    }
    const std::size_t had = chunks.size();
    if (s.objects) {
      s.next_of_objects(chunks);
    } else {
      s.next_of_text(chunks);
    }
    for (std::size_t i = had; i < chunks.size(); ++i) {
      bytes += chunks[i].text.size();
    }
  }
  return chunks;
}

}  // namespace dikkat
