#include "train/text/hugging_face/text_pattern.h"

#include <algorithm>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "autograd/base/error.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

struct Free {
  void operator()(pcre2_compile_context* context) const { pcre2_compile_context_free(context); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

/// The memory and limits with which one thread matches.
struct Matcher {
  Matcher() {
    require(data != nullptr && context != nullptr, "text patterns: no memory for PCRE2");
    pcre2_set_match_limit(context.get(), kMostSteps);
    if (stack != nullptr) {
      pcre2_jit_stack_assign(context.get(), nullptr, stack.get());
    }
  }

  static constexpr std::uint32_t kMostSteps = 10'000'000;  // the most steps of one search
  std::unique_ptr<pcre2_match_data, Free> data{pcre2_match_data_create(1, nullptr)};
  std::unique_ptr<pcre2_jit_stack, Free> stack{pcre2_jit_stack_create(std::size_t{32} << 10, std::size_t{8} << 20, nullptr)};
  std::unique_ptr<pcre2_match_context, Free> context{pcre2_match_context_create(nullptr)};
};

}  // namespace

struct TextPattern::Code {
  explicit Code(std::string_view pattern) {
    const std::unique_ptr<pcre2_compile_context, Free> context(pcre2_compile_context_create(nullptr));
    require(context != nullptr, "text patterns: no memory for PCRE2");
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context.get(), 100);
    int error = 0;
    PCRE2_SIZE at = 0;
    code = pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE, &error, &at,
                         context.get());
    if (code == nullptr) {
      unsigned char message[256] = {};
      pcre2_get_error_message(error, message, sizeof message);
      fail_input("the pattern is not valid near \"", pattern.substr(std::min(at, pattern.size()), 20), "\" (",
                 reinterpret_cast<const char*>(message), ')');
    }
    pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // may fail: matching then is only slower
  }
  ~Code() { pcre2_code_free(code); }
  Code(const Code&) = delete;
  Code& operator=(const Code&) = delete;

  pcre2_code* code = nullptr;
};

TextPattern TextPattern::literal(std::string text) {
  require_input(!text.empty(), "tokenizer: a pattern is an empty text, expected at least one character");
  TextPattern pattern;
  pattern.text_ = std::move(text);
  return pattern;
}

TextPattern TextPattern::regex(std::string_view oniguruma) {
  constexpr std::size_t kLongest = 100'000;
  require_input(oniguruma.size() <= kLongest, "tokenizer: a regular expression has ", oniguruma.size(), " bytes, expected at most ",
                kLongest);
  TextPattern pattern;
  try {
    pattern.code_ = std::make_shared<const Code>(pcre2_pattern_of(oniguruma));
  } catch (const InputError& error) {
    constexpr index kShown = 300;
    const auto shown = static_cast<std::size_t>(utf8::snap(oniguruma, std::min(std::ssize(oniguruma), kShown)));
    fail_input("tokenizer: its regular expression \"", oniguruma.substr(0, shown), "\" cannot be used: ", error.what());
  }
  return pattern;
}

void TextPattern::for_matches(std::string_view text, const std::function<void(std::size_t, std::size_t)>& f) const {
  // Search for a literal directly.
  if (code_ == nullptr) {
    for (std::size_t at = text.find(text_); at != std::string_view::npos; at = text.find(text_, at + text_.size())) {
      f(at, at + text_.size());
    }
    return;
  }
  // Search for the expression repeatedly, without compiled code where this lacks stack.
  static thread_local const Matcher matcher;
  std::size_t last_match = std::string_view::npos;
  for (std::size_t at = 0; at <= text.size();) {
    const auto search = [&](std::uint32_t options) {
      return pcre2_match(code_->code, reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, PCRE2_NO_UTF_CHECK | options,
                         matcher.data.get(), matcher.context.get());
    };
    int found = search(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT) {
      found = search(PCRE2_NO_JIT);
    }
    if (found == PCRE2_ERROR_NOMATCH) {
      return;
    }
    require_input(found > 0, "tokenizer: its regular expression takes too many steps at byte ", at, " of a text of ", text.size(),
                  " bytes (PCRE2's error ", found, ')');
    const PCRE2_SIZE* const range = pcre2_get_ovector_pointer(matcher.data.get());
    const std::size_t first = range[0], last = range[1];
    require_input(at <= first && first <= last, "tokenizer: its regular expression matches backwards (by \\K), which has no meaning here");
    if (first == last && last == last_match) {  // an empty match directly after another match does not count
      at += at < text.size() ? static_cast<std::size_t>(utf8::decode(text, static_cast<index>(at)).bytes) : 1;
      continue;
    }
    at = last_match = last;
    f(first, last);
  }
}

}  // namespace dikkat
