#include "train/data/corpus/corpus_statistics.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <tuple>
#include <unordered_map>

#include "train/data/corpus/corpus_reader.h"
#include "train/system/sha256.h"
#include "train/text/utf8.h"

namespace dikkat {
namespace {

constexpr std::size_t kMostShown = 10;   // returned lines and repeated documents, at most
constexpr std::size_t kBytesShown = 80;  // returned bytes of a line, at most

struct DigestHash {
  std::size_t operator()(const Digest& digest) const {
    std::size_t hash = 0;
    std::memcpy(&hash, digest.data(), sizeof hash);  // all bits of a digest are equally good
    return hash;
  }
};

std::string valid(std::string_view bytes) {
  std::string text;
  utf8::append_valid(text, bytes.substr(0, bytes.size() - static_cast<std::size_t>(utf8::incomplete_tail(bytes))));
  return text;
}

/// Keeps the longest lines of what it reads.
class LongestLines {
 public:
  void begin_document(TextPlace place) {
    document_ = place;
    number_ = 0;
    bytes_ = 0;
    begin_.clear();
  }

  void add(std::string_view text) {
    for (std::size_t at = 0;;) {
      const std::size_t end = text.find('\n', at);
      const std::string_view part = text.substr(at, end == std::string_view::npos ? end : end - at);
      begin_ += part.substr(0, kBytesShown - std::min(begin_.size(), kBytesShown));
      bytes_ += static_cast<index>(part.size());
      if (end == std::string_view::npos) {
        return;
      }
      end_line();
      at = end + 1;
    }
  }

  void end_line() {
    ++number_;
    if (bytes_ > 0 && (longest_.size() < kMostShown || bytes_ > longest_.back().bytes)) {
      TextPlace place = document_;
      if (place.line == 0) {
        place.line = number_;
      }
      const auto at = std::ranges::upper_bound(longest_, bytes_, std::greater(), &CorpusStatistics::Line::bytes);
      longest_.insert(at, {.place = place, .bytes = bytes_, .begin = valid(begin_)});
      longest_.resize(std::min(longest_.size(), kMostShown));
    }
    bytes_ = 0;
    begin_.clear();
  }

  std::vector<CorpusStatistics::Line> finish() { return std::move(longest_); }

 private:
  TextPlace document_;
  index number_ = 0;  // the number of lines that have ended in this document
  index bytes_ = 0;   // bytes of the current line so far
  std::string begin_;
  std::vector<CorpusStatistics::Line> longest_;  // longest first; among equal ones, the earlier first
};

/// Finds documents that are equal.
class Repeats {
 public:
  void add(const Digest& digest, TextPlace place, index bytes) {
    const auto [known, is_new] = documents_.try_emplace(digest, place);
    if (is_new) {
      return;
    }
    ++repeats;
    repeated_bytes += bytes;
    auto& group = groups_[digest];
    if (group.times == 0) {
      group = {.first = known->second, .second = place, .bytes = bytes, .times = 1};
    }
    ++group.times;
  }

  std::vector<CorpusStatistics::Repeated> most() const {
    std::vector<CorpusStatistics::Repeated> all;
    for (const auto& [digest, group] : groups_) {
      all.push_back(group);
    }
    const auto order = [](const CorpusStatistics::Repeated& one) {
      return std::tuple(-(one.times - 1) * one.bytes, one.first.file, one.first.line);  // a total order, equal in every process
    };
    std::ranges::sort(all, {}, order);
    all.resize(std::min(all.size(), kMostShown));
    return all;
  }

  index repeats = 0, repeated_bytes = 0;

 private:
  std::unordered_map<Digest, TextPlace, DigestHash> documents_;
  std::unordered_map<Digest, CorpusStatistics::Repeated, DigestHash> groups_;
};

}  // namespace

CorpusStatistics statistics_of(const Corpus& corpus, const std::function<void(index)>& progress) {
  CorpusStatistics found;
  std::vector<index> characters(utf8::kLastCodePoint + 1);
  LongestLines lines;
  Repeats repeats;
  Sha256 document;
  index bytes = 0, done = 0;

  // Read chunks of whole characters, unless the text is not UTF-8.
  CorpusReader reader(corpus, [](std::string_view text) { return static_cast<index>(text.size()) - utf8::incomplete_tail(text); });
  for (auto chunks = reader.next(); !chunks.empty(); chunks = reader.next()) {
    for (const Chunk& chunk : chunks) {
      const TextPlace place{.file = chunk.file, .line = chunk.line};
      if (chunk.begins) {
        lines.begin_document(place);
        bytes = 0;
      }
      lines.add(chunk.text);
      document.add(std::as_bytes(std::span(chunk.text)));
      // Count each character, and the places that are not UTF-8.
      const auto size = static_cast<index>(chunk.text.size());
      for (index at = 0; at < size;) {
        const utf8::Character one = utf8::decode(chunk.text, at);
        at += one.bytes;
        (one.fault == utf8::Fault::none ? characters[one.code_point] : found.invalid) += 1;
      }
      bytes += size;
      done += size;
      // At the end of a document, count its length, and look for an earlier copy.
      if (chunk.ends) {
        lines.end_line();
        ++found.lengths[bytes];
        repeats.add(document.finish(), place, bytes);
      }
    }
    if (progress) {
      progress(done);
    }
  }
  // Collect the results.
  for (std::size_t i = 0; i < characters.size(); ++i) {
    if (characters[i] > 0) {
      found.characters.emplace_back(static_cast<char32_t>(i), characters[i]);
    }
  }
  found.repeats = repeats.repeats;
  found.repeated_bytes = repeats.repeated_bytes;
  found.repeated = repeats.most();
  found.longest_lines = lines.finish();
  return found;
}

double share_of_repeats(const Corpus& corpus) {
  Repeats repeats;
  Sha256 document;
  index bytes = 0, all = 0;
  CorpusReader reader(corpus, [](std::string_view text) { return static_cast<index>(text.size()); });
  for (auto chunks = reader.next(); !chunks.empty(); chunks = reader.next()) {
    for (const Chunk& chunk : chunks) {
      document.add(std::as_bytes(std::span(chunk.text)));
      bytes += static_cast<index>(chunk.text.size());
      if (chunk.ends) {
        repeats.add(document.finish(), {.file = chunk.file, .line = chunk.line}, bytes);
        all += bytes;
        bytes = 0;
      }
    }
  }
  return all > 0 ? static_cast<double>(repeats.repeated_bytes) / static_cast<double>(all) : 0;
}

index length_at(const std::map<index, index>& lengths, double share) {
  index documents = 0;
  for (const auto& [bytes, count] : lengths) {
    documents += count;
  }
  const index wanted = std::max<index>(1, static_cast<index>(std::ceil(share * static_cast<double>(documents))));
  index seen = 0;
  for (const auto& [bytes, count] : lengths) {
    seen += count;
    if (seen >= wanted) {
      return bytes;
    }
  }
  return 0;
}

}  // namespace dikkat
