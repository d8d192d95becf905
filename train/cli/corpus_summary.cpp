#include "train/cli/corpus_summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "train/cli/terminal/text.h"
#include "train/text/scripts.h"

namespace dikkat {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kScriptsInText = 4, kLinesInText = 3, kRepeatsInText = 3;
constexpr index kBytesOfLine = 40;

double mean_length(const CorpusSummary& summary) {
  return static_cast<double>(summary.facts.bytes) / static_cast<double>(summary.facts.documents);
}

/// Returns the next number of 1, 2, 5, 10, 20, 50, ...
index next_bound(index bound) {
  index ten = 1;
  while (10 * ten <= bound) {
    ten *= 10;
  }
  return bound == ten ? 2 * ten : bound == 2 * ten ? 5 * ten : 10 * ten;
}

/// Counts documents by length, from the bin of the shortest to that of the longest, including empty bins.
Json histogram_of(const std::map<index, index>& lengths) {
  Json bins = Json::array();
  index from = 0, below = 1, documents = 0, bytes = 0;
  const auto add_bin = [&] {
    if (documents > 0 || !bins.empty()) {
      bins.push_back({{"from", from}, {"below", below}, {"documents", documents}, {"bytes", bytes}});
    }
    documents = bytes = 0;
  };
  for (const auto& [length, count] : lengths) {
    while (length >= below) {
      add_bin();
      from = below;
      below = next_bound(below);
    }
    documents += count;
    bytes += length * count;
  }
  add_bin();
  return bins;
}

Json place_of(const CorpusSummary& summary, const TextPlace& place) {
  return {{"file", summary.corpus.files[place.file].name}, {"line", place.line > 0 ? Json(place.line) : Json()}};
}

}  // namespace

double CorpusSummary::bytes_per_token() const { return static_cast<double>(facts.bytes) / static_cast<double>(tokens[0] + tokens[1]); }

std::vector<std::string> CorpusSummary::names() const {
  std::vector<std::string> all;
  for (const CorpusFile& file : corpus.files) {
    all.push_back(file.name);
  }
  return all;
}

std::string CorpusSummary::describe(const TextPlace& place) const {
  const std::string& name = corpus.files[place.file].name;
  return place.line == 0 ? name : concat(name, ":", place.line);
}

Json to_json(const CorpusSummary& summary) {
  const CorpusStatistics& found = summary.statistics;
  // Count files, characters and tokens.
  Json object{{"corpus", summary.paths},
              {"files", summary.corpus.files.size()},
              {"documents", summary.facts.documents},
              {"bytes", summary.facts.bytes}};
  object["skipped"] = Json::array();
  for (const SkippedFiles& kind : summary.corpus.skipped) {
    object["skipped"].push_back({{"files", kind.files}, {"what", kind.what}, {"example", kind.example}});
  }
  object["characters"] = summary.not_utf8.empty() ? Json(found.characters.size()) : Json();
  object["not_utf8"] = summary.not_utf8.empty() ? Json() : Json(summary.not_utf8);
  object["tokenizer"] = {{"kind", summary.tokenizer_kind}, {"vocab_size", summary.vocab_size}};
  object["tokens"] = summary.tokens[0] + summary.tokens[1];
  object["bytes_per_token"] = summary.bytes_per_token();
  for (const auto& [name, part] : {std::pair("train", 0), std::pair("validation", 1)}) {
    const auto at = static_cast<std::size_t>(part);
    object[name] = {{"bytes", summary.bytes[at]}, {"documents", summary.documents[at]}, {"tokens", summary.tokens[at]}};
  }
  // List the files that have text for validation.
  object["validation"]["files"] = Json::array();
  for (std::size_t i = 0; i < summary.split.size(); ++i) {
    if (const index bytes = summary.facts.bytes_of_files[i] - summary.split[i]; bytes > 0) {
      object["validation"]["files"].push_back({{"file", summary.corpus.files[i].name}, {"bytes", bytes}});
    }
  }
  // Describe documents and characters.
  object["lengths"] = {{"shortest", length_at(found.lengths, 0)},        {"percentile_10", length_at(found.lengths, 0.1)},
                       {"median", length_at(found.lengths, 0.5)},        {"mean", mean_length(summary)},
                       {"percentile_90", length_at(found.lengths, 0.9)}, {"longest", length_at(found.lengths, 1)},
                       {"histogram", histogram_of(found.lengths)}};
  object["scripts"] = Json::array();
  for (const auto& [script, count] : count_scripts(found.characters)) {
    object["scripts"].push_back({{"script", script}, {"characters", count}});
  }
  // List duplicates and long lines with their places.
  object["duplicates"] = {{"documents", found.repeats}, {"bytes", found.repeated_bytes}, {"most", Json::array()}};
  for (const CorpusStatistics::Repeated& one : found.repeated) {
    object["duplicates"]["most"].push_back(
        {{"first", place_of(summary, one.first)}, {"second", place_of(summary, one.second)}, {"times", one.times}, {"bytes", one.bytes}});
  }
  object["longest_lines"] = Json::array();
  for (const CorpusStatistics::Line& one : found.longest_lines) {
    Json line{{"bytes", one.bytes}};
    line.update(place_of(summary, one.place));
    line["begins"] = one.begin;
    object["longest_lines"].push_back(std::move(line));
  }
  object["sha256"] = summary.facts.fingerprint;
  object["sample"] = summary.sample;
  return object;
}

