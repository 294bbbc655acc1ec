#include "fuzz/base/bytes.h"

#include <gtest/gtest.h>

#include "fuzz/supervisor/worker_messages.h"

namespace fusesmith::fuzz {
namespace {

WorkerReply reply() {
  WorkerReply reply;
  reply.kind = WorkerReply::Kind::other_finding;
  reply.finished.outcome.verdict = VerdictClass::defect;
  reply.finished.outcome.patterns = {"sdpa", "gate"};
  reply.finished.outcome.events = {1, 2, 3};
  reply.finished.outcome.coverage.ops = {{"gelu", 2}, {"add", 1}};
  reply.finished.outcome.exact = true;
  reply.finished.outcome.signature = "crash-cpu-graph-bf16-died";
  reply.finished.found = {"{}", std::string("a\0b", 3), "a title", "what it is"};
  reply.verdict.signature = Signature{VerdictClass::crash, "cpu", "graph", Dtype::bf16, Symptom::died};
  return reply;
}

TEST(Bytes, ReadBackTheSame) {
  const std::string bytes = to_message(reply());
  const auto read = parse_reply(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(to_message(*read), bytes);
  EXPECT_EQ(read->finished.found->verdict_text.size(), 3U);
  EXPECT_EQ(read->finished.outcome.coverage.ops, reply().finished.outcome.coverage.ops);
  EXPECT_EQ(read->verdict.signature, reply().verdict.signature);
}

// Damaged memory of a worker must not damage its supervisor.
TEST(Bytes, WhatIsCutOrChangedIsRefusedOrRead) {
  const std::string bytes = to_message(reply());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(parse_reply(bytes.substr(0, size))) << size;
  EXPECT_FALSE(parse_reply(bytes + "x"));
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0xff);
    if (const auto read = parse_reply(changed)) {
      EXPECT_LT(static_cast<size_t>(read->finished.outcome.verdict), kVerdictNames.size());
    }
  }
  WorkerReply far = reply();
  far.finished.outcome.events = {uint32_t{1} << 30};
  EXPECT_FALSE(parse_reply(to_message(far)));
  for (const char* signature : {"", "../../x", ".hidden", "a/b", "a\nb"}) {
    WorkerReply elsewhere = reply();
    elsewhere.finished.outcome.signature = signature;
    EXPECT_FALSE(parse_reply(to_message(elsewhere))) << signature;
  }
}

}  // namespace
}  // namespace fusesmith::fuzz
