// Checks that answers, and arguments in other forms, are valid under the schemas that force them: with ajv, of which nothing is in common with dikkat. The schemas are
// those that zod and pydantic write, those of llama.cpp's tests, and random ones of every keyword in docs/SERVING.md.
//
//   node forced_answers.mjs PROGRAM ANSWERS [SEED]    PROGRAM: build/dev/tests/forced_answers
import { execFileSync } from "node:child_process";
import assert from "node:assert";
import { createRequire } from "node:module";
import * as z from "zod";
import { kLlamaCpp, kPydantic } from "./known_schemas.mjs";

const require = createRequire(import.meta.url);
const addFormats = require("ajv-formats");
const kAjv = { "draft-7": require("ajv"), "draft-2020-12": require("ajv/dist/2020") };
const kAnswersOfSchema = 8;

const [program, wanted, seed = "1"] = process.argv.slice(2);

/// Returns {answers} or {refused, why} for each schema.
function answers_of(schemas, count, answers_seed, form = 0) {
  const lines = schemas.map((schema) => JSON.stringify(schema)).join("\n") + "\n";
  const output = execFileSync(program, [answers_seed, `${count}`, `${form}`], { input: lines, encoding: "utf8", maxBuffer: 1 << 30 });
  return output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line));
}

/// Returns a function that returns whether a value is valid.
function validator(schema, draft) {
  const ajv = new kAjv[draft]({ strict: false, logger: false, ownProperties: true, validateSchema: false });
  addFormats(ajv);
  return ajv.compile(schema);
}

function require_valid(schema, answer, is_valid, name) {
  let value;
  try {
    value = JSON.parse(answer);
  } catch {
    assert.fail(`${name}: the answer is not JSON: ${answer}\n${JSON.stringify(schema)}`);
  }
  assert(is_valid(value), `${name}: the answer is not valid: ${answer}\n${JSON.stringify(schema)}\n${JSON.stringify(is_valid.errors)}`);
}

// What libraries write.

const types = {
  string: z.string(),
  length: z.string().min(2).max(5),
  exact: z.string().length(4),
  regex: z.string().regex(/^[a-z]+$/),
  starts: z.string().startsWith("ab"),
  ends: z.string().endsWith("x."),
  includes: z.string().includes("q"),
  lower: z.string().lowercase(),
  two_patterns: z.string().regex(/a/).regex(/b/),
  email: z.email(),
  email_of_length: z.email().max(30),
  uuid: z.uuid(),
  uuid4: z.uuidv4(),
  guid: z.guid(),
  url: z.url(),
  url_of_length: z.url().max(2083),
  hostname: z.hostname(),
  base64: z.base64(),
  base64url: z.base64url(),
  nanoid: z.nanoid(),
  cuid: z.cuid(),
  cuid2: z.cuid2(),
  ulid: z.ulid(),
  xid: z.xid(),
  ksuid: z.ksuid(),
  ipv4: z.ipv4(),
  ipv6: z.ipv6(),
  mac: z.mac(),
  cidrv4: z.cidrv4(),
  cidrv6: z.cidrv6(),
  e164: z.e164(),
  hex: z.hex(),
  sha256: z.hash("sha256"),
  date: z.iso.date(),
  time: z.iso.time(),
  datetime: z.iso.datetime(),
  datetime_offset: z.iso.datetime({ offset: true }),
  datetime_precision: z.iso.datetime({ precision: 3 }),
  duration: z.iso.duration(),
  emoji: z.emoji(),
  jwt: z.jwt(),
  number: z.number(),
  bounds: z.number().min(0.5).max(2),
  positive: z.number().positive(),
  int: z.int(),
  int32: z.int32(),
  uint32: z.uint32(),
  float32: z.float32(),
  float64: z.float64(),
  small_int: z.int().min(1).max(10),
  multiple: z.number().multipleOf(5),
  boolean: z.boolean(),
  null: z.null(),
  any: z.any(),
  unknown: z.unknown(),
  never: z.object({ a: z.never().optional() }),
  literal: z.literal("a"),
  literals: z.literal(["a", 1, true]),
  enum: z.enum(["a", 'b"\\\n']),
  native_enum: z.enum({ A: 0, B: 1 }),
  array: z.array(z.string()),
  short_array: z.array(z.int()).min(1).max(3),
  tuple: z.tuple([z.string(), z.int()]),
  tuple_rest: z.tuple([z.string()], z.int()),
  tuple_optional: z.tuple([z.string(), z.int().optional()]),
  no_tuple: z.tuple([]),
  object: z.object({ a: z.string(), b: z.int().optional() }),
  strict: z.strictObject({ a: z.string() }),
  loose: z.looseObject({ 'a"b': z.string(), "\n": z.int().optional() }),
  catchall: z.object({ a: z.string() }).catchall(z.int()),
  record: z.record(z.string(), z.int()),
  record_enum: z.record(z.enum(["a", "b"]), z.int()),
  partial_record: z.partialRecord(z.enum(["a", "b"]), z.int()),
  record_regex: z.record(z.string().regex(/^a+$/), z.int()),
  record_email: z.record(z.email(), z.int()),
  record_number: z.record(z.number(), z.int()),
  loose_record: z.looseRecord(z.string().regex(/^a/), z.int()),
  union: z.union([z.string(), z.int()]),
  xor: z.xor([z.string(), z.int()]),
  discriminated: z.discriminatedUnion("k", [z.object({ k: z.literal("a"), x: z.int() }), z.object({ k: z.literal("b"), y: z.string() })]),
  intersection: z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })),
  optional: z.object({ a: z.string().optional() }),
  nullable: z.string().max(4).nullable(),
  nullish: z.object({ a: z.string().nullish() }),
  default: z.object({ a: z.string().default("x") }),
  catch: z.string().catch("x"),
  readonly: z.array(z.int()).readonly(),
  meta: z.string().meta({ title: "t", description: "d", examples: ["a"], id: "Foo" }),
  template: z.templateLiteral(["a-", z.number(), "px"]),
  json: z.json(),
  recursive: z.object({
    value: z.int(),
    get children() {
      return z.array(types.recursive);
    },
  }),
};
/// Types that are refused, with the keyword. docs/SERVING.md lists them.
const kRefusedTypes = { emoji: "pattern", jwt: "format", multiple: "multipleOf", loose_record: "patternProperties" };

