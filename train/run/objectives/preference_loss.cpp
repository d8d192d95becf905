#include "train/run/objectives/preference_loss.h"

#include <algorithm>
#include <cmath>

#include "autograd/base/error.h"

namespace dikkat {
namespace {

/// Returns log(1 / (1 + e^-x)), without overflow.
double log_sigmoid(double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }
double sigmoid(double x) { return std::exp(log_sigmoid(x)); }

/// A function's value, and its derivatives with respect to both log-probabilities of a unit.
struct PairLoss {
  double value = 0;
  double first = 0, second = 0;
};

double per_token(const Answer& answer, double log_probability) { return log_probability / static_cast<double>(answer.tokens); }
double ratio_of(const Answer& answer, double log_probability) { return log_probability - answer.reference; }

PairLoss dpo_loss(const PreferenceConfig& config, double difference) {
  const double beta = config.beta, x = beta * difference, s = config.label_smoothing;
  const double slope = -beta * ((1 - s) * sigmoid(-x) - s * sigmoid(x));
  return {-(1 - s) * log_sigmoid(x) - s * log_sigmoid(-x), slope, -slope};
}

PairLoss ipo_loss(const PreferenceConfig& config, double difference, double first_tokens, double second_tokens) {
  const double away = difference - 1 / (2 * config.beta);
  return {away * away, 2 * away / first_tokens, -2 * away / second_tokens};
}

/// The logarithm of the odds of a mean log-probability, and its derivative. A probability of 1 has no odds, so the mean is kept below 0.
struct LogOdds {
  explicit LogOdds(double mean) {
    constexpr double kMost = -1e-9;
    const double a = std::min(mean, kMost);
    value = a - std::log(-std::expm1(a));
    slope = -1 / std::expm1(a);
  }
  double value, slope;
};

PairLoss orpo_loss(const PreferenceConfig& config, double first_mean, double second_mean, double first_tokens, double second_tokens) {
  const LogOdds first(first_mean), second(second_mean);
  const double x = first.value - second.value, pull = config.beta * sigmoid(-x);
  return {-first_mean - config.beta * log_sigmoid(x), (-1 - pull * first.slope) / first_tokens, pull * second.slope / second_tokens};
}

PairLoss simpo_loss(const PreferenceConfig& config, double difference, double first_tokens, double second_tokens) {
  const double x = config.beta * difference - config.gamma, slope = -config.beta * sigmoid(-x);
  return {-log_sigmoid(x), slope / first_tokens, -slope / second_tokens};
}

/// Returns the loss of a judged answer. It does not depend on the mismatched answer, because z is a constant.
PairLoss kto_loss(const PreferenceConfig& config, bool is_good, double reward, double z) {
  const double sign = is_good ? 1 : -1, weight = is_good ? config.good_weight : config.bad_weight;
  const double x = sign * (reward - z);
  return {weight * sigmoid(-x), -weight * sign * config.beta * sigmoid(x) * sigmoid(-x), 0};
}

/// Returns the loss of a unit, without the ordinary loss.
PairLoss loss_of_unit(const PreferenceConfig& config, std::span<const Answer> unit, std::span<const double> l, double z) {
  const auto first_tokens = static_cast<double>(unit[0].tokens), second_tokens = static_cast<double>(unit[1].tokens);
  const double first_ratio = ratio_of(unit[0], l[0]), second_ratio = ratio_of(unit[1], l[1]);
  switch (config.method) {
    case PreferenceMethod::dpo: return dpo_loss(config, first_ratio - second_ratio);
    case PreferenceMethod::ipo:
      return ipo_loss(config, first_ratio / first_tokens - second_ratio / second_tokens, first_tokens, second_tokens);
    case PreferenceMethod::orpo: return orpo_loss(config, l[0] / first_tokens, l[1] / second_tokens, first_tokens, second_tokens);
    case PreferenceMethod::simpo: return simpo_loss(config, l[0] / first_tokens - l[1] / second_tokens, first_tokens, second_tokens);
    case PreferenceMethod::kto: return kto_loss(config, unit[0].role == AnswerRole::good, config.beta * first_ratio, z);
    case PreferenceMethod::none:
    case PreferenceMethod::auto_: break;
  }
  fail("preference loss: preference.method is \"", name_of(config.method), "\", which has no loss");
}

double reward_of(const PreferenceConfig& config, const Answer& answer, double log_probability) {
  return config.beta * (config.has_reference() ? ratio_of(answer, log_probability) : per_token(answer, log_probability));
}

double rightness(double difference) { return difference > 0 ? 1 : difference == 0 ? 0.5 : 0; }

}  // namespace

std::array<double, PreferenceSums::kNumbers> PreferenceSums::numbers() const {
  return {loss, units, chosen, chosen_reward, chosen_log_probability, rejected, rejected_reward, rejected_log_probability, right, kl};
}

PreferenceSums PreferenceSums::from(std::span<const double> n) {
  require(n.size() == kNumbers, "preference sums: ", n.size(), " numbers, expected ", kNumbers);
  return {.loss = n[0],
          .units = n[1],
          .chosen = n[2],
          .chosen_reward = n[3],
          .chosen_log_probability = n[4],
          .rejected = n[5],
          .rejected_reward = n[6],
          .rejected_log_probability = n[7],
          .right = n[8],
          .kl = n[9]};
}

void PreferenceSums::add(const PreferenceSums& other) {
  std::array<double, kNumbers> sum = numbers();
  const std::array<double, kNumbers> more = other.numbers();
  for (std::size_t i = 0; i < kNumbers; ++i) {
    sum[i] += more[i];
  }
  *this = from(sum);
}

double divergence_of(const PreferenceConfig& config, std::span<const Answer> answers, std::span<const double> log_probabilities) {
  double sum = 0;
  for (std::size_t i = 1; i < answers.size(); i += 2) {
    sum += ratio_of(answers[i], log_probabilities[i]);
  }
  const bool has_one = config.method == PreferenceMethod::kto && !answers.empty();
  return has_one ? config.beta * std::max(0.0, 2 * sum / static_cast<double>(answers.size())) : 0;
}

PreferenceSums preference_loss(const PreferenceConfig& config, std::span<const Answer> answers, std::span<const double> log_probabilities,
                               std::span<double> slopes, std::optional<double> given_z) {
  require(answers.size() % 2 == 0 && log_probabilities.size() == answers.size() && slopes.size() == answers.size(),
          "preference loss: ", answers.size(), " answers with ", log_probabilities.size(), " log-probabilities and ", slopes.size(),
          " derivatives, expected two answers for each unit and as many of the others");
  const bool judges = config.method == PreferenceMethod::kto;
  const double z = given_z ? *given_z : divergence_of(config, answers, log_probabilities);
  PreferenceSums sums;
  for (std::size_t i = 0; i < answers.size(); i += 2) {
    const auto unit = answers.subspan(i, 2);
    const auto l = log_probabilities.subspan(i, 2);
    // Compute the unit's loss and its derivatives.
    PairLoss loss = loss_of_unit(config, unit, l, z);
    const double share = config.ordinary_share();
    if (share > 0) {
      const bool is_learned = unit[0].role != AnswerRole::bad;
      loss = {(1 - share) * loss.value - (is_learned ? share * per_token(unit[0], l[0]) : 0),
              (1 - share) * loss.first - (is_learned ? share / static_cast<double>(unit[0].tokens) : 0), (1 - share) * loss.second};
    }
    sums.loss += loss.value;
    slopes[i] = loss.first;
    slopes[i + 1] = loss.second;
    // Add up what the run reports.
    sums.units += 1;
    const double first = reward_of(config, unit[0], l[0]);
    const auto add_chosen = [&](double reward, double log_probability) {
      sums.chosen += 1;
      sums.chosen_reward += reward;
      sums.chosen_log_probability += log_probability;
    };
    const auto add_rejected = [&](double reward, double log_probability) {
      sums.rejected += 1;
      sums.rejected_reward += reward;
      sums.rejected_log_probability += log_probability;
    };
    // Judged answers are compared with z, and pairs with each other.
    if (judges) {
      const bool is_good = unit[0].role == AnswerRole::good;
      if (is_good) {
        add_chosen(first, l[0]);
      } else {
        add_rejected(first, l[0]);
      }
      sums.right += rightness(is_good ? first - z : z - first);
      sums.kl += z / config.beta;
    } else {
      const double second = reward_of(config, unit[1], l[1]);
      add_chosen(first, l[0]);
      add_rejected(second, l[1]);
      sums.right += rightness(first - second);
    }
  }
  return sums;
}

}  // namespace dikkat
