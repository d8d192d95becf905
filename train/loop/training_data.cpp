#include "train/loop/training_data.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "autograd/base/error.h"
#include "train/data/conversations.h"
#include "train/data/corpus.h"
#include "train/data/fingerprint.h"
#include "train/data/packed_samples.h"
#include "train/data/pair_samples.h"
#include "train/data/pairs.h"
#include "train/data/split.h"
#include "train/data/token_cache.h"
#include "train/data/token_shards.h"
#include "train/data/tokenize.h"
#include "train/data/windows.h"
#include "train/io/digits.h"
#include "train/machine/out_of_memory.h"
#include "train/model/open_tokenizer.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

constexpr index kWorthKeeping = index{8} << 20;  // bytes of text; fewer are tokenized in about a second

bool reads_pairs(const Config& config) { return config.model.kind == ModelKind::encoder_decoder; }
bool by_document(const Config& config) { return config.data.pack != Packing::stream; }

/// `tokenizer`: the one that there is, or nullptr.
CorpusOptions corpus_options(const Config& config, const Tokenizer* tokenizer) {
  return {.text_field = config.data.text_field,
          .replace_invalid = config.data.invalid_utf8 == InvalidUtf8::replace,
          .any_bytes = tokenizer_kind(tokenizer != nullptr ? tokenizer->kind() : config.tokenizer.kind, "tokenizer.kind").any_bytes};
}

TokenizerOptions tokenizer_options(const TokenizerConfig& config) {
  return {.kind = config.kind, .vocab_size = config.vocab_size, .splitter = config.splitter, .min_count = config.min_count};
}

/// The tokenizer, if there is one before the corpus has been read.
std::unique_ptr<Tokenizer> known_tokenizer(const Config& config, const KnownCorpus* known) {
  if (known != nullptr) {
    return tokenizer_from_json(known->tokenizer);
  }
  return config.tokenizer.path.empty() ? nullptr : open_tokenizer(config.tokenizer.path);
}

void require_known(const Config& config, const KnownCorpus* known, const std::string& fingerprint) {
  require_input(known == nullptr || known->fingerprint.empty() || fingerprint == known->fingerprint,
                "the corpus has changed since the run began: its sha256 is ", fingerprint, ", the checkpoint's is ",
                known == nullptr ? "" : known->fingerprint, "; bring the text back as it was (", config.data.corpus.front(),
                "), begin a new run with `dikkat train`, or evaluate another text with `dikkat eval --corpus`");
}

// Texts.

/// Bytes of the tokens that no window predicts: the first token of the text, or of each document if documents are separate and no token
/// stands between them.
index given_bytes(const Config& config, const Tokenizer& tokenizer, const TokenStore& text) {
  const index documents = by_document(config) && !tokenizer.separator() ? text.documents() : 1;
  index bytes = 0;
  for (index i = 0; i < documents; ++i) {
    Token first = 0;
    text.read(text.document_start(i), 1, &first);
    bytes += static_cast<index>(tokenizer.decode(std::span(&first, 1)).size());
  }
  return bytes;
}

EvaluationText evaluation_text(const Config& config, const Tokenizer& tokenizer, TokenStore store, index bytes) {
  EvaluationText text{.text = std::make_unique<TokenStore>(std::move(store))};
  text.tokens = text.text->size();
  if (text.tokens > 1) {
    if (by_document(config)) {
      auto documents = std::make_unique<DocumentWindows>(*text.text, config.model.block_size, tokenizer.separator().has_value());
      if (config.data.pack == Packing::best_fit) {
        text.samples = std::make_unique<PackedSamples>(*documents, config.model.block_size);
        text.sequences = std::move(documents);
      } else {
        text.samples = std::move(documents);
      }
    } else {
      text.samples = std::make_unique<SequentialWindows>(*text.text, config.model.block_size);
    }
    text.predicted_bytes = bytes - given_bytes(config, tokenizer, *text.text);
  }
  return text;
}

