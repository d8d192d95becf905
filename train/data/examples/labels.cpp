#include "train/data/examples/labels.h"

#include <algorithm>
#include <map>
#include <numeric>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/data/examples/read_examples.h"
#include "train/data/samples/permutation.h"
#include "train/system/in_quotes.h"
#include "train/system/json.h"
#include "train/text/around_text.h"

namespace dikkat {
namespace {

using nlohmann::ordered_json;

/// The key of a label after its column has been chosen. It differs from "label", whose cells in tables may become true or false.
constexpr const char* kLabelKey = "class";

std::string name_of_label(const ordered_json& value) {
  require_input(value.is_string() || value.is_number() || value.is_boolean(), "has the label ", short_text(value),
                ", expected a string, a number, true or false, or a list of these");
  std::string name = value.is_string() ? value.get<std::string>() : value.dump();
  require_input(name.find_first_not_of(" \t\r\n") != std::string::npos, "has an empty label, expected a name");
  return name;
}

LabeledText to_labeled_text(const ordered_json& object, const std::string& text_column, const std::string& label_column) {
  require_input(object.is_object(), "is ", short_text(object), ", expected an object with \"", text_column, "\" and \"", label_column, '"');
  const auto text = object.find("text"), label = object.find(kLabelKey);
  require_input(text != object.end() && text->is_string(), "has no text \"", text_column,
                "\", expected a string there; name another key or column with --columns text=NAME");
  require_input(label != object.end() && !label->is_null(), "has no label \"", label_column,
                "\", expected a name there, or a list of names; name another key or column with --labels NAME");
  LabeledText read{.text = text->get<std::string>(), .labels = {}, .is_list = label->is_array()};
  require_input(read.text.find_first_not_of(" \t\r\n") != std::string::npos,
                "has an empty text, expected one to learn from; remove the row");
  for (const ordered_json& one : read.is_list ? *label : ordered_json::array({*label})) {
    read.labels.push_back(name_of_label(one));
  }
  return read;
}

/// Returns the rows of each label.
std::map<std::string, std::vector<std::size_t>> rows_of_labels(const LabelCorpus& corpus) {
  std::map<std::string, std::vector<std::size_t>> rows;
  for (std::size_t i = 0; i < corpus.examples.size(); ++i) {
    for (const std::string& label : corpus.examples[i].labels) {
      std::vector<std::size_t>& of_label = rows[label];
      require_input(of_label.empty() || of_label.back() != i, "corpus: ", corpus.places[i], ": has the label ", in_quotes(label),
                    " twice, expected it once");
      of_label.push_back(i);
    }
  }
  return rows;
}

template <class T>
void reorder(std::vector<T>& items, const std::vector<std::size_t>& order) {
  std::vector<T> moved;
  moved.reserve(items.size());
  for (const std::size_t from : order) {
    moved.push_back(std::move(items[from]));
  }
  items = std::move(moved);
}

}  // namespace

std::string column_of(const std::string& field, const DataConfig& data) {
  for (const std::string& one : data.columns) {
    if (one.starts_with(field + '=')) {
      return one.substr(field.size() + 1);
    }
  }
  return field;
}

LabelCorpus read_labels(std::span<const std::string> paths, const DataConfig& data, const ClassifyConfig& classify) {
  const std::string text = column_of(data.text_field, data), label = column_of(classify.field, data);
  const FieldNames names{.text = "text", .columns = {concat("text=", text), concat(kLabelKey, '=', label)}};
  LabelCorpus corpus;
  for_examples(paths, names, "texts with labels: objects in JSONL or in a JSON array, or rows of a table", corpus,
               [&](const ordered_json& object) { return to_labeled_text(object, text, label); });
  corpus.found.tables.clear();  // the user has named the columns
  return corpus;
}

void check_columns(const DataConfig& data, const ClassifyConfig& classify) {
  for (const std::string& one : data.columns) {
    require_input(one.starts_with(data.text_field + '=') || one.starts_with(classify.field + '='), "data.columns (--columns) has ",
                  in_quotes(one), ", expected only ", data.text_field, "=NAME and ", classify.field, "=NAME: nothing else is read");
  }
}

void settle_labels(Config& config) {
  ClassifyConfig& classify = config.classify;
  if (classify.is_on()) {
    check_columns(config.data, classify);
  }
  if (!classify.is_on() || !classify.labels.empty() || config.data.corpus.empty()) {
    return;
  }
  const LabelCorpus corpus = read_labels(config.data.corpus, config.data, classify);
  const auto rows = rows_of_labels(corpus);
  for (const auto& [label, of_label] : rows) {
    require_input(of_label.size() < corpus.examples.size() || rows.size() > 1, "corpus: all rows have the label ", in_quotes(label),
                  ", first ", corpus.places.front(), ": expected two labels or more, because there is nothing to tell apart");
  }
  for (const auto& [label, of_label] : rows) {
    require_input(of_label.size() > 1, "corpus: ", corpus.places[of_label.front()], ": the label ", in_quotes(label),
                  " occurs only once, expected at least twice: one text to learn from and one to check it; add texts, or rename or remove "
                  "the label");
    classify.labels.push_back(label);
  }
  const auto list = std::ranges::find_if(corpus.examples, &LabeledText::is_list);
  const bool has_list = list != corpus.examples.end();
  require_input(!has_list || !classify.several.is_set() || classify.several, "classify.several is false, but ",
                corpus.places[static_cast<std::size_t>(has_list ? list - corpus.examples.begin() : 0)],
                " has a list of labels: leave classify.several out, or give each text one label");
  classify.several = has_list || (classify.several.is_set() && classify.several);
  require_input(!classify.labels.empty(), "corpus: ", corpus.places.front(), ": no row has a label, expected some");
  config.model.classes = std::ssize(classify.labels);
}

index put_stratified_last(LabelCorpus& corpus, double val_fraction, std::uint64_t seed) {
  const std::size_t all = corpus.examples.size();
  const auto rows = rows_of_labels(corpus);
  // Each text belongs to its rarest label, and those without labels to "".
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < all; ++i) {
    const std::vector<std::string>& labels = corpus.examples[i].labels;
    const auto rarest =
        std::ranges::min_element(labels, {}, [&](const std::string& label) { return std::pair(rows.at(label).size(), label); });
    groups[rarest == labels.end() ? "" : *rarest].push_back(i);
  }
  // Choose the texts for validation of each group.
  std::vector<bool> held_out(all);
  for (const auto& [label, group] : groups) {
    const auto size = static_cast<index>(group.size());
    const index wanted = size - training_share(size, val_fraction);
    const index share = val_fraction > 0 && size > 1 ? std::clamp<index>(wanted, 1, size - 1) : 0;
    const Permutation order(size, seed, 0, concat("labels.validation/", label));
    for (index i = 0; i < share; ++i) {
      held_out[group[static_cast<std::size_t>(order(i))]] = true;
    }
  }
  // Move them to the end, and keep the order of both parts.
  std::vector<std::size_t> order(all);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto middle = std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return !held_out[i]; });
  const index training = middle - order.begin();
  reorder(corpus.examples, order);
  reorder(corpus.places, order);
  return training;
}

