#include "train/data/examples/preference_source.h"

#include <cmath>

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/conversation_template.h"
#include "train/data/examples/preferences.h"
#include "train/data/examples/read_examples.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

/// Returns the note on the numbers of good and bad answers, with the weights that balance them, if these are far apart.
std::string note_on_judgments(const PreferenceConfig& config, const PreferenceStore& store) {
  constexpr double kMost = 4.0 / 3;  // as TRL's documentation advises
  const index good = store.good(), bad = store.units() - good;
  const double ratio = static_cast<double>(good) * config.good_weight / (static_cast<double>(bad) * config.bad_weight);
  std::string note = concat(grouped_digits(good), " good and ", grouped_digits(bad), " bad answers for training");
  if (good == 0 || bad == 0) {
    append_to(note, concat("; kto learns the difference between both, so add ", good == 0 ? "good" : "bad", " ones"));
  } else if (config.good_weight > 0 && config.bad_weight > 0 && !(0.75 <= ratio && ratio <= kMost)) {
    const double even = static_cast<double>(bad) / static_cast<double>(good);
    append_to(note, even > 1 ? fmt::format("; preference.good_weight = {:.3g} would balance them", even * config.bad_weight)
                             : fmt::format("; preference.bad_weight = {:.3g} would balance them", config.good_weight / even));
  }
  return note;
}

class PreferenceSource : public OpenedSource {
 public:
  PreferenceSource(const Config& config, const SourceReading& reading) : OpenedSource(config) {
    corpus_ = read_all(config.data.corpus);
    require_input(
        reading.tokenizer != nullptr, config.data.corpus.front(),
        " holds preferences, and there is no tokenizer for them: start from a trained model with --init-from (train.init_from), or "
        "set tokenizer.path. The first example is ",
        corpus_.places.front());
    held_out_ = has_validation() ? read_all(config.data.validation) : PreferenceCorpus();
    set_facts(facts_of(corpus_), facts_of(held_out_));
    facts_.documents_of_training = corpus_.documents;
    facts_.documents_of_validation = held_out_.documents;
  }

