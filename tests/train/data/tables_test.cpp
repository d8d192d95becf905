#include <gtest/gtest.h>

#include "tests/support/temporary_folder.h"
#include "train/data/corpus/corpus.h"
#include "train/data/corpus/corpus_contents.h"
#include "train/data/corpus/corpus_reader.h"
#include "train/data/corpus/table_fields.h"
#include "train/data/examples/conversations.h"
#include "train/data/examples/preferences.h"
#include "train/text/table_reader.h"

// Tables of texts and examples: they are read as the same objects in JSONL.
namespace dikkat {
namespace {

using testing::names;
using Columns = std::vector<std::string>;

Columns fields_of(const Columns& columns, const FieldNames& names = {}) { return table_fields(columns, names).of_columns; }

TEST(TableFields, FindsUsualNames) {
  EXPECT_EQ(fields_of({"prompt", "completion"}), (Columns{"prompt", "completion"}));
  EXPECT_EQ(fields_of({"id", "Question", "ANSWER"}), (Columns{"id", "prompt", "completion"}));
  EXPECT_EQ(fields_of({"input", "output"}), (Columns{"prompt", "completion"}));
  EXPECT_EQ(fields_of({"assistant", "user"}), (Columns{"completion", "prompt"}));
  EXPECT_EQ(fields_of({"instruction", "input", "output"}), (Columns{"instruction", "input", "output"}));
  EXPECT_EQ(fields_of({"instruction", "context", "response", "category"}), (Columns{"instruction", "input", "output", "category"}));
  EXPECT_EQ(fields_of({"system", "question", "answer"}), (Columns{"system", "instruction", "output"}));
  EXPECT_EQ(fields_of({"question", "chosen", "rejected"}), (Columns{"prompt", "chosen", "rejected"}));
  EXPECT_EQ(fields_of({"prompt", "question", "answer"}), (Columns{"prompt", "question", "completion"}));
  EXPECT_EQ(fields_of({"prompt", "completion", "label"}), (Columns{"prompt", "completion", "label"}));
  EXPECT_EQ(fields_of({"Prompt", "prompt", "answer"}), (Columns{"prompt", "", "completion"})) << "a field is read from one column";
  EXPECT_EQ(fields_of({"id", "Text"}), (Columns{"id", "text"}));
  EXPECT_EQ(fields_of({"question", "answer", "body"}, {.text = "body"}), (Columns{"question", "answer", "body"}));
  EXPECT_TRUE(names(table_fields({"id", "Question", "answer"}, {}).note, {"prompt=Question,completion=answer"}));
  for (const Columns& columns : {Columns{"a", "b"}, {"prompt"}, {"chosen", "other"}, {"question"}}) {
    EXPECT_TRUE(names(testing::error_of<BadTable>([&] { fields_of(columns); }), {"--columns", '"' + columns.back() + '"'}));
  }
}

TEST(TableFields, AreThoseThatTheUserNames) {
  const Columns columns = {"id", "q, long", "a", "prompt"};
  EXPECT_EQ(fields_of(columns, {.columns = {"prompt=q, long", "completion=a"}}), (Columns{"", "prompt", "completion", ""}));
  EXPECT_TRUE(
      names(testing::error_of<BadTable>([&] { fields_of(columns, {.columns = {"prompt=q"}}); }), {"\"q\"", "\"q, long\"", "\"a\""}));
  for (const Columns& wrong : {Columns{"prompt"}, {"=a"}, {"prompt="}, {"prompt=a", "prompt=id"}, {"prompt=a", "completion=a"}}) {
    EXPECT_TRUE(names(input_error_of([&] { fields_of(columns, {.columns = wrong}); }), {"data.columns", '"' + wrong.back() + '"'}));
  }
}

/// Reads conversations from a table and from JSONL, and expects the same.
void expect_equal(const TemporaryFolder& folder, const std::string& table, const std::string& lines, const FieldNames& names = {}) {
  const Columns one = {folder.write("a.csv", table)}, other = {folder.write("a.jsonl", lines)};
  const ConversationCorpus rows = read_conversations(one, names), objects = read_conversations(other, {});
  EXPECT_EQ(rows.examples, objects.examples) << table;
  EXPECT_EQ(contents_of(one, names).kind, contents_of(other, {}).kind) << table;
  EXPECT_EQ(rows.found.unused, objects.found.unused) << table;
  EXPECT_EQ(rows.found.left_out, objects.found.left_out) << table;
  EXPECT_EQ(rows.found.empty_answers, objects.found.empty_answers) << table;
  EXPECT_EQ(rows.found.windows_lines, objects.found.windows_lines) << table;
  EXPECT_EQ(rows.found.tables.size(), 1U);
  if (names.columns.empty()) {
    EXPECT_EQ(rows.documents, objects.documents) << "a document of both is found by its hash";
    EXPECT_EQ(rows.fingerprint, objects.fingerprint);
  }
}

TEST(Tables, AreReadAsTheSameObjectsInJsonl) {
  const TemporaryFolder folder;
  expect_equal(folder, "\xEF\xBB\xBFquestion;answer\r\n\"How; \"\"so\"\"?\";\"one\r\ntwo\"\r\n\r\nlamp;\r\n\xC3\xA9\\;\t\r\n",
               R"({"prompt":"How; \"so\"?","completion":"one\r\ntwo"}
{"prompt":"lamp","completion":""}
{"prompt":"é\\","completion":"\t"}
)");
  expect_equal(folder, "id,Instruction,context,response,train\n1,add,\"1, 2\",3,True\n2,sing,,la,0\n",
               R"({"id":"1","instruction":"add","input":"1, 2","output":"3","train":true}
{"id":"2","instruction":"sing","input":"","output":"la","train":false}
)");
  expect_equal(folder, "text,id\n\"the\nlamp\",7\n", "{\"text\":\"the\\nlamp\",\"id\":\"7\"}\n");
  expect_equal(folder, "rubbish,was,sagt,system\nx,wer,ich,y\n", "{\"prompt\":\"wer\",\"completion\":\"ich\"}\n",
               {.columns = {"prompt=was", "completion=sagt"}});
  expect_equal(folder, "system,user,assistant\nbe brief,hi,yes\n", R"({"system":"be brief","instruction":"hi","output":"yes"})");
}

TEST(Tables, HoldPreferences) {
  const TemporaryFolder folder;
  const Columns pairs = {folder.write("a.tsv", "question\tchosen\trejected\nwho\tI\tyou\n")},
                judged = {folder.write("b.csv", "prompt,completion,label\nwho,I,TRUE\nwho,you,0\n")},
                lines = {folder.write("a.jsonl", R"({"prompt":"who","chosen":"I","rejected":"you"})")};
  EXPECT_EQ(contents_of(pairs, {}).kind, DataKind::pairs);
  EXPECT_EQ(contents_of(judged, {}).kind, DataKind::judgments);
  const PreferenceCorpus one = read_preferences(pairs), other = read_preferences(lines), judgments = read_preferences(judged);
  EXPECT_EQ(one.examples.front().chosen, other.examples.front().chosen);
  EXPECT_EQ(one.examples.front().rejected, other.examples.front().rejected);
  EXPECT_EQ(one.examples.front().prompt, 1U);
  EXPECT_EQ(judgments.examples.front().good, true);
  EXPECT_EQ(judgments.examples.back().good, false);
  EXPECT_EQ(judgments.places.back(), judged[0] + ": row 3 (line 3)");
}

TEST(Tables, HoldTexts) {
  const TemporaryFolder folder;
  const Columns table = {folder.write("a.csv", "id,text\n1,\"one\ntwo\"\n2,\n3,three\n")};
  const Corpus corpus = open_corpus(table);
  CorpusReader reader(corpus, [](std::string_view text) { return static_cast<index>(text.size()); });
  std::vector<std::string> texts;
  for (auto chunks = reader.next(); !chunks.empty(); chunks = reader.next()) {
    for (const Chunk& chunk : chunks) {
      texts.push_back(concat(chunk.line, chunk.text));
    }
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"2one\ntwo", "4three"}));
  const CorpusFacts facts = survey(corpus, nullptr);
  ASSERT_EQ(facts.notes.size(), 2U);
  EXPECT_TRUE(names(facts.notes[0], {"text=text"}));
  EXPECT_TRUE(names(facts.notes[1], {"\"id\" on 3"}));
  const Columns body = {folder.write("b.csv", "body\nships\n")};
  EXPECT_EQ(survey(open_corpus(body, {.names = {.text = "body"}}), nullptr).bytes, 5);
  EXPECT_EQ(survey(open_corpus(body, {.names = {.columns = {"text=body"}}}), nullptr).bytes, 5);
  EXPECT_EQ(survey(open_corpus(body), nullptr).bytes, 11) << "other tables are plain text";
}