ClassifiedText encode_text(const Tokenizer& tokenizer, std::string_view text, index window) {
  const TextTokens around = tokenizer.text_tokens();
  ClassifiedText read{.tokens = encode_whole(tokenizer, text)};
  read.is_cut = std::ssize(read.tokens) > window;
  if (read.is_cut) {
    read.tokens.resize(static_cast<std::size_t>(window));
    if (around.after) {
      read.tokens.back() = *around.after;
    }
  }
  return read;
}

LabelStore::LabelStore(const LabelCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ClassifyConfig& classify,
                       index window)
    : classes_(std::ssize(classify.labels)) {
  // Encode all texts in parallel.
  auto encoded =
      encode_examples(corpus, first, count, [&](const LabeledText& example) { return encode_text(tokenizer, example.text, window); });
  // Store them with their labels.
  labels_.assign(static_cast<std::size_t>(count * classes_), 0.0F);
  for (index i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(first + i);
    const LabeledText& example = corpus.examples[at];
    ClassifiedText& text = encoded[static_cast<std::size_t>(i)];
    require_input(!text.tokens.empty(), "corpus: ", corpus.places[at], ": the text has no tokens, expected one or more; remove the row");
    if (text.is_cut) {
      first_cut_ = ++cut_ == 1 ? corpus.places[at] : first_cut_;
    }
    texts_.append(text.tokens);
    text = {};
    require_input(classify.several || !example.is_list, "corpus: ", corpus.places[at],
                  ": has a list of labels, but the model gives each text one label (classify.several), expected a name");
    for (const std::string& label : example.labels) {
      const auto found = std::ranges::find(classify.labels, label);
      require_input(found != classify.labels.end(), "corpus: ", corpus.places[at], ": has the label ", in_quotes(label),
                    ", which the model does not have, expected one of its ", classes_, " labels, such as ",
                    in_quotes(classify.labels.front()),
                    "; name the column of the labels with --labels, or begin from a model without labels");
      labels_[static_cast<std::size_t>(i * classes_ + (found - classify.labels.begin()))] = 1;
    }
  }
}

std::span<const float> LabelStore::labels(index text) const {
  return std::span(labels_).subspan(static_cast<std::size_t>(text * classes_), static_cast<std::size_t>(classes_));
}

std::vector<index> LabelStore::counts() const {
  std::vector<index> counts(static_cast<std::size_t>(classes_), 0);
  for (std::size_t i = 0; i < labels_.size(); ++i) {
    counts[i % counts.size()] += labels_[i] > 0 ? 1 : 0;
  }
  return counts;
}

void LabelStore::read(index text, Token* inputs, Token* targets, float* weights) const {
  std::ranges::copy(texts_.text(text), inputs);
  std::fill_n(targets, length(text), 0);
  std::fill_n(weights, length(text), 0.0F);
  // The hash of a polynomial makes one number of the labels, which f32 holds exactly.
  constexpr std::uint32_t kFactor = 1'000'003, kMask = (1U << 20U) - 1;
  std::uint32_t hash = 0;
  const std::span<const float> of_text = labels(text);
  for (std::size_t i = 0; i < of_text.size(); ++i) {
    hash = of_text[i] > 0 ? hash * kFactor + static_cast<std::uint32_t>(i) + 1 : hash;
  }
  weights[length(text) - 1] = static_cast<float>(1 + (hash & kMask));
}

void LabelSamples::fill(index epoch, index sample, index row, Batch& batch) const {
  const std::size_t before = batch.texts.size();
  ReadTextSamples::fill(epoch, sample, row, batch);
  for (std::size_t i = before; i < batch.texts.size(); ++i) {
    const std::span<const float> labels = labels_.labels(batch.texts[i].number);
    batch.labels.insert(batch.labels.end(), labels.begin(), labels.end());
  }
}

}  // namespace dikkat
