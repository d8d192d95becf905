#include "train/grammar/token_grammar.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "train/grammar/matcher.h"
#include "train/system/in_quotes.h"

namespace dikkat {
namespace {

constexpr std::size_t kMostMemory = std::size_t{16} << 20;
// Limits of the work for one mask. The count ignores what is cached, so that an answer does not depend on others.
constexpr index kMostTokenPlaces = 32'000'000;  // over all bytes of all tokens that can follow
constexpr index kMostNewPlaces = 1'000'000;     // over the states that these bytes lead to
constexpr index kOfState = 16;                  // the cost of a state in addition to its places
// The work of looking ahead from a token to the end of a text, in tokens that can follow, and the cost of a point in addition to these.
constexpr index kMostAhead = 4'000'000;
constexpr index kOfPoint = 400;
// A grammar is tried with so many random texts of so many bytes before its first answer.
constexpr int kTries = 4, kTriedBytes = 256;
constexpr index kMostPlacesTried = 2000;

/// The tokens that can follow a text.
struct Mask {
  std::vector<std::uint64_t> bits;  // one bit for each token
  bool has_token = false;
  bool accepts = false;

  std::size_t memory() const { return sizeof(Mask) + bits.capacity() * sizeof(bits[0]) + 64; }
};

}  // namespace

/// The states and masks that samples have reached. When they take too much memory, all are dropped, except the states of running samples.
class TokenGrammar::Masks {
 public:
  /// A state of the matcher, and whether a space comes before the next word: twice the state, plus 1 if one does.
  using Point = std::int64_t;
  /// A sample's place in the grammar.
  struct Place {
    std::shared_ptr<Matcher> matcher;
    Matcher::State state;
    bool is_after_word = false;  // a space comes before the next word

    Point point() const { return 2 * Point{state} + (is_after_word ? 1 : 0); }
  };

  Masks(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie, std::vector<Token> ends, const std::function<void()>& on_progress)
      : trie_(std::move(trie)),
        ends_(std::move(ends)),
        automaton_(std::make_shared<const Automaton>(grammar, trie_->alphabet(), on_progress)) {
    renew();
    require_input(matcher_->continues(matcher_->start()), "the only text that matches the grammar is the empty one, expected some text");
    try_out();
    if (!find(begin().point())->has_token) {
      refuse();
    }
  }

  const TokenTrie& trie() const { return *trie_; }
  const std::vector<Token>& ends() const { return ends_; }

  Place begin() {
    const std::lock_guard lock(mutex_);
    return {matcher_, matcher_->start()};
  }

  std::shared_ptr<const Mask> mask(Place& place) {
    const std::lock_guard lock(mutex_);
    if (memory_ > kMostMemory) {
      renew();
    }
    make_current(place);
    return find(place.point());
  }

  /// Continues with a token, if a text of the grammar does. Returns whether one does.
  bool accept(Place& place, Token token) {
    const std::string& text = trie_->text(token);
    const bool has_spaces = trie_->has_spaces(token);
    if (text.empty() || !accept(place, place.is_after_word && has_spaces ? ' ' + text : text)) {
      return false;
    }
    place.is_after_word = has_spaces;
    return true;
  }

  /// Continues with a text, if a text of the grammar begins so. Returns whether one does.
  bool accept(Place& place, std::string_view text) {
    const std::lock_guard lock(mutex_);
    make_current(place);
    Matcher::State state = place.state;
    for (const char c : text) {
      state = matcher_->next(state, static_cast<std::uint8_t>(c));
      if (state == Matcher::kDead) {
        return false;
      }
    }
    place.state = state;
    return true;
  }

  bool accepts(const Place& place) {
    const std::lock_guard lock(mutex_);
    return place.matcher->accepts(place.state);
  }
  bool is_complete(Place place) {
    const std::lock_guard lock(mutex_);
    make_current(place);
    return matcher_->accepts(place.state) &&
           (!matcher_->continues(place.state) || (!trie_->is_complete() && !find(place.point())->has_token));
  }

  std::size_t memory() {
    const std::lock_guard lock(mutex_);
    return memory_;
  }