TEST(Tables, ColumnsNameFieldsOfJsonToo) {
  const TemporaryFolder folder;
  const FieldNames own = {.columns = {"prompt=q", "completion=a"}};
  for (const char* name : {"a.jsonl", "a.json"}) {
    const Columns lines = {folder.write(name, R"({"id": 3, "q": "who", "a": "I"})")};
    EXPECT_EQ(contents_of(lines, own).kind, DataKind::conversations);
    const ConversationCorpus corpus = read_conversations(lines, own);
    EXPECT_EQ(corpus.examples.front().messages, (std::vector<Message>{{"user", "who"}, {"assistant", "I"}}));
    EXPECT_TRUE(corpus.found.unused.empty()) << "only these are read";
  }
  const Columns mixed = {folder.write("b.jsonl", "{\"text\": \"ships\"}\n{\"q\": \"who\", \"a\": \"I\"}\n")};
  EXPECT_EQ(contents_of(mixed, own).kind, DataKind::conversations);
  EXPECT_EQ(read_conversations(mixed, own).examples.front().text, "ships") << "it has none of the fields";
}

TEST(Tables, OfOtherColumnsAreRefusedWithTheirNames) {
  const TemporaryFolder folder;
  const Columns table = {folder.write("a.csv", "wann,was\n1,2\n")};
  EXPECT_EQ(contents_of(table, {}).kind, DataKind::table);
  EXPECT_TRUE(names(input_error_of([&] { read_conversations(table, {}); }), {table[0], "\"wann\"", "\"was\"", "--columns"}));
  EXPECT_TRUE(names(input_error_of([&] { read_conversations(table, {.columns = {"prompt=x", "completion=was"}}); }),
                    {table[0], "row 1", "\"x\"", "\"wann\""}));
  const Columns half = {folder.write("b.csv", "question,remark\n1,2\n")};
  EXPECT_TRUE(names(input_error_of([&] { read_conversations(half, {.columns = {"prompt=question"}}); }), {half[0], "row 2", "\"prompt\""}));
  const Columns twice = {folder.write("c.csv", "prompt,prompt,completion\n1,2,3\n")};
  EXPECT_TRUE(names(input_error_of([&] { read_conversations(twice, {}); }), {twice[0], "\"prompt\"", "twice"}));
  const Columns labels = {folder.write("d.csv", "text,label\nlamp,1\n")};
  EXPECT_EQ(contents_of(labels, {}).kind, DataKind::labels);
  EXPECT_TRUE(names(input_error_of([&] { survey(open_corpus(labels), nullptr); }), {labels[0], "row 2", "--columns text=text"}));
  EXPECT_EQ(survey(open_corpus(labels, {.names = {.columns = {"text=text"}}}), nullptr).bytes, 4);
}

