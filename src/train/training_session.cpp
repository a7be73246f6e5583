#include "train/training_session.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/human.hpp"
#include "base/log.hpp"
#include "data/batch_stream.hpp"
#include "formats/checkpoint_folder.hpp"
#include "train/training_run.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

/// Sends warnings of the layers below (a broken checkpoint, say) to the run while it lives.
class WarningForwarder {
 public:
  explicit WarningForwarder(std::function<void(const std::string&)> say)
      : id_(add_log_sink([say = std::move(say)](LogLevel level, std::string_view message) {
          if (level >= LogLevel::warning) say(std::string(message));
        })) {}
  ~WarningForwarder() { remove_log_sink(id_); }
  WarningForwarder(const WarningForwarder&) = delete;
  WarningForwarder& operator=(const WarningForwarder&) = delete;

 private:
  int id_;
};

void check_session(const TrainingSession& session) {
  check(session.backend != nullptr, ErrorKind::internal, "a training session needs a backend");
}

/// Before hours are spent: the checkpoints that will lie side by side must fit.
void check_checkpoints_fit(const fs::path& run_folder, Trainer& trainer) {
  const Recipe& recipe = trainer.recipe();
  const int64_t every = recipe.checkpoint.every;
  const int64_t written = every > 0 ? recipe.horizon.steps / every + 1 : 1;
  // While one is being written, those to keep and the best are still there.
  const int64_t side_by_side = std::min(written, recipe.checkpoint.keep + 2);
  check_disk_space(run_folder, checkpoint_bytes(trainer) * static_cast<uint64_t>(side_by_side),
                   fmt::format("{} checkpoint{}", side_by_side, side_by_side == 1 ? "" : "s"));
}

std::string describe_start(Trainer& trainer, const Dataset& dataset) {
  return fmt::format("training {} parameters on {} tokens from '{}': {} steps of {} tokens",
                     format_count(static_cast<double>(trainer.model().parameters().num_elements())),
                     format_count(static_cast<double>(dataset.info().train.tokens)), dataset.folder().string(),
                     trainer.recipe().horizon.steps, trainer.recipe().tokens_per_step());
}

/// Refuses changes that would make the checkpoint's weights or place in the data meaningless, and tells the others.
void announce_changes(const Recipe& before, const Recipe& after, TrainingRun& run) {
  for (const std::string& change : recipe_differences(before, after))
    run.say("changed since the checkpoint: " + change);
}

void refuse_model_changes(const Recipe& before, const Recipe& after) {
  for (const std::string& change : recipe_differences(before, after)) {
    const bool is_refused = change.starts_with("model.") || change.starts_with("optimizer.kind");
    check(!is_refused, ErrorKind::invalid_argument, "the run's checkpoint does not fit this recipe ({})", change);
  }
}

}  // namespace

TrainingResult run_training(const TrainingSession& session) {
  check_session(session);
  RunFolder::check_can_create(session.run_folder, session.force);
  const Dataset dataset = load_dataset(session.data_folder);
  Tokenizer tokenizer = load_tokenizer(dataset.tokenizer_path().string());
  Recipe recipe = session.recipe;
  recipe.resolve(tokens_per_epoch(dataset, recipe.model.context));
  Trainer trainer(*session.backend, recipe, make_training_data(dataset, recipe));
  check_checkpoints_fit(session.run_folder, trainer);

  RunFolder folder = RunFolder::create(session.run_folder, recipe, session.data_folder, session.force);
  TrainingRun run(session, folder, trainer, dataset, std::move(tokenizer));
  const WarningForwarder forwarder([&](const std::string& message) { run.say(message); });
  run.say(describe_start(trainer, dataset));
  return run.run();
}

TrainingResult resume_training(const TrainingSession& session) {
  check_session(session);
  RunFolder folder = RunFolder::open(session.run_folder);
  std::vector<std::string> warnings;
  std::optional<CheckpointEntry> newest;
  {
    const WarningForwarder forwarder([&](const std::string& message) { warnings.push_back(message); });
    newest = newest_valid_checkpoint(folder.checkpoints());
  }
  std::optional<CheckpointPlace> place;
  if (newest) place = CheckpointPlace{newest->path, read_trainer_record(newest->path)};

  const Dataset dataset = load_dataset(session.data_folder.empty() ? folder.data_folder() : session.data_folder);
  if (place) check_same_data(place->record, dataset);
  Recipe recipe = folder.recipe();
  override_recipe(recipe, session.overrides);
  recipe.resolve(tokens_per_epoch(dataset, recipe.model.context));
  if (place) refuse_model_changes(place->record.recipe, recipe);

  Tokenizer tokenizer = load_tokenizer(dataset.tokenizer_path().string());
  Trainer trainer(*session.backend, recipe, make_training_data(dataset, recipe));
  TrainingRun run(session, folder, trainer, dataset, std::move(tokenizer));
  const WarningForwarder forwarder([&](const std::string& message) { run.say(message); });
  for (const std::string& warning : warnings) run.say(warning);
  if (place) {
    run.continue_from(*place);
    announce_changes(place->record.recipe, recipe, run);
  }
  folder.cut_back_to(trainer.state().step);
  folder.write_recipe(recipe);
  run.say(fmt::format("continuing '{}' after step {} of {}", folder.path().string(), trainer.state().step,
                      recipe.horizon.steps));
  return run.run();
}

}  // namespace owlet
