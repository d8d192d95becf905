#include "train/data/examples/conversation_source.h"

#include <cmath>

#include "autograd/base/error.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/conversation_template.h"
#include "train/data/examples/conversations.h"
#include "train/data/examples/read_examples.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

/// Returns the note on packed rows and their padding.
std::string note_on_padding(const PackedSamples& samples, const std::string& what, index count) {
  return concat(grouped_digits(count), what, " in ", grouped_digits(samples.count()), samples.count() == 1 ? " window; " : " windows; ",
                static_cast<index>(std::lround(100 * samples.padding())), " % of the positions are padding");
}

/// Tokenizes and packs examples. `part` is their purpose in notes: " for training", or empty.
EvaluationText evaluation_text(const Config& config, const Tokenizer& tokenizer, const ChatTemplate& form, const ConversationCorpus& corpus,
                               index first, index count, ScoredText scored, const std::string& part) {
  const index window = config.data.window;
  EvaluationText text{.conversations = std::make_unique<ConversationStore>(corpus, first, count, tokenizer, form, scored, window)};
  const ConversationStore& store = *text.conversations;
  text.tokens = store.tokens();
  text.predicted_bytes = store.scored_bytes();
  if (store.count() > 0) {
    auto samples = std::make_unique<PackedSamples>(store, window);
    text.notes.push_back(note_on_padding(*samples, concat(store.count() == 1 ? " example" : " examples", part), store.count()));
    text.samples = std::move(samples);
  }
  const auto of_all = [&](index some) {
    return concat(grouped_digits(some), " of ", grouped_digits(count), count == 1 ? " example" : " examples", part);
  };
  if (const index cut = store.cut(); cut > 0) {
    text.notes.push_back(concat(of_all(cut), cut == 1 ? " has" : " have", " more than ", grouped_digits(window), " tokens (",
                                window_key(config), ") and ", cut == 1 ? "is cut at its end" : "are cut at their end"));
  }
  if (const index left_out = store.left_out(); left_out > 0) {
    text.notes.push_back(concat(of_all(left_out), left_out == 1 ? " is" : " are", " left out: within the window ",
                                left_out == 1 ? "it has" : "they have", " no token to learn (chat.loss)"));
  }
  return text;
}

ChatTemplate template_of(const Config& config, const Tokenizer& tokenizer) {
  return conversation_template(config.chat, tokenizer, "chat.jinja", ", chat.template = \"chatml\", \"llama3\" or \"plain\"");
}

const char* in_words(ScoredText scored) {
  return scored == ScoredText::answers ? "the answers" : scored == ScoredText::last_answer ? "the last answers" : "everything";
}

class ConversationSource : public OpenedSource {
 public:
  ConversationSource(const Config& config, const SourceReading& reading) : OpenedSource(config) {
    corpus_ = read_conversations(config.data.corpus, config.data.text_field);
    require_input(reading.tokenizer != nullptr, config.data.corpus.front(),
                  " holds conversations, and there is no tokenizer for them: start from a trained model with --init-from "
                  "(train.init_from), or set tokenizer.path. The first conversation is ",
                  corpus_.first_conversation() == nullptr ? "" : *corpus_.first_conversation());
    held_out_ = has_validation() ? read_conversations(config.data.validation, config.data.text_field) : ConversationCorpus();
    set_facts(facts_of(corpus_), facts_of(held_out_));
    facts_.documents_of_training = corpus_.documents;
    facts_.documents_of_validation = held_out_.documents;
  }

  SplitText tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    const auto all = static_cast<index>(corpus_.examples.size());
    const index training = has_validation() ? all : put_training_first(corpus_, config_.data, notes);
    const ConversationCorpus& others = has_validation() ? held_out_ : corpus_;
    const index first = has_validation() ? 0 : training;
    SplitText split{.chat = template_of(config_, tokenizer)};
    require_input(training > 0, config_.data.corpus.front(), " has ", all, all == 1 ? " example, which is" : " examples, which are",
                  " for validation (data.val_fraction = ", config_.data.val_fraction,
                  "), so none is left to train on; give more examples, or set ", "data.val_fraction=0");
    // The tokens of both parts.
    const ScoredText learned = config_.chat.loss, scored = config_.chat.evaluated();
    EvaluationText learning = evaluation_text(config_, tokenizer, *split.chat, corpus_, 0, training, learned, " for training");
    split.validation = evaluation_text(config_, tokenizer, *split.chat, others, first, static_cast<index>(others.examples.size()) - first,
                                       scored, " for validation");
    require_input(learning.samples != nullptr, "no example of ", config_.data.corpus.front(), training < all ? " for training" : "",
                  " has a token to learn within ", window_key(config_), " = ", index{config_.data.window},
                  R"(; raise it, give shorter examples, or check "weight", "train" and "loss" in their messages)");
    split.training = std::make_unique<PackedSamples>(*learning.conversations, config_.data.window);
    // Notes, and the training part as evaluations score it.
    for (const ConversationCorpus* corpus : {&corpus_, &held_out_}) {
      const std::vector<std::string> some = corpus->found.notes();
      notes.insert(notes.end(), some.begin(), some.end());
    }
    notes.insert(notes.end(), learning.notes.begin(), learning.notes.end());
    if (scored == learned) {
      split.train = std::move(learning);
    } else {
      split.learned = std::move(learning.conversations);
      split.train = evaluation_text(config_, tokenizer, *split.chat, corpus_, 0, training, scored, " for training");
      require_input(split.train.samples != nullptr, "no example of ", config_.data.corpus.front(),
                    " has a token that evaluations score (chat.eval_loss) within ", window_key(config_), " = ", index{config_.data.window});
    }
    notes.insert(notes.end(), split.validation.notes.begin(), split.validation.notes.end());
    notes.push_back(concat("conversations are formatted with the template ", name_of(split.chat->name()),
                           " (chat.template), and the loss covers ", in_words(learned), " (chat.loss)",
                           scored == learned ? "" : concat("; evaluations score ", in_words(scored), " (chat.eval_loss)")));
    return split;
  }

 private:
  ConversationCorpus corpus_, held_out_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_conversations(const Config& config, const SourceReading& reading) {
  return std::make_unique<ConversationSource>(config, reading);
}

EvaluationText evaluation_of_conversations(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths) {
  const ConversationCorpus corpus = read_conversations(paths, config.data.text_field);
  EvaluationText text = evaluation_text(config, tokenizer, template_of(config, tokenizer), corpus, 0,
                                        static_cast<index>(corpus.examples.size()), config.chat.evaluated(), "");
  require_input(text.samples != nullptr, "no example of ", paths.front(), " has a token to predict within ", window_key(config), " = ",
                index{config.data.window});
  text.documents = corpus.documents;
  const std::vector<std::string> notes = corpus.found.notes();
  text.notes.insert(text.notes.begin(), notes.begin(), notes.end());
  return text;
}

}  // namespace dikkat
