#include "train/config/foreign_names.h"

namespace dikkat::schema {
namespace {

constexpr std::string_view kNanoGpt = "nanoGPT's";
constexpr std::string_view kHuggingFace = "Hugging Face's";
constexpr std::string_view kCommon = "another framework's";

constexpr std::string_view kListOfTexts = "a list of text files and folders";
constexpr std::string_view kSteps =
    "it counts weight updates; `dikkat train --epochs` and `dikkat finetune --epochs` count passes over the text";
constexpr std::string_view kOut = "the run directory is the option --out of dikkat train";

/// The foreign names that occur most often, in scripts with settings of nanoGPT and Hugging Face.
constexpr ForeignName kNames[] = {
    {"max_iters", kNanoGpt, "train.max_steps", ""},
    {"warmup_iters", kNanoGpt, "optim.warmup_steps", ""},
    {"lr_decay_iters", kNanoGpt, "optim.decay_steps", ""},
    {"eval_iters", kNanoGpt, "train.eval_tokens", "it counts tokens; 0 is the whole validation part"},
    {"dataset", kNanoGpt, "data.corpus", kListOfTexts},
    {"out_dir", kNanoGpt, "", kOut},
    {"device", kNanoGpt, "", "dikkat trains on the CPU"},
    {"dtype", kNanoGpt, "train.precision", ""},
    {"backend", kNanoGpt, "", "mpirun starts several processes that share a run, see docs/CLUSTER.md"},

    {"per_device_train_batch_size", kHuggingFace, "train.batch_size", ""},
    {"num_train_epochs", kHuggingFace, "train.max_steps", kSteps},
    {"max_grad_norm", kHuggingFace, "optim.grad_clip", ""},
    {"lr_scheduler_type", kHuggingFace, "optim.schedule", ""},
    {"eval_steps", kHuggingFace, "train.eval_interval", ""},
    {"save_steps", kHuggingFace, "train.checkpoint_interval", ""},
    {"logging_steps", kHuggingFace, "train.log_interval", ""},
    {"output_dir", kHuggingFace, "", kOut},
    {"gradient_checkpointing", kHuggingFace, "train.recompute", "\"block\" recomputes whole blocks, \"cheap\" only activations"},
    {"hidden_size", kHuggingFace, "model.n_embd", ""},
    {"num_hidden_layers", kHuggingFace, "model.n_layer", ""},
    {"num_attention_heads", kHuggingFace, "model.n_head", ""},

    {"lr", kCommon, "optim.learning_rate", ""},
    {"epochs", kCommon, "train.max_steps", kSteps},
    {"optimizer", kCommon, "optim.kind", ""},
    {"d_model", kCommon, "model.n_embd", ""},
    {"num_layers", kCommon, "model.n_layer", ""},
    {"num_heads", kCommon, "model.n_head", ""},
    {"seq_len", kCommon, "model.block_size", ""},
};

constexpr ForeignChoice kChoices[] = {
    {"optim.schedule", "noam", "inverse_sqrt"}, {"tokenizer.kind", "gpt2", "bpe"},
    {"tokenizer.kind", "character", "char"},    {"optim.schedule", "constant_with_warmup", "constant"},
    {"train.precision", "float32", "f32"},      {"train.precision", "fp32", "f32"},
    {"train.precision", "32", "f32"},           {"train.precision", "bfloat16", "bf16"},
    {"train.precision", "bf16-mixed", "bf16"},  {"train.precision", "mixed", "bf16"},
    {"model.activation", "gelu_new", "gelu"},   {"model.activation", "gelu_pytorch_tanh", "gelu"},
    {"model.activation", "swish", "silu"},      {"model.activation", "swiglu", "silu"},
    {"model.norm", "rmsnorm", "rms_norm"},      {"model.norm", "layernorm", "layer_norm"},
    {"model.positions", "rotary", "rope"},
};

}  // namespace

std::span<const ForeignName> foreign_names() { return kNames; }

std::span<const ForeignChoice> foreign_choices() { return kChoices; }

}  // namespace dikkat::schema