  SplitText tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    const auto all = static_cast<index>(corpus_.examples.size());
    const index training = has_validation() ? all : put_training_first(corpus_, config_.data, notes);
    require_input(training > 0, config_.data.corpus.front(), " has ", all, all == 1 ? " example, which is" : " examples, which are",
                  " for validation (data.val_fraction = ", config_.data.val_fraction,
                  "), so none is left to train on; give more examples, or set data.val_fraction=0");
    SplitText split{
        .chat = conversation_template(config_.chat, tokenizer, "chat.jinja", ", chat.template = \"chatml\", \"llama3\" or \"plain\"")};
    const auto part = [&](const PreferenceCorpus& corpus, index first, index count, const char* purpose) {
      return part_of(corpus, first, count, tokenizer, *split.chat, purpose);
    };
    split.train = part(corpus_, 0, training, " for training");
    split.validation = has_validation() ? part(held_out_, 0, static_cast<index>(held_out_.examples.size()), " for validation")
                                        : part(corpus_, training, all - training, " for validation");
    const PreferenceStore& learned = *split.train.preferences;
    require_input(learned.units() > 0 || learned.equal() == 0 || learned.left_out() > 0, "both answers of each example of ",
                  config_.data.corpus.front(), training < all ? " for training" : "", " are equal, expected different ones");
    require_input(split.train.samples != nullptr, "no example of ", config_.data.corpus.front(), training < all ? " for training" : "",
                  " has two different answers with a token to score within ", window_key(config_), " = ", index{config_.data.window},
                  "; raise it, or give shorter examples");
    split.training = std::make_unique<PreferenceSamples>(*split.train.preferences, config_.data.window);
    // Notes.
    for (const PreferenceCorpus* corpus : {&corpus_, &held_out_}) {
      const std::vector<std::string> some = corpus->found.notes();
      notes.insert(notes.end(), some.begin(), some.end());
    }
    for (const EvaluationText* text : {&split.train, &split.validation}) {
      notes.insert(notes.end(), text->notes.begin(), text->notes.end());
    }
    if (split.validation.samples == nullptr) {
      notes.emplace_back("warning: no example for validation can be scored, so there are no evaluations and no best checkpoint");
    }
    if (!split.train.preferences->are_pairs()) {
      notes.push_back(note_on_judgments(config_.preference, *split.train.preferences));
    }
    const std::string form = corpus_.examples.front().is_text()
                                 ? "plain texts"
                                 : concat("conversations in the template ", name_of(split.chat->name()), " (chat.template)");
    notes.push_back(
        concat("preferences are learned by ", name_of(config_.preference.method), " (preference.method), from ", form, "; dropout is off"));
    return split;
  }

 private:
  PreferenceCorpus read_all(const std::vector<std::string>& paths) const {
    const PreferenceMethod method = config_.preference.method;
    const DataKind kind = contents_of(paths, config_.data.text_field).kind;
    require_input(kind == DataKind::pairs || kind == DataKind::judgments, "preference.method is \"", name_of(method), "\", but ",
                  paths.front(),
                  " does not begin with an example for it: expected objects with \"chosen\" and \"rejected\", or with \"prompt\", "
                  "\"completion\" and \"label\" for kto; for texts and conversations, set preference.method = \"none\"");
    PreferenceCorpus corpus = read_preferences(paths, config_.data.text_field);
    require_input(corpus.are_pairs() || method == PreferenceMethod::kto, "preference.method is \"", name_of(method), "\", but ",
                  corpus.places.front(),
                  " is an answer with a \"label\", expected pairs (\"chosen\" and \"rejected\"), or "
                  "preference.method = \"kto\"");
    return corpus;
  }

  /// Tokenizes and packs examples. `purpose` is what they are for, in notes: " for training".
  EvaluationText part_of(const PreferenceCorpus& corpus, index first, index count, const Tokenizer& tokenizer, const ChatTemplate& form,
                         const char* purpose) const {
    const index window = config_.data.window;
    EvaluationText text{.preferences = std::make_unique<PreferenceStore>(
                            corpus, first, count, tokenizer, form,
                            PreferenceStore::Options{.window = window, .judges = config_.preference.method == PreferenceMethod::kto})};
    const PreferenceStore& store = *text.preferences;
    text.tokens = store.tokens();
    const bool pairs = store.are_pairs();
    const auto numbered = [&](index some) {
      return concat(grouped_digits(some), pairs ? (some == 1 ? " pair" : " pairs") : (some == 1 ? " answer" : " answers"), purpose);
    };
    if (store.units() > 0) {
      auto samples = std::make_unique<PreferenceSamples>(store, window);
      text.notes.push_back(concat(numbered(store.units()), " in ", grouped_digits(samples->count()),
                                  samples->count() == 1 ? " row of " : " rows of ", grouped_digits(samples->longest().cols), " tokens; ",
                                  static_cast<index>(std::lround(100 * samples->padding())), " % of the positions are padding"));
      text.samples = std::move(samples);
    }
    if (const index cut = store.cut(); cut > 0) {
      text.notes.push_back(concat(numbered(cut), cut == 1 ? " has" : " have", " more than ", grouped_digits(window), " tokens (",
                                  window_key(config_), ") in an answer with its prompt, which is cut at its end; prompts are never cut"));
    }
    if (const index left_out = store.left_out(); left_out > 0) {
      text.notes.push_back(concat(numbered(left_out), left_out == 1 ? " is" : " are", " left out: within ", grouped_digits(window),
                                  " tokens (", window_key(config_), ") there is no answer, or no difference between the two"));
    }
    if (const index equal = store.equal(); equal > 0) {
      text.notes.push_back(concat(numbered(equal), equal == 1 ? " is" : " are", " left out: both answers are equal"));
    }
    return text;
  }

  PreferenceCorpus corpus_, held_out_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_preferences(const Config& config, const SourceReading& reading) {
  return std::make_unique<PreferenceSource>(config, reading);
}

}  // namespace dikkat