 private:
  using Step = std::pair<Point, Token>;  // a token, and the point after it
  struct Ahead {
    std::vector<Step> steps;
    index work = 0;
  };

  static Matcher::State state_of(Point point) { return static_cast<Matcher::State>(point / 2); }

  /// Refuses a grammar with too many readings of some texts, because each of their tokens would take long.
  void try_out() {
    std::uint64_t random = 1;
    for (int i = 0; i < kTries; ++i) {
      Matcher::State state = matcher_->start();
      for (int j = 0; j < kTriedBytes && matcher_->continues(state); ++j) {
        // Choose any byte that can follow.
        random = random * 6364136223846793005U + 1442695040888963407U;
        auto byte = static_cast<std::uint8_t>(random >> 56);
        Matcher::State next = matcher_->next(state, byte);
        while (next == Matcher::kDead) {
          next = matcher_->next(state, ++byte);
        }
        state = next;
        require_input(
            matcher_->places(state) <= kMostPlacesTried,
            "the grammar can be read in too many ways at once: write it without repetitions that overlap, such as (.*a.*){0,100}");
      }
    }
    memory_ = matcher_->memory();
  }

  void renew() {
    matcher_ = std::make_shared<Matcher>(automaton_);
    masks_.clear();
    ahead_.clear();
    leads_.clear();
    of_masks_ = 0;
    memory_ = matcher_->memory();
  }

  void make_current(Place& place) {
    if (place.matcher != matcher_) {
      place.state = matcher_->adopt(*place.matcher, place.state);
      place.matcher = matcher_;
    }
  }

  std::shared_ptr<const Mask> find(Point point) {
    std::shared_ptr<const Mask>& known = masks_[point];
    if (known == nullptr) {
      std::vector<Step> steps;
      Mask mask = mask_of(point, trie_->is_complete() ? nullptr : &steps);
      if (!trie_->is_complete()) {
        // Leave out the tokens after which no text can be completed.
        mask.has_token = false;
        for (const auto& [to, token] : steps) {
          const bool goes_on = leads(to);
          mask.has_token = mask.has_token || goes_on;
          mask.bits[static_cast<std::size_t>(token) / 64] &= ~(std::uint64_t{goes_on ? 0U : 1U} << (token % 64));
        }
      }
      known = std::make_shared<const Mask>(std::move(mask));
      of_masks_ += known->memory();
      memory_ = of_masks_ + matcher_->memory();
    }
    return known;
  }

  /// Returns whether tokens lead from a point to the end of a text, as far as kMostAhead allows to search. If one point does, so does one
  /// of those after it, because the search from there has less to do. With `reached`, the empty text does not count, and if there is no
  /// other, `reached` becomes the text of the longest way, unless the search ended early.
  bool leads(Point from, std::optional<std::string>* reached = nullptr) {
    if (const auto known = leads_.find(from); known != leads_.end() && reached == nullptr) {
      return known->second;
    }
    // Search by the number of tokens, all texts of one number before those of the next.
    struct Found {
      Point point;
      std::size_t before;
      Token token;
    };
    std::vector<Found> found{{from, 0, -1}};
    std::unordered_set<Point> seen{from};
    bool has_end = reached == nullptr && matcher_->accepts(state_of(from));
    index work = 0;
    for (std::size_t at = 0, end = 1; !has_end && at < end && work <= kMostAhead; end = found.size()) {
      for (; at < end; ++at) {
        const Ahead& ahead = this->ahead(found[at].point);
        work += ahead.work;
        for (const auto& [to, token] : ahead.steps) {
          if (seen.insert(to).second) {
            found.push_back({to, at, token});
            has_end = has_end || matcher_->accepts(state_of(to));
          }
        }
      }
    }
    if (reached == nullptr) {
      return leads_[from] = has_end;
    }
    if (work > kMostAhead) {
      return false;
    }
    *reached = "";
    for (std::size_t at = found.size() - 1; at > 0; at = found[at].before) {
      const bool has_space = trie_->has_spaces(found[at].token) && found[at].before > 0 && trie_->has_spaces(found[found[at].before].token);
      *reached = concat(has_space ? " " : "", trie_->text(found[at].token), **reached);
    }
    return has_end;
  }

