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

// Checkpoints as an attacker can make them: the hashes are right, and the index may contain anything.

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

/// The three parts of a checkpoint.
struct Parts {
  index step = 0;
  std::string image;  // the bytes between header and index
  std::string index_text;
};

inline Parts parts_of(std::string_view bytes) {
  const Header header = parse_header(bytes);
  const auto index_begin = static_cast<std::size_t>(header.index_begin);
  return {header.step, std::string(bytes.substr(kHeaderBytes, index_begin - kHeaderBytes)), std::string(bytes.substr(index_begin))};
}

/// A file with these parts and a header that fits them.
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

/// This checkpoint with another index.
inline std::string with_index(std::string_view bytes, const std::function<void(Entries&)>& change) {
  Parts parts = parts_of(bytes);
  Entries entries = entries_in(parts.index_text);
  change(entries);
  parts.index_text = index_of(entries);
  return sealed(parts);
}

/// A change of the index of a Sample's checkpoint, and the parts that the error of loading it must name.
struct Case {
  const char* name;
  std::function<std::string(const std::string& good)> forge;
  std::vector<std::string> parts;
};

inline std::vector<Case> hostile_cases() {
  constexpr const char* kWte = "model/wte.weight";  // [5, 3], 60 bytes
  const auto changed = [](const char* name, std::vector<std::string> parts, std::function<void(Entries&)> change) {
    return Case{name, [change = std::move(change)](const std::string& good) { return with_index(good, change); }, parts};
  };
  const auto wte = [=](const char* name, std::vector<std::string> parts, std::function<std::string(const std::string& value)> change) {
    return changed(name, parts, [=](Entries& entries) {
      std::string& value = entry(entries, "tensor", kWte).value;
      value = change(value);
    });
  };
  const auto field = [=](const char* name, const char* state_field, std::string value, std::vector<std::string> parts) {
    return changed(name, parts, [=](Entries& entries) { entry(entries, "state", state_field).value = value; });
  };
  const auto raw = [](const char* name, std::vector<std::string> parts, std::function<std::string(const std::string& index_text)> change) {
    return Case{name,
                [change = std::move(change)](const std::string& good) {
                  Parts of_file = parts_of(good);
                  of_file.index_text = change(of_file.index_text);
                  return sealed(of_file);
                },
                parts};
  };
  constexpr index kMost = std::numeric_limits<index>::max();
  const auto offset_of = [](const std::string& value) {  // of a value that tensor() makes for f32
    index offset = 0;
    std::memcpy(&offset, value.data() + 8 + 3, sizeof offset);
    return offset;
  };
  return {
      wte("offset-in-the-header", {"model/wte.weight", "60 bytes", "4,092"}, [](const auto&) { return tensor("f32", 4092, 60, {5, 3}); }),
      wte("offset-beyond-the-file", {"model/wte.weight", "60 bytes", "9,223,372,036,854,775,807"},
          [](const auto&) { return tensor("f32", kMost, 60, {5, 3}); }),
      wte("negative-offset", {"model/wte.weight", "2^63"}, [](const auto&) { return tensor("f32", -4, 60, {5, 3}); }),
      wte("into-the-index", {"model/wte.weight", "1,000,000 bytes", "4,096"},
          [](const auto&) { return tensor("f32", 4096, 1'000'000, {500, 500}); }),
      wte("four-tebibytes", {"model/wte.weight", "4,398,046,511,104 bytes", "4,096"},
          [](const auto&) { return tensor("f32", 4096, index{1} << 42, {index{1} << 40}); }),
      wte("offset-and-bytes-wrap", {"model/wte.weight", "9,223,372,036,854,775,804 bytes", "9,223,372,036,854,775,777"},
          [](const auto&) { return tensor("f32", kMost - 30, kMost - 3, {index{1} << 56}); }),
      wte("extents-wrap", {"model/wte.weight", "elements"}, [](const auto&) { return tensor("f32", 4096, 0, {index{1} << 62, 4}); }),
      wte("no-bytes-for-many-elements", {"model/wte.weight", "0 bytes"},
          [](const auto&) { return tensor("f32", 4096, 0, {index{1} << 56}); }),
      wte("negative-extent", {"model/wte.weight", "2^63"}, [](const auto&) { return tensor("f32", 4096, 60, {-5, -3}); }),
      wte("bytes-of-another-shape", {"model/wte.weight", "[5, 4]", "60 bytes"},
          [=](const std::string& value) { return tensor("f32", offset_of(value), 60, {5, 4}); }),
      wte("bytes-of-another-type", {"model/wte.weight", "[5, 3]", "60 bytes"},
          [=](const std::string& value) { return tensor("f64", offset_of(value), 60, {5, 3}); }),
      wte("rank-9", {"model/wte.weight", "rank 9", "8"}, [](const auto&) { return tensor("f32", 4096, 60, {5, 3, 1, 1, 1, 1, 1, 1, 1}); }),
      wte("rank-of-billions", {"model/wte.weight", "rank 4294967296"},
          [](const auto&) { return text("f32") + number(4096) + number(60) + number(index{1} << 32); }),
      wte("extents-missing", {"index", "beyond"}, [](const auto&) { return text("f32") + number(4096) + number(60) + number(index{2}); }),
      wte("more-than-a-tensor", {"model/wte.weight", "longer"}, [](const std::string& value) { return value + "x"; }),
      wte("no-value", {"index", "beyond"}, [](const auto&) { return std::string(); }),
      wte("type-without-a-name", {"model/wte.weight", "type"}, [](const auto&) { return tensor("", 4096, 60, {5, 3}); }),
      wte("type-for-the-terminal", {"model/wte.weight", "type"}, [](const auto&) { return tensor("\x1B[2J", 4096, 60, {5, 3}); }),
      wte("unknown-type", {"newer", "model/wte.weight", "q4_k"},
          [=](const std::string& value) { return tensor("q4_k", offset_of(value), 60, {5, 3}); }),
      changed("shared-bytes", {"model/wte.weight", "optimizer/m/wte.weight", "overlap"},
              [=](Entries& entries) { entry(entries, "tensor", "optimizer/m/wte.weight").value = entry(entries, "tensor", kWte).value; }),
      changed("tensor-over-text", {"config", "tokenizer", "overlap"},
              [=](Entries& entries) {
                const std::string place = entry(entries, "text", "config").value;
                entry(entries, "text", "tokenizer").value = place;
              }),
      changed("bad-path", {"\"model//wte\"", "path"},
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "model//wte";
                sort(entries);
              }),
      changed("path-of-one-name", {"\"wte\"", "path"},
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "wte";
                sort(entries);
              }),
      changed("path-for-the-terminal", {"name", "printable"},
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "model/\x1B]0;x\x07";
                sort(entries);
              }),
      changed("path-without-end", {"name", "printable"},
              [](Entries& entries) {
                entry(entries, "tensor", kWte).name = "model/" + std::string(5000, 'x');
                sort(entries);
              }),
      changed("tensor-twice", {"sorted", "model/wte.weight"},
              [](Entries& entries) {
                entries.push_back(entry(entries, "tensor", kWte));
                sort(entries);
              }),
      changed("not-in-order", {"sorted"}, [](Entries& entries) { std::swap(entries.front(), entries.back()); }),
      changed("unknown-field", {"newer", "state field mood"},
              [](Entries& entries) {
                entries.push_back({true, "state", "mood", number(index{1})});
                sort(entries);
              }),
      changed("unknown-text", {"newer", "text poem"},
              [](Entries& entries) {
                entries.push_back({true, "text", "poem", number(index{0}) + number(index{0})});
                sort(entries);
              }),
      changed("unknown-kind", {"newer", "base gpt2"},
              [](Entries& entries) {
                entries.push_back({true, "base", "gpt2", std::string(64, 'a')});
                sort(entries);
              }),
      changed("text-beyond-the-file", {"text config", "1,099,511,627,776 bytes", "4,096"},
              [](Entries& entries) { entry(entries, "text", "config").value = number(index{4096}) + number(index{1} << 40); }),
      changed("text-with-more", {"text config", "longer"}, [](Entries& entries) { entry(entries, "text", "config").value += "x"; }),
      changed("another-step", {"step 7", "step 9"}, [](Entries& entries) { entry(entries, "state", "step").value = number(index{9}); }),
      field("negative-step", "step", number(index{-1}), {"step", "-1", "0"}),
      field("negative-samples", "samples_seen", number(index{-1}), {"samples_seen", "-1", "0"}),
      field("best-step-minus-2", "best_step", number(index{-2}), {"best_step", "-2", "-1"}),
      field("bool-that-is-2", "evaluation_pending", number(index{2}), {"evaluation_pending", "2", "0", "1"}),
      field("number-of-4-bytes", "seed", "1234", {"index", "beyond"}),
      field("number-of-9-bytes", "seed", "123456789", {"seed", "longer"}),
      raw("no-index", {"step 7", "step 0"}, [](const auto&) { return std::string(); }),
      raw("index-cut-off", {"index", "beyond"}, [](const std::string& text_of) { return text_of.substr(0, text_of.size() - 1); }),
      raw("byte-too-many", {"index", "beyond"}, [](const std::string& text_of) { return text_of + "x"; }),
      raw("index-of-noise", {"required", "optional"}, [](const auto&) { return std::string(1000, 'x'); }),
      raw("index-of-zeros", {"sorted"}, [](const auto&) { return std::string(1024, '\0'); }),
      raw("name-of-2^63", {"index", "beyond"},
          [](const auto&) { return number(index{1}) + text("state") + number(std::uint64_t{1} << 63); }),
      raw("value-of-2^64", {"index", "beyond"},
          [](const auto&) { return number(index{1}) + text("state") + text("step") + number(~std::uint64_t{0}); }),
  };
}

}  // namespace dikkat::forged