function check_zod() {
  const cases = [];
  for (const draft of Object.keys(kAjv)) {
    for (const io of ["output", "input"]) {
      for (const [name, type] of Object.entries(types)) {
        cases.push({
          name: `zod's ${name} (${draft}, ${io})`,
          type,
          draft,
          schema: z.toJSONSchema(type, { target: draft, io }),
          refused: kRefusedTypes[name],
        });
      }
    }
  }
  return check_all(cases, (one, answer) => {
    const parsed = one.type.safeParse(JSON.parse(answer));
    assert(parsed.success, `${one.name}: zod refuses ${answer}: ${parsed.error}\n${JSON.stringify(one.schema)}`);
  });
}

/// Checks cases {name, schema, draft, refused}. Returns the number of answers.
function check_all(cases, check = () => {}) {
  const results = answers_of(
    cases.map((one) => one.schema),
    6,
    seed,
  );
  let checked = 0;
  cases.forEach((one, i) => {
    assert.strictEqual(results[i].refused, one.refused, `${one.name}: ${results[i].why ?? "not refused"}\n${JSON.stringify(one.schema)}`);
    if (one.refused === undefined) {
      const is_valid = validator(one.schema, one.draft);
      for (const answer of results[i].answers) {
        require_valid(one.schema, answer, is_valid, one.name);
        check(one, answer);
        ++checked;
      }
    }
  });
  return checked;
}

const check_known = (known, source) =>
  check_all(
    known.map(([name, schema, refused]) => ({
      name: `${source}: ${name}`,
      schema,
      refused,
      draft: Array.isArray(schema.items) ? "draft-7" : "draft-2020-12",
    })),
  );

// Random schemas.

class Dice {
  constructor(number) {
    this.state = BigInt(number) * 0x9e3779b97f4a7c15n + 1n;
  }
  roll(count) {
    this.state = BigInt.asUintN(64, this.state * 6364136223846793005n + 1442695040888963407n);
    return Number((this.state >> 33n) % BigInt(count));
  }
  coin() {
    return this.roll(2) === 0;
  }
  pick(list) {
    return list[this.roll(list.length)];
  }
  some(list) {
    return list.filter(() => this.coin());
  }
}

