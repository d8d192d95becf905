// Checks the families that dikkat reads from Hugging Face's folders and that models.mjs does not train. Each is a small model with random
// weights, whose text does not fit its windows. llama.cpp writes dikkat's greedy text from the exported GGUF file. The exported folder is
// the same model again.
//
//     node families.mjs DIKKAT WORK_FOLDER REPOSITORY [FAMILY...]     (scripts/clients.sh does, without families: all of them)
import assert from "node:assert/strict";
import { cpSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gguf } from "@huggingface/gguf";
import { Dikkat, kSteps, largest } from "./dikkat.mjs";
import { read_json, read_weights, write_folder } from "./hugging_face.mjs";
import * as llama_cpp from "./llama_cpp.mjs";

const [program, work, repository] = process.argv.slice(2, 5).map((path) => resolve(path));
const dikkat = new Dikkat(program);
const kRows = 600,
  kEnd = kRows - 1;
const kPrompt = "The king said that the old man who lived beyond the forest had three daughters, and the youngest of them was wise.";

const common = {
  attention_bias: false,
  attention_dropout: 0.0,
  bos_token_id: kEnd,
  eos_token_id: kEnd,
  hidden_act: "silu",
  hidden_size: 64,
  initializer_range: 0.02,
  intermediate_size: 96,
  max_position_embeddings: 256,
  num_attention_heads: 4,
  num_hidden_layers: 3,
  num_key_value_heads: 2,
  rms_norm_eps: 1e-5,
  rope_scaling: null,
  rope_theta: 10000.0,
  tie_word_embeddings: true,
  torch_dtype: "float32",
  transformers_version: "4.55.0",
  use_cache: true,
  vocab_size: kRows,
};
const granite = { attention_multiplier: 0.08, embedding_multiplier: 12.0, logits_scaling: 0.05, residual_multiplier: 0.6 };

/// The families, in the layouts of published models.
///   config     keys of config.json, besides the common ones
///   exported   the model_type of the exported folder, if it is another one
///   gguf       the architecture in GGUF; null if GGUF has none
///   changes    values of keys with which the model must write another text
const families = {
  gemma3: {
    config: {
      _sliding_window_pattern: 6,
      architectures: ["Gemma3ForCausalLM"],
      attn_logit_softcapping: null,
      final_logit_softcapping: null,
      head_dim: 32,
      hidden_act: undefined,
      hidden_activation: "gelu_pytorch_tanh",
      layer_types: Array.from({ length: 8 }, (_, i) => ((i + 1) % 6 === 0 ? "full_attention" : "sliding_attention")),
      model_type: "gemma3_text",
      num_hidden_layers: 8,
      num_key_value_heads: 1,
      pad_token_id: 0,
      query_pre_attn_scalar: 32,
      rms_norm_eps: 1e-6,
      rope_local_base_freq: 10000.0,
      rope_theta: 1000000.0,
      sliding_window: 12,
      tie_word_embeddings: undefined,
      use_bidirectional_attention: false,
    },
    gguf: "gemma3",
    changes: [{ sliding_window: 13 }, { rope_local_base_freq: 20000.0 }, { rope_theta: 10000.0 }],
  },
  smollm3: {
    config: {
      architectures: ["SmolLM3ForCausalLM"],
      layer_types: Array(5).fill("full_attention"),
      max_window_layers: 28,
      model_type: "smollm3",
      no_rope_layer_interval: 4,
      no_rope_layers: [1, 1, 1, 0, 1],
      num_hidden_layers: 5,
      rms_norm_eps: 1e-6,
      rope_theta: 5000000.0,
      sliding_window: null,
      use_sliding_window: false,
    },
    gguf: "smollm3",
    changes: [{ no_rope_layers: [1, 1, 1, 1, 1] }],
  },
  granite: {
    config: { architectures: ["GraniteForCausalLM"], model_type: "granite", ...granite },
    gguf: "granite",
    changes: Object.keys(granite)
      .filter((key) => key !== "logits_scaling")
      .map((key) => ({ [key]: granite[key] / 2 })),
  },
  "granite-hybrid": {
    config: {
      architectures: ["GraniteMoeHybridForCausalLM"],
      intermediate_size: 32,
      layer_types: Array(3).fill("attention"),
      model_type: "granitemoehybrid",
      normalization_function: "rmsnorm",
      num_experts_per_tok: 0,
      num_local_experts: 0,
      position_embedding_type: "rope",
      shared_intermediate_size: 96,
      ...granite,
    },
    exported: "granite",
    gguf: "granite",
    changes: [],
  },
  olmo2: {
    config: {
      architectures: ["Olmo2ForCausalLM"],
      model_type: "olmo2",
      num_key_value_heads: 4,
      rms_norm_eps: 1e-6,
      rope_theta: 500000.0,
      tie_word_embeddings: false,
    },
    gguf: "olmo2",
    changes: [{ rope_theta: 1000.0 }],
  },
  mistral: {
    // of version 0.2 and later
    config: {
      architectures: ["MistralForCausalLM"],
      attention_bias: undefined,
      head_dim: 16,
      model_type: "mistral",
      rope_theta: 1000000.0,
      sliding_window: null,
      tie_word_embeddings: false,
    },
    exported: "llama",
    gguf: "llama",
    changes: [{ sliding_window: 20 }],
  },
  "mistral-window": {
    // of version 0.1; llama.cpp has no window in this architecture
    config: {
      architectures: ["MistralForCausalLM"],
      attention_bias: undefined,
      model_type: "mistral",
      sliding_window: 20,
      tie_word_embeddings: false,
    },
    gguf: null,
    changes: [{ sliding_window: 21 }],
  },
  tinyllama: {
    config: {
      architectures: ["LlamaForCausalLM"],
      model_type: "llama",
      num_key_value_heads: 1,
      pretraining_tp: 1,
      tie_word_embeddings: false,
    },
    gguf: "llama",
    changes: [{ rope_theta: 1000.0 }],
  },
  "phi4-mini": {
    // 6 of a head's 8 pairs rotate. llama.cpp takes the long factors only beyond the original context.
    config: {
      architectures: ["Phi3ForCausalLM"],
      embd_pdrop: 0.0,
      max_position_embeddings: 1024,
      model_type: "phi3",
      original_max_position_embeddings: 256,
      partial_rotary_factor: 0.75,
      resid_pdrop: 0.0,
      rope_scaling: { type: "longrope", short_factor: [1, 1.25, 1.5, 2, 3, 5], long_factor: [1, 2, 4, 8, 16, 32] },
      sliding_window: null,
    },
    gguf: "phi3",
    changes: [{ partial_rotary_factor: 0.5, rope_scaling: null, max_position_embeddings: 256 }, { rope_theta: 1000.0 }],
  },
};

