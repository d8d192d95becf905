#include "train/text/tokenizer_file.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include <nlohmann/json.hpp>

#include "train/system/file.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/system/mapped_file.h"
#include "train/system/placeholder.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/characters.h"
#include "train/text/hugging_face/bpe_files.h"
#include "train/text/hugging_face/read_hugging_face_json.h"
#include "train/text/nano_gpt_vocabulary.h"
#include "train/text/tokenizer_json.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

namespace fs = std::filesystem;

/// A file that may have tens of megabytes, in memory without a copy.
class Contents {
 public:
  explicit Contents(const fs::path& path) : file_(checked(path)) {
    constexpr std::size_t kMost = std::size_t{256} << 20;
    require_no_placeholder(text(), concat("tokenizer: ", path.string()));
    require_input(file_.size() <= kMost, "tokenizer: ", path.string(), " has ", file_.size(), " bytes, expected at most ", kMost);
  }

  std::string_view text() const { return {reinterpret_cast<const char*>(file_.data()), file_.size()}; }

 private:
  static std::string checked(const fs::path& path) {
    require_input(is_there(path) && is_file(path), "tokenizer: ", path.string(),
                  is_there(path) ? " is not a regular file" : " does not exist",
                  ", expected a tokenizer.json, vocab.bpe next to encoder.json, or a folder with one of these");
    return path.string();
  }

  MappedFile file_;
};

std::string contents(const fs::path& path) { return std::string(Contents(path).text()); }

/// The names of GPT-2's two files.
constexpr std::pair<const char*, const char*> kPairs[] = {{"vocab.bpe", "encoder.json"}, {"merges.txt", "vocab.json"}};

/// The tokenizer files of other programs, which may be the only ones in a folder.
constexpr std::pair<const char*, const char*> kForeign[] = {{"tokenizer.model", "SentencePiece"}, {"tekken.json", "Mistral's tekken"}};

/// Throws InputError for a file of another program, or for a folder that has only such a file. The message explains how to convert it.
[[noreturn]] void refuse_foreign(const fs::path& folder, const char* file, const char* program) {
  const std::string where = folder.empty() ? "." : folder.string();
  fail_input("tokenizer: ", (folder / file).string(), " is a file of ", program,
             ", expected a tokenizer.json beside it. Get the model's own "
             "tokenizer.json, or let Hugging Face's library write one: python3 -c \"from transformers import AutoTokenizer; "
             "AutoTokenizer.from_pretrained('",
             where, "').save_pretrained('", where, "')\". A GGUF file of the model has its tokenizer too");
}

/// Returns the ids by character of a Hugging Face tokenizer.json that splits a text into its characters. The export of a character
/// tokenizer is one: BPE of sorted characters without merges, splitting, normalization or an unknown token. Returns nullopt for other
/// files.
std::optional<nlohmann::json> characters_of(const TokenizerJson& parsed) {
  const nlohmann::json& object = parsed.object;
  const auto is_off = [](const nlohmann::json& in, const char* key) { return !in.contains(key) || is_nothing(in[key]); };
  const auto model = object.find("model");
  if (model == object.end() || !model->is_object() || model->value("type", nlohmann::json()) != "BPE" || !is_off(*model, "unk_token") ||
      !is_off(*model, "byte_fallback") || !is_off(object, "pre_tokenizer") || !is_off(object, "normalizer") ||
      !is_off(object, "post_processor") || !is_off(object, "added_tokens") || !parsed.vocabulary.starts_with('{') ||
      parsed.merges.find_first_not_of("[] \t\r\n") != std::string_view::npos) {
    return std::nullopt;
  }
  nlohmann::json ids = parse_json_object(parsed.vocabulary, "tokenizer: its vocabulary", "an object of ids by character", {});
  index next = 0;  // the keys are sorted, by bytes, as UTF-8 sorts characters
  for (const auto& [text, id] : ids.items()) {
    index count = 0;
    for_characters(text, [&](char32_t, index) { ++count; });
    if (count != 1 || id != next++) {
      return std::nullopt;
    }
  }
  return ids;
}

/// Returns the result of f(), and adds the names of the files to its errors.
template <class F>
std::unique_ptr<Tokenizer> named(const std::string& files, F&& f) {
  try {
    return f();
  } catch (const InputError& error) {
    fail_input(files, ": ", error.what());
  }
}

}  // namespace

