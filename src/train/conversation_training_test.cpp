// Training on conversations: the loss of the answers falls, and only theirs counts.
#include <gtest/gtest.h>

#include "backends/cpu/cpu_backend.hpp"
#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "data/batch_stream.hpp"
#include "data/instruction/instruction_rows.hpp"
#include "data/prepare_chat.hpp"
#include "tests/support/tiny_training.hpp"
#include "text/chat_template.hpp"
#include "train/checkpoint.hpp"
#include "train/trainer.hpp"

namespace owlet {
namespace {

/// Questions of random letters with answers that follow a rule: what there is to learn is in the answers.
Dataset conversations(const std::filesystem::path& folder) {
  Json rows = Json::array();
  for (int i = 0; i < 60; ++i) {
    std::string question;
    for (int j = 0; j < 4; ++j) question += static_cast<char>('a' + (i * 31 + j * j * 7 + i * j) % 26);
    rows.push_back({{"prompt", question}, {"completion", "yes yes"}});
  }
  write_file_atomically(folder / "rows.json", rows.dump());
  PrepareChatOptions options;
  options.tokenizer = "bytes";
  options.out = folder / "chat";
  options.validation_share = 0.2;
  prepare_chat(open_instruction_rows({folder / "rows.json"}), options);
  return load_dataset(folder / "chat");
}

TEST(ConversationTraining, LossOfTheAnswersFallsBelowThatOfTheText) {
  const TemporaryFolder folder;
  const Dataset dataset = conversations(folder.path());
  Recipe recipe = testing::tiny_recipe(60);
  recipe.model.context = 80;
  recipe.resolve(dataset.info().train.tokens);
  const auto backend = make_cpu_backend();
  Trainer trainer(*backend, recipe, make_training_data(dataset, recipe));
  const double before = trainer.evaluate().loss;
  StepReport report;
  while (trainer.state().step < 60) report = trainer.step();
  const EvaluationResult after = trainer.evaluate();
  EXPECT_GT(before, 4.0);
  // The answers are always the same, so they can be learnt; the letters of the questions cannot (2 nats each and more).
  EXPECT_LT(after.loss, 0.1);
  EXPECT_LT(report.loss, 0.1);
  EXPECT_EQ(after.tokens, static_cast<int64_t>(dataset.info().validation.documents) * 8) << "'yes yes' and its end";
}

TEST(ConversationTraining, AnEpochIsAsManyStepsAsItHasRows) {
  const TemporaryFolder folder;
  const Dataset dataset = conversations(folder.path());
  const auto stream = make_training_stream(dataset, {.batch_size = 1, .context = 100, .seed = 1});
  int64_t rows = 0;
  while (stream->state().epoch == 0) {
    stream->next();
    ++rows;
  }
  EXPECT_EQ(tokens_per_epoch(dataset, 100), 100 * rows) << "conversations of equal length pack alike in any order";
  EXPECT_GT(tokens_per_epoch(dataset, 100), static_cast<int64_t>(dataset.info().train.tokens));
  EXPECT_THROW(tokens_per_epoch(dataset, 10), Error);
}

TEST(ConversationTraining, ContextTooSmallIsRefusedBeforeTraining) {
  const TemporaryFolder folder;
  const Dataset dataset = conversations(folder.path());
  Recipe recipe = testing::tiny_recipe(10);
  recipe.resolve(dataset.info().train.tokens);
  EXPECT_THROW(make_training_data(dataset, recipe), Error);
}

}  // namespace
}  // namespace owlet