TEST(Tables, OfWrongRowsAreRefusedByRowAndLine) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  const std::string good = "prompt,completion\nwho,\"I\nyou\"\n";
  for (const auto& [row, parts] : {std::pair("one\n"s, Columns{"row 3 (line 4)", "1 field"}),
                                   {"one,two,three\n"s, {"row 3 (line 4)", "2 fields"}},
                                   {"one,\"two\nthree,four\n"s, {"row 3 (line 4)", "never closes"}},
                                   {"one,\"two\" three\n"s, {"row 3 (line 4)", "closing quote"}},
                                   {"one,\xE9t\xE9\n"s, {"row 3 (line 4)", "byte 0", "UTF-8"}},
                                   {"one,t\0o\n"s, {"NUL"}}}) {
    const Columns table = {folder.write("a.csv", good + row)};
    EXPECT_TRUE(names(input_error_of([&] { read_conversations(table, {}); }), parts)) << row;
    EXPECT_TRUE(names(input_error_of([&] { read_conversations(table, {}); }), {table[0]})) << row;
  }
  const Columns header = {folder.write("b.csv", "prompt,completion\n")}, empty = {folder.write("c.csv", "")};
  EXPECT_TRUE(names(input_error_of([&] { read_conversations(header, {}); }), {header[0]}));
  EXPECT_TRUE(names(input_error_of([&] { read_conversations(empty, {}); }), {empty[0], "empty"}));
  EXPECT_TRUE(names(input_error_of([&] { survey(open_corpus(Columns{folder.write("d.csv", "text\n")}), nullptr); }), {"d.csv"}));
}

TEST(Tables, OfOtherProgramsAreRefusedWithAdvice) {
  using namespace std::string_literals;
  const TemporaryFolder folder;
  for (const std::string name : {"a.parquet", "a.csv", "a.tsv", "a"}) {
    const Columns parquet = {folder.write(name, "PAR1\x15\0\x15\x10PAR1"s)};
    EXPECT_TRUE(names(input_error_of([&] { read_conversations(parquet, {}); }), {parquet[0], "import pandas", "read_parquet"})) << name;
    const Columns excel = {folder.write(name, "PK\x03\x04\x14\0\0\0"s)};
    EXPECT_TRUE(names(input_error_of([&] { read_conversations(excel, {}); }), {excel[0], ".xlsx", "CSV"})) << name;
  }
  const Columns wide = {folder.write("b.csv", "\xFF\xFEq\0;\0a\0\n\0"s)};
  EXPECT_TRUE(names(input_error_of([&] { read_conversations(wide, {}); }), {wide[0], "UTF-16", "iconv"}));
}

TEST(Tables, AreFoundByTheirHeader) {
  const TemporaryFolder folder;
  const auto kind = [&](const char* name, const char* text) { return contents_of(Columns{folder.write(name, text)}, {}).kind; };
  EXPECT_EQ(kind("a.txt", "\"instruction\"\t\"output\"\r\na\tb\r\n"), DataKind::conversations);
  EXPECT_EQ(kind("b.txt", "text\nships\n"), DataKind::text) << "a word is not a header";
  EXPECT_EQ(kind("c.txt", "\"Who is it?\" she asked, and\nwent\n"), DataKind::text);
  EXPECT_EQ(kind("d.txt", "The question, and the answer\n"), DataKind::text);
  EXPECT_EQ(kind("e.csv", "text\nships\n"), DataKind::documents);
}

}  // namespace
}  // namespace dikkat
