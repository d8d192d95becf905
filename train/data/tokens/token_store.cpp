#include "train/data/tokens/token_store.h"

#include <algorithm>
#include <array>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

template <class Int>
Int int_at(const TokenSegment& segment, index i) {
  Int value{};
  segment.file->read(segment.offset + static_cast<std::size_t>(i) * sizeof value, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

/// Calls f(i, value) for `count` values, starting with the one at index `first`; i counts from 0.
template <class Int, class F>
void for_ints(const TokenSegment& segment, index first, index count, F&& f) {
  std::array<Int, 512> block{};
  for (index done = 0; done < count;) {
    const auto some = std::span(block).first(static_cast<std::size_t>(std::min<index>(std::ssize(block), count - done)));
    segment.file->read(segment.offset + static_cast<std::size_t>(first + done) * sizeof(Int), std::as_writable_bytes(some));
    for (const Int value : some) {
      f(done++, static_cast<index>(value));
    }
  }
}

}  // namespace

TokenStore::TokenStore(index vocab_size) : vocab_size_(vocab_size) {
  require(vocab_size >= 1 && vocab_size <= index{1} << 31, "token store: a vocabulary of ", vocab_size, ", expected 1 to 2^31");
  if (token_width(vocab_size) == 4) {
    tokens_.emplace<std::vector<std::uint32_t>>();
  }
}

TokenStore::TokenStore(index vocab_size, std::vector<TokenSegment> segments, TokenSegment documents)
    : vocab_size_(vocab_size), document_file_(std::move(documents)) {
  for (const TokenSegment& segment : segments) {
    size_ += segment.count;
  }
  tokens_ = std::move(segments);
}

TokenStore::TokenStore(index vocab_size, std::vector<TokenSegment> segments, std::vector<index> documents)
    : TokenStore(vocab_size, std::move(segments), TokenSegment{}) {
  documents_ = std::move(documents);
}

void TokenStore::append(std::span<const Token> tokens) {
  for (const Token token : tokens) {
    require(token >= 0 && token < vocab_size_, "token store: token ", token, ", expected 0 to ", vocab_size_ - 1);
  }
  std::visit(
      [&](auto& store) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(store)>, std::vector<TokenSegment>>) {
          fail("token store: append() to tokens in files, expected a store in memory");
        } else {
          store.insert(store.end(), tokens.begin(), tokens.end());
        }
      },
      tokens_);
  size_ += static_cast<index>(tokens.size());
}

void TokenStore::read(index first, index count, Token* out) const {
  require(first >= 0 && count >= 0 && count <= size() - first, "token store: ", count, " tokens from token ", first,
          ", expected a range within its ", size(), " tokens");
  std::visit(
      [&](const auto& store) {
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(store)>, std::vector<TokenSegment>>) {
          for (const TokenSegment& segment : store) {
            if (first < segment.count && count > 0) {
              const index here = std::min(count, segment.count - first);
              read_file(segment, first, here, out);
              out += here;
              count -= here;
              first = 0;
            } else {
              first -= segment.count;
            }
          }
        } else {
          std::transform(store.begin() + first, store.begin() + first + count, out, [](auto token) { return static_cast<Token>(token); });
        }
      },
      tokens_);
}

void TokenStore::read_file(const TokenSegment& segment, index first, index count, Token* out) const {
  const auto take = [&](index i, index token) {
    require_input(0 <= token && token < vocab_size_, segment.file->path(), ": token ", first + i, " is ", token, ", expected 0 to ",
                  vocab_size_ - 1, ": the file was made with another tokenizer, or is damaged (its ids are read as ", 8 * segment.width,
                  " bits each)");
    out[i] = static_cast<Token>(token);
  };
  segment.width == 2   ? for_ints<std::uint16_t>(segment, first, count, take)
  : segment.width == 4 ? for_ints<std::uint32_t>(segment, first, count, take)
                       : for_ints<std::int64_t>(segment, first, count, take);
}

void TokenStore::forget() const {
  if (const auto* segments = std::get_if<std::vector<TokenSegment>>(&tokens_)) {
    for (const TokenSegment& segment : *segments) {
      segment.file->forget();
    }
  }
}

TokenStore TokenStore::part(index first, index count) const {
  const auto* segments = std::get_if<std::vector<TokenSegment>>(&tokens_);
  require(segments != nullptr && document_file_.file == nullptr && 0 <= first && 0 <= count && first + count <= size_,
          "token store: ", count, " tokens from token ", first, ", expected a range within its ", size_, " tokens in files");
  std::vector<TokenSegment> parts;
  index at = 0;  // where a segment begins
  for (TokenSegment segment : *segments) {
    const index begin = std::clamp<index>(first - at, 0, segment.count);
    const index end = std::clamp<index>(first + count - at, 0, segment.count);
    at += segment.count;
    segment.offset += static_cast<std::size_t>(begin * segment.width);
    segment.count = end - begin;
    if (segment.count > 0) {
      parts.push_back(std::move(segment));
    }
  }
  std::vector<index> documents;
  for (const index start : documents_) {
    if (first <= start && start < first + count) {
      documents.push_back(start - first);
    }
  }
  if (count > 0 && (documents.empty() || documents.front() > 0)) {
    documents.insert(documents.begin(), 0);
  }
  return TokenStore(vocab_size_, std::move(parts), std::move(documents));
}

index TokenStore::documents() const {
  return document_file_.file != nullptr ? document_file_.count
         : documents_.empty()           ? index{size_ > 0}
                                        : static_cast<index>(documents_.size());
}

index TokenStore::document_start(index i) const {
  require(0 <= i && i <= documents(), "token store: document ", i, ", expected 0 to ", documents());
  if (i == documents()) {
    return size_;
  }
  if (document_file_.file != nullptr) {
    const index start = int_at<index>(document_file_, i);
    require_input(0 <= start && start <= size_, document_file_.file->path(), ": document ", i, " begins at token ", start, " of ", size_,
                  ": the file is damaged");
    return start;
  }
  return documents_.empty() ? 0 : documents_[static_cast<std::size_t>(i)];
}

}  // namespace dikkat
