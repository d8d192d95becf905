#include "train/data/corpus_reader.h"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/read_conversation.h"
#include "train/system/json.h"
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
    utf8::append_valid(text, block);
    return got > 0 || !block.empty();
  }

 private:
  std::string name_;
  CorpusOptions options_;
  std::unique_ptr<ByteSource> source_;
  std::string pending_;  // read but not returned yet
  std::size_t block_ = kFirstBlock;
  index bytes_ = 0;
};

/// Returns the text in a line of JSONL.
std::string text_of_line(const std::string& name, index line, std::string_view json, const CorpusOptions& options) {
  const std::string& field = options.text_field;
  const auto refuse = [&](const auto&... parts) { fail_input("corpus: ", name, ": line ", line, parts...); };
  nlohmann::ordered_json object;
  try {
    object = parse_json_line<nlohmann::ordered_json>(json);
  } catch (const BadJson& error) {
    refuse(", ", error.what());
  } catch (const InputError& error) {
    refuse(": ", error.what());
  }
  if (!object.is_object()) {
    refuse(" is a JSON ", json_type(object), ", expected an object");
  }
  const auto text = object.find(field);
  if (text == object.end() && is_conversation(object, field)) {
    refuse(" is a conversation, expected a text in the field \"", field,
           "\" (data.text_field); `dikkat corpus inspect --chat` shows conversations");
  }
  if (text == object.end()) {
    refuse(": ", unknown_fields(object, field));
  }
  if (!text->is_string()) {
    refuse(": its field \"", field, "\" is a JSON ", json_type(*text), ", expected a string");
  }
  auto found = text->get<std::string>();
  if (!options.any_bytes) {
    if (const std::size_t nul = found.find('\0'); nul != std::string::npos) {
      refuse(" is not text: it has a NUL byte at byte ", nul,
             "; remove it, or use the byte tokenizer, which reads any text (tokenizer.kind = \"byte\")");
    }
  }
  return found;
}

/// Reads the lines of a text, without line ends.
class Lines {
 public:
  explicit Lines(TextReader& source) : source_(source) {}

  /// Returns the next line, valid until the next call; nullopt at the end.
  std::optional<std::string_view> next() {
    for (std::size_t searched = at_;;) {
      const std::size_t end = text_.find('\n', searched);
      if (end != std::string::npos || (ended_ && at_ < text_.size())) {
        const std::string_view line = std::string_view(text_).substr(at_, end == std::string::npos ? end : end - at_);
        at_ = std::min(text_.size(), at_ + line.size() + 1);
        return line;
      }
      if (ended_) {
        return std::nullopt;
      }
      text_.erase(0, at_);
      at_ = 0;
      searched = text_.size();
      ended_ = !source_.read(text_);
    }
  }

 private:
  TextReader& source_;
  std::string text_;
  std::size_t at_ = 0;
  bool ended_ = false;
};

}  // namespace

[[noreturn]] void refuse_text(const Corpus& corpus, const Chunk& chunk, const EncodeError& error) {
  const std::string& name = corpus.files[chunk.file].name;
  const index at = chunk.offset + error.offset();
  throw RefusedText(chunk.line == 0 ? concat(name, ": byte ", at, ": ", error.problem())
                                    : concat(name, ": line ", chunk.line, ": byte ", at, " of its text: ", error.problem()));
}

struct CorpusReader::State {
  const Corpus& corpus;
  StablePrefix stable_prefix;
  std::optional<index> split;  // empty once it has been passed

  std::size_t file = 0;  // the file that is being read, or the next one
  std::unique_ptr<TextReader> source{};
  std::optional<Lines> lines{};  // set for JSONL
  bool source_ended = false;
  std::string buffer{};  // the part of a document that is read but not returned yet
  index line = 0;        // line number in JSONL
  index offset = 0;      // where the buffer begins in its document
  bool begins = true;    // whether a document begins with the buffer
  index position = 0;    // where the buffer begins in the whole corpus
  bool after_split = false;

  void open() {
    const CorpusFile& next = corpus.files[file];
    source = std::make_unique<TextReader>(next, corpus.options);
    source_ended = false;
    line = 0;
    begin_document();
    if (is_jsonl(next.name)) {
      lines.emplace(*source);
    } else {
      offset = source->position();
    }
  }

  void close() {
    lines.reset();
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

  /// Appends to `out` as much of the buffer as can be encoded without what follows; all of it if the document ends here.
  void give(std::vector<Chunk>& out, bool ends) {
    if (split && *split < position + static_cast<index>(buffer.size())) {
      const auto before = static_cast<std::size_t>(utf8::snap(buffer, *split - position));
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

  void next_of_lines(std::vector<Chunk>& out) {
    const auto json = lines->next();
    if (!json) {
      close();
      return;
    }
    ++line;
    if (json->find_first_not_of(" \t\r") != std::string_view::npos) {
      buffer = text_of_line(corpus.files[file].name, line, *json, corpus.options);
      begin_document();
      give(out, true);
    }
  }
};

CorpusReader::CorpusReader(const Corpus& corpus, StablePrefix stable_prefix, std::optional<index> split)
    : state_(new State{.corpus = corpus, .stable_prefix = std::move(stable_prefix), .split = split}) {}
CorpusReader::~CorpusReader() = default;

std::vector<Chunk> CorpusReader::next() {
  State& s = *state_;
  std::vector<Chunk> chunks;
  std::size_t bytes = 0;
  while (bytes < kLargestBlock && s.file < s.corpus.files.size()) {
    if (s.source == nullptr) {
      s.open();
    }
    const std::size_t had = chunks.size();
    if (s.lines) {
      s.next_of_lines(chunks);
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
