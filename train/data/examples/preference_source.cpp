#include "train/data/examples/preference_source.h"

#include <fmt/format.h>

#include "autograd/base/error.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/conversation_template.h"
#include "train/data/examples/preference_dataset.h"
#include "train/data/examples/read_examples.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

/// Returns the note on the numbers of good and bad answers. If they are far apart, it has the weight that would balance them.
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

class PreferenceSource : public ExampleSource<PreferenceCorpus> {
 public:
  PreferenceSource(const DataConfig& config, const ChatConfig& chat, const PreferenceConfig& preference, const SourceReading& reading)
      : ExampleSource(config, reading, "preferences",
                      [&](const std::vector<std::string>& paths) { return read_all(paths, config, preference.method); }),
        chat_(chat),
        preference_(preference) {}

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    // Choose the examples for training.
    const index all = std::ssize(corpus_.examples), training = has_validation() ? all : put_training_first(corpus_, config_, notes);
    require_training(training);
    ChatTemplate chat = conversation_template(chat_, tokenizer, "chat.jinja", ", chat.template = \"chatml\", \"llama3\" or \"plain\"");
    // Tokenize both parts.
    const ExampleForm form = form_of(config_, tokenizer, chat);
    const bool judges = preference_.method == PreferenceMethod::kto;
    auto both = parts(training, [&](const PreferenceCorpus& corpus, index first, index count, const std::string& purpose) {
      return std::make_unique<PreferenceDataset>(corpus, first, count, form, judges, purpose);
    });
    // Refuse examples with nothing to learn.
    const PreferenceStore& store = both.train->preferences();
    require_input(store.units() > 0 || store.equal() == 0 || store.left_out() > 0, "both answers of each example of ",
                  config_.corpus.front(), training < all ? kForTraining : "", " are equal, expected different ones");
    require_input(both.train->evaluation() != nullptr, "no example of ", config_.corpus.front(), training < all ? kForTraining : "",
                  " has two different answers with a token to score within ", window_key(config_), " = ", index{config_.window},
                  "; raise it, or give shorter examples");
    // Collect the notes.
    add_notes(both, notes);
    if (both.validation->evaluation() == nullptr) {
      notes.emplace_back("warning: no example for validation can be scored, so there are no evaluations and no best checkpoint");
    }
    if (!store.are_pairs()) {
      notes.push_back(note_on_judgments(preference_, store));
    }
    // Note how preferences are learned, and return both parts.
    const std::string written = corpus_.examples.front().is_text()
                                    ? "plain texts"
                                    : concat("conversations in the template ", name_of(chat.name()), " (chat.template)");
    notes.push_back(
        concat("preferences are learned by ", name_of(preference_.method), " (preference.method), from ", written, "; dropout is off"));
    return std::move(both).data(std::move(chat));
  }

 private:
  static PreferenceCorpus read_all(const std::vector<std::string>& paths, const DataConfig& config, PreferenceMethod method) {
    const DataKind kind = contents_of(paths, config.names()).kind;
    require_input(kind == DataKind::pairs || kind == DataKind::judgments, "preference.method is \"", name_of(method), "\", but ",
                  paths.front(),
                  " does not begin with an example for it: expected objects with \"chosen\" and \"rejected\", or with \"prompt\", "
                  "\"completion\" and \"label\" for kto; for texts and conversations, set preference.method = \"none\"");
    PreferenceCorpus corpus = read_preferences(paths, config.names());
    require_input(corpus.are_pairs() || method == PreferenceMethod::kto, "preference.method is \"", name_of(method), "\", but ",
                  corpus.places.front(),
                  " is an answer with a \"label\", expected pairs (\"chosen\" and \"rejected\"), or "
                  "preference.method = \"kto\"");
    return corpus;
  }

  const ChatConfig chat_;
  const PreferenceConfig preference_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_preferences(const DataConfig& config, const ChatConfig& chat, const PreferenceConfig& preference,
                                               const SourceReading& reading) {
  return std::make_unique<PreferenceSource>(config, chat, preference, reading);
}

}  // namespace dikkat
