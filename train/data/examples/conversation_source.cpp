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

class ConversationSource : public ExampleSource<ConversationCorpus> {
 public:
  ConversationSource(const DataConfig& config, const ChatConfig& chat, const SourceReading& reading)
      : ExampleSource(config, reading, "conversations",
                      [&](const std::vector<std::string>& paths) { return read_conversations(paths, config.names()); }),
        chat_(chat) {}

  SourceData tokens(const Tokenizer& tokenizer, const LoadingProgress&, std::vector<std::string>& notes) override {
    // Choose the examples for training and for validation.
    const index training = has_validation() ? std::ssize(corpus_.examples) : put_training_first(corpus_, config_, notes);
    ChatTemplate chat = template_of(chat_, tokenizer);
    require_training(training);
    // Tokenize both parts.
    const ScoredText trained = chat_.loss, scored = chat_.evaluated();
    const auto form = form_of(config_, tokenizer, chat);
    auto both = parts(training, [&](const ConversationCorpus& corpus, index first, index count, const std::string& purpose) {
      const ScoredText learned = purpose == kForTraining ? trained : scored;
      return std::make_unique<ConversationDataset>(ExampleRange{corpus, first, count}, form, learned, scored, purpose);
    });
    require_input(both.train->can_train(), "no example of ", config_.corpus.front(),
                  training < std::ssize(corpus_.examples) ? kForTraining : "", " has a token to learn within ", window_key(config_), " = ",
                  index{config_.window}, R"(; raise it, give shorter examples, or check "weight", "train" and "loss" in their messages)");
    require_input(both.train->evaluation() != nullptr, "no example of ", config_.corpus.front(),
                  " has a token that evaluations score (chat.eval_loss) within ", window_key(config_), " = ", index{config_.window});
    // Collect the notes.
    add_notes(both, notes);
    notes.push_back(concat("conversations are formatted with the template ", name_of(chat.name()), " (chat.template), and the loss covers ",
                           in_words(trained), " (chat.loss)",
                           scored == trained ? "" : concat("; evaluations score ", in_words(scored), " (chat.eval_loss)")));
    return std::move(both).data(std::move(chat));
  }

 private:
  const ChatConfig chat_;
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
