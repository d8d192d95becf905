#include "train/model/model_flops.h"

#include <algorithm>

namespace dikkat {
namespace {

constexpr double kPerWeight = 6;  // a multiply-add forward, two backward
constexpr double kPerPair = 12;   // operations per pair and channel: two products forward, four backward

/// Numbers of weights in a layer's products, by the tokens that they are applied to.
struct LayerWeights {
  double queries = 0;  // queries, and the projection of attention's output
  double keys = 0;     // keys and values
  double feed_forward = 0;
  double query_width = 0;  // columns of all query heads
  double value_gate = 0;   // only in layers with value embeddings

  explicit LayerWeights(const TransformerConfig& c) {
    const auto width = static_cast<double>(c.n_embd);
    query_width = static_cast<double>(c.n_head * c.head_size);
    queries = 2 * width * query_width;
    keys = 2 * width * static_cast<double>(c.n_kv_head * c.head_size);
    value_gate = static_cast<double>(c.n_kv_head * value_gate_channels(c));
    feed_forward = (c.gated ? 3 : 2) * width * static_cast<double>(c.n_hidden);
  }
  double attention() const { return queries + keys; }
};

/// Returns the number of weights of all value-embedding gates in a stack.
double value_gates(const TransformerConfig& c, const LayerWeights& weights, index layers) {
  double all = 0;
  for (index layer = 0; layer < layers; ++layer) {
    all += has_value_embedding(c, layer, layers) ? weights.value_gate : 0;
  }
  return all;
}

/// Returns the number of (query, key) pairs of a sequence in all layers. A layer with a window has fewer of them.
double causal_pairs(const TransformerConfig& c, double time) {
  double pairs = 0;
  for (index layer = 0; layer < c.n_layer; ++layer) {
    const index window = window_of(c, layer);
    const double seen = window == 0 ? time : std::min(static_cast<double>(window), time);
    pairs += time * seen - seen * seen / 2;
  }
  return pairs;
}

double gpt_flops(const TransformerConfig& c, const Batch& batch) {
  const LayerWeights weights(c);
  const auto layers = static_cast<double>(c.n_layer);
  const auto width = static_cast<double>(c.n_embd);
  const auto time = static_cast<double>(batch.lengths.cols);
  const auto rows = static_cast<double>(batch.rows);
  const double all = layers * (weights.attention() + weights.feed_forward) + value_gates(c, weights, c.n_layer) +
                     (c.classes > 0 ? 0 : width * static_cast<double>(c.vocab_size));  // labels are few, and only of whole texts
  return rows * (time * kPerWeight * all + kPerPair * weights.query_width * causal_pairs(c, time));
}

double encoder_decoder_flops(const TransformerConfig& c, const Batch& batch) {
  const LayerWeights weights(c);
  const auto width = static_cast<double>(c.n_embd);
  const auto encoders = static_cast<double>(c.n_encoder_layer);
  const auto decoders = static_cast<double>(c.n_layer);
  const double a_source = encoders * (weights.attention() + weights.feed_forward) + value_gates(c, weights, c.n_encoder_layer) +
                          decoders * weights.keys;  // cross-attention's keys and values of the encoder's output
  const double a_target = decoders * (weights.attention() + weights.queries + weights.feed_forward) + value_gates(c, weights, c.n_layer) +
                          width * static_cast<double>(c.vocab_size);
  double flops = 0;
  for (index row = 0; row < batch.rows; ++row) {
    const float* w = batch.weights.data() + row * batch.lengths.cols;
    const auto target = static_cast<double>(std::count_if(w, w + batch.lengths.cols, [](float x) { return x > 0; }));
    const auto source = static_cast<double>(batch.source_lengths[static_cast<std::size_t>(row)]);
    const double pairs = encoders * source * source + decoders * (target * target / 2 + target * source);
    flops += kPerWeight * (source * a_source + target * a_target) + kPerPair * weights.query_width * pairs;
  }
  return flops;
}

/// Returns a correction per token. A frozen weight has no gradient, which saves a third of its operations. The counts above lack adapters.
double difference_of_frozen(const LanguageModel& model) {
  double flops = 0;
  for (const ParameterStore::Entry* entry : model.parameters().entries()) {
    const bool is_tied_head = model.config().tie_embeddings && !model.is_classifier() && entry->path == "wte.weight";
    const auto size = static_cast<double>(entry->size());
    if (entry->frozen && (entry->role == Role::hidden || entry->role == Role::head || is_tied_head)) {
      flops -= kPerWeight / 3 * size;
    } else if (entry->role == Role::adapter) {
      flops += kPerWeight * size;
    }
  }
  return flops;
}

}  // namespace

double training_flops(const LanguageModel& model, const Batch& batch) {
  if (!model.is_gpt()) {
    return encoder_decoder_flops(model.config(), batch);
  }
  return gpt_flops(model.config(), batch) + static_cast<double>(batch.rows * batch.lengths.cols) * difference_of_frozen(model);
}

}  // namespace dikkat