std::unique_ptr<const Samples> training_windows(const Config& config, const Tokenizer& tokenizer, const TokenStore& store, const Sequences* packed) {
  try {
    if (packed != nullptr) {
      return std::make_unique<PackedSamples>(*packed, config.model.block_size);
    }
    if (by_document(config)) {
      return std::make_unique<DocumentWindows>(store, config.model.block_size, tokenizer.separator().has_value());
    }
    return std::make_unique<TrainingWindows>(store, config.model.block_size, static_cast<std::uint64_t>(config.train.seed));
  } catch (const InputError& error) {
    fail_input(error.what(), " (data.corpus is ", config.data.corpus.front(), config.data.corpus.size() > 1 ? " and others)" : ")");
  }
}

void note_skipped(const Corpus& corpus, std::vector<std::string>& notes) {
  if (std::string note = describe(corpus.skipped); !note.empty()) {
    notes.push_back(std::move(note));
  }
}

/// Removes files from the default folder until it keeps at most `limit` bytes, and notes that for the user. `file` was just written there,
/// and is in use.
void note_kept(const std::string& folder, const std::string& file, index limit, std::vector<std::string>& notes) {
  const auto bytes_of = [](const std::vector<KeptTokens>& all) {
    return std::accumulate(all.begin(), all.end(), 0.0,
                           [](double sum, const KeptTokens& one) { return sum + static_cast<double>(one.bytes); });
  };
  const auto megabytes = [](double bytes) { return grouped_digits(static_cast<index>(std::ceil(bytes * 1e-6))) + " MB"; };
  const auto removed = remove_kept_tokens(folder, limit);
  notes.push_back(concat("the tokens of this text are kept in ", file, " for later runs; files there have ",
                         megabytes(bytes_of(kept_tokens(folder))), " in all, at most ", megabytes(static_cast<double>(limit)),
                         " (DIKKAT_CACHE_GB)",
                         removed.empty() ? "" : concat("; ", megabytes(bytes_of(removed)), " of the least recently used were removed"),
                         "; see `dikkat cache`"));
}

/// The tokens of a corpus that has been surveyed: from a kept token file, or tokenized now.
TokenizedCorpus tokens_of(const Config& config, bool is_ours, const Corpus& corpus, const CorpusFacts& facts, const Tokenizer& tokenizer,
                          std::optional<index> split, const LoadingProgress& progress, std::vector<std::string>& notes) {
  const auto tell = [&](index bytes) {
    if (progress) {
      progress({.stage = LoadingReport::Stage::tokenizing,
                .bytes = bytes,
                .share = static_cast<double>(bytes) / static_cast<double>(facts.bytes)});
    }
  };
  return naming_memory("tokenizing the corpus", [&] {
    std::string folder = config.data.cache;
    if (!is_ours && folder != "off" && folder != "auto") {
      if (auto kept = find_tokens(folder, facts.fingerprint, tokenizer, split)) {
        return std::move(*kept);
      }
      folder = "auto";
    }
    const bool is_default = folder == "auto";
    const index limit = is_default ? token_folder_limit() : 0;
    if (is_default) {
      folder = facts.bytes < kWorthKeeping ? "off" : default_token_folder().value_or("off");
    }
    TokenizedCorpus tokens = folder == "off" ? tokenize(corpus, tokenizer, split, tell, facts.fingerprint)
                                             : tokenize_once(folder, facts.fingerprint, corpus, tokenizer, split, tell);
    if (is_default && !tokens.file.empty()) {
      note_kept(folder, tokens.file, limit, notes);
    }
    return tokens;
  });
}

std::function<void(index)> telling_of_reading(const LoadingProgress& progress) {
  return [&progress](index bytes) {
    if (progress) {
      progress({.stage = LoadingReport::Stage::reading, .bytes = bytes});
    }
  };
}