  /// Throws InputError, because the tokens can write no text of the grammar.
  [[noreturn]] void refuse() {
    std::optional<std::string> reached;
    leads(begin().point(), &reached);
    require_input(reached.has_value(), "a text of the model's ", trie_->vocab_size(),
                  " tokens that matches is too long to be searched for, expected a form with shorter ones");
    fail_input("no text of the model's ", trie_->vocab_size(), " tokens matches: none of them fits at byte ", reached->size(),
               reached->empty() ? ", its beginning" : concat(", after ", in_quotes(*reached)),
               "; expected a form that they can write, with the spaces that are between them in a text");
  }

  /// Returns the points after one, each with the first token that leads there.
  const Ahead& ahead(Point from) {
    const auto [known, is_new] = ahead_.try_emplace(from);
    if (is_new) {
      std::vector<Step>& steps = known->second.steps;
      mask_of(from, &steps);
      known->second.work = std::ssize(steps) + kOfPoint;
      std::ranges::sort(steps);
      steps.erase(std::unique(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.first == b.first; }), steps.end());
      of_masks_ += sizeof(Ahead) + steps.size() * sizeof(Step);
    }
    return known->second;
  }

  /// Returns the tokens after a point, and adds each with the point after it to `steps`, if that is not null.
  Mask mask_of(Point from, std::vector<Step>* steps) {
    if (std::optional<Mask> mask = walk(from, std::numeric_limits<int>::max(), steps)) {
      return *std::move(mask);
    }
    if (steps != nullptr) {
      steps->clear();
    }
    // Short tokens can write any text, too. These are bytes in byte-level vocabularies, and characters in others.
    return *walk(from, trie_->alphabet().characters.empty() ? 1 : 4, steps);
  }

  /// Walks the tree of tokens of up to `longest` bytes from a point. Returns nullopt if that is too much work for long tokens.
  std::optional<Mask> walk(Point point, int longest, std::vector<Step>* steps) {
    const Matcher::State from = state_of(point);
    Mask mask{.bits = std::vector<std::uint64_t>((static_cast<std::size_t>(trie_->vocab_size()) + 63) / 64),
              .accepts = matcher_->accepts(from)};
    // Walk the tree in depth-first order, skipping subtrees that lead nowhere.
    path_.assign(static_cast<std::size_t>(trie_->longest()) + 1, Matcher::kDead);
    path_[0] = point % 2 == 0 ? from : matcher_->next(from, ' ');
    std::ranges::fill(seen_, 0);
    index places = 0, new_places = 0;
    Matcher& matcher = *matcher_;
    const std::vector<TokenTrie::Node>& nodes = trie_->nodes();
    for (std::size_t at = 0; at < nodes.size();) {
      const TokenTrie::Node node = nodes[at];
      const bool is_line_break = node.depth == 1 && node.byte == '\n';  // no space comes before it
      const Matcher::State before = is_line_break ? from : path_[node.depth - std::size_t{1}];
      const Matcher::State state = node.depth > longest || before == Matcher::kDead ? Matcher::kDead : matcher.next(before, node.byte);
      if (state == Matcher::kDead) {
        at = static_cast<std::size_t>(node.after);
        continue;
      }
      // Count the work, and give up if it is too much.
      const auto number = static_cast<std::size_t>(state);
      if (number >= seen_.size()) {
        seen_.resize(2 * number + 64, 0);
      }
      const index size = matcher.places(state);
      places += size;
      if (seen_[number] == 0) {
        seen_[number] = 1;
        new_places += size + kOfState;
      }
      if ((places > kMostTokenPlaces || new_places > kMostNewPlaces) && longest > 4) {
        return std::nullopt;
      }
      // Allow the tokens that end here.
      path_[node.depth] = state;
      for (Token token = node.token; token >= 0; token = trie_->same_as(token)) {
        mask.bits[static_cast<std::size_t>(token) / 64] |= std::uint64_t{1} << (token % 64);
        mask.has_token = true;
        if (steps != nullptr) {
          steps->emplace_back(2 * Point{state} + (trie_->has_spaces(token) ? 1 : 0), token);
        }
      }
      ++at;
    }
    return mask;
  }

