#include "train/data/examples/preferences.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include <nlohmann/json.hpp>

#include "autograd/base/error.h"
#include "train/chat/read_preference.h"
#include "train/data/examples/read_examples.h"
#include "train/system/pipeline.h"
#include "train/system/sha256.h"

namespace dikkat {
namespace {

constexpr index kUnitsOfATask = 64;

std::vector<index> lengths_of_units(const PreferenceStore& store) {
  std::vector<index> lengths;
  lengths.reserve(static_cast<std::size_t>(store.units()));
  for (index unit = 0; unit < store.units(); ++unit) {
    lengths.push_back(store.length(2 * unit) + store.length(2 * unit + 1));
  }
  return lengths;
}

/// Encodes a conversation as one sequence, in which all answers are scored. Throws InputError if the template makes several of it.
ChatTokens encode_answer(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& conversation) {
  std::vector<ChatTokens> texts = encode(tokenizer, form, conversation, ScoredText::answers);
  require_input(texts.size() == 1,
                "the chat template writes an answer differently once others follow it, so an example may have only one answer after the ",
                "prompt, found ", texts.size());
  return std::move(texts.front());
}

/// Removes the marks from the tokens that both texts begin with: they are the prompt of plain texts.
void unmark_common(ChatTokens& a, ChatTokens& b) {
  const auto common = static_cast<std::ptrdiff_t>(std::ranges::mismatch(a.tokens, b.tokens).in1 - a.tokens.begin());
  std::fill_n(a.scored.begin(), common, false);
  std::fill_n(b.scored.begin(), common, false);
}

/// Returns the answer of `other` after the prompt of `own`.
Conversation mismatched(const Conversation& own, std::size_t prompt, const Conversation& other, std::size_t prompt_of_other) {
  Conversation mixed{.messages = {own.messages.begin(), own.messages.begin() + static_cast<std::ptrdiff_t>(prompt)}, .tools = own.tools};
  mixed.messages.insert(mixed.messages.end(), other.messages.begin() + static_cast<std::ptrdiff_t>(prompt_of_other), other.messages.end());
  return mixed;
}

bool have_one_prompt(const Preference& a, const Preference& b) {
  return a.prompt == b.prompt && std::equal(a.chosen.messages.begin(), a.chosen.messages.begin() + static_cast<std::ptrdiff_t>(a.prompt),
                                            b.chosen.messages.begin());
}

/// Returns a string that differs for different conversations: each part comes after its length.
std::string key_of(const Conversation& conversation) {
  std::string key;
  const auto add = [&](const std::string& part) { append_to(key, concat(part.size(), ':', part)); };
  add(conversation.tools);
  for (const Message& message : conversation.messages) {
    add(message.role);
    add(message.content);
    add(message.fields);
  }
  return key;
}

/// Moves the last judgment of an answer to its first example, because people change their minds. The other examples of it are left out.
void keep_last_judgments(PreferenceCorpus& corpus) {
  std::unordered_map<std::string, Preference*> judged;
  for (Preference& example : corpus.examples) {
    if (example.is_pair() || !example.chosen.learn) {
      continue;
    }
    const auto [first, is_new] = judged.emplace(concat(example.prompt, ' ', key_of(example.chosen)), &example);
    if (!is_new) {
      first->second->good = example.good;
      example.chosen.learn = false;
      ++corpus.found.judged_again;
    }
  }
}

/// A judged answer: an example's own, or one side of a pair.
struct Judged {
  std::size_t example;
  const Conversation* answer;
  bool good;
};

/// Returns the judged answers of examples to learn.
std::vector<Judged> judged_answers(const PreferenceCorpus& corpus, index first, index count) {
  std::vector<Judged> all;
  for (index i = first; i < first + count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const Preference& example = corpus.examples[at];
    if (!example.chosen.learn) {
      continue;
    }
    require_input(!example.is_text(), "corpus: ", corpus.places[at],
                  ": has two plain texts, but KTO needs prompts: expected \"prompt\", or lists of messages");
    all.push_back({at, &example.chosen, example.good.value_or(true)});
    if (example.is_pair()) {
      all.push_back({at, &example.rejected, false});
    }
  }
  return all;
}

/// Returns for each judged answer the next one that has another prompt, in a circle. It is the very next one if none of 64 has.
std::vector<std::size_t> partners(const PreferenceCorpus& corpus, const std::vector<Judged>& all) {
  constexpr std::size_t kFarthest = 64;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t other = (i + 1) % all.size();
    for (std::size_t apart = 1; apart <= std::min(kFarthest, all.size() - 1); ++apart) {
      const std::size_t candidate = (i + apart) % all.size();
      if (!have_one_prompt(corpus.examples[all[i].example], corpus.examples[all[candidate].example])) {
        other = candidate;
        break;
      }
    }
    others.push_back(other);
  }
  return others;
}

}  // namespace