const tokenizer = join(work, "families.json");
dikkat.run("tokenizer", "train", "--corpus", join(repository, "data/tales.txt"), "--vocab-size", `${kRows}`, "--out", tokenizer, "--quiet");
const files = { "tokenizer.json": readFileSync(tokenizer, "utf8"), "generation_config.json": { bos_token_id: kEnd, eos_token_id: kEnd } };

const chosen = process.argv.slice(5);
for (const [name, family] of Object.entries(families).filter(([name]) => chosen.length === 0 || chosen.includes(name))) {
  const folder = join(work, name),
    hf = join(work, `${name}-hf`),
    file = join(work, `${name}-f32.gguf`);
  const config = JSON.parse(JSON.stringify({ ...common, ...family.config })),
    seed = 40; // without the keys that are undefined
  write_folder(folder, config, files, seed);
  const greedy = (model, steps = kSteps) => dikkat.greedy(model, { prompt: kPrompt, steps });
  const ours = greedy(folder);
  assert(new Set(ours.tokens).size >= 20, `${name}: the text varies: ${ours.tokens}`);
  family.changes.forEach((keys, i) => {
    // so that equal texts show that these keys are read, written and used
    const other = join(work, `${name}-${i}`);
    cpSync(folder, other, { recursive: true });
    writeFileSync(join(other, "config.json"), JSON.stringify({ ...config, ...keys }));
    assert.notDeepEqual(greedy(other).tokens, ours.tokens, `${name}: another text with ${JSON.stringify(keys)}`);
  });

  // Hugging Face: the folder, and the folder that is made of this folder.
  dikkat.run("export", folder, "--out", hf);
  dikkat.run("export", hf, "--out", `${hf}-again`);
  const { model_type, ...written } = read_json(hf, "config.json");
  assert.equal(model_type, family.exported ?? config.model_type, `${name}: the family that is written`);
  assert.deepEqual(read_json(`${hf}-again`, "config.json"), { model_type, ...written }, `${name}: the configuration of the second export`);
  assert.deepEqual(read_weights(`${hf}-again`), read_weights(hf), `${name}: the weights of the second export`);
  if (!family.exported) {
    assert.deepEqual(read_weights(hf), read_weights(folder), `${name}: the weights of the export`);
    for (const [key, value] of Object.entries(config).filter(([key]) => written[key] !== undefined && key !== "transformers_version")) {
      assert.deepEqual(written[key], value, `${name}: ${key} in the exported config.json`);
    }
  }
  assert.deepEqual(greedy(hf), ours, `${name}: the text of the exported folder`);

  // GGUF, in llama.cpp and in dikkat.
  if (family.gguf === null) {
    const { status, stderr } = dikkat.attempt(["export", folder, "--out", file]);
    assert.equal(status, 2, `${name}: GGUF is refused`);
    assert(stderr.includes("GGUF") && !existsSync(file), `${name}: the message names the format: ${stderr}`);
    console.log(`${name}: Hugging Face's folder is the same model; GGUF is refused`);
    continue;
  }
  dikkat.run("export", folder, "--out", file);
  const { metadata } = await gguf(file, { allowLocalFile: true });
  assert.equal(metadata["general.architecture"], family.gguf, `${name}: GGUF's architecture`);
  assert.deepEqual(greedy(file), ours, `${name}: dikkat's text from the GGUF file`);
  const theirs = await llama_cpp.run(file, [], kPrompt, kSteps, { follow: ours.tokens });
  assert.deepEqual(theirs.greedy, ours.tokens, `${name}: llama.cpp's text`);
  const error = largest(theirs.probabilities, ours.probabilities);
  assert(error < 1e-3, `${name}: llama.cpp's probabilities differ by ${error}`);
  console.log(
    `${name}: Hugging Face's folder is the same model; llama.cpp writes the same ${kSteps} tokens, probabilities differ by`,
    error.toExponential(1),
  );
}
await llama_cpp.dispose();