TrainingData load_text(const Config& config, const KnownCorpus* known, const LoadingProgress& progress) {
  const bool has_validation = !config.data.validation.empty();
  TrainingData data{.tokenizer = known_tokenizer(config, known)};
  const CorpusOptions options = corpus_options(config, data.tokenizer.get());
  const Corpus corpus = open_corpus(config.data.corpus, options);
  const Corpus held_out = has_validation ? open_corpus(config.data.validation, options) : Corpus();
  note_skipped(corpus, data.notes);
  note_skipped(held_out, data.notes);

  const auto maker = data.tokenizer == nullptr ? make_tokenizer_maker(tokenizer_options(config.tokenizer)) : nullptr;
  const auto read = [&](const Corpus& some) {
    return naming_memory("reading the corpus", [&] { return survey(some, maker.get(), telling_of_reading(progress)); });
  };
  const CorpusFacts facts = read(corpus);
  const CorpusFacts held_out_facts = has_validation ? read(held_out) : CorpusFacts();
  data.fingerprint = has_validation ? to_hex(sha256(facts.fingerprint + held_out_facts.fingerprint)) : facts.fingerprint;
  require_known(config, known, data.fingerprint);
  if (maker != nullptr) {
    data.tokenizer = naming_memory("learning the tokenizer", [&] {
      return maker->make([&](double share) {
        if (progress) {
          progress({.stage = LoadingReport::Stage::learning, .share = share});
        }
      });
    });
  }
  data.files = static_cast<index>(corpus.files.size() + held_out.files.size());
  data.documents = facts.documents + held_out_facts.documents;
  data.bytes = facts.bytes + held_out_facts.bytes;

  const Tokenizer& tokenizer = *data.tokenizer;
  const auto split = has_validation ? std::nullopt : std::optional(training_share(facts.bytes, config.data.val_fraction));
  const bool is_ours = known == nullptr || known->is_ours;
  TokenizedCorpus tokens = tokens_of(config, is_ours, corpus, facts, tokenizer, split, progress, data.notes);
  if (has_validation) {
    TokenizedCorpus others = tokens_of(config, is_ours, held_out, held_out_facts, tokenizer, {}, progress, data.notes);
    tokens.parts[1] = std::move(others.parts[0]);
    tokens.bytes[1] = others.bytes[0];
  }
  data.train = evaluation_text(config, tokenizer, std::move(tokens.parts[0]), tokens.bytes[0]);
  data.validation = evaluation_text(config, tokenizer, std::move(tokens.parts[1]), tokens.bytes[1]);
  return data;
}

// Token files of other programs.

/// Bytes of the text that the tokens stand for.
index bytes_of(const TokenStore& tokens, const Tokenizer& tokenizer) {
  std::vector<index> sizes;
  sizes.reserve(static_cast<std::size_t>(tokenizer.vocab_size()));
  for (Token id = 0; id < tokenizer.vocab_size(); ++id) {
    sizes.push_back(id == tokenizer.separator() ? 0 : static_cast<index>(tokenizer.decode(std::span(&id, 1)).size()));
  }
  constexpr index kBlock = index{1} << 16;
  constexpr index kForgetAfter = index{1} << 23;
  std::vector<Token> block(kBlock);
  index bytes = 0;
  for (index first = 0; first < tokens.size(); first += kBlock) {
    const index count = std::min(kBlock, tokens.size() - first);
    tokens.read(first, count, block.data());
    for (index i = 0; i < count; ++i) {
      bytes += sizes[static_cast<std::size_t>(block[static_cast<std::size_t>(i)])];
    }
    if (first % kForgetAfter == 0) {
      tokens.forget();
    }
  }
  tokens.forget();
  return bytes;
}

/// Size and fingerprint of the files' bytes.
CorpusFacts survey_shards(const std::vector<CorpusFile>& files) {
  Fingerprint fingerprint;
  CorpusFacts facts;
  for (const CorpusFile& file : files) {
    const MappedFile mapped(file.path);
    const std::string_view bytes(reinterpret_cast<const char*>(mapped.data()), mapped.size());
    constexpr std::size_t kBlock = std::size_t{1} << 24;
    for (std::size_t at = 0; at < bytes.size(); at += kBlock) {
      fingerprint.add(bytes.substr(at, kBlock));
      mapped.forget();
    }
    fingerprint.end_document();
    facts.bytes += static_cast<index>(mapped.size());
  }
  facts.fingerprint = fingerprint.finish();
  return facts;
}

