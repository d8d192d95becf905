#include "train/data/examples/conversation_source.h"

#include "autograd/base/error.h"
#include "train/data/corpus/split.h"
#include "train/data/examples/conversation_dataset.h"
#include "train/data/examples/conversation_template.h"
#include "train/data/examples/read_examples.h"
#include "train/system/format_numbers.h"

namespace dikkat {
namespace {

ChatTemplate template_of(const ChatConfig& chat, const Tokenizer& tokenizer) {
  return conversation_template(chat, tokenizer, "chat.jinja", ", chat.template = \"chatml\", \"llama3\" or \"plain\"");
}

const char* in_words(ScoredText scored) {
  return scored == ScoredText::answers ? "the answers" : scored == ScoredText::last_answer ? "the last answers" : "everything";
}

class ConversationSource : public OpenedSource {
 public:
  ConversationSource(const DataConfig& config, const ChatConfig& chat, const SourceReading& reading) : OpenedSource(config), chat_(chat) {
    corpus_ = read_conversations(config.corpus, config.names());
    require_input(reading.tokenizer != nullptr, config.corpus.front(),
                  " holds conversations, and there is no tokenizer for them: start from a trained model with --init-from "
                  "(train.init_from), or set tokenizer.path. The first conversation is ",
                  corpus_.first_conversation() == nullptr ? "" : *corpus_.first_conversation());
    held_out_ = has_validation() ? read_conversations(config.validation, config.names()) : ConversationCorpus();
    set_facts(facts_of(corpus_), facts_of(held_out_));
    facts_.documents_of_training = corpus_.documents;
    facts_.documents_of_validation = held_out_.documents;
  }

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    // Choose the examples for training and for validation.
    const auto all = static_cast<index>(corpus_.examples.size());
    const index training = has_validation() ? all : put_training_first(corpus_, config_, notes);
    const ConversationCorpus& others = has_validation() ? held_out_ : corpus_;
    const index first = has_validation() ? 0 : training;
    SourceData split{.chat = template_of(chat_, tokenizer)};
    require_input(training > 0, config_.corpus.front(), " has ", all, all == 1 ? " example, which is" : " examples, which are",
                  " for validation (data.val_fraction = ", config_.val_fraction,
                  "), so none is left to train on; give more examples, or set ", "data.val_fraction=0");
    // Tokenize both parts.
    const ScoredText trained = chat_.loss, scored = chat_.evaluated();
    const auto form = form_of(config_, tokenizer, *split.chat);
    auto train = std::make_unique<ConversationDataset>(ExampleRange{corpus_, 0, training}, form, trained, scored, " for training");
    auto validation = std::make_unique<ConversationDataset>(ExampleRange{others, first, static_cast<index>(others.examples.size()) - first},
                                                            form, scored, " for validation");
    require_input(train->can_train(), "no example of ", config_.corpus.front(), training < all ? " for training" : "",
                  " has a token to learn within ", window_key(config_), " = ", index{config_.window},
                  R"(; raise it, give shorter examples, or check "weight", "train" and "loss" in their messages)");
    require_input(train->evaluation() != nullptr, "no example of ", config_.corpus.front(),
                  " has a token that evaluations score (chat.eval_loss) within ", window_key(config_), " = ", index{config_.window});
    // Collect the notes.
    for (const ConversationCorpus* corpus : {&corpus_, &held_out_}) {
      const std::vector<std::string> some = corpus->found.notes();
      notes.insert(notes.end(), some.begin(), some.end());
    }
    for (const ConversationDataset* part : {train.get(), validation.get()}) {
      notes.insert(notes.end(), part->notes().begin(), part->notes().end());
    }
    notes.push_back(concat("conversations are formatted with the template ", name_of(split.chat->name()),
                           " (chat.template), and the loss covers ", in_words(trained), " (chat.loss)",
                           scored == trained ? "" : concat("; evaluations score ", in_words(scored), " (chat.eval_loss)")));
    split.training = train->training();
    split.train = std::move(train);
    split.validation = std::move(validation);
    return split;
  }

 private:
  const ChatConfig chat_;
  ConversationCorpus corpus_, held_out_;
};

}  // namespace

std::unique_ptr<OpenedSource> open_conversations(const DataConfig& config, const ChatConfig& chat, const SourceReading& reading) {
  return std::make_unique<ConversationSource>(config, chat, reading);
}

LoadedText evaluation_of_conversations(const DataConfig& config, const ChatConfig& chat, const Tokenizer& tokenizer,
                                       const std::vector<std::string>& paths) {
  const ConversationCorpus corpus = read_conversations(paths, config.names());
  const ChatTemplate form = template_of(chat, tokenizer);
  auto data = std::make_unique<ConversationDataset>(ExampleRange{corpus, 0, static_cast<index>(corpus.examples.size())},
                                                    form_of(config, tokenizer, form), chat.evaluated(), "");
  require_input(data->evaluation() != nullptr, "no example of ", paths.front(), " has a token to predict within ", window_key(config),
                " = ", index{config.window});
  std::vector<std::string> notes = corpus.found.notes();
  notes.insert(notes.end(), data->notes().begin(), data->notes().end());
  return {.data = std::move(data), .notes = std::move(notes), .documents = corpus.documents};
}

}  // namespace dikkat
