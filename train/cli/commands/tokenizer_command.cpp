#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/chat/built_in_templates.h"
#include "train/chat/render_variables.h"
#include "train/chat/template/template_error.h"
#include "train/checkpoint/checkpoint_list.h"
#include "train/cli/commands.h"
#include "train/cli/commands/tokenizer_commands.h"
#include "train/cli/shared_options.h"
#include "train/cli/terminal/json_output.h"
#include "train/cli/terminal/progress.h"
#include "train/cli/terminal/streams.h"
#include "train/cli/terminal/text.h"
#include "train/config/settle_chat.h"
#include "train/data/tokens/open_tokenizer.h"
#include "train/data/tokens/tokenize.h"
#include "train/exchange/chat_template_files.h"
#include "train/exchange/model_files.h"
#include "train/model/model_origin.h"
#include "train/system/folder.h"
#include "train/system/json.h"
#include "train/text/bpe_tokenizer.h"
#include "train/text/hugging_face/bpe_files.h"
#include "train/text/pieces.h"
#include "train/text/tokenizer_file.h"
#include "train/text/tokenizer_kinds.h"

namespace dikkat {
namespace {

struct TokenizerTrainArguments {
  std::vector<std::string> corpus;
  TokenizerOptions options{.kind = "bpe", .vocab_size = 8192};
  std::string splitter{name_of(Splitter::gpt2)};
  CorpusOptions reading;
  std::string out;  // FILE.json, or a folder
};

struct TokenizerMakeArguments {
  std::string symbols;  // the file with the symbols
  std::string split{name_of(SymbolSplit::spaces)};
  std::string out;  // FILE.json, or a folder
};

struct EncodeArguments {
  std::string tokenizer;  // a tokenizer's file or folder, RUN_DIR or FILE.h5
  std::optional<std::string> text{};
  std::vector<std::string> corpus;  // read instead of `text`; empty: standard input
  CorpusOptions reading;
  bool special = false;
  bool json = false;
};

struct DecodeArguments {
  std::string tokenizer;
  std::vector<std::string> ids;  // empty: read from standard input
};

struct TokenizerInspectArguments {
  std::string tokenizer;
  std::optional<std::string> text{};
  bool json = false;
};

struct RenderArguments {
  std::string model;
  std::string messages;       // the file with the variables
  std::string chat_template;  // the template's file; empty: the model's own
  bool json = false;
};

namespace fs = std::filesystem;
using nlohmann::ordered_json;

/// Returns the text of one token as a JSON string. Control characters are escaped, and an incomplete character becomes U+FFFD.
std::string shown(const Tokenizer& tokenizer, Token token) {
  return json_text(ordered_json(tokenizer.decode_inside(std::span(&token, 1))));
}

/// Writes a tokenizer into a folder. tokenizer.json is the last file, so that the folder has a tokenizer only when it is complete. A
/// repeated command completes a folder whose command was killed.
void write_folder(const fs::path& folder, const Tokenizer& tokenizer) {
  std::vector<fs::path> written = {folder / "tokenizer.json"};
  if (const auto* bpe = dynamic_cast<const BpeTokenizer*>(&tokenizer); bpe != nullptr && has_gpt2_rules(bpe->vocabulary())) {
    const Gpt2Files files = gpt2_files(bpe->vocabulary());
    for (const auto& [name, text] : {std::pair("vocab.bpe", &files.vocab_bpe), std::pair("encoder.json", &files.encoder_json)}) {
      write_new_or_same_file(written.emplace_back(folder / name), *text);
    }
  }
  write_new_file(written.front(), tokenizer.to_json());
  for (const fs::path& path : written) {
    print_result(concat(path.string(), "\n"));
  }
}

/// Throws InputError if there is a tokenizer already.
void require_new(const fs::path& out) {
  require_input(!is_there(out.extension() == ".json" ? out : out / "tokenizer.json"), out.string(),
                " exists already, and nothing is overwritten: choose another --out");
}

/// Writes a tokenizer into FILE.json or a folder.
void write_tokenizer(const fs::path& out, const Tokenizer& tokenizer) {
  if (out.extension() == ".json") {
    write_new_file(out, tokenizer.to_json());
    print_result(concat(out.string(), "\n"));
  } else {
    write_folder(out, tokenizer);
  }
  flush_results();
}

/// Prints ids as they arrive.
class Printer : public TokenSink {
 public:
  explicit Printer(bool json) : json_(json) { print_result(json ? "[" : ""); }