  const std::shared_ptr<const TokenTrie> trie_;
  const std::vector<Token> ends_;
  const std::shared_ptr<const Automaton> automaton_;
  std::mutex mutex_;
  std::shared_ptr<Matcher> matcher_;
  std::unordered_map<Point, std::shared_ptr<const Mask>> masks_;
  std::unordered_map<Point, Ahead> ahead_;
  std::unordered_map<Point, bool> leads_;
  std::size_t of_masks_ = 0, memory_ = 0;
  std::vector<Matcher::State> path_;  // memory of walk(): the states after each byte of a token
  std::vector<char> seen_;            // memory of walk(), by state
};

/// A constraint by a TokenGrammar.
class TokenGrammar::Sample : public TokenConstraint {
 public:
  explicit Sample(std::shared_ptr<const TokenGrammar> grammar) : grammar_(std::move(grammar)), place_(masks().begin()) {}

  void mask(std::span<float> logits) override {
    constexpr float kNever = -std::numeric_limits<float>::infinity();
    const std::shared_ptr<const Mask> mask = masks().mask(place_);
    // Tokens that end the sample are allowed where the text is complete, whatever their own text.
    ends_.clear();
    for (const Token token : masks().ends()) {
      if (token >= 0 && token < std::ssize(logits)) {
        ends_.emplace_back(token, mask->accepts ? logits[static_cast<std::size_t>(token)] : kNever);
      }
    }
    require(mask->has_token || (mask->accepts && !ends_.empty()), "the vocabulary has no token that continues the text under its grammar");
    for (std::size_t begin = 0; begin < logits.size(); begin += 64) {
      const std::uint64_t bits = begin / 64 < mask->bits.size() ? mask->bits[begin / 64] : 0;
      const std::size_t count = std::min<std::size_t>(64, logits.size() - begin);
      if (bits == 0) {
        std::fill_n(logits.begin() + static_cast<std::ptrdiff_t>(begin), count, kNever);
      } else if (~bits != 0) {
        for (std::size_t i = 0; i < count; ++i) {
          logits[begin + i] = (bits >> i & 1) != 0 ? logits[begin + i] : kNever;
        }
      }
    }
    for (const auto& [token, logit] : ends_) {
      logits[static_cast<std::size_t>(token)] = logit;
    }
  }

  void accept(Token token) override {
    require(masks().accept(place_, token), "token ", token, " does not continue the text under its grammar");
  }

  bool is_complete() const override { return masks().is_complete(place_); }

 private:
  Masks& masks() const { return *grammar_->masks_; }

  std::shared_ptr<const TokenGrammar> grammar_;
  Masks::Place place_;
  std::vector<std::pair<Token, float>> ends_;
};

TokenGrammar::TokenGrammar(const Grammar& grammar, std::shared_ptr<const TokenTrie> trie, std::vector<Token> ends,
                           const std::function<void()>& on_progress)
    : masks_(std::make_unique<Masks>(grammar, std::move(trie), std::move(ends), on_progress)) {}
TokenGrammar::~TokenGrammar() = default;

std::unique_ptr<TokenConstraint> TokenGrammar::constraint() const { return std::make_unique<Sample>(shared_from_this()); }

std::function<std::unique_ptr<TokenConstraint>()> TokenGrammar::constraints() const {
  return [grammar = shared_from_this()] { return grammar->constraint(); };
}

bool TokenGrammar::matches(std::string_view text) const {
  Masks::Place place = masks_->begin();
  return masks_->accept(place, text) && masks_->accepts(place);
}

bool TokenGrammar::can_continue(std::string_view text) const {
  Masks::Place place = masks_->begin();
  return masks_->accept(place, text);
}

std::size_t TokenGrammar::memory() const { return masks_->memory(); }

}  // namespace dikkat
