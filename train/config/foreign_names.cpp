#include "train/config/foreign_names.h"

namespace dikkat::schema {
namespace {

constexpr std::string_view kNanoGpt = "nanoGPT's";
constexpr std::string_view kRaschka = "Raschka's";
constexpr std::string_view kHuggingFace = "Hugging Face's";
constexpr std::string_view kPyTorch = "PyTorch's";
constexpr std::string_view kCommon = "another framework's";

constexpr std::string_view kCpu = "dikkat trains on the CPU";
constexpr std::string_view kSampling = "sampling has options of its own, see dikkat sample --help";
constexpr std::string_view kMetrics = "each run writes its numbers to metrics.jsonl in its directory";
constexpr std::string_view kSteps =
    "training is counted in steps, one update of the weights each; the option --epochs of dikkat train and finetune counts passes over the "
    "text";
constexpr std::string_view kOut = "the run directory is the option --out of dikkat train";
constexpr std::string_view kEvalCommand = "a run is evaluated by dikkat eval RUN_DIR";
constexpr std::string_view kThreads =
    "the option --threads of dikkat, or the environment variable OMP_NUM_THREADS, sets the number of threads; results do not depend on it";
constexpr std::string_view kOneDropout = "one rate serves embeddings, attention and residuals";

constexpr ForeignName kNames[] = {
    {"max_iters", kNanoGpt, "train.max_steps", ""},
    {"lr_decay_iters", kNanoGpt, "optim.decay_steps", ""},
    {"warmup_iters", kNanoGpt, "optim.warmup_steps", ""},
    {"eval_iters", kNanoGpt, "train.eval_tokens", "it counts tokens; 0 is the whole validation part"},
    {"decay_lr", kNanoGpt, "optim.schedule", "\"constant\" does not decay"},
    {"dataset", kNanoGpt, "data.corpus", "a list of text files and folders"},
    {"data_dir", kNanoGpt, "data.corpus", "a list of text files and folders"},
    {"out_dir", kNanoGpt, "", kOut},
    {"device", kNanoGpt, "", kCpu},
    {"dtype", kNanoGpt, "train.precision", ""},
    {"compile", kNanoGpt, "", "dikkat is compiled already"},
    {"backend", kNanoGpt, "", "dikkat trains in one process"},
    {"eval_only", kNanoGpt, "", kEvalCommand},
    {"always_save_checkpoint", kNanoGpt, "", "checkpoints are saved every train.checkpoint_interval steps, and the best is kept"},
    {"wandb_log", kNanoGpt, "", kMetrics},
    {"wandb_project", kNanoGpt, "", kMetrics},
    {"wandb_run_name", kNanoGpt, "", kMetrics},
    {"start", kNanoGpt, "", kSampling},
    {"num_samples", kNanoGpt, "", kSampling},
    {"max_new_tokens", kNanoGpt, "", kSampling},
    {"temperature", kNanoGpt, "", kSampling},
    {"top_k", kNanoGpt, "", kSampling},
    {"meta_vocab_size", kNanoGpt, "model.vocab_size", ""},

    {"emb_dim", kRaschka, "model.n_embd", ""},
    {"n_heads", kRaschka, "model.n_head", ""},
    {"n_layers", kRaschka, "model.n_layer", ""},
    {"context_length", kRaschka, "model.block_size", ""},
    {"drop_rate", kRaschka, "model.dropout", ""},
    {"num_epochs", kRaschka, "train.max_steps", kSteps},
    {"n_epochs", kRaschka, "train.max_steps", kSteps},
    {"eval_freq", kRaschka, "train.eval_interval", ""},
    {"eval_iter", kRaschka, "train.eval_tokens", "it counts tokens; 0 is the whole validation part"},
    {"peak_lr", kRaschka, "optim.learning_rate", ""},
    {"initial_lr", kRaschka, "", "the warm-up starts at 0"},
    {"max_length", kRaschka, "model.block_size", ""},
    {"stride", kRaschka, "", "windows follow one another without overlap, from an offset that changes every epoch"},
    {"train_ratio", kRaschka, "data.val_fraction", "the share that is not trained on"},

    {"n_positions", kHuggingFace, "model.block_size", ""},
    {"n_ctx", kHuggingFace, "model.block_size", ""},
    {"max_position_embeddings", kHuggingFace, "model.block_size", ""},
    {"num_attention_heads", kHuggingFace, "model.n_head", ""},
    {"hidden_size", kHuggingFace, "model.n_embd", ""},
    {"num_hidden_layers", kHuggingFace, "model.n_layer", ""},
    {"n_inner", kHuggingFace, "model.n_hidden", ""},
    {"intermediate_size", kHuggingFace, "model.n_hidden", ""},
    {"attn_pdrop", kHuggingFace, "model.dropout", kOneDropout},
    {"embd_pdrop", kHuggingFace, "model.dropout", kOneDropout},
    {"resid_pdrop", kHuggingFace, "model.dropout", kOneDropout},
    {"attention_dropout", kHuggingFace, "model.dropout", kOneDropout},
    {"hidden_dropout_prob", kHuggingFace, "model.dropout", kOneDropout},
    {"activation_function", kHuggingFace, "model.activation", "\"gelu\" is GELU in its tanh form"},
    {"hidden_act", kHuggingFace, "model.activation", "\"gelu\" is GELU in its tanh form"},
    {"layer_norm_epsilon", kHuggingFace, "model.norm_eps", ""},
    {"layer_norm_eps", kHuggingFace, "model.norm_eps", ""},
    {"rms_norm_eps", kHuggingFace, "model.norm_eps", "with model.norm = \"rms_norm\""},
    {"num_key_value_heads", kHuggingFace, "model.n_kv_head", ""},
    {"head_dim", kHuggingFace, "model.head_size", ""},
    {"rope_parameters", kHuggingFace, "model.rope_theta", "and model.rope_scaling, with model.positions = \"rope\""},
    {"final_logit_softcapping", kHuggingFace, "model.logit_softcap", ""},
    {"initializer_range", kHuggingFace, "", "weights start with a standard deviation of 0.02"},
    {"tie_word_embeddings", kHuggingFace, "model.tie_embeddings", ""},
    {"attention_bias", kHuggingFace, "model.qkv_bias", ""},
    {"model_type", kHuggingFace, "model.kind", ""},
    {"torch_dtype", kHuggingFace, "train.precision", ""},
    {"fp16", kHuggingFace, "train.precision", "\"bf16\" is what CPUs have; it needs no loss scaling"},
    {"bf16", kHuggingFace, "train.precision", "\"bf16\", or \"auto\""},
    {"lr_scheduler_type", kHuggingFace, "optim.schedule", ""},
    {"adam_beta1", kHuggingFace, "optim.beta1", ""},
    {"adam_beta2", kHuggingFace, "optim.beta2", ""},
    {"adam_epsilon", kHuggingFace, "optim.eps", ""},
    {"max_grad_norm", kHuggingFace, "optim.grad_clip", ""},
    {"per_device_train_batch_size", kHuggingFace, "train.batch_size", ""},
    {"num_train_epochs", kHuggingFace, "train.max_steps", kSteps},
    {"eval_steps", kHuggingFace, "train.eval_interval", ""},
    {"logging_steps", kHuggingFace, "train.log_interval", ""},
    {"save_steps", kHuggingFace, "train.checkpoint_interval", ""},
    {"save_total_limit", kHuggingFace, "train.keep_last", ""},
    {"output_dir", kHuggingFace, "", kOut},
    {"train_file", kHuggingFace, "data.corpus", "a list of text files and folders"},

    {"lr", kPyTorch, "optim.learning_rate", ""},
    {"betas", kPyTorch, "optim.beta1", "the second one is optim.beta2"},
    {"epsilon", kCommon, "optim.eps", ""},
    {"momentum", kPyTorch, "optim.sgd_momentum", "of SGD; AdamW's is optim.beta1, Muon's optim.muon_momentum"},
    {"nesterov", kPyTorch, "optim.sgd_nesterov", ""},
    {"min_lr_ratio", kCommon, "optim.min_lr_share", ""},
    {"optimizer", kCommon, "optim.kind", ""},
    {"clip_grad_norm", kPyTorch, "optim.grad_clip", ""},
    {"num_workers", kPyTorch, "", "batches are read ahead by themselves"},
    {"shuffle", kPyTorch, "", "every epoch visits all windows in an order of its own, which follows from train.seed"},
    {"d_model", kCommon, "model.n_embd", ""},
    {"dim", kCommon, "model.n_embd", ""},
    {"width", kCommon, "model.n_embd", ""},
    {"embed_dim", kCommon, "model.n_embd", ""},
    {"embedding_size", kCommon, "model.n_embd", ""},
    {"depth", kCommon, "model.n_layer", ""},
    {"num_layers", kCommon, "model.n_layer", ""},
    {"num_heads", kCommon, "model.n_head", ""},
    {"seq_len", kCommon, "model.block_size", ""},
    {"seq_length", kCommon, "model.block_size", ""},
    {"sequence_length", kCommon, "model.block_size", ""},
    {"max_seq_len", kCommon, "model.block_size", ""},
    {"context_size", kCommon, "model.block_size", ""},
    {"epochs", kCommon, "train.max_steps", kSteps},
    {"iterations", kCommon, "train.max_steps", ""},
    {"num_steps", kCommon, "train.max_steps", ""},
    {"grad_accum_steps", kCommon, "train.gradient_accumulation_steps", ""},
    {"save_interval", kCommon, "train.checkpoint_interval", ""},
    {"random_seed", kCommon, "train.seed", ""},
    {"val_split", kCommon, "data.val_fraction", ""},
    {"gradient_checkpointing", kHuggingFace, "train.recompute", "\"block\" recomputes whole blocks, \"cheap\" only activations"},
    {"activation_checkpointing", kCommon, "train.recompute", "\"block\" recomputes whole blocks, \"cheap\" only activations"},
    {"threads", kCommon, "", kThreads},
    {"num_threads", kCommon, "", kThreads},
    {"n_threads", kCommon, "", kThreads},
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