  void begin_document(Part) override {}
  void append(Part, std::span<const Token> tokens) override {
    std::string text;
    for (const Token token : tokens) {
      fmt::format_to(std::back_inserter(text), "{}{}", first_ ? "" : json_ ? "," : " ", token);
      first_ = false;
    }
    print_result(text);
  }
  void finish() { print_result(json_ ? "]\n" : "\n"); }

 private:
  bool json_;
  bool first_ = true;
};

/// Parses a list of ids: numbers, separated by spaces, commas or brackets.
std::vector<Token> read_ids(const std::string& text, const Tokenizer& tokenizer) {
  std::vector<Token> ids;
  for (std::size_t at = 0; at < text.size();) {
    if (std::string_view(" \t\r\n,[]").find(text[at]) != std::string_view::npos) {
      ++at;
      continue;
    }
    index id = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), id);
    const std::string word = text.substr(at, std::min<std::size_t>(text.find_first_of(" \t\r\n,[]", at), at + 20) - at);
    require_input(error == std::errc() && 0 <= id && id < tokenizer.vocab_size(), "decode: \"", word,
                  "\" is not an id, expected numbers from 0 to ", tokenizer.vocab_size() - 1);
    ids.push_back(static_cast<Token>(id));
    at = static_cast<std::size_t>(end - text.data());
  }
  return ids;
}

int tokenizer_train_command(const TokenizerTrainArguments& arguments) {
  // Open the corpus.
  require_new(arguments.out);
  announce_corpus(arguments.corpus);
  CorpusOptions reading = arguments.reading;
  reading.any_bytes = tokenizer_kind(arguments.options.kind, "--kind").any_bytes;
  const Corpus corpus = open_corpus(arguments.corpus, reading);
  if (const std::string note = describe(corpus.skipped); !note.empty()) {
    print_message(note);
  }
  // Learn the tokenizer.
  TokenizerOptions options = arguments.options;
  const auto splitter = value_named<Splitter>(arguments.splitter);
  require_input(splitter.has_value(), "--splitter is ", arguments.splitter, ", expected one of ", all_names<Splitter>());
  options.splitter = *splitter;
  const auto maker = make_tokenizer_maker(options);
  std::unique_ptr<Tokenizer> tokenizer;
  CorpusFacts facts;
  {
    LoadingLine line;
    facts = survey(corpus, maker.get(), [&](index bytes) { line({.stage = LoadingReport::Stage::reading, .bytes = bytes}); });
    tokenizer = maker->make([&](double share) { line({.stage = LoadingReport::Stage::learning, .share = share}); });
  }
  print_message(fmt::format("{} tokens ({}) from {} bytes in {} document{}", grouped_digits(tokenizer->vocab_size()), tokenizer->kind(),
                            grouped_digits(facts.bytes), grouped_digits(facts.documents), facts.documents == 1 ? "" : "s"));
  if (const auto wanted = arguments.options.vocab_size; tokenizer->kind() == BpeTokenizer::kKind && tokenizer->vocab_size() < wanted) {
    print_message(
        fmt::format("fewer than the {} that were asked for: no pair of tokens occurs twice in the text, so there is nothing left to merge",
                    grouped_digits(wanted)));
  }
  write_tokenizer(arguments.out, *tokenizer);
  return 0;
}

int tokenizer_make_command(const TokenizerMakeArguments& arguments) {
  require_new(arguments.out);
  const auto split = value_named<SymbolSplit>(arguments.split);
  require_input(split.has_value(), "--split is ", arguments.split, ", expected one of ", all_names<SymbolSplit>());
  const auto tokenizer = read_symbols(arguments.symbols, *split);
  print_message(fmt::format("{} tokens ({}) from {}", grouped_digits(tokenizer->vocab_size()), tokenizer->kind(), arguments.symbols));
  write_tokenizer(arguments.out, *tokenizer);
  return 0;
}

/// A tokenizer, and the text of the template that conversations with its model are written in.
struct TokenizerWithTemplate {
  std::unique_ptr<Tokenizer> tokenizer;
  std::string jinja;
};

