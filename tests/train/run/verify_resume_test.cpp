#include "train/run/verify_resume.h"

#include "autograd/base/parallel.h"
#include "tests/train/run/tiny_run.h"

namespace dikkat {
namespace {

void unheeded(double) {}

TEST(VerifyResume, proves_it_for_both_models_and_leaves_nothing) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_text());
  write_file(folder / "pairs.tsv", tiny_pairs());
  const int threads = thread_count();
  for (const Config& config : {tiny_config(folder / "corpus.txt"), tiny_pairs_config(folder / "pairs.tsv")}) {
    std::vector<double> shares;
    const auto proof = verify_resume(config, 6, folder / "proof", {}, never, [&](double share) { shares.push_back(share); });
    ASSERT_TRUE(proof.has_value());
    EXPECT_EQ(proof->difference, "");
    EXPECT_EQ(proof->hash.size(), 64U);
    EXPECT_EQ(proof->stop, 3);
    EXPECT_NE(proof->other_threads, threads);
    ASSERT_EQ(shares.size(), 12U);
    EXPECT_EQ(shares.back(), 1);
    EXPECT_FALSE(std::filesystem::exists(folder / "proof"));
    EXPECT_EQ(thread_count(), threads);
  }
}

TEST(VerifyResume, sees_a_difference) {
  const TemporaryFolder folder;
  std::string other = tiny_text();
  std::swap(other[100], other[103]);
  const auto verified = [&](double meddled_at) {  // the text changes after this share of the steps
    write_file(folder / "corpus.txt", tiny_text());
    const auto meddle = [&](double share) {
      if (share == meddled_at) {
        write_file(folder / "corpus.txt", other);
      }
    };
    return verify_resume(tiny_config(folder / "corpus.txt"), 6, folder / "proof", {}, never, meddle);
  };
  const auto proof = verified(0.5);
  EXPECT_NE(proof->difference.find("state"), std::string::npos) << proof->difference;
  EXPECT_EQ(proof->hash, "");
  EXPECT_THROW(verified(0.75), InputError);
  EXPECT_FALSE(std::filesystem::exists(folder / "proof"));
}

TEST(VerifyResume, stops_when_asked_and_refuses_texts_that_can_be_read_only_once) {
  const TemporaryFolder folder;
  write_file(folder / "corpus.txt", tiny_text());
  Config config = tiny_config(folder / "corpus.txt");
  for (const int asked : {0, 7, 10, 14}) {
    EXPECT_FALSE(verify_resume(config, 6, folder / "proof", {}, after(asked), unheeded).has_value()) << asked;
    EXPECT_FALSE(std::filesystem::exists(folder / "proof"));
  }
  config.data.corpus = {"-"};
  EXPECT_THROW(verify_resume(config, 6, folder / "proof", {}, never, unheeded), InputError);
}

}  // namespace
}  // namespace dikkat
