// Schemas as libraries and other servers' tests have them: [name, schema], and the keyword that is refused, if one is.

const object = (properties, more = {}) => ({ type: "object", properties, required: Object.keys(properties), title: "M", ...more });
const field = (schema, more) => object({ x: { title: "X", ...schema } }, more);
const color = { enum: ["red", "blue"], title: "Color", type: "string" };
const address = object({ street: { title: "Street", type: "string" }, zip: { pattern: "^\\d{5}$", title: "Zip", type: "string" } });
const cat = object({ kind: { const: "cat", title: "Kind", type: "string" }, lives: { type: "integer" } });
const dog = object({ kind: { const: "dog", title: "Kind", type: "string" }, name: { type: "string" } });
const pets = { $defs: { Cat: cat, Dog: dog } };

/// As pydantic 2's model_json_schema() writes them.
export const kPydantic = [
  ["str", field({ type: "string" })],
  ["int", field({ type: "integer" })],
  ["float", field({ type: "number" })],
  ["bool", field({ type: "boolean" })],
  ["None", field({ type: "null" })],
  ["Any", field({})],
  ["Optional[str]", field({ anyOf: [{ type: "string" }, { type: "null" }], default: null })],
  ["date", field({ format: "date", type: "string" })],
  ["datetime", field({ format: "date-time", type: "string" })],
  ["time", field({ format: "time", type: "string" })],
  ["timedelta", field({ format: "duration", type: "string" })],
  ["Decimal", field({ anyOf: [{ type: "number" }, { pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$", type: "string" }] })],
  [
    "Decimal with max_digits",
    field({
      anyOf: [{ type: "number" }, { pattern: "^(?!^[-+.]*$)[+-]?0*(?:\\d{0,3}|(?=[\\d.]{1,6}0*$)\\d{0,3}\\.\\d{0,2}0*$)", type: "string" }],
    }),
  ],
  ["UUID", field({ format: "uuid", type: "string" })],
  ["UUID4", field({ format: "uuid4", type: "string" })],
  ["bytes", field({ format: "binary", type: "string" })],
  ["Base64Str", field({ format: "base64", type: "string" })],
  ["SecretStr", field({ format: "password", type: "string", writeOnly: true })],
  ["Json", field({ contentMediaType: "application/json", contentSchema: {}, type: "string" })],
  ["list[int]", field({ items: { type: "integer" }, type: "array" })],
  ["conlist", field({ items: { type: "integer" }, type: "array", minItems: 1, maxItems: 3 })],
  ["tuple[int, str]", field({ maxItems: 2, minItems: 2, prefixItems: [{ type: "integer" }, { type: "string" }], type: "array" })],
  ["dict[str, int]", field({ additionalProperties: { type: "integer" }, type: "object" })],
  ["dict with min_length", field({ additionalProperties: { type: "integer" }, minProperties: 1, type: "object" })],
  [
    "dict[Color, int]",
    field(
      { additionalProperties: { type: "integer" }, propertyNames: { $ref: "#/$defs/Color" }, type: "object" },
      { $defs: { Color: color } },
    ),
  ],
  ["Literal", field({ enum: ["a", 1] })],
  ["Literal of one", field({ const: "a", type: "string" })],
  ["Enum", object({ x: { $ref: "#/$defs/Color" } }, { $defs: { Color: color } })],
  ["IntEnum", object({ x: { $ref: "#/$defs/Level" } }, { $defs: { Level: { enum: [1, 2], title: "Level", type: "integer" } } })],
  ["Union[int, str]", field({ anyOf: [{ type: "integer" }, { type: "string" }] })],
  ["a model", object({ x: { $ref: "#/$defs/Address", description: "d" } }, { $defs: { Address: address } })],
  [
    "a model with a default",
    object({ x: { $ref: "#/$defs/Address", default: { street: "a", zip: "12345" }, description: "d" } }, { $defs: { Address: address } }),
  ],
  ["Optional[model]", object({ x: { anyOf: [{ $ref: "#/$defs/Address" }, { type: "null" }] } }, { $defs: { Address: address } })],
  [
    "allOf of pydantic 1",
    object({ x: { allOf: [{ $ref: "#/definitions/Address" }], title: "X", default: {} } }, { definitions: { Address: address } }),
  ],
  [
    "a discriminated union",
    field(
      {
        discriminator: { mapping: { cat: "#/$defs/Cat", dog: "#/$defs/Dog" }, propertyName: "kind" },
        oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
      },
      pets,
    ),
  ],
  ["a union of models", field({ anyOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }] }, pets)],
  [
    "a recursive model",
    {
      ...object({ x: { $ref: "#/$defs/Node" } }),
      $defs: { Node: object({ value: { type: "integer" }, children: { items: { $ref: "#/$defs/Node" }, type: "array" } }) },
    },
  ],
  ["extra='forbid'", field({ type: "integer" }, { additionalProperties: false })],
  ["extra='allow'", field({ type: "integer" }, { additionalProperties: true })],
  ["constr", field({ maxLength: 5, minLength: 2, type: "string" })],
  ["constr with a pattern", field({ maxLength: 5, pattern: "^a", type: "string" })],
  ["conint", field({ maximum: 10, minimum: 0, type: "integer" })],
  ["confloat", field({ exclusiveMaximum: 1, exclusiveMinimum: 0, type: "number" })],
  ["confloat(ge=0.5)", field({ minimum: 0.5, type: "number" })],
  ["AnyUrl", field({ format: "uri", minLength: 1, type: "string" })],
  ["HttpUrl", field({ format: "uri", maxLength: 2083, minLength: 1, type: "string" })],
  ["EmailStr", field({ format: "email", type: "string" })],
  ["IPv4Address", field({ format: "ipv4", type: "string" })],
  ["IPv6Address", field({ format: "ipv6", type: "string" })],
  [
    "ByteSize",
    field({
      anyOf: [
        { pattern: "^\\s*(\\d*\\.?\\d+)\\s*(\\w+)?", type: "string" },
        { minimum: 0, type: "integer" },
      ],
    }),
  ],
  ["set[str]", field({ items: { type: "string" }, type: "array", uniqueItems: true }), "properties.x.uniqueItems"],
  ["multiple_of", field({ multipleOf: 5, type: "integer" }), "properties.x.multipleOf"],
  ["Path", field({ format: "path", type: "string" }), "properties.x.format"],
  ["IPv4Network", field({ format: "ipv4network", type: "string" }), "properties.x.format"],
];

const integer = (bounds) => ({ type: "integer", ...bounds });
const text = { type: "string" },
  number = { type: "number" };

/// The cases that llama.cpp's tests/test-json-schema-to-grammar.cpp accepts, in our own words.
export const kLlamaCpp = [
  ...[0, 1, 3, 9, 10, 25, -5, -123].map((minimum) => [`minimum ${minimum}`, integer({ minimum })]),
  ...[30, -5, 1, 100].map((maximum) => [`maximum ${maximum}`, integer({ maximum })]),
  ...[
    [0, 23],
    [15, 300],
    [5, 30],
    [-123, 42],
    [-10, 10],
  ].map(([minimum, maximum]) => [`from ${minimum} to ${maximum}`, integer({ minimum, maximum })]),
  ["no keyword", {}],
  ["formats in a tuple", { items: ["date", "uuid", "time", "date-time"].map((format) => ({ format })) }],
  ["a string", text],
  ...[{ minLength: 1 }, { minLength: 3 }, { maxLength: 3 }, { minLength: 1, maxLength: 4 }].map((length) => [
    JSON.stringify(length),
    { ...text, ...length },
  ]),
  ["a boolean", { type: "boolean" }],
  ["an integer", { type: "integer" }],
  ["a number", number],
  ["const of a string", { const: "foo" }],
  ["const of a number", { const: 123 }],
  ["enum of several types", { enum: ["red", "amber", "green", null, 42, ["foo"]] }],
  ["prefixItems that is a schema", { type: "array", prefixItems: text }, "prefixItems"],
  ["prefixItems that is a schema, nullable", { type: ["array", "null"], prefixItems: text }, "prefixItems"],
  ["prefixItems that is a schema, and items", { type: "array", items: {}, prefixItems: text }, "prefixItems"],
  ["a tuple of one", { prefixItems: [text] }],
  ["a tuple of two", { prefixItems: [text, number] }],
  ["items that may be anything", { type: "array", items: {} }],
  ["minItems", { items: { type: "boolean" }, minItems: 2 }],
  ...[0, 1, 2].map((maxItems) => [`maxItems ${maxItems}`, { items: { type: "boolean" }, maxItems }]),
  ["minItems and maxItems", { items: { type: ["number", "integer"] }, minItems: 3, maxItems: 5 }],
  ["bounds of items across zero", { items: integer({ minimum: -12, maximum: 207 }), minItems: 3, maxItems: 5 }],
  ["bounds of items", { items: integer({ minimum: 12, maximum: 207 }), minItems: 3, maxItems: 5 }],
  ...[
    "^abc?d*efg+(hij)?kl$",
    "^\\[\\]\\{\\}\\(\\)\\|\\+\\*\\?$",
    '^"$',
    "^A|B|C|D$",
    "^(\\([0-9]{1,3}\\))?[0-9]{3}-[0-9]{4} a{3,5}nd...$",
    "^(?:foo|bar)baz$",
    "^(?:(?:ab)+c)?d$",
  ].map((pattern) => [`pattern ${pattern}`, { ...text, pattern }]),
  [
    "required in another order",
    { type: "object", properties: { b: text, c: text, a: text }, required: ["a", "b", "c"], additionalProperties: false, definitions: {} },
  ],
  ["one optional property", { properties: { a: text }, additionalProperties: false }],
  ["several optional properties", { properties: { a: text, b: text, c: text }, additionalProperties: false }],
  [
    "required and optional properties",
    { properties: { b: text, a: text, d: text, c: text }, required: ["a", "b"], additionalProperties: false },
  ],
  ["additionalProperties", { type: "object", additionalProperties: { type: "array", items: number } }],
  ["additionalProperties: true", { type: "object", additionalProperties: true }],
  ["an object", { type: "object" }],
  ["an empty object", { type: "object", additionalProperties: false }],
  ["required and additional properties", { type: "object", properties: { a: number }, required: ["a"], additionalProperties: text }],
  ["optional and additional properties", { type: "object", properties: { a: number }, additionalProperties: number }],
  [
    "required, optional and additional properties",
    { type: "object", properties: { and: number, also: number }, required: ["and"], additionalProperties: number },
  ],
  ...[
    ["", "a"],
    ["a", "aa"],
    ["ab", "ac"],
  ].map(([one, other]) => [
    `additional names beside ${one} and ${other}`,
    { properties: { [one]: { type: "integer" }, [other]: { type: "integer" } }, additionalProperties: { type: "integer" } },
  ]),
  [
    "$ref at the top",
    {
      $ref: "#/definitions/foo",
      definitions: { foo: { type: "object", properties: { a: text }, required: ["a"], additionalProperties: false } },
    },
  ],
  [
    "anyOf beside a type",
    {
      anyOf: [{ $ref: "#/definitions/foo" }, { $ref: "#/definitions/bar" }],
      definitions: { foo: { properties: { a: number } }, bar: { properties: { b: number } } },
      type: "object",
    },
  ],
  [
    "$ref into anyOf",
    {
      properties: { a: { anyOf: [text, number] }, b: { anyOf: [{ $ref: "#/properties/a/anyOf/0" }, { type: "boolean" }] } },
      type: "object",
    },
  ],
  [
    "allOf, anyOf and $ref",
    {
      allOf: [
        { $ref: "#/definitions/foo" },
        { $ref: "#/definitions/bar" },
        { anyOf: [{ $ref: "#/definitions/baz" }, { $ref: "#/definitions/bam" }] },
      ],
      definitions: {
        foo: { properties: { a: number } },
        bar: { properties: { b: number } },
        bam: { properties: { c: number } },
        baz: { properties: { d: number } },
      },
      type: "object",
    },
  ],
  ["allOf of an enum", { allOf: [{ $ref: "#/definitions/foo" }], definitions: { foo: { ...text, enum: ["a", "b"] } } }],
  [
    "allOf of two enums",
    {
      allOf: [{ $ref: "#/definitions/foo" }, { $ref: "#/definitions/bar" }],
      definitions: { foo: { ...text, enum: ["a", "b", "c"] }, bar: { ...text, enum: ["b", "c", "d"] } },
    },
  ],
  [
    "names that are also types",
    object(
      { number: object({ number: object({ root: number }) }, { additionalProperties: false }) },
      { additionalProperties: false, definitions: {} },
    ),
  ],
  ["only a description", { description: "The first line. If None, from the beginning." }],
  ["const with escapes", object({ code: { const: ' \r \n " \\ ', description: "Code", title: "Code", type: "string" } })],
  [
    "absolute paths and lines",
    { type: "object", properties: { absolutePath: text, startLine: { type: "integer" } }, required: ["absolutePath"] },
  ],
  // Those that ask whether a schema is one of strings.
  ...[
    { type: ["string", "null"] },
    { type: ["integer", "null"] },
    { minLength: 1 },
    { maxLength: 10 },
    { pattern: "^[a-z]+$" },
    { format: "date" },
    { format: "uuid" },
    { format: "email" },
    { enum: ["a", "b", "c"] },
    { enum: [1, 2, 3] },
    { enum: [1, "a", null] },
    { anyOf: [text, { type: "integer" }] },
    { oneOf: [text, number] },
    { oneOf: [{ type: "object" }, { type: "array" }] },
    { allOf: [text, { minLength: 1 }] },
    { $ref: "#/$defs/str", $defs: { str: text } },
    { anyOf: [{ anyOf: [{ type: "integer" }, text] }, { type: "boolean" }] },
  ].map((schema) => [JSON.stringify(schema), schema]),
];
