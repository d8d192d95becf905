#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "autograd/base/error.h"
#include "train/checkpoint/header.h"
#include "train/checkpoint/index_encoding.h"

namespace dikkat::forged {

// Checkpoints as an enemy can make them: the hashes are right, the index says what one likes.

struct Entry {
  bool required = true;
  std::string kind, name, value;
};
using Entries = std::vector<Entry>;

inline std::string number(std::integral auto value) {
  std::string bytes;
  append_number(bytes, static_cast<std::uint64_t>(value));
  return bytes;
}

inline std::string text(std::string_view value) {
  std::string bytes;
  append_text(bytes, value);
  return bytes;
}

inline std::string tensor(std::string_view type, index offset, index bytes, const std::vector<index>& extents) {
  std::string value = text(type) + number(offset) + number(bytes) + number(static_cast<index>(extents.size()));
  for (const index extent : extents) {
    value += number(extent);
  }
  return value;
}

/// A checkpoint in its three parts.
struct Parts {
  index step = 0;
  std::string image;  ///< what lies between header and index
  std::string index_text;
};

inline Parts parts_of(std::string_view bytes) {
  const Header header = parse_header(bytes);
  const auto index_begin = static_cast<std::size_t>(header.index_begin);
  return {header.step, std::string(bytes.substr(kHeaderBytes, index_begin - kHeaderBytes)), std::string(bytes.substr(index_begin))};
}

/// A file of these parts with a header that agrees with them.
inline std::string sealed(const Parts& parts) {
  const std::string rest = parts.image + parts.index_text;
  const Digest root = root_hash(static_cast<index>(rest.size()),
                                [&](index offset, std::span<std::byte> out) { std::memcpy(out.data(), rest.data() + offset, out.size()); });
  return render_header({.length = kHeaderBytes + static_cast<index>(rest.size()),
                        .step = parts.step,
                        .index_begin = kHeaderBytes + static_cast<index>(parts.image.size()),
                        .root = root}) +
         rest;
}

inline Entries entries_in(std::string_view index_text) {
  Entries entries;
  for (const IndexEntry& entry : entries_of(index_text)) {
    entries.push_back({entry.required, std::string(entry.kind), std::string(entry.name), std::string(entry.value)});
  }
  return entries;
}

inline std::string index_of(const Entries& entries) {
  std::string index_text;
  for (const Entry& entry : entries) {
    append_entry(index_text, {entry.required, entry.kind, entry.name, entry.value});
  }
  return index_text;
}

inline void sort(Entries& entries) {
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return std::tie(a.kind, a.name) < std::tie(b.kind, b.name); });
}

inline Entry& entry(Entries& entries, std::string_view kind, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.kind == kind && e.name == name; });
  require(found != entries.end(), "the index has no ", kind, ' ', name);
  return *found;
}

/// The same checkpoint with another index.
inline std::string with_index(std::string_view bytes, const std::function<void(Entries&)>& change) {
  Parts parts = parts_of(bytes);
  Entries entries = entries_in(parts.index_text);
  change(entries);
  parts.index_text = index_of(entries);
  return sealed(parts);
}

/// A way to change the index of a Sample's checkpoint, and words of the error that loading it ends with.
struct Case {
  const char* name;
  std::function<std::string(const std::string& good)> forge;
  const char* words;
};

