#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "autograd/base/index.h"
#include "autograd/base/names.h"
#include "layers/defaulted.h"
#include "train/choices/tokenizer.h"

namespace dikkat {

struct TokenizerConfig {
  std::string kind = "char";
  index vocab_size = 8192;             // bpe only
  Splitter splitter = Splitter::gpt2;  // bpe only
  index min_count = 1;                 // word only
  std::string path;                    // the path of an existing tokenizer

  bool operator==(const TokenizerConfig&) const = default;
};

/// How windows are cut: from the stream of all documents; within documents; or so that short documents share a window without seeing each
/// other.
enum class Packing { stream, document, best_fit };
template <>
struct Names<Packing> {
  static constexpr std::string_view of[] = {"stream", "document", "best_fit"};
};

/// The order of documents in the stream from which windows are cut: that of the corpus, or another one in each epoch.
enum class DocumentOrder { fixed, shuffled };
template <>
struct Names<DocumentOrder> {
  static constexpr std::string_view of[] = {"fixed", "shuffled"};
};

/// The validation part of a source of several files: a share of the files or the end of each, or the end of all of them.
enum class SplitPlace { spread, end };
template <>
struct Names<SplitPlace> {
  static constexpr std::string_view of[] = {"spread", "end"};
};

/// The treatment of bytes that are not UTF-8: the text is refused, or each byte becomes U+FFFD.
enum class InvalidUtf8 { refuse, replace };
template <>
struct Names<InvalidUtf8> {
  static constexpr std::string_view of[] = {"refuse", "replace"};
};

/// One of several sources to train on: a table of [[data.sources]].
struct DataSource {
  std::string name{};
  std::vector<std::string> corpus{};
  std::vector<std::string> validation{};  // used instead of data.val_fraction
  double weight = 1;                      // share of all windows: weight / sum of weights

  bool operator==(const DataSource&) const = default;
};

/// A text that is only evaluated: a table of [[data.evaluations]].
struct EvaluationSource {
  std::string name{};
  std::vector<std::string> corpus{};

  bool operator==(const EvaluationSource&) const = default;
};

/// Names in files of texts and examples.
struct FieldNames {
  std::string text = "text";           // data.text_field
  std::vector<std::string> columns{};  // data.columns
  bool pairs = false;                  // whether the files hold pairs of texts (text_pair_keys.h)
};

struct DataConfig {
  std::vector<std::string> corpus;      // files and folders
  std::vector<std::string> validation;  // used instead of val_fraction
  double val_fraction = 0.1;
  SplitPlace split = SplitPlace::spread;
  std::string text_field = "text";
  std::vector<std::string> columns;  // FIELD=COLUMN of tables and objects; empty: the usual names
  Packing pack = Packing::stream;
  DocumentOrder order = DocumentOrder::fixed;  // order of the stream
  InvalidUtf8 invalid_utf8 = InvalidUtf8::refuse;
  std::string cache = "auto";
  Defaulted<index> window{};        // tokens of a window; default: model.block_size
  std::vector<DataSource> sources;  // used instead of corpus and validation
  std::vector<EvaluationSource> evaluations;

  /// Returns the sources. If there are none, returns corpus and validation as one source without a name.
  std::vector<DataSource> all_sources() const;
  /// Returns the files and folders of all sources that training reads.
  std::vector<std::string> training_paths() const;
  FieldNames names() const { return {.text = text_field, .columns = columns}; }
  /// Returns every member that holds files and folders.
  std::vector<std::vector<std::string>*> all_paths();

  bool operator==(const DataConfig&) const = default;
};

/// Returns the key that sets the length of windows.
inline const char* window_key(const DataConfig& data) { return data.window.is_set() ? "data.window" : "model.block_size"; }

}  // namespace dikkat