PreferenceCorpus read_preferences(std::span<const std::string> paths, const FieldNames& names) {
  PreferenceCorpus corpus;
  for_examples(paths, names, "examples for preference tuning in every file: objects in JSONL or in a JSON array, or rows of a table",
               corpus, [&](const nlohmann::ordered_json& object) {
                 Preference example = to_preference(object, corpus.found);
                 require_input(corpus.examples.empty() || example.is_pair() == corpus.are_pairs(), "is ",
                               example.is_pair()
                                   ? "a pair (\"chosen\" and \"rejected\"), but the lines before it are answers with a \"label\""
                                   : "an answer with a \"label\", but the lines before it are pairs (\"chosen\" and \"rejected\")",
                               "; expected one kind in all files");
                 return example;
               });
  require_input(std::ranges::any_of(corpus.examples, [](const Preference& one) { return one.chosen.learn; }), "corpus: ", paths.front(),
                " has no example to learn: \"weight\", \"train\" or \"loss\" excludes every line");
  keep_last_judgments(corpus);
  return corpus;
}

std::pair<ChatTokens, ChatTokens> encode_answers(const Tokenizer& tokenizer, const ChatTemplate& form, const Conversation& first,
                                                 const Conversation& second) {
  std::pair answers = {encode_answer(tokenizer, form, first), encode_answer(tokenizer, form, second)};
  if (first.messages.empty()) {
    unmark_common(answers.first, answers.second);
  }
  return answers;
}

PreferenceStore::PreferenceStore(const PreferenceCorpus& corpus, index first, index count, const Tokenizer& tokenizer,
                                 const ChatTemplate& form, const Options& options)
    : ScoredSequences(tokenizer.vocab_size()), judges_(options.judges || (!corpus.examples.empty() && !corpus.are_pairs())) {
  // List what to encode: two sequences for each unit.
  struct ToEncode {
    std::size_t example;
    Conversation first, second;
    AnswerRole first_role, second_role;
  };
  std::vector<ToEncode> units;
  // KTO compares each judged answer with another example's answer after the same prompt.
  if (judges_) {
    const std::vector<Judged> all = judged_answers(corpus, first, count);
    const std::vector<std::size_t> others = partners(corpus, all);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Judged& own = all[i];
      const Judged& other = all[others[i]];
      Conversation mixed =
          mismatched(*own.answer, corpus.examples[own.example].prompt, *other.answer, corpus.examples[other.example].prompt);
      units.push_back({own.example, *own.answer, std::move(mixed), own.good ? AnswerRole::good : AnswerRole::bad, AnswerRole::mismatched});
    }
  } else {
    for (index i = first; i < first + count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (const Preference& example = corpus.examples[at]; example.chosen.learn) {
        units.push_back({at, example.chosen, example.rejected, AnswerRole::chosen, AnswerRole::rejected});
      }
    }
  }
  // Encode all in parallel.
  std::vector<std::pair<ChatTokens, ChatTokens>> encoded(units.size());
  run_tasks(std::ssize(units), kUnitsOfATask, [&](index i) {
    const ToEncode& unit = units[static_cast<std::size_t>(i)];
    try {
      encoded[static_cast<std::size_t>(i)] = encode_answers(tokenizer, form, unit.first, unit.second);
    } catch (const InputError& error) {
      fail_input("corpus: ", corpus.places[unit.example], ": ", error.what());
    }
  });
  // Store them.
  for (std::size_t i = 0; i < units.size(); ++i) {
    add_unit(encoded[i].first, units[i].first_role, encoded[i].second, units[i].second_role, options.window);
    encoded[i] = {};
  }
  reference_.assign(static_cast<std::size_t>(this->count()), 0.0);
}

