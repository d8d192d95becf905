#include <sys/stat.h>

#include "tests/train/cli/workspace.h"

// Kills, signals and a second writer.
namespace dikkat::testing {
namespace {

Words train_run(int steps) {
  return {"train", "--config", "tiny.toml", "--out", "run", "--set", "train.max_steps=" + std::to_string(steps)};
}

/// Expects the run to equal one without a stop.
void expect_same_as_whole(const Workspace& here, int steps) {
  here.train("whole", {"train.max_steps=" + std::to_string(steps)});
  EXPECT_NE(here.checkpoint("run", steps), "");
  EXPECT_TRUE(here.checkpoint("run", steps) == here.checkpoint("whole", steps)) << "the checkpoints differ";
  EXPECT_EQ(here.timeless_metrics("run"), here.timeless_metrics("whole"));
}

/// Runs the program until metrics.jsonl has this many lines, sends the signal, and waits for the end.
Outcome stop_at(const Workspace& here, const Words& arguments, long lines, int signal) {
  Program program(here.here(arguments));
  EXPECT_TRUE(program.until([&] { return here.metric_lines("run") >= lines; })) << lines;
  program.send(signal);
  return program.wait();
}

TEST(Interruption, ARunThatIsKilledAgainAndAgainEndsInTheSameBits) {
  const Workspace here;
  EXPECT_EQ(stop_at(here, train_run(100), 13, SIGKILL).code, -SIGKILL);
  for (const long lines : {14, 37, 38, 60}) {
    EXPECT_EQ(stop_at(here, {"resume", "run"}, lines, SIGKILL).code, -SIGKILL);
    const Outcome verified = here.run({"verify", "run"});
    EXPECT_EQ(verified.code, 0) << verified.err;
  }
  const Outcome resumed = here.run({"resume", "run"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_same_as_whole(here, 100);
}

TEST(Interruption, AKillBeforeTheFirstIntervalLeavesTheBeginning) {
  const Workspace here;
  Words rare = train_run(100'000);
  rare.insert(rare.end(), {"train.checkpoint_interval=90000", "train.eval_interval=90000"});
  {
    Program program(here.here(rare));
    const auto began = [&] { return here.metric_lines("run") >= 40 && !here.checkpoint("run", 0).empty(); };
    ASSERT_TRUE(program.until(began)) << "step 0 is saved beside the first steps";
    program.send(SIGKILL);
    EXPECT_EQ(program.wait().code, -SIGKILL);
  }
  const Outcome resumed = here.run({"resume", "run", "--set", "train.max_steps=3"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_NE(here.checkpoint("run", 0), "");

  for (const auto& file : std::filesystem::directory_iterator(here / "run/checkpoints")) {  // as when it was killed before this was saved
    std::filesystem::remove(file);
  }
  expect_refused(here, {"resume", "run"}, {"run", "checkpoint"});
}

class SignalTest : public ::testing::TestWithParam<int> {};

TEST_P(SignalTest, SavesTheRunWhichContinuesToTheSameBits) {
  const Workspace here;
  Outcome stopped;
  do {  // repeats if the run ended before the signal came
    std::filesystem::remove_all(here / "run");
    stopped = stop_at(here, train_run(50), 8, GetParam());
  } while (stopped.code == 0);
  EXPECT_EQ(stopped.code, 128 + GetParam());
  EXPECT_EQ(stopped.out, "") << "only a finished run is a result";
  expect_named(stopped.err, {"dikkat resume run"});

  const int last = here.metrics("run").back()["step"];
  const Json end = here.log("run").back();
  EXPECT_EQ(end["event"], "stop");
  EXPECT_EQ(end["step"], last);
  EXPECT_EQ(end["reason"], GetParam() == SIGINT ? "SIGINT" : GetParam() == SIGTERM ? "SIGTERM" : "SIGHUP");
  expect_named(stopped.err, {"step " + std::to_string(last) + " "});
  EXPECT_NE(here.checkpoint("run", last), "") << "the step in progress is saved";

  const Outcome resumed = here.run({"resume", "run"}, {.environment = {{"OMP_NUM_THREADS", "1"}}});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  expect_same_as_whole(here, 50);
}

INSTANTIATE_TEST_SUITE_P(Interruption, SignalTest, ::testing::Values(SIGINT, SIGTERM, SIGHUP), [](const auto& signal) {
  return signal.param == SIGINT ? "Interrupt" : signal.param == SIGTERM ? "Terminate" : "HangUp";
});

TEST(Interruption, AHangUpThatIsIgnoredStaysIgnored) {
  const Workspace here;
  ::signal(SIGHUP, SIG_IGN);  // as nohup does
  Program program(here.here(train_run(60)));
  ::signal(SIGHUP, SIG_DFL);
  ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 3; }));
  program.send(SIGHUP);
  EXPECT_EQ(program.wait().code, 0);
  EXPECT_NE(here.checkpoint("run", 60), "");
}

/// Sends two signals during the second step, which takes a while.
Outcome stop_twice(const Workspace& here, int first, int second) {
  const Words long_steps = {
      "train", "--config", "tiny.toml", "--threads", "1", "--out", "run", "--set", "train.gradient_accumulation_steps=3000"};
  Program program(here.here(long_steps));
  EXPECT_TRUE(program.until([&] { return here.metric_lines("run") == 1; }));
  program.send(first);
  EXPECT_TRUE(program.until([&] { return !program.has_pending(first); }));
  program.send(second);
  return program.wait();
}

TEST(Interruption, ASecondSignalEndsTheProgramAtOnce) {
  for (const auto& [first, second] : {std::pair{SIGINT, SIGINT}, {SIGHUP, SIGTERM}, {SIGINT, SIGHUP}}) {
    const Workspace here;
    EXPECT_EQ(stop_twice(here, first, second).code, 128 + second);
    EXPECT_EQ(here.metric_lines("run"), 1) << "it did not wait for the second step";
    EXPECT_EQ(here.checkpoint("run", 2), "");
  }
}

TEST(Interruption, ATerminalThatIsClosedMayHangUpTwice) {
  const Workspace here;
  const Outcome stopped = stop_twice(here, SIGHUP, SIGHUP);
  EXPECT_EQ(stopped.code, 129);
  expect_named(stopped.err, {"dikkat resume run"});
}

TEST(Interruption, BeforeARunBeginsThereIsNothingToSave) {
  const Workspace here;
  ASSERT_EQ(::mkfifo((here / "pipe.toml").c_str(), 0600), 0);  // nobody writes to it: the program waits
  const auto before = here.tree();
  Program program(here.here({"train", "--config", "pipe.toml"}));
  ASSERT_TRUE(program.until([&] { return program.handles_interrupts(); }));
  program.send(SIGINT);
  EXPECT_EQ(program.wait().code, 130);
  EXPECT_TRUE(here.tree() == before);
}

TEST(Interruption, EvaluationStopsWithoutAResult) {
  const Workspace here;
  here.train("run", {"train.max_steps=1"});
  here.write("long.txt", tiny_text(1'000'000));
  Program program(here.here({"eval", "run", "--corpus", "long.txt", "--stride", "1", "--json"}));
  ASSERT_TRUE(program.until([&] { return contains(program.err(), "%"); })) << program.err();
  program.send(SIGTERM);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.code, 143);
  EXPECT_EQ(stopped.out, "");
  const std::string last = stopped.err.substr(stopped.err.rfind('\n', stopped.err.size() - 2) + 1);
  EXPECT_FALSE(contains(last, "%")) << "a message follows the progress, because it does not stop at once: " << stopped.err;
}

TEST(Interruption, SamplingEndsWithItsTextSoFar) {
  const Workspace here;
  here.train("run", {"train.max_steps=1"});
  Program program(here.here({"sample", "run", "--prompt", "the", "--max-new-tokens", "1000000000"}));
  ASSERT_TRUE(program.until([&] { return program.out().size() > 1000; }));
  program.send(SIGINT);
  const Outcome stopped = program.wait();
  EXPECT_EQ(stopped.code, 130);
  EXPECT_TRUE(stopped.out.ends_with("\n")) << "the last line ends only after a regular stop";
  expect_named(stopped.err, {" 24 "});
}

// A handler must not run on a thread that computes: autograd/base/signals.h.
TEST(Interruption, OneThreadTakesAllSignals) {
  const Workspace here;
  Program program(here.here(train_run(100'000)));
  ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 10; }));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGPROF, SIGVTALRM, SIGUSR1, SIGUSR2, SIGCHLD, SIGWINCH, SIGRTMIN}) {
    const std::vector<bool> blocked = program.blocked_by_thread(signal);
    EXPECT_GE(blocked.size(), 3U) << "two that compute, and one for signals";
    EXPECT_EQ(std::count(blocked.begin(), blocked.end(), false), 1) << signal;
  }
  for (const bool blocked : program.blocked_by_thread(SIGBUS)) {
    EXPECT_FALSE(blocked) << "a thread's own faults find their handler";
  }
  program.send(SIGTERM);
  EXPECT_EQ(program.wait().code, 143);
}

TEST(Interruption, SignalsThatNobodyHandlesHaveTheirDefaultEffect) {
  for (const int signal : {SIGUSR2, SIGALRM, SIGPROF, SIGQUIT, SIGBUS, SIGXCPU}) {
    const Workspace here;
    EXPECT_EQ(stop_at(here, train_run(100'000), 13, signal).code, -signal);
    EXPECT_EQ(here.run({"verify", "run"}).code, 0);
  }
}

TEST(Interruption, ARunThatIsStoppedAndContinuedAgainAndAgainHasTheSameBits) {
  const Workspace here;
  Program program(here.here(train_run(60)));
  ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 3; }));
  for (int i = 0; i < 20; ++i) {
    program.send(i % 2 == 0 ? SIGSTOP : SIGTSTP);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    program.send(SIGCONT);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_EQ(program.wait().code, 0);
  expect_same_as_whole(here, 60);
}

TEST(Interruption, ASignalThatTheParentHasBlockedStaysBlocked) {
  const Workspace here;
  sigset_t terminate;
  sigset_t before;
  sigemptyset(&terminate);
  sigaddset(&terminate, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &terminate, &before);
  Program program(here.here(train_run(60)));
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ASSERT_TRUE(program.until([&] { return here.metric_lines("run") >= 3; }));
  program.send(SIGTERM);
  EXPECT_EQ(program.wait().code, 0);
  EXPECT_NE(here.checkpoint("run", 60), "");
}

TEST(Interruption, WaitingForAPromptCanBeInterrupted) {
  const Workspace here;
  here.train("run", {"train.max_steps=1"});
  ASSERT_EQ(::mkfifo((here / "prompt").c_str(), 0600), 0);
  const int writer = ::open((here / "prompt").c_str(), O_RDWR | O_CLOEXEC);  // it never writes
  Program program(here.here({"sample", "run", "--prompt", "-"}, {.in = "prompt"}));
  ASSERT_TRUE(program.until([&] { return program.handles_interrupts(); }));
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  program.send(SIGINT);
  EXPECT_EQ(program.wait().code, 130);
  ::close(writer);
}

TEST(Interruption, ARunDirectoryHasOneWriter) {
  const Workspace here;
  Program first(here.here(train_run(100'000)));
  ASSERT_TRUE(first.until([&] { return here.metric_lines("run") >= 5; }));
  for (const Words& second : {Words{"train", "--config", "tiny.toml", "--out", "run"}, Words{"resume", "run"}}) {
    const Outcome refused = here.run(second);
    EXPECT_EQ(refused.code, 2);
    EXPECT_EQ(refused.out, "");
    expect_named(refused.err, {"run", std::to_string(first.pid())});
  }
  EXPECT_EQ(here.run({"eval", "run"}).code, 0) << "readers need no lock";
  const long lines = here.metric_lines("run");
  EXPECT_TRUE(first.until([&] { return here.metric_lines("run") > lines + 5; })) << "the first one continues";
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().code, 143);
}

}  // namespace
}  // namespace dikkat::testing
