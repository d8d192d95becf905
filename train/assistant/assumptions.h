#pragma once

#include <cstddef>

#include "autograd/base/index.h"

// The figures that a plan rests on, with their units and sources. docs/ASSISTANT.md has the rules that they belong to ("How it plans").
// A source is one of these:
// - chosen: a rule of this program
// - estimated: never measured by itself; runs of the presets kept to their time with it (bench/results/assistant-presets.md)
// - measured, fitted, or a paper
namespace dikkat::assistant {

// The size of a new model.

/// Tokens that pretraining reads for each parameter, at least. Chosen: fewer than Hoffmann et al. 2022 (arXiv 2203.15556) found best for
/// text that is read once.
inline constexpr double kTokensPerParameter = 8;
/// Parameters for each byte of text, at most. Estimated: a larger model learns the text by heart.
inline constexpr index kParametersPerByte = 4;
/// The share of the time in which a model must read these tokens. Estimated: the other stages and evaluations need the rest.
inline constexpr double kPretrainShare = 0.8;
/// Training's share of the FLOP/s of matrix products. Estimated, for small models; a trial replaces it.
inline constexpr double kUsefulShare = 0.4;
/// Bytes of text for each word piece. Estimated, for English; a trial replaces it.
inline constexpr double kBytesPerToken = 3;
/// Bytes of text, at least. Chosen: less does not make a model.
inline constexpr index kFewestBytes = 10'000;
/// Bytes of text for each byte of a compressed file. Estimated, for English.
inline constexpr index kCompression = 3;

// How often texts are read.

/// Epochs of pretraining above which it gets dropout and more weight decay. Estimated: they help a text that is read twelve times, but not
/// one that is read a few times (bench/results: ablations-tales-char-regularization.md, recipes-english-books.md).
inline constexpr double kOftenEpochs = 8;
/// Epochs of pretraining above which more gain little: Muennighoff et al. 2023 (arXiv 2305.16264).
inline constexpr double kUsefulEpochs = 16;
/// Epochs of the chats, at most. Chosen: `tiny` then answers most of its questions (assistant-presets.md).
inline constexpr double kChatEpochs = 20;
/// Epochs of the preferences, at most. Chosen.
inline constexpr double kPreferenceEpochs = 3;

// Shares of the time.

/// The share of the chats, at most, and at most if reading them once takes longer. Chosen.
inline constexpr double kChatShare = 1.0 / 6, kManyChatsShare = 1.0 / 3;
/// The share of the preferences, at most. Chosen.
inline constexpr double kPreferenceShare = 1.0 / 8;
/// Steps of a stage, at least. Chosen: one for each evaluation.
inline constexpr double kFewestStageSteps = 8;
/// Seconds, and the share of the time, for the report and saving. Estimated.
inline constexpr double kEndSeconds = 1, kEndShare = 0.02;

// The cost of a stage.

/// Steps of a trial, if there is time for them (train/run/trial.h). Chosen: with 30, programs that ran for some seconds changed the plan.
inline constexpr index kTrialSteps = 100;
/// The time of a step with its part of the saves, in steps. Fitted: with 1.05, `tiny` ended too early (assistant-presets.md).
inline constexpr double kSaves = 1.02;
/// The time of a step on preferences, in ordinary steps on as many positions. Estimated. It is on the safe side: DPO takes 1.05 times as
/// long on the same tokens (bench/results/fine-tuning-preference-steps.md).
inline constexpr double kPreferenceCost = 1.45;
/// The time of a step on preferences with the reference model's pass over its examples, in steps. Estimated: a forward pass takes a third
/// of a step, and several epochs share it.
inline constexpr double kReferenceCost = 1.25;
/// Positions of packed chats for each of their tokens; the rest is padding. Estimated.
inline constexpr double kChatPadding = 1.15;
/// Tokens that a template adds to a message. Estimated.
inline constexpr double kMessageMarkup = 6;
/// Tokens that a template adds to a question and its answer, at most. Estimated.
inline constexpr index kQuestionMarkup = 32;
/// The time of a question, in tokens of training. Measured with models of 1 and of 56 million parameters.
inline constexpr double kTokensOfQuestion = 700;

// The runs.

/// Steps of a stage for each step of its warm-up. Chosen.
inline constexpr index kWarmupPart = 20;
/// Evaluations of a stage, without the one before its first step. Chosen.
inline constexpr index kEvaluations = 8;
/// Checkpoints of a stage, at least, and seconds between them, at most. Chosen: a kill costs little.
inline constexpr index kCheckpoints = 20;
inline constexpr double kSecondsOfSaves = 300;

// Tuning.

/// Parameters above which tuning a new model has lower learning rates. Estimated.
inline constexpr double kLargeNewModel = 2e7;
/// Parameters of the blocks above which a trained model gets adapters. Estimated.
inline constexpr index kLargeTrainedModel = 50'000'000;
/// Tokens of a window, rows of a step on chats and rows of a step on pairs, at most, for a trained model. Chosen.
inline constexpr index kTuningWindow = 512, kTuningRows = 4, kTuningPairRows = 2;

// Questions.

/// Conversations from which some are held out, at least. Chosen: fewer are needed for training.
inline constexpr index kFewestChats = 20;
/// One of so many conversations is held out, but about so many in all at most. Chosen: asking a hundred takes seconds to minutes.
inline constexpr index kHeldOutEvery = 10, kMostHeldOut = 100;
/// Answers to choose from. Chosen: chance is a quarter.
inline constexpr std::size_t kChoices = 4;

}  // namespace dikkat::assistant
