#include "train/text/hugging_face/pre_tokenizer.h"

#include <algorithm>

#include "autograd/base/error.h"
#include "train/text/byte_level.h"
#include "train/text/hugging_face/hugging_face_fields.h"
#include "train/text/hugging_face/pattern_field.h"
#include "train/text/splitter.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

using namespace hugging_face;

constexpr std::string_view kBehaviors[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};

bool is_one_character(std::string_view text) { return !text.empty() && utf8::decode(text, 0).bytes == static_cast<index>(text.size()); }

/// A part of a word, in bytes, and whether the pattern matches it.
struct Part {
  std::size_t first, last;
  bool matches;
};

}  // namespace

PreTokenizer::Step PreTokenizer::read_step(const json& step) {
  const std::string where = "pre_tokenizer";
  const std::string type = type_of(step);
  const auto behavior_in = [&](const json& value) {
    const auto* const found = std::find(std::begin(kBehaviors), std::end(kBehaviors), value.is_string() ? value.get<std::string>() : "");
    if (found == std::end(kBehaviors)) {
      refuse(in(where, "behavior"), value, "Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous");
    }
    return static_cast<Behavior>(found - std::begin(kBehaviors));
  };
  // Read the steps whose patterns depend on their fields.
  if (type == "Split") {
    require_known(step, where, {"type", "pattern", "behavior", "invert"});
    TextPattern pattern = pattern_in(step, where);
    std::string regex = step["pattern"].value("Regex", "");
    const bool is_one = is_one_character(pattern.text()) || regex == " ";
    return {.kind = Kind::split,
            .pattern = std::move(pattern),
            .regex = std::move(regex),
            .behavior = behavior_in(field(step, "behavior")),
            .invert = flag(step, where, "invert", false),
            .single_characters = is_one};
  }
  if (type == "ByteLevel") {
    require_known(step, where, {"type", "add_prefix_space", "trim_offsets", "use_regex"});
    const bool splits = flag(step, where, "use_regex", true);
    return {.kind = Kind::byte_level,
            .pattern = splits ? TextPattern::regex(facts_of(Splitter::gpt2).regex) : TextPattern(),
            .splits = splits,
            .prepend = flag(step, where, "add_prefix_space", false) ? Prepend::always : Prepend::never};
  }
  if (type == "Metaspace") {
    require_known(step, where, {"type", "replacement", "prepend_scheme", "add_prefix_space", "split", "str_rep"});
    const json& scheme = field(step, "prepend_scheme");
    const bool old_way = flag(step, where, "add_prefix_space", true);
    if (!scheme.is_null() && scheme != "always" && scheme != "first" && scheme != "never") {
      refuse(in(where, "prepend_scheme"), scheme, "always, first or never");
    }
    std::string replacement = text(step, where, "replacement");
    if (!is_one_character(replacement)) {
      refuse(in(where, "replacement"), step["replacement"], "one character");
    }
    return {.kind = Kind::metaspace,
            .pattern = TextPattern::literal(replacement),
            .behavior = Behavior::merged_with_next,
            .splits = flag(step, where, "split", true),
            .single_characters = true,
            .replacement = std::move(replacement),
            .prepend = scheme == "never" || (scheme.is_null() && !old_way) ? Prepend::never
                       : scheme == "first"                                 ? Prepend::first
                                                                           : Prepend::always};
  }
  // Read the steps with fixed patterns, which become splits.
  if (type == "Digits") {
    require_known(step, where, {"type", "individual_digits"});
    const bool one_by_one = flag(step, where, "individual_digits", false);
    return {.kind = Kind::split,
            .pattern = TextPattern::regex(R"(\p{N})"),
            .behavior = one_by_one ? Behavior::isolated : Behavior::contiguous,
            .single_characters = true};
  }
  if (type == "Whitespace") {
    require_known(step, where, {"type"});
    return {.kind = Kind::split, .pattern = TextPattern::regex(R"(\w+|[^\w\s]+)"), .behavior = Behavior::removed, .invert = true};
  }
  if (type == "WhitespaceSplit") {
    require_known(step, where, {"type"});
    return {.kind = Kind::split, .pattern = TextPattern::regex(R"(\s)"), .behavior = Behavior::removed, .single_characters = true};
  }
  if (type == "Punctuation") {
    require_known(step, where, {"type", "behavior"});
    const json& behavior = field(step, "behavior");
    return {.kind = Kind::split,
            .pattern = TextPattern::regex(R"([\p{P}!-/:-@\x5B-`{-~])"),
            .behavior = behavior.is_null() ? Behavior::isolated : behavior_in(behavior),
            .single_characters = true};
  }
  refuse(where, step, "a Sequence of Split, ByteLevel, Metaspace, Digits, Whitespace, WhitespaceSplit or Punctuation");
}

PreTokenizer::PreTokenizer(const json& description) {
  for (const json& step : steps_of(description, "pre_tokenizer", "pretokenizers")) {
    steps_.push_back(read_step(step));
  }
}

