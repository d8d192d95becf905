// Folders in the layout of Hugging Face: config.json, model.safetensors with random weights, and other files. Nothing here uses dikkat.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/// Returns the shapes of the tensors of a model in Llama's shape, by name. Linear weights are (out, in).
function shapes_of(config) {
  const { model_type: kind, hidden_size: width, num_attention_heads: heads, num_key_value_heads: kv_heads, vocab_size: rows } = config;
  const size = config.head_dim ?? width / heads,
    hidden = config.shared_intermediate_size ?? config.intermediate_size;
  const norms = {
    olmo2: ["post_attention", "post_feedforward"],
    gemma3_text: ["input", "post_attention", "pre_feedforward", "post_feedforward"],
  }[kind] ?? ["input", "post_attention"];
  const shapes = { "model.embed_tokens.weight": [rows, width] };
  for (let layer = 0; layer < config.num_hidden_layers; ++layer) {
    const add = (name, ...shape) => {
      shapes[`model.layers.${layer}.${name}.weight`] = shape;
    };
    if (kind === "phi3") {
      add("self_attn.qkv_proj", (heads + 2 * kv_heads) * size, width);
    } else {
      add("self_attn.q_proj", heads * size, width);
      add("self_attn.k_proj", kv_heads * size, width);
      add("self_attn.v_proj", kv_heads * size, width);
    }
    add("self_attn.o_proj", width, heads * size);
    if (["qwen3", "gemma3_text", "olmo2"].includes(kind)) {
      const is_row = kind === "olmo2"; // whose norms take all heads together
      add("self_attn.q_norm", is_row ? heads * size : size);
      add("self_attn.k_norm", is_row ? kv_heads * size : size);
    }
    if (kind === "granitemoehybrid") {
      add("shared_mlp.input_linear", 2 * hidden, width);
      add("shared_mlp.output_linear", width, hidden);
    } else if (kind === "phi3") {
      add("mlp.gate_up_proj", 2 * hidden, width);
      add("mlp.down_proj", width, hidden);
    } else {
      add("mlp.gate_proj", hidden, width);
      add("mlp.up_proj", hidden, width);
      add("mlp.down_proj", width, hidden);
    }
    norms.forEach((name) => add(`${name}_layernorm`, width));
  }
  shapes["model.norm.weight"] = [width];
  if (!(config.tie_word_embeddings ?? kind === "gemma3_text")) {
    shapes["lm_head.weight"] = [rows, width];
  }
  return shapes;
}

/// Returns a function that draws from a normal distribution: Box and Muller's method on the generator mulberry32.
function normal(seed) {
  let state = seed;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return (mean, deviation) => mean + deviation * Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

/// Returns random weights by name, rounded to bf16 as published models are. Embeddings enter the first block with a deviation of 1/4, so
/// that a tied head does not repeat the last token. Norms are far from their start.
function drawn(config, seed) {
  const draw = normal(seed),
    is_gemma = config.model_type === "gemma3_text";
  const multiplier = config.embedding_multiplier ?? (is_gemma ? Math.sqrt(config.hidden_size) : 1);
  const bits = new Uint32Array(1),
    value = new Float32Array(bits.buffer);
  return Object.entries(shapes_of(config)).map(([name, shape]) => {
    const mean = shape.length === 1 && !is_gemma ? 1 : 0; // Gemma's norms multiply by 1 + w
    const deviation = shape.length === 1 ? 0.25 : name === "model.embed_tokens.weight" ? 0.25 / multiplier : 1.5 / Math.sqrt(shape[1]);
    const words = Uint16Array.from({ length: shape.reduce((a, b) => a * b) }, () => {
      value[0] = draw(mean, deviation);
      return (bits[0] + 0x8000) >>> 16;
    });
    return { name, shape, words };
  });
}

/// Writes a file of tensors of bf16, or of the same numbers as f32.
function write_safetensors(file, tensors, is_f32) {
  const header = { __metadata__: { format: "pt" } },
    parts = [];
  let at = 0;
  for (const { name, shape, words } of tensors) {
    const stored = is_f32 ? Uint32Array.from(words, (word) => (word << 16) >>> 0) : words;
    header[name] = { dtype: is_f32 ? "F32" : "BF16", shape, data_offsets: [at, at + stored.byteLength] };
    parts.push(Buffer.from(stored.buffer));
    at += stored.byteLength;
  }
  const text = Buffer.from(JSON.stringify(header)),
    length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  writeFileSync(file, Buffer.concat([length, text, ...parts]));
}

/// Returns the tensors of a file in a folder by name: {dtype, shape, data}.
export function read_weights(folder, name = "model.safetensors") {
  const file = readFileSync(join(folder, name)),
    begin = 8 + Number(file.readBigUInt64LE());
  const { __metadata__: _, ...tensors } = JSON.parse(file.subarray(8, begin));
  return Object.fromEntries(
    Object.entries(tensors)
      .sort()
      .map(
        ([
          tensor,
          {
            dtype,
            shape,
            data_offsets: [from, to],
          },
        ]) => [tensor, { dtype, shape, data: file.subarray(begin + from, begin + to) }],
      ),
  );
}

export const read_json = (folder, name) => JSON.parse(readFileSync(join(folder, name), "utf8"));

/// Writes a model with random weights. `files`: contents by name, as texts or as objects for JSON.
export function write_folder(folder, config, files, seed) {
  mkdirSync(folder, { recursive: true });
  write_safetensors(join(folder, "model.safetensors"), drawn(config, seed), config.torch_dtype === "float32");
  for (const [name, content] of Object.entries({ "config.json": config, ...files })) {
    writeFileSync(join(folder, name), typeof content === "string" ? content : JSON.stringify(content, null, 2));
  }
}