std::unique_ptr<Tokenizer> read_tokenizer_file(const std::string& name, std::vector<std::string>* notes) {
  const fs::path path(name);
  // Find the files of a folder: tokenizer.json, or GPT-2's two files.
  if (is_folder(path)) {
    if (is_there(path / "tokenizer.json")) {
      return read_tokenizer_file((path / "tokenizer.json").string(), notes);
    }
    for (const auto& [merges, ids] : kPairs) {
      if (is_there(path / merges) || is_there(path / ids)) {
        return read_tokenizer_file((path / merges).string(), notes);
      }
    }
    if (is_there(path / kMetaPickle)) {
      return read_tokenizer_file((path / kMetaPickle).string(), notes);
    }
    for (const auto& [file, program] : kForeign) {
      if (is_there(path / file)) {
        refuse_foreign(path, file, program);
      }
    }
    fail_input("tokenizer: the folder ", name, " has neither tokenizer.json, vocab.bpe and encoder.json, nor nanoGPT's meta.pkl");
  }
  // Read GPT-2's files, of which either one may be named.
  for (const auto& [merges, ids] : kPairs) {
    if (path.filename() == merges || path.filename() == ids) {
      const fs::path folder = path.parent_path();
      const Gpt2Files files{.vocab_bpe = contents(folder / merges), .encoder_json = contents(folder / ids)};
      return named(concat((folder / merges).string(), " with ", ids),
                   [&] { return std::make_unique<BpeTokenizer>(from_gpt2_files(files)); });
    }
  }
  for (const auto& [file, program] : kForeign) {
    if (path.filename() == file && is_there(path)) {
      refuse_foreign(path.parent_path(), file, program);
    }
  }
  // Read any other file as a pickle or JSON.
  const Contents file(path);
  require_input(
      !file.text().starts_with("GGUF"), "tokenizer: ", name,
      " is a GGUF file, which holds a whole model, expected a tokenizer.json, or a folder or run with a tokenizer. To take it out: "
      "dikkat export ",
      name, " --out FOLDER, which writes FOLDER/tokenizer.json");
  return named(name, [&]() -> std::unique_ptr<Tokenizer> {
    if (is_pickle(file.text())) {
      return make_longest_tokenizer(symbols_in_pickle(file.text()));
    }
    const TokenizerJson parsed = parse_tokenizer(file.text());
    const nlohmann::json& object = parsed.object;
    if (object.contains("stoi")) {
      return make_longest_tokenizer(symbols_in_stoi(object["stoi"]));
    }
    if (const auto characters = characters_of(parsed)) {
      return make_longest_tokenizer(symbols_in_stoi(*characters));
    }
    // A tokenizer_config.json next to a tokenizer.json has tokens around a text.
    const fs::path config = path.parent_path() / "tokenizer_config.json";
    if (!object.contains("model") || !is_there(config)) {
      return tokenizer_in(parsed);
    }
    BpeContents bpe = bpe_contents_in(parsed);
    const std::vector<std::string> remarks = std::visit([&](auto& some) { return read_tokenizer_config(contents(config), some); }, bpe);
    if (notes != nullptr) {
      notes->insert(notes->end(), remarks.begin(), remarks.end());
    }
    return make_bpe_tokenizer(std::move(bpe));
  });
}

namespace {

/// Returns the rows of a text, without the line breaks of any system.
std::vector<std::string> rows_of(std::string_view text) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  text.remove_prefix(text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
  require_input(!text.empty(), "it is empty, expected a symbol in each row");
  const auto count = static_cast<index>(std::ranges::count(text, '\n'));
  require_input(count <= Symbols::kMost, "there are ", count, " rows, expected at most ", Symbols::kMost, " symbols");
  std::vector<std::string> rows;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view row = text.substr(0, end);
    rows.emplace_back(row.substr(0, row.size() - (row.ends_with('\r') ? 1 : 0)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return rows;
}

}  // namespace

std::unique_ptr<Tokenizer> read_symbols(const std::string& name, SymbolSplit split) {
  constexpr index kMostBytes = index{64} << 20;
  const std::string text = read_bytes(name, kMostBytes + 1);
  require_input(std::ssize(text) <= kMostBytes, name, " has more than ", kMostBytes, " bytes, expected a list of symbols, one in each row");
  require_no_placeholder(text, name);
  return named(name, [&] {
    std::vector<std::string> symbols = is_pickle(text) ? symbols_in_pickle(text) : completed(rows_of(text));
    return std::make_unique<PipelineTokenizer>(symbol_pipeline(std::move(symbols), split, {.noun = "row", .first = 1}));
  });
}

}  // namespace dikkat