void PreTokenizer::split_word(const Step& step, std::string_view word, std::vector<std::string_view>& out) {
  // Divide the word into matches and the parts between them.
  std::vector<Part> parts;
  std::size_t done = 0;
  step.pattern.for_matches(word, [&](std::size_t first, std::size_t last) {
    if (done < first) {
      parts.push_back({done, first, step.invert});
    }
    parts.push_back({first, last, !step.invert});
    done = last;
  });
  if (done < word.size()) {
    parts.push_back({done, word.size(), step.invert});
  }

  // Join the parts as the behavior demands.
  std::vector<Part> joined;
  bool before = false;  // whether the part before is a match
  switch (step.behavior) {
    case Behavior::removed: std::erase_if(parts, [](const Part& part) { return part.matches; }); [[fallthrough]];
    case Behavior::isolated: joined = std::move(parts); break;
    case Behavior::merged_with_previous:
    case Behavior::contiguous:
      for (const Part& part : parts) {
        const bool joins = step.behavior == Behavior::contiguous ? part.matches == before : part.matches && !before;
        if (joins && !joined.empty()) {
          joined.back().last = part.last;
        } else {
          joined.push_back(part);
        }
        before = part.matches;
      }
      break;
    case Behavior::merged_with_next:
      for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
        if (part->matches && !before && !joined.empty()) {
          joined.back().first = part->first;
        } else {
          joined.push_back(*part);
        }
        before = part->matches;
      }
      std::reverse(joined.begin(), joined.end());
      break;
  }
  // Leave out empty parts.
  for (const Part& part : joined) {
    if (part.first < part.last) {
      out.push_back(word.substr(part.first, part.last - part.first));
    }
  }
}

PreTokenizer::Words PreTokenizer::split(std::string_view text, std::size_t lead) const {
  Words result;
  std::vector<std::size_t> leads;  // the leads of the first words; all later words have none
  // Begin with the whole text as one word.
  if (!text.empty()) {
    result.words.push_back(text);
    leads.assign(lead > 0 ? 1 : 0, lead);
  }
  const auto keep = [&](std::string changed) -> std::string_view { return result.texts.emplace_back(std::move(changed)); };
  for (const Step& step : steps_) {
    std::vector<std::string_view> words;
    std::vector<std::size_t> new_leads;
    words.reserve(result.words.size());
    for (std::size_t i = 0; i < result.words.size(); ++i) {
      // Change the word, and move its lead with it.
      std::string_view word = result.words[i];
      std::size_t own_lead = i < leads.size() ? leads[i] : 0;
      const auto after = [&](std::string_view added, std::string_view changed) {
        own_lead += own_lead > 0 ? added.size() : 0;
        return concat(added, changed);
      };
      if (step.kind == Kind::byte_level && step.prepend == Prepend::always && !word.starts_with(' ')) {
        word = keep(after(" ", word));
      } else if (step.kind == Kind::metaspace) {
        const bool wants = step.prepend == Prepend::always || (step.prepend == Prepend::first && own_lead > 0);
        std::string changed;
        for (const char c : word) {
          if (c == ' ') {
            changed += step.replacement;
          } else {
            changed += c;
          }
        }
        own_lead += static_cast<std::size_t>(std::ranges::count(word.substr(0, own_lead), ' ')) * (step.replacement.size() - 1);
        if (wants && !changed.starts_with(step.replacement)) {
          changed = after(step.replacement, changed);
        }
        word = keep(std::move(changed));
      }
      // Split the word.
      const std::size_t first = words.size();
      if (step.splits) {
        split_word(step, word, words);
      } else {
        words.push_back(word);
      }
      // Pass the rest of the lead to the parts that begin within it.
      for (std::size_t part = first; own_lead > 0 && part < words.size(); ++part) {
        const auto offset = static_cast<std::size_t>(words[part].data() - word.data());
        if (offset < own_lead) {
          new_leads.push_back(own_lead - offset);
        }
      }
    }
    if (step.kind == Kind::byte_level) {
      // Keep the words in one string, so that none of them needs memory of its own.
      std::vector<std::size_t> ends;
      std::string all;
      for (std::size_t i = 0; i < words.size(); ++i) {
        if (i < new_leads.size()) {
          new_leads[i] = byte_level::to_text(words[i].substr(0, new_leads[i])).size();
        }
        all += byte_level::to_text(words[i]);
        ends.push_back(all.size());
      }
      const std::string_view kept = keep(std::move(all));
      std::size_t begin = 0;
      for (std::size_t i = 0; i < words.size(); ++i) {
        words[i] = kept.substr(begin, ends[i] - begin);
        begin = ends[i];
      }
    }
    result.words = std::move(words);
    leads = std::move(new_leads);
  }
  return result;
}

bool PreTokenizer::marks_first() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.prepend == Prepend::first; });
}

bool PreTokenizer::is_byte_level() const {
  return std::ranges::any_of(steps_, [](const Step& step) { return step.kind == Kind::byte_level; });
}

bool PreTokenizer::keeps_text() const {
  index byte_levels = 0;
  for (const Step& step : steps_) {
    byte_levels += step.kind == Kind::byte_level ? 1 : 0;
    if (step.kind == Kind::metaspace || step.prepend != Prepend::never ||
        (step.kind == Kind::split && step.behavior == Behavior::removed)) {
      return false;
    }
  }
  return byte_levels <= 1;
}

std::optional<std::string> PreTokenizer::only_regex() const {
  const bool is_it = steps_.size() == 2 && steps_[0].kind == Kind::split && !steps_[0].regex.empty() &&
                     steps_[0].behavior == Behavior::isolated && !steps_[0].invert && steps_[1].kind == Kind::byte_level &&
                     !steps_[1].splits && steps_[1].prepend == Prepend::never;
  return is_it ? std::optional(steps_[0].regex) : std::nullopt;
}

bool PreTokenizer::allows_cut(char32_t after) const {
  for (const Step& step : steps_) {
    // A match of one character ends where it ends in the whole text. A word that begins with a space, or with the character instead of it,
    // gets no prefix.
    const bool is_fixed = step.kind != Kind::byte_level && step.single_characters;
    const bool begins_alike = step.prepend == Prepend::never || after == U' ' || utf8::decode(step.replacement, 0).code_point == after;
    if (!is_fixed || !begins_alike) {
      return false;
    }
  }
  return true;
}

}  // namespace dikkat