TrainingData load_shards(const Config& config, const KnownCorpus* known) {
  const bool has_validation = !config.data.validation.empty();
  require_input(!has_validation || are_token_shards(config.data.validation),
                "data.corpus names tokens (.bin) and data.validation texts, expected tokens in both");
  const auto files = find_corpus_files(config.data.corpus, kTokenExtensions);
  const auto held_out = has_validation ? find_corpus_files(config.data.validation, kTokenExtensions) : std::vector<CorpusFile>();
  TrainingData data{.tokenizer = known_tokenizer(config, known)};
  require_input(
      data.tokenizer != nullptr, "data.corpus names tokens (", files.front().name,
      "), which only the tokenizer that made them can read: set tokenizer.path to it (GPT-2's vocab.bpe, or nanoGPT's meta.pkl as JSON)");
  const CorpusFacts facts = survey_shards(files);
  const CorpusFacts held_out_facts = survey_shards(held_out);
  data.fingerprint = to_hex(sha256(facts.fingerprint + held_out_facts.fingerprint));
  require_known(config, known, data.fingerprint);

  const Tokenizer& tokenizer = *data.tokenizer;
  TokenStore train = open_token_shards(files, tokenizer.vocab_size(), tokenizer.separator());
  TokenStore validation(tokenizer.vocab_size());
  if (has_validation) {
    validation = open_token_shards(held_out, tokenizer.vocab_size(), tokenizer.separator());
  } else {
    const index share = training_share(train.size(), config.data.val_fraction);
    validation = train.part(share, train.size() - share);
    train = train.part(0, share);
  }
  data.files = static_cast<index>(files.size() + held_out.size());
  data.documents = train.documents() + validation.documents();
  data.bytes = facts.bytes + held_out_facts.bytes;
  const index train_bytes = bytes_of(train, tokenizer);
  const index validation_bytes = bytes_of(validation, tokenizer);
  data.train = evaluation_text(config, tokenizer, std::move(train), train_bytes);
  data.validation = evaluation_text(config, tokenizer, std::move(validation), validation_bytes);
  return data;
}

// Conversations.

/// What the user is told of packed rows.
std::string note_on_padding(const PackedSamples& samples, const char* what, index count) {
  return concat(grouped_digits(count), ' ', what, " in ", grouped_digits(samples.count()), samples.count() == 1 ? " window; " : " windows; ",
                static_cast<index>(std::lround(100 * samples.padding())), " % of the positions are padding");
}

EvaluationText evaluation_text(const Config& config, const Tokenizer& tokenizer, const ChatTemplate& form, const ConversationCorpus& corpus, index first,
                               index count) {
  const index window = config.model.block_size;
  EvaluationText text{.conversations = std::make_unique<ConversationStore>(corpus, first, count, tokenizer, form, config.chat.loss, window)};
  const ConversationStore& store = *text.conversations;
  text.tokens = store.tokens();
  text.predicted_bytes = store.scored_bytes();
  if (store.count() > 0) {
    auto samples = std::make_unique<PackedSamples>(store, window);
    text.notes.push_back(note_on_padding(*samples, "examples", store.count()));
    text.samples = std::move(samples);
  }
  if (store.cut() > 0) {
    text.notes.push_back(concat(grouped_digits(store.cut()), " of ", grouped_digits(count), " examples have more than ", grouped_digits(window),
                                " tokens (model.block_size) and are cut at their end"));
  }
  if (store.left_out() > 0) {
    text.notes.push_back(concat(grouped_digits(store.left_out()), " of ", grouped_digits(count),
                                " examples are left out: within the window they have no token to learn (chat.loss)"));
  }
  return text;
}