TokenizerWithTemplate open_with_template(const std::string& source) {
  const bool is_run = fs::path(source).extension() == ".h5" || is_folder(checkpoint_directory(source));
  if (is_run || (ModelFiles::is_at(source) && !is_folder(source))) {
    const ModelOrigin origin = ModelOrigin::open(source, {.choice = is_run ? CheckpointChoice::newest : CheckpointChoice::best_or_newest});
    auto tokenizer = tokenizer_from_json(origin.tokenizer());
    return {.tokenizer = std::move(tokenizer), .jinja = origin.config().chat.jinja};
  }
  return {.tokenizer = open_tokenizer(source), .jinja = is_folder(source) ? chat_templates_in(source).text : ""};
}

int encode_command(const EncodeArguments& arguments) {
  require_input(!arguments.text || arguments.corpus.empty(), "encode: --text and --corpus both name the text: give only one of them");
  require_input(arguments.text || !arguments.special,
                "encode: --special applies only to --text, since a corpus has no special tokens: leave it out");
  const auto tokenizer = open_with_template(arguments.tokenizer).tokenizer;
  Printer printer(arguments.json);
  if (arguments.text) {
    printer.append(Part::train, arguments.special ? tokenizer->encode_for_model(*arguments.text) : tokenizer->encode(*arguments.text));
  } else {
    const std::vector<std::string> standard_input = {std::string(kStandardInput)};
    const auto& paths = arguments.corpus.empty() ? standard_input : arguments.corpus;
    announce_corpus(paths);
    CorpusOptions reading = arguments.reading;
    reading.any_bytes = tokenizer_kind(tokenizer->kind(), "--tokenizer").any_bytes;
    tokenize(open_corpus(paths, reading), *tokenizer, {}, printer);
  }
  printer.finish();
  flush_results();
  return 0;
}

int decode_command(const DecodeArguments& arguments) {
  const auto tokenizer = open_with_template(arguments.tokenizer).tokenizer;
  std::string text;
  for (const std::string& id : arguments.ids) {
    text += id;
    text += ' ';
  }
  if (arguments.ids.empty()) {
    announce_standard_input("the list of ids");
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
  }
  print_result(tokenizer->decode(read_ids(text, *tokenizer)));
  flush_results();
  return 0;
}

int inspect_tokenizer_command(const TokenizerInspectArguments& arguments) {
  const auto tokenizer = open_with_template(arguments.tokenizer).tokenizer;
  const auto* bpe = dynamic_cast<const BpeTokenizer*>(tokenizer.get());
  const std::vector<Token> tokens = arguments.text ? tokenizer->encode(*arguments.text) : std::vector<Token>();
  const double bytes_per_token = tokens.empty() ? 0 : static_cast<double>(arguments.text->size()) / static_cast<double>(tokens.size());
  // Print all of it as JSON.
  if (arguments.json) {
    ordered_json object{{"kind", tokenizer->kind()}, {"vocab_size", tokenizer->vocab_size()}};
    object["separator"] = tokenizer->separator() ? ordered_json(*tokenizer->separator()) : ordered_json();
    if (bpe != nullptr) {
      object["merges"] = bpe->bpe().merges().size();
      object["splitter"] = name_of(bpe->vocabulary().splitter);
      object["unicode"] = PieceReader::unicode_version();
    }
    if (arguments.text) {
      object["tokens"] = ordered_json::array();
      for (const Token token : tokens) {
        object["tokens"].push_back({{"id", token}, {"text", tokenizer->decode_inside(std::span(&token, 1))}});
      }
      object["bytes_per_token"] = bytes_per_token;
    }
    print_json(object);
    flush_results();
    return 0;
  }
  // Describe the tokenizer.
  const auto print_line = [](const char* name, const std::string& text) { print_result(fmt::format("{:<11}{}\n", name, text)); };
  print_line("kind", std::string(tokenizer->kind()));
  print_line("tokens", grouped_digits(tokenizer->vocab_size()));
  if (tokenizer->separator()) {
    print_line("separator", fmt::format("{} {}", *tokenizer->separator(), shown(*tokenizer, *tokenizer->separator())));
  }
  if (bpe != nullptr) {
    print_line("merges", grouped_digits(static_cast<index>(bpe->bpe().merges().size())));
    print_line("pieces", fmt::format("split by the rule of {}, with the letters and numbers of Unicode {}",
                                     name_of(bpe->vocabulary().splitter), PieceReader::unicode_version()));
  }
  // Show the tokens of the text, or some of the vocabulary.
  if (!arguments.text) {
    constexpr Token kSome = 12;
    const auto last = static_cast<Token>(tokenizer->vocab_size());
    const auto some = [&](Token first, Token end) {
      std::string list;
      for (Token id = std::max(0, first); id < std::min(end, last); ++id) {
        list += fmt::format("{}{}", list.empty() ? "" : " ", shown(*tokenizer, id));
      }
      return list;
    };
    print_line("first", some(bpe != nullptr ? 256 : 0, bpe != nullptr ? 256 + kSome : kSome));
    print_line("last", some(last - kSome, last));
  } else {
    for (const Token token : tokens) {
      print_result(fmt::format("{:>8}  {}\n", token, shown(*tokenizer, token)));
    }
    print_line("in all",
               fmt::format("{} tokens, {:.2f} bytes per token", grouped_digits(static_cast<index>(tokens.size())), bytes_per_token));
  }
  flush_results();
  return 0;
}