inline std::vector<Case> hostile_cases() {
  constexpr const char* kWte = "model/wte.weight";  // [5, 3], 60 bytes
  const auto changed = [](const char* name, const char* words, std::function<void(Entries&)> change) {
    return Case{name, [change = std::move(change)](const std::string& good) { return with_index(good, change); }, words};
  };
  const auto wte = [=](const char* name, const char* words, std::function<std::string(const std::string& value)> change) {
    return changed(name, words, [=](Entries& entries) {
      std::string& value = entry(entries, "tensor", kWte).value;
      value = change(value);
    });
  };
  const auto field = [=](const char* name, const char* state_field, std::string value, const char* words) {
    return changed(name, words, [=](Entries& entries) { entry(entries, "state", state_field).value = value; });
  };
  const auto raw = [](const char* name, const char* words, std::function<std::string(const std::string& index_text)> change) {
    return Case{name,
                [change = std::move(change)](const std::string& good) {
                  Parts parts = parts_of(good);
                  parts.index_text = change(parts.index_text);
                  return sealed(parts);
                },
                words};
  };
  constexpr index kMost = std::numeric_limits<index>::max();
  const auto offset_of = [](const std::string& value) {  // of a value that tensor() makes for f32
    index offset = 0;
    std::memcpy(&offset, value.data() + 8 + 3, sizeof offset);
    return offset;
  };
  return {
      wte("offset-in-the-header", "which are not in the file's image", [](const auto&) { return tensor("f32", 4092, 60, {5, 3}); }),
      wte("offset-beyond-the-file", "which are not in the file's image", [](const auto&) { return tensor("f32", kMost, 60, {5, 3}); }),
      wte("negative-offset", "a number that is too large", [](const auto&) { return tensor("f32", -4, 60, {5, 3}); }),
      wte("into-the-index", "which are not in the file's image", [](const auto&) { return tensor("f32", 4096, 1'000'000, {500, 500}); }),
      wte("four-tebibytes", "which are not in the file's image",
          [](const auto&) { return tensor("f32", 4096, index{1} << 42, {index{1} << 40}); }),
      wte("offset-and-bytes-wrap", "which are not in the file's image",
          [](const auto&) { return tensor("f32", kMost - 30, kMost - 3, {index{1} << 56}); }),
      wte("extents-wrap", "too many elements", [](const auto&) { return tensor("f32", 4096, 0, {index{1} << 62, 4}); }),
      wte("no-bytes-for-many-elements", "has 0 bytes", [](const auto&) { return tensor("f32", 4096, 0, {index{1} << 56}); }),
      wte("negative-extent", "a number that is too large", [](const auto&) { return tensor("f32", 4096, 60, {-5, -3}); }),
      wte("bytes-of-another-shape", "of shape [5, 4] has 60 bytes",
          [=](const std::string& value) { return tensor("f32", offset_of(value), 60, {5, 4}); }),
      wte("bytes-of-another-type", "has 60 bytes", [=](const std::string& value) { return tensor("f64", offset_of(value), 60, {5, 3}); }),
      wte("rank-5", "has rank 5, expected at most 4", [](const auto&) { return tensor("f32", 4096, 60, {5, 3, 1, 1, 1}); }),
      wte("rank-of-billions", "has rank 4294967296",
          [](const auto&) { return text("f32") + number(4096) + number(60) + number(index{1} << 32); }),
      wte("extents-missing", "reaches beyond its end",
          [](const auto&) { return text("f32") + number(4096) + number(60) + number(index{2}); }),
      wte("more-than-a-tensor", "is longer than expected", [](const std::string& value) { return value + "x"; }),
      wte("no-value", "reaches beyond its end", [](const auto&) { return std::string(); }),
      wte("type-without-a-name", "a type without a name", [](const auto&) { return tensor("", 4096, 60, {5, 3}); }),
      wte("type-for-the-terminal", "a type without a name", [](const auto&) { return tensor("\x1B[2J", 4096, 60, {5, 3}); }),
      wte("unknown-type", "tensor model/wte.weight with elements of type q4_k, which this version does not know",
          [=](const std::string& value) { return tensor("q4_k", offset_of(value), 60, {5, 3}); }),
      changed("shared-bytes", "overlap",
              [=](Entries& entries) { entry(entries, "tensor", "optimizer/m/wte.weight").value = entry(entries, "tensor", kWte).value; }),
      changed("tensor-over-text", "overlap",
              [=](Entries& entries) {
                const std::string place = entry(entries, "text", "config").value;
                entry(entries, "text", "tokenizer").value = place;
              }),
      changed("bad-path", "is not a path of a tensor",
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "model//wte";
                sort(entries);
              }),
      changed("path-of-one-name", "is not a path of a tensor",
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "wte";
                sort(entries);
              }),
      changed("path-for-the-terminal", "too long or not printable",
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "model/\x1B]0;x\x07";
                sort(entries);
              }),
      changed("path-without-end", "too long or not printable",
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "model/" + std::string(5000, 'x');
                sort(entries);
              }),
      changed("tensor-twice", "not in order",
              [](Entries& entries) {
                entries.push_back(entry(entries, "tensor", kWte));
                sort(entries);
              }),
      changed("not-in-order", "not in order", [](Entries& entries) { std::swap(entries.front(), entries.back()); }),
      changed("unknown-field", "state field mood, which this version does not know",
              [](Entries& entries) {
                entries.push_back({true, "state", "mood", number(index{1})});
                sort(entries);
              }),
      changed("unknown-text", "text poem, which this version does not know",
              [](Entries& entries) {
                entries.push_back({true, "text", "poem", number(index{0}) + number(index{0})});
                sort(entries);
              }),
      changed("unknown-kind", "a newer dikkat: it has base gpt2, which this version does not know",
              [](Entries& entries) {
                entries.push_back({true, "base", "gpt2", std::string(64, 'a')});
                sort(entries);
              }),
      changed("text-beyond-the-file", "which are not in the file's image",
              [](Entries& entries) { entry(entries, "text", "config").value = number(index{4096}) + number(index{1} << 40); }),
      changed("text-with-more", "is longer than expected", [](Entries& entries) { entry(entries, "text", "config").value += "x"; }),
      changed("another-step", "step 7 in its header, step 9",
              [](Entries& entries) { entry(entries, "state", "step").value = number(index{9}); }),
      field("negative-step", "step", number(index{-1}), "state field step is -1, expected 0 or more"),
      field("negative-samples", "samples_seen", number(index{-1}), "state field samples_seen is -1, expected 0 or more"),
      field("best-step-minus-2", "best_step", number(index{-2}), "state field best_step is -2, expected -1 or more"),
      field("bool-that-is-2", "evaluation_pending", number(index{2}), "is 2, expected 0 or 1"),
      field("number-of-4-bytes", "seed", "1234", "reaches beyond its end"),
      field("number-of-9-bytes", "seed", "123456789", "is longer than expected"),
      raw("no-index", "step 7 in its header, step 0", [](const auto&) { return std::string(); }),
      raw("index-cut-off", "reaches beyond its end", [](const std::string& text_of) { return text_of.substr(0, text_of.size() - 1); }),
      raw("byte-too-many", "reaches beyond its end", [](const std::string& text_of) { return text_of + "x"; }),
      raw("index-of-noise", "neither required nor optional", [](const auto&) { return std::string(1000, 'x'); }),
      raw("index-of-zeros", "not in order", [](const auto&) { return std::string(1024, '\0'); }),
      raw("name-of-2^63", "reaches beyond its end",
          [](const auto&) { return number(index{1}) + text("state") + number(std::uint64_t{1} << 63); }),
      raw("value-of-2^64", "reaches beyond its end",
          [](const auto&) { return number(index{1}) + text("state") + text("step") + number(~std::uint64_t{0}); }),
  };
}

}  // namespace dikkat::forged