ChatTemplate template_of(const Config& config, const Tokenizer& tokenizer) {
  ChatTemplate form = chat_template(config.chat.template_name, tokenizer);
  form.system = config.chat.system;
  return form;
}

TrainingData load_conversations(const Config& config, const KnownCorpus* known) {
  TrainingData data{.tokenizer = known_tokenizer(config, known)};
  require_input(data.tokenizer != nullptr, config.data.corpus.front(),
                " holds conversations, which are for a model that knows language already: start from one with --init-from (train.init_from), or set "
                "tokenizer.path");
  const ConversationCorpus corpus = read_conversations(config.data.corpus, config.data.text_field);
  const bool has_validation = !config.data.validation.empty();
  const ConversationCorpus held_out =
      has_validation ? read_conversations(config.data.validation, config.data.text_field) : ConversationCorpus();
  data.fingerprint = has_validation ? to_hex(sha256(corpus.fingerprint + held_out.fingerprint)) : corpus.fingerprint;
  require_known(config, known, data.fingerprint);
  const auto all = static_cast<index>(corpus.examples.size());
  const index training = has_validation ? all : training_share(all, config.data.val_fraction);
  const ConversationCorpus& others = has_validation ? held_out : corpus;
  const index first = has_validation ? 0 : training;
  data.chat = template_of(config, *data.tokenizer);
  data.files = corpus.files + held_out.files;
  data.documents = all + static_cast<index>(held_out.examples.size());
  data.bytes = corpus.bytes + held_out.bytes;
  data.train = evaluation_text(config, *data.tokenizer, *data.chat, corpus, 0, training);
  data.validation =
      evaluation_text(config, *data.tokenizer, *data.chat, others, first, static_cast<index>(others.examples.size()) - first);
  require_input(data.train.samples != nullptr, "no example of ", config.data.corpus.front(),
                " has a token to learn within model.block_size = ", index{config.model.block_size}, "; raise it, or give shorter examples");
  data.training = std::make_unique<PackedSamples>(*data.train.conversations, config.model.block_size);
  data.notes = std::exchange(data.train.notes, {});
  data.notes.push_back(concat("conversations are written in the template ", name_of(data.chat->name), " (chat.template), and the loss is over ",
                              config.chat.loss == ScoredText::answers       ? "the answers"
                              : config.chat.loss == ScoredText::last_answer ? "the last answers"
                                                                            : "everything",
                              " (chat.loss)"));
  return data;
}

// Pairs.

EvaluationText evaluation_text(const Config& config, const Tokenizer& tokenizer, std::span<const Pair> pairs) {
  EvaluationText text{.pairs = std::make_unique<PairStore>(tokenizer, pairs)};
  require_fits(*text.pairs, pairs, config.model.block_size);
  if (!pairs.empty()) {
    text.samples = std::make_unique<PairSamples>(*text.pairs);
  }
  for (index i = 0; i < text.pairs->count(); ++i) {
    text.tokens += text.pairs->target_length(i);
  }
  text.predicted_bytes = text.pairs->target_bytes() + text.pairs->count();
  return text;
}

TrainingData load_pairs(const Config& config, const KnownCorpus* known) {
  const PairCorpus corpus = read_pairs(config.data.corpus);
  const PairSplit parts = split_pairs(corpus, config.data.val_fraction);
  TrainingData data{.tokenizer = known_tokenizer(config, known), .fingerprint = fingerprint(corpus)};
  require_known(config, known, data.fingerprint);
  if (data.tokenizer == nullptr) {
    data.tokenizer = make_tokenizer(tokenizer_options(config.tokenizer), corpus);
  }
  data.files = data.documents = static_cast<index>(corpus.documents.size());
  for (const Document& document : corpus.documents) {
    data.bytes += static_cast<index>(document.text.size());
  }
  data.train = evaluation_text(config, *data.tokenizer, parts.train);
  data.validation = evaluation_text(config, *data.tokenizer, parts.validation);
  data.training = std::make_unique<PairSamples>(*data.train.pairs);
  return data;
}

}  // namespace