int render_command(const RenderArguments& arguments) {
  // Read the template and its variables.
  constexpr index kMostTemplate = index{1} << 20, kMostMessages = index{64} << 20;
  TokenizerWithTemplate model = open_with_template(arguments.model);
  if (!arguments.chat_template.empty()) {
    model.jinja = read_bytes(arguments.chat_template, kMostTemplate);
    require_input(!model.jinja.empty(), arguments.chat_template, " is empty, expected the text of a chat template");
  }
  const std::string where = arguments.chat_template.empty() ? arguments.model : arguments.chat_template;
  ordered_json variables;
  try {
    variables = parse_json<ordered_json>(read_bytes(arguments.messages, kMostMessages));
  } catch (const JsonError& error) {
    fail_input(arguments.messages, " ", error.what(), R"(, expected {"messages": [{"role": ..., "content": ...}]})");
  }
  if (model.jinja.empty()) {
    model.jinja = built_in_template(fitting_template(*model.tokenizer), *model.tokenizer);
  }
  // Render the template.
  ChatText text;
  try {
    text = render_variables(model.jinja, variables, *model.tokenizer, today());
  } catch (const jinja::TemplateRefusal& refusal) {
    fail_input("the chat template in ", where, " refuses the messages: ", refusal.what());
  } catch (const jinja::TemplateError& error) {
    fail_input("the chat template in ", where, ": ", error.what());
  } catch (const InputError& error) {
    fail_input(arguments.messages, " ", error.what());
  }
  if (arguments.json) {
    print_json({{"text", text.text}, {"ids", encode(*model.tokenizer, text).tokens}});
  } else {
    print_result(text.text);
  }
  flush_results();
  return 0;
}

}  // namespace