std::string to_text(const CorpusSummary& summary) {
  const CorpusStatistics& found = summary.statistics;
  std::string text;
  const auto show = [&](const char* name, const std::string& value) { text += fmt::format("{:<12}{}\n", name, value); };
  // Show counts of files, characters and tokens.
  show("files", grouped_digits(static_cast<index>(summary.corpus.files.size())));
  if (!summary.corpus.skipped.empty()) {
    show("", describe(summary.corpus.skipped));
  }
  show("documents", grouped_digits(summary.facts.documents));
  show("bytes", grouped_digits(summary.facts.bytes));
  show("characters", summary.not_utf8.empty()           ? grouped_digits(static_cast<index>(found.characters.size())) + " distinct"
                     : summary.corpus.options.any_bytes ? "not counted: " + summary.not_utf8
                                                        : "training would refuse this text: " + summary.not_utf8);
  show("tokens",
       fmt::format("{} ({} tokenizer, vocabulary {}): {:.2f} bytes per token", grouped_digits(summary.tokens[0] + summary.tokens[1]),
                   summary.tokenizer_kind, grouped_digits(summary.vocab_size), summary.bytes_per_token()));
  for (const auto& [name, part] : {std::pair("train", 0), std::pair("validation", 1)}) {
    const auto at = static_cast<std::size_t>(part);
    show(name, fmt::format("{} bytes, {} tokens", grouped_digits(summary.bytes[at]), grouped_digits(summary.tokens[at])));
  }
  if (const std::string note = note_on_split(summary.names(), summary.facts.bytes_of_files, summary.split); !note.empty()) {
    show("", for_terminal(note));
  }
  // Show lengths and duplicates of documents.
  if (summary.facts.documents > 1) {
    show("lengths", fmt::format("median {} bytes, mean {}; 10 % have at most {}, 10 % at least {}; the longest {}",
                                grouped_digits(length_at(found.lengths, 0.5)), grouped_digits(std::llround(mean_length(summary))),
                                grouped_digits(length_at(found.lengths, 0.1)), grouped_digits(length_at(found.lengths, 0.9)),
                                grouped_digits(length_at(found.lengths, 1))));
    show("duplicates", found.repeats == 0 ? "none: no document occurs twice"
                                          : fmt::format("{} documents ({} bytes) equal an earlier one:", grouped_digits(found.repeats),
                                                        grouped_digits(found.repeated_bytes)));
    for (std::size_t i = 0; i < std::min(found.repeated.size(), kRepeatsInText); ++i) {
      const CorpusStatistics::Repeated& one = found.repeated[i];
      show("", fmt::format("{} times {} bytes: {} and {}", grouped_digits(one.times), grouped_digits(one.bytes),
                           for_terminal(summary.describe(one.first)), for_terminal(summary.describe(one.second))));
    }
  }
  // Show the scripts and their shares.
  const std::vector<ScriptCount> scripts = count_scripts(found.characters);
  double all = 0;
  for (const auto& [script, count] : scripts) {
    all += static_cast<double>(count);
  }
  std::string shares;
  for (std::size_t i = 0; i < std::min(scripts.size(), kScriptsInText); ++i) {
    const auto& [script, count] = scripts[i];
    shares += fmt::format("{}{} {:.3g} %{}", i == 0 ? "" : ", ", script, 100 * static_cast<double>(count) / all,
                          script == kCommonScript ? " (spaces, digits, signs)" : "");
  }
  show("scripts", shares + (scripts.size() > kScriptsInText ? fmt::format(" and {} more", scripts.size() - kScriptsInText) : ""));
  // Show long lines, and the beginning of the text.
  for (std::size_t i = 0; i < std::min(found.longest_lines.size(), kLinesInText); ++i) {
    const CorpusStatistics::Line& line = found.longest_lines[i];
    show(i == 0 ? "long lines" : "",
         fmt::format("{} bytes at {}: {}", grouped_digits(line.bytes), for_terminal(summary.describe(line.place)),
                     for_terminal(first_bytes(line.begin, kBytesOfLine))));
  }
  show("sha256", summary.facts.fingerprint);
  return text + "\n" + for_terminal(summary.sample) + (summary.sample.ends_with('\n') ? "" : "\n");
}

}  // namespace dikkat