const kNames = [
  "a",
  "ab",
  "abc",
  "b",
  "",
  " ",
  'a"b',
  '"',
  "\\",
  "a\\",
  "\n",
  "\u0001",
  "\u007f",
  "é",
  "éa",
  "名",
  "😀",
  "a b",
  "a/b~c",
  "%41",
  "#",
  "$ref",
  "constructor",
  "toString",
  "hasOwnProperty",
  "length",
  "type",
  "\u2028",
  "a'b",
  "{",
  "}",
  ":",
];
const kPatterns = [
  "^[a-z]+$",
  "a",
  "^a|b$",
  "^\\d{3}-\\d{2}$",
  '^[^"]*$',
  "\\\\",
  "^(?:ab|\\n)*$",
  "^.{2,4}$",
  "\\W",
  "^\\S+$",
  "^\\w+\\s\\w+$",
  "^(?!a)[a-c]{1,5}$",
  "^(?=.*b)[ab]+$",
  "[\\u0080-\\uFFFF]",
  "\\u{1F600}",
  '^"?é+"?$',
  "^[\\s\\S]{0,3}$",
  "^x?y*z{0,2}$",
];
const kFormats = [
  "date",
  "time",
  "date-time",
  "duration",
  "uuid",
  "email",
  "hostname",
  "ipv4",
  "ipv6",
  "uri",
  "uuid4",
  "base64",
  "byte",
  "binary",
  "password",
];
const kValues = [1, -1.5, 0, "a", '"', "\\n", "\n", "", null, true, false, [1, "a"], { 'a"': [null] }, 12345678901234, "é", 2, "b", [], {}];

class Schemas {
  constructor(number, draft, names = kNames) {
    this.dice = new Dice(number);
    this.draft = draft;
    this.names = names;
    this.defs = draft === "draft-7" ? "definitions" : "$defs";
  }

  root() {
    const schema = this.schema(0);
    const root = typeof schema === "object" && !Array.isArray(schema) ? schema : { anyOf: [schema] };
    root[this.defs] = {
      one: this.schema(2),
      "t/w~o": this.schema(3),
      list: { type: "object", properties: { next: { $ref: `#/${this.defs}/list` }, value: this.schema(3) } },
    };
    if (this.dice.roll(6) === 0) {
      root[this.defs].own = {
        $id: "http://own.example/x",
        type: "array",
        items: { $ref: `#/${this.defs}/inner` },
        [this.defs]: { inner: { anyOf: [this.string(), { $ref: `#/${this.defs}/one` }] }, one: { const: "inner" } },
      };
      root.properties = { ...root.properties, own: { $ref: `#/${this.defs}/own` } };
    }
    return root;
  }

  schema(level) {
    const { dice } = this;
    const kind = dice.roll(level > 3 ? 9 : 17);
    const schema = this.of_kind(kind, level);
    if (typeof schema !== "object") {
      return schema;
    }
    if (dice.roll(8) === 0) {
      Object.assign(schema, {
        title: "t",
        description: 'a "d"',
        examples: [1],
        deprecated: false,
        "x-own": {},
        readOnly: true,
        $comment: "c",
      });
    }
    if (dice.roll(12) === 0 && schema.type !== undefined && !Array.isArray(schema.type)) {
      schema.nullable = true;
    }
    return schema;
  }

  of_kind(kind, level) {
    const { dice } = this;
    switch (kind) {
      case 0:
      case 1:
        return this.string();
      case 2:
      case 3:
        return this.number();
      case 4:
        return { type: dice.pick(["boolean", "null", "string", "integer", "number", "object", "array"]) };
      case 5:
        return {
          ...dice.pick([{}, { type: "string" }]),
          enum: dice
            .some(kValues)
            .slice(0, 6)
            .concat([dice.pick(kValues), "end"])
            .filter((value, i, all) => all.findIndex((other) => JSON.stringify(other) === JSON.stringify(value)) === i),
        };
      case 6:
        return { const: dice.pick(kValues) };
      case 7:
        return { $ref: `#/${this.defs}/${dice.pick(["one", "t~1w~0o", "list"])}` };
      case 8:
        return dice.pick([true, {}, {}, false, { not: {} }, { type: ["string", "null", "integer"] }]);
      case 9:
        return { anyOf: this.schemas(level) };
      case 10:
        return this.one_of(level);
      case 11:
        return this.all_of(level);
      case 12:
      case 13:
        return this.list(level);
      default:
        return this.object(level);
    }
  }

