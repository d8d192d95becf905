#include "train/text/hugging_face/text_normalizer.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/text/hugging_face/hugging_face_fields.h"
#include "train/text/hugging_face/pattern_field.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

using namespace hugging_face;

constexpr std::pair<std::string_view, NormalForm> kForms[] = {
    {"NFC", NormalForm::c}, {"NFD", NormalForm::d}, {"NFKC", NormalForm::kc}, {"NFKD", NormalForm::kd}};

std::string_view part(std::string_view text, std::size_t first, std::size_t last) { return text.substr(first, last - first); }

std::size_t bytes_of_one(std::string_view text) { return static_cast<std::size_t>(utf8::decode(text, 0).bytes); }

/// Appends to a text that replaces another, and moves the marks of the other.
class Rewriter {
 public:
  Rewriter(std::string& out, std::span<index> marks) : out_(out), marks_(marks) {}

  /// Replaces the bytes of the old text up to `last` by `content`. Marks within them come after it.
  void replace(std::size_t last, std::string_view content) {
    out_ += content;
    for (; done_ < marks_.size() && marks_[done_] <= static_cast<index>(last); ++done_) {
      marks_[done_] = static_cast<index>(out_.size());
    }
  }
  /// Keeps the bytes of the old text from `first`, up to which it has been replaced, to `last`.
  void keep(std::string_view old, std::size_t first, std::size_t last) {
    const auto shift = static_cast<index>(out_.size()) - static_cast<index>(first);
    out_ += part(old, first, last);
    for (; done_ < marks_.size() && marks_[done_] <= static_cast<index>(last); ++done_) {
      marks_[done_] += shift;
    }
  }

 private:
  std::string& out_;
  std::span<index> marks_;
  std::size_t done_ = 0;
};

}  // namespace

TextNormalizer::TextNormalizer(bool nfc) {
  if (nfc) {
    steps_.push_back({.kind = Kind::form});
  }
}

TextNormalizer::TextNormalizer(const json& description) {
  const std::string where = "normalizer";
  for (const json& step : steps_of(description, where, "normalizers")) {
    const std::string type = type_of(step);
    const auto* const form = std::find_if(std::begin(kForms), std::end(kForms), [&](const auto& one) { return one.first == type; });
    if (form != std::end(kForms)) {
      require_known(step, where, {"type"});
      steps_.push_back({.kind = Kind::form, .form = form->second});
    } else if (type == "Lowercase") {
      require_known(step, where, {"type"});
      steps_.push_back({.kind = Kind::lowercase});
    } else if (type == "Replace") {
      require_known(step, where, {"type", "pattern", "content"});
      steps_.push_back({.kind = Kind::replace, .pattern = pattern_in(step, where), .content = text(step, where, "content")});
    } else if (type == "Prepend") {
      require_known(step, where, {"type", "prepend"});
      steps_.push_back({.kind = Kind::prepend, .content = text(step, where, "prepend")});
    } else if (type == "Strip") {
      require_known(step, where, {"type", "strip_left", "strip_right"});
      steps_.push_back(
          {.kind = Kind::strip, .left = flag(step, where, "strip_left", false), .right = flag(step, where, "strip_right", false)});
    } else {
      refuse(where, step, "a Sequence of NFC, NFD, NFKC, NFKD, Lowercase, Replace, Prepend or Strip");
    }
  }
}

std::string TextNormalizer::apply(const Step& step, std::string_view text, std::span<index> marks) {
  std::string out;
  Rewriter rewriter(out, marks);
  switch (step.kind) {
    case Kind::form: {
      if (marks.empty()) {
        return to_normal_form(text, step.form);
      }
      // Normalize the text between two marks separately.
      std::vector<index> ends(marks.begin(), marks.end());
      ends.push_back(static_cast<index>(text.size()));
      std::size_t done = 0;
      for (const index end : ends) {
        const auto last = static_cast<std::size_t>(end);
        rewriter.replace(last, to_normal_form(part(text, done, last), step.form));
        done = last;
      }
      return out;
    }
    case Kind::lowercase:
      out.reserve(text.size());
      for (std::size_t at = 0; at < text.size();) {
        const utf8::Character character = utf8::decode(text, static_cast<index>(at));
        at += static_cast<std::size_t>(character.bytes);
        std::string lower;
        utf8::append(lower, to_lower(character.code_point));
        constexpr char32_t kDottedCapitalI = 0x130;  // the only character with a lower case of two: i and a dot above
        rewriter.replace(at, character.code_point == kDottedCapitalI ? "i\xCC\x87" : lower);
      }
      return out;
    case Kind::replace: {
      // Replace the matches, and keep the text between them.
      std::size_t done = 0;
      out.reserve(text.size() + text.size() / 4);
      step.pattern.for_matches(text, [&](std::size_t first, std::size_t last) {
        rewriter.keep(text, done, first);
        rewriter.replace(last, step.content);
        done = last;
      });
      rewriter.keep(text, done, text.size());
      return out;
    }
    case Kind::prepend:
      if (!text.empty()) {
        // A mark at the beginning stays there, so that the prefix belongs to the part that begins there.
        const auto not_first = std::find_if(marks.begin(), marks.end(), [](index mark) { return mark > 0; });
        for (auto mark = not_first; mark != marks.end(); ++mark) {
          *mark += static_cast<index>(step.content.size());
        }
        return step.content + std::string(text);
      }
      return out;
    case Kind::strip: {
      std::size_t first = 0, last = text.size();
      const auto is_space = [&](std::size_t at) { return utf8::is_white_space(utf8::decode(text, static_cast<index>(at)).code_point); };
      while (step.left && first < last && is_space(first)) {
        first += bytes_of_one(text.substr(first));
      }
      const auto before_last = [&] { return static_cast<std::size_t>(utf8::snap(text, static_cast<index>(last) - 1)); };
      while (step.right && first < last && is_space(before_last())) {
        last = before_last();
      }
      // Move marks in the removed white space to the nearest end.
      for (index& mark : marks) {
        mark = std::clamp(mark, static_cast<index>(first), static_cast<index>(last)) - static_cast<index>(first);
      }
      return std::string(part(text, first, last));
    }
  }
  fail("text normalizer: a step of an unknown kind");
}

std::string TextNormalizer::operator()(std::string_view text, std::span<index> marks) const {
  std::string out(text);
  for (const Step& step : steps_) {
    out = apply(step, out, marks);
  }
  return out;
}

std::string TextNormalizer::prefix() const {
  std::string prefix;
  for (const Step& step : steps_) {
    prefix = step.kind == Kind::prepend ? step.content + prefix : prefix.empty() ? prefix : apply(step, prefix, {});
  }
  return prefix;
}

bool TextNormalizer::is_local(bool& ascii_only) const {
  ascii_only = false;
  for (const Step& step : steps_) {
    const std::string& one = step.pattern.text();
    switch (step.kind) {
      case Kind::form: ascii_only = true; break;
      case Kind::lowercase: break;
      case Kind::replace:
        if (one.empty() || one.size() != bytes_of_one(one) || step.content.empty()) {
          return false;
        }
        break;
      case Kind::prepend:
      case Kind::strip: return false;
    }
  }
  return true;
}

}  // namespace dikkat