void PreferenceStore::add_unit(ChatTokens& first, AnswerRole first_role, ChatTokens& second, AnswerRole second_role, index window) {
  if (!judges_ && first.tokens == second.tokens) {
    ++equal_;
    return;
  }
  const auto most = static_cast<std::size_t>(window) + 1;
  const bool is_cut = first.tokens.size() > most || second.tokens.size() > most;
  for (ChatTokens* one : {&first, &second}) {
    if (one->tokens.size() > most) {
      one->tokens.resize(most);
      one->scored.resize(most);
    }
  }
  if (scored_targets(first) == 0 || scored_targets(second) == 0 || (!judges_ && first.tokens == second.tokens)) {
    ++left_out_;
    return;
  }
  cut_ += is_cut ? 1 : 0;
  append(first);
  append(second);
  roles_.insert(roles_.end(), {first_role, second_role});
}

index PreferenceStore::good() const { return std::ranges::count(roles_, AnswerRole::good); }

void PreferenceStore::set_reference(std::vector<double> log_probabilities) {
  require(std::ssize(log_probabilities) == count(), "preferences: ", log_probabilities.size(), " log-probabilities, expected ", count());
  reference_ = std::move(log_probabilities);
}

std::string PreferenceStore::hash() const {
  Sha256 hash;
  const auto add = [&](const auto& values) { hash.add(std::as_bytes(std::span(values))); };
  for_each_sequence(*this, [&](index sequence, const auto& inputs, const auto& targets, const auto& weights) {
    const index about[] = {length(sequence), static_cast<index>(role(sequence))};
    add(about);
    add(inputs);
    add(targets);
    add(weights);
  });
  return to_hex(hash.finish());
}

PreferenceSamples::PreferenceSamples(const PreferenceStore& store, index window)
    : store_(store), rows_(lengths_of_units(store), 2 * window) {}

double PreferenceSamples::target_weight(index sample) const {
  double sum = 0;
  for (const index unit : rows_.units(sample)) {
    sum += store_.target_weight(2 * unit) + store_.target_weight(2 * unit + 1);
  }
  return sum;
}

void PreferenceSamples::fill(index, index sample, index row_of_batch, Batch& batch) const {
  const index cols = batch.lengths.cols;
  const index begin = row_of_batch * cols;
  Token* inputs = batch.inputs.data() + begin;
  Token* targets = batch.targets.data() + begin;
  float* weights = batch.weights.data() + begin;
  std::int32_t* starts = batch.starts.data() + begin;
  index at = 0;
  for (const index unit : rows_.units(sample)) {
    for (const index sequence : {2 * unit, 2 * unit + 1}) {
      const index length = store_.length(sequence);
      store_.read(sequence, inputs + at, targets + at, weights + at);
      std::fill_n(starts + at, length, static_cast<std::int32_t>(at));
      const double scored = store_.target_weight(sequence);
      batch.target_weight += scored;
      batch.answers.push_back({.number = sequence,
                               .begin = begin + at,
                               .length = length,
                               .tokens = static_cast<index>(scored),
                               .role = store_.role(sequence),
                               .reference = store_.reference()[static_cast<std::size_t>(sequence)]});
      at += length;
    }
  }
  batch.units += units(sample);
  batch.pad(row_of_batch, at);
}

}  // namespace dikkat