  schemas(level) {
    return Array.from({ length: 1 + this.dice.roll(3) }, () => this.schema(level + 1));
  }

  string() {
    const { dice } = this;
    const schema = { type: "string" };
    const kind = dice.roll(6);
    if (kind < 3) {
      schema.minLength = dice.roll(4);
    }
    if (kind < 2) {
      schema.maxLength = 4 + dice.roll(6);
    }
    if (kind === 1 || kind === 3) {
      schema.pattern = dice.pick(kPatterns);
    }
    if (kind === 4) {
      schema.format = dice.pick(kFormats);
      Object.assign(schema, dice.pick([{}, {}, { maxLength: 60 }, { pattern: dice.pick(["1", "^[^-]", "[a-z]", "Z$"]) }]));
    }
    if (kind === 5 && dice.coin()) {
      schema.allOf = [{ pattern: dice.pick(kPatterns) }, { maxLength: 9 }, { pattern: dice.pick(kPatterns) }];
    }
    return schema;
  }

  number() {
    const { dice } = this;
    const schema = { type: dice.pick(["integer", "number"]) };
    const number = () => dice.pick([dice.roll(200) - 100, (dice.roll(2000) - 1000) / 100, dice.roll(10 ** 9), 2 ** 53 - 1, 0, 1]);
    for (const key of dice.some(["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])) {
      schema[key] = number();
    }
    return schema;
  }

  object(level) {
    const { dice } = this;
    const schema = { type: "object" };
    const names = dice.some(this.names).slice(0, dice.roll(6));
    if (dice.roll(5) > 0) {
      schema.properties = Object.fromEntries(names.map((name) => [name, this.schema(level + 1)]));
    }
    schema.required = dice.some(names);
    if (dice.coin()) {
      schema.additionalProperties = dice.pick([false, true, this.schema(level + 1), { type: "integer" }]);
    }
    if (dice.roll(5) === 0) {
      schema.propertyNames = dice.pick([
        { type: "string" },
        { pattern: dice.pick(kPatterns) },
        { enum: dice.some(this.names).concat(["z"]) },
        { maxLength: 3 },
        { minLength: 1, type: "string" },
      ]);
    }
    if (dice.roll(6) === 0) {
      schema.minProperties = dice.roll(3);
    }
    if (dice.roll(8) === 0) {
      schema.maxProperties = names.length;
    }
    if (dice.roll(5) === 0) {
      schema[dice.pick(["anyOf", "oneOf"])] = [
        { required: [dice.pick(names.concat(["a"]))] },
        { properties: { own: this.schema(level + 2) }, required: ["own"] },
      ];
    }
    return schema;
  }

  list(level) {
    const { dice } = this;
    const schema = { type: "array", uniqueItems: false };
    const is_old = this.draft === "draft-7";
    if (dice.roll(3) === 0) {
      schema[is_old ? "items" : "prefixItems"] = this.schemas(level);
      if (dice.coin()) {
        schema[is_old ? "additionalItems" : "items"] = dice.pick([false, this.schema(level + 1)]);
      }
    } else {
      schema.items = this.schema(level + 1);
    }
    if (dice.coin()) {
      schema.minItems = dice.roll(3);
    }
    if (dice.coin()) {
      schema.maxItems = 1 + dice.roll(4);
    }
    return schema;
  }

  one_of(level) {
    const { dice } = this;
    const key = dice.pick(this.names);
    return dice.pick([
      { oneOf: [{ type: "string" }, this.number(), { type: "null" }] },
      { oneOf: this.schemas(level) },
      { oneOf: [this.string(), { properties: { a: {} } }, { minimum: 3 }] },
      {
        oneOf: [0, 1, 2].map((value) => ({ properties: { [key]: { const: value }, own: this.schema(level + 1) }, required: [key] })),
        discriminator: { propertyName: key },
      },
      {
        oneOf: ["x", "y"].map((name) => ({
          type: "object",
          properties: { [name]: this.schema(level + 1) },
          required: [name],
          additionalProperties: false,
        })),
      },
      {
        oneOf: [
          { properties: { x: this.schema(level + 1) }, required: ["x"] },
          { properties: { y: this.schema(level + 1) }, required: ["y"] },
        ],
      },
      { type: dice.pick(["object", "string"]), oneOf: [{ minLength: 3 }, { required: ["a"] }] },
      {
        oneOf: dice
          .some(kValues)
          .map((value) => ({ const: value }))
          .concat([{ enum: [77, "z"] }]),
      },
    ]);
  }

  all_of(level) {
    const { dice } = this;
    return dice.pick([
      { allOf: [this.object(level + 1), this.object(level + 1)] },
      { allOf: [this.string(), this.string()] },
      { allOf: [this.number(), this.number()] },
      { allOf: [this.list(level + 1), this.list(level + 1)] },
      { allOf: [{ enum: dice.some(kValues).concat([1]) }, { enum: dice.some(kValues).concat([1.0]) }] },
      { allOf: [this.schema(level + 1)], description: "d" },
      { allOf: this.schemas(level), anyOf: this.schemas(level) },
      { ...this.object(level + 1), $ref: `#/${this.defs}/list` },
    ]);
  }
}

/// The forms of arguments that are not JSON (kJsonForms), with the names that objects have in them.
const kForms = [
  { form: 1, name: "FunctionGemma", names: ["a", "ab", "B", "a_b", "x-1", "é", "名", "$ref", "length"] },
  { form: 3, name: "Qwen3-Coder", names: kNames },
];
/// Returns a schema of arguments, of which one has a value under `schema`.
const argument_of = ({ $defs, definitions, ...value }) => ({
  type: "object",
  properties: { value },
  required: ["value"],
  ...($defs === undefined ? { definitions } : { $defs }),
});

/// Checks `count` answers: JSON, or arguments in a form, which the program reads back as JSON.
function check_random(count, { form, name, names } = { form: 0, name: "JSON", names: kNames }) {
  let checked = 0,
    schemas = 0,
    refused = 0;
  const reasons = new Map();
  for (let batch = 0; checked < count; ++batch) {
    const cases = Array.from({ length: 100 }, (_, i) => {
      const draft = i % 2 === 0 ? "draft-7" : "draft-2020-12";
      const schema = new Schemas(Number(seed) * 1_000_003 + batch * 100 + i, draft, names).root();
      return { draft, schema: form === 0 ? schema : argument_of(schema) };
    });
    const results = answers_of(
      cases.map((one) => one.schema),
      kAnswersOfSchema,
      `${Number(seed) + batch}`,
      form,
    );
    cases.forEach((one, i) => {
      ++schemas;
      if (results[i].refused !== undefined) {
        ++refused;
        const reason = results[i].refused.replace(/.*\./, "").replace(/\[\d+\]/g, "");
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        return;
      }
      const is_valid = validator(one.schema, one.draft);
      for (const answer of results[i].answers) {
        require_valid(one.schema, answer, is_valid, `random schema ${i} of batch ${batch}`);
        ++checked;
      }
    });
  }
  assert(refused < schemas / 2, `${refused} of ${schemas} random schemas were refused`);
  const most = [...reasons]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 8)
    .map(([reason, times]) => `${reason || "(root)"} ${times}`)
    .join(", ");
  console.log(
    `forced answers in the form of ${name}: ${checked} under ${schemas - refused} random schemas are valid; ${refused} schemas were refused (${most})`,
  );
}

// The check itself.
for (const [schema, bad] of [
  [{ type: "string", format: "date" }, "2026-02-30"],
  [{ properties: { 'a"': { type: "null" } } }, { 'a"': 1 }],
  [{ oneOf: [{ minLength: 1 }, { minimum: 1 }] }, null],
]) {
  assert(!validator(schema, "draft-2020-12")(bad));
}

const known = check_zod() + check_known(kPydantic, "pydantic") + check_known(kLlamaCpp, "llama.cpp");
console.log(`forced answers: ${known} under the schemas of zod, pydantic and llama.cpp's tests are valid`);
check_random(Number(wanted));
for (const form of kForms) {
  check_random(Number(wanted) / 2, form);
}