double EvaluationText::bytes_per_target() const {
  double targets = 0;
  for (index i = 0; samples && i < samples->count(); ++i) {
    targets += samples->target_weight(i);
  }
  return targets > 0 ? static_cast<double>(predicted_bytes) / targets : std::numeric_limits<double>::quiet_NaN();
}

TrainingData load_training_data(const Config& config, const KnownCorpus* known, const LoadingProgress& progress) {
  require_input(!config.data.corpus.empty(), "no corpus was given; expected --corpus FILE_OR_FOLDER, or data.corpus in the configuration");
  if (progress && std::find(config.data.corpus.begin(), config.data.corpus.end(), "-") != config.data.corpus.end()) {
    progress({.stage = LoadingReport::Stage::opening});
  }
  if (reads_pairs(config)) {
    return naming_memory("reading the pairs", [&] { return load_pairs(config, known); });
  }
  if (!are_token_shards(config.data.corpus) && are_conversations(config.data.corpus, config.data.text_field)) {
    return naming_memory("reading the conversations", [&] { return load_conversations(config, known); });
  }
  TrainingData data = naming_memory("loading the corpus", [&] {
    return are_token_shards(config.data.corpus) ? load_shards(config, known) : load_text(config, known, progress);
  });
  data.training = training_windows(config, *data.tokenizer, *data.train.text, data.train.sequences.get());
  require_input(data.validation.tokens != 1,
                "the validation part has 1 token, expected 2 or more; raise data.val_fraction, or set it to 0 to train without validation");
  return data;
}

EvaluationText load_evaluation_text(const Config& config, const Tokenizer& tokenizer, const std::vector<std::string>& paths,
                                    const LoadingProgress& progress) {
  if (reads_pairs(config)) {
    const PairCorpus corpus = read_pairs(paths);
    return evaluation_text(config, tokenizer, corpus.pairs);
  }
  EvaluationText text;
  if (!are_token_shards(paths) && are_conversations(paths, config.data.text_field)) {
    const ConversationCorpus corpus = read_conversations(paths, config.data.text_field);
    text = evaluation_text(config, tokenizer, template_of(config, tokenizer), corpus, 0, static_cast<index>(corpus.examples.size()));
    require_input(text.samples != nullptr, "no example of ", paths.front(), " has a token to predict within model.block_size = ",
                  index{config.model.block_size});
    return text;
  }
  if (are_token_shards(paths)) {
    TokenStore tokens = open_token_shards(find_corpus_files(paths, kTokenExtensions), tokenizer.vocab_size(), tokenizer.separator());
    const index bytes = bytes_of(tokens, tokenizer);
    text = evaluation_text(config, tokenizer, std::move(tokens), bytes);
  } else {
    const Corpus corpus = open_corpus(paths, corpus_options(config, &tokenizer));
    const CorpusFacts facts = survey(corpus, nullptr, telling_of_reading(progress));
    std::vector<std::string> notes;
    note_skipped(corpus, notes);
    TokenizedCorpus tokens = tokens_of(config, false, corpus, facts, tokenizer, {}, progress, notes);
    text = evaluation_text(config, tokenizer, std::move(tokens.parts[0]), tokens.bytes[0]);
    text.notes = std::move(notes);
  }
  require_input(text.samples != nullptr, "the text for evaluation has ", text.tokens, " tokens, expected at least 2: give a longer text");
  return text;
}

void set_stride(EvaluationText& text, const Config& config, index stride) {
  require_input(text.text != nullptr && !by_document(config), "a stride is for windows of a stream of text, but the model reads ",
                text.text == nullptr ? "pairs or conversations" : "documents by themselves (data.pack)");
  text.samples = std::make_unique<SequentialWindows>(*text.text, config.model.block_size, stride);
}

}  // namespace dikkat