void add_tokenizer(Commands& program) {
  constexpr index kMostTokens = index{1} << 24;
  Commands tokenizer = program.group("tokenizer", "Train tokenizers, and turn text into token ids and back");
  {
    constexpr const char* kExamples = R"(  dikkat tokenizer train --corpus texts/ --vocab-size 16000 --out my-tokenizer
  dikkat train --config quickstart --corpus texts/ --set tokenizer.path=my-tokenizer)";
    const auto a = std::make_shared<TokenizerTrainArguments>();
    Command command = tokenizer.add("train", "Learn a tokenizer from a corpus", kExamples, [a] { return tokenizer_train_command(*a); });
    command.texts("--corpus", a->corpus, "PATH", kCorpusHelp).required();
    command
        .text("--out", a->out, "PATH",
              "FILE.json, or a folder to create for tokenizer.json and, with GPT-2's splitter, vocab.bpe and encoder.json")
        .required();
    command.text("--kind", a->options.kind, "KIND", tokenizer_names_in_words());
    command.number("--vocab-size", a->options.vocab_size, index{257}, kMostTokens, "Size of the vocabulary, for bpe");
    command.text("--splitter", a->splitter, "NAME", "Rule that splits texts into pieces, for bpe: " + all_names<Splitter>());
    command.number("--min-count", a->options.min_count, index{1}, index{1'000'000'000}, "Rarer words become <unk>, for word");
    add_reading(command, a->reading);
  }
  {
    constexpr const char* kExamples = R"(  printf 'e4\ne5\nNf3\nNc6\n' > moves.txt
  dikkat tokenizer make --symbols moves.txt --out chess
  dikkat tokenizer encode chess --text "e4 e5 Nf3"
  dikkat tokenizer make --symbols codons.txt --split longest --out dna.json)";
    const auto a = std::make_shared<TokenizerMakeArguments>();
    Command command = tokenizer.add("make", "Make a tokenizer whose tokens are given strings: chess moves, notes, codons", kExamples,
                                    [a] { return tokenizer_make_command(*a); });
    command
        .text("--symbols", a->symbols, "FILE",
              "Symbols, one in each row. A line break and <|endoftext|>, which ends documents, are added. Or nanoGPT's meta.pkl")
        .required();
    command.text("--split", a->split, "RULE",
                 "spaces: symbols in a text have one space between them. longest: nothing is between them, and the longest symbol counts");
    command.text("--out", a->out, "PATH", "FILE.json, or a folder to create for tokenizer.json").required();
  }
  add_tokenizer_extend(tokenizer);
  add_tokenizer_compare(tokenizer);
  {
    constexpr const char* kExamples = R"(  dikkat tokenizer encode my-tokenizer --text "Once upon a time"
  dikkat tokenizer encode runs/mine < my-text.txt
  dikkat tokenizer encode gpt2/ --corpus texts/ --json > ids.json)";
    const auto a = std::make_shared<EncodeArguments>();
    Command command = tokenizer.add("encode", "Turn text into token ids", kExamples, [a] { return encode_command(*a); });
    command.text("TOKENIZER", a->tokenizer, "", kTokenizerHelp).required();
    command.any_text("--text", a->text, "TEXT", "Text to encode; without it, --corpus or standard input is read");
    command.texts("--corpus", a->corpus, "PATH", kCorpusHelp);
    add_reading(command, a->reading);
    command.flag("--special", a->special,
                 "Recognize the names of special tokens in --text, and add those that the tokenizer puts around a text");
    command.flag("--json", a->json, "Print the ids as a JSON array");
  }
  {
    constexpr const char* kExamples = R"(  dikkat tokenizer decode my-tokenizer 15496 995
  dikkat tokenizer decode runs/mine < ids.json)";
    const auto a = std::make_shared<DecodeArguments>();
    Command command = tokenizer.add("decode", "Turn token ids into text", kExamples, [a] { return decode_command(*a); });
    command.text("TOKENIZER", a->tokenizer, "", kTokenizerHelp).required();
    command.texts("ID", a->ids, "", "Token ids; by default from standard input, separated by spaces, commas or brackets");
  }
  {
    constexpr const char* kExamples = R"(  dikkat tokenizer inspect my-tokenizer
  dikkat tokenizer inspect runs/mine --text "How is this cut?")";
    const auto a = std::make_shared<TokenizerInspectArguments>();
    Command command = tokenizer.add("inspect", "Describe a tokenizer and show how it splits a text", kExamples,
                                    [a] { return inspect_tokenizer_command(*a); });
    command.text("TOKENIZER", a->tokenizer, "", kTokenizerHelp).required();
    command.any_text("--text", a->text, "TEXT", "Show the tokens of this text");
    command.flag("--json", a->json, "Print one JSON object");
  }
  {
    constexpr const char* kExamples = R"(  dikkat tokenizer render Qwen3-0.6B --messages talk.json
  dikkat tokenizer render runs/tuned --messages talk.json --json | jq -c .ids)";
    const auto a = std::make_shared<RenderArguments>();
    Command command = tokenizer.add("render", "Write a conversation in a chat template, to compare with another program", kExamples,
                                    [a] { return render_command(*a); });
    command.text("MODEL", a->model, "", "A run, a checkpoint, another program's model, or a tokenizer").required();
    command
        .text(
            "--messages", a->messages, "FILE",
            "JSON object with the template's variables: messages and, if wanted, tools, add_generation_prompt, bos_token, eos_token, date "
            "(what strftime_now prints; otherwise today), and any other")
        .required();
    command.text("--template", a->chat_template, "FILE", "Template in the Jinja language; by default the model's own");
    command.flag("--json", a->json, "Print one JSON object with the text and its token ids");
  }
}

}  // namespace dikkat
