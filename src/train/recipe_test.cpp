#include "train/recipe.hpp"

#include <gtest/gtest.h>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/temporary_folder.hpp"

namespace owlet {
namespace {

constexpr std::string_view kMinimal = "[horizon]\nsteps = 10\n";

/// Runs `body`, which must throw, and returns message and hint.
template <typename Body>
std::string error_of(ErrorKind kind, Body body) {
  try {
    body();
  } catch (const Error& error) {
    EXPECT_EQ(to_string(error.kind()), to_string(kind)) << error.what();
    return std::string(error.what()) + " | " + error.hint();
  }
  ADD_FAILURE() << "no error";
  return {};
}

std::string parse_error(std::string_view text, ErrorKind kind = ErrorKind::invalid_argument) {
  return error_of(kind, [&] { parse_recipe(text, "r.toml"); });
}

std::string override_error(const std::string& text) {
  return error_of(ErrorKind::invalid_argument, [&] { parse_recipe(kMinimal, "r.toml", {text}); });
}

bool contains(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(Recipe, reads_every_kind_of_value) {
  const Recipe recipe = parse_recipe(R"(
description = "words"
seed = 5
[model]
family = "gpt2"
width = 64
tied = false
[optimizer]
learning_rate = 1e-3
clip = 2
[schedule]
kind = "wsd"
[horizon]
epochs = 1.5
[compute]
precision = "f32"
attention = "plain"
checkpointing = "block"
[sample]
prompts = ["a", "b \"c\"\n"]
)",
                                     "r.toml");
  EXPECT_EQ(recipe.description, "words");
  EXPECT_EQ(recipe.seed, 5u);
  EXPECT_EQ(recipe.model.family, DecoderFamily::gpt2);
  EXPECT_EQ(recipe.model.width, 64);
  EXPECT_FALSE(recipe.model.tied);
  EXPECT_EQ(recipe.optimizer.learning_rate, 1e-3);
  EXPECT_EQ(recipe.optimizer.clip, 2.0);
  EXPECT_EQ(recipe.schedule.kind, ScheduleKind::wsd);
  EXPECT_EQ(recipe.horizon.epochs, 1.5);
  EXPECT_EQ(recipe.compute.precision, DType::f32);
  EXPECT_EQ(recipe.compute.attention, AttentionKind::plain);
  EXPECT_EQ(recipe.compute.checkpointing, 1);
  EXPECT_EQ(recipe.sample.prompts, (std::vector<std::string>{"a", "b \"c\"\n"}));
}

TEST(Recipe, written_as_toml_it_reads_back_equal) {
  Recipe recipe = parse_recipe(kMinimal, "r.toml");
  recipe.description = "quote \" backslash \\ tab \t bell \a umlaut \xc3\xbc";
  recipe.optimizer.learning_rate = 1.0 / 3.0;
  recipe.optimizer.eps = 1e-12;
  recipe.optimizer.clip = 100000000.0;
  recipe.sample.prompts = {"", "two\nlines"};
  recipe.compute.checkpointing = 3;
  const Recipe again = parse_recipe(to_toml(recipe), "again.toml");
  EXPECT_EQ(recipe_differences(recipe, again), std::vector<std::string>{});
  EXPECT_EQ(to_toml(again), to_toml(recipe));
}

TEST(Recipe, an_unknown_key_is_an_error_with_its_line_and_the_nearest_key) {
  const std::string error = parse_error("[horizon]\nsteps = 10\n[optimizer]\nlearnign_rate = 1e-3\n");
  EXPECT_TRUE(contains(error, "r.toml, line 4")) << error;
  EXPECT_TRUE(contains(error, "unknown key 'optimizer.learnign_rate'")) << error;
  EXPECT_TRUE(contains(error, "did you mean 'optimizer.learning_rate'?")) << error;
  const std::string section = parse_error("[optimiser]\nclip = 1.0\n");
  EXPECT_TRUE(contains(section, "unknown section 'optimiser'")) << section;
  EXPECT_TRUE(contains(section, "did you mean 'optimizer'?")) << section;
  const std::string misplaced = parse_error("learning_rate = 1e-3\n");
  EXPECT_TRUE(contains(misplaced, "did you mean 'optimizer.learning_rate'?")) << misplaced;
}

TEST(Recipe, a_wrong_type_names_key_and_both_types) {
  const std::string text = parse_error("[model]\nwidth = \"wide\"\n");
  EXPECT_TRUE(contains(text, "line 2: 'model.width' is a string, it must be an integer")) << text;
  const std::string fraction = parse_error("[model]\nwidth = 12.5\n");
  EXPECT_TRUE(contains(fraction, "is a number with a fraction, it must be an integer")) << fraction;
  const std::string word = parse_error("[schedule]\nkind = \"cosin\"\n");
  EXPECT_TRUE(contains(word, "it must be one of 'cosine', 'wsd', 'constant'")) << word;
  const std::string item = parse_error("[sample]\nprompts = [1]\n");
  EXPECT_TRUE(contains(item, "every item must be a string")) << item;
  EXPECT_TRUE(contains(parse_error("seed = -1\n"), "must not be negative"));
  EXPECT_TRUE(contains(parse_error("[optimizer]\nclip = nan\n"), "must be a finite number"));
}

TEST(Recipe, broken_toml_is_named_with_its_place) {
  const std::string error = parse_error("[model\nwidth = 1\n", ErrorKind::corrupt_file);
  EXPECT_TRUE(contains(error, "r.toml, line 1, column")) << error;
}

TEST(Recipe, values_out_of_range_are_refused) {
  EXPECT_TRUE(contains(parse_error("[horizon]\nsteps = 1\n[data]\nbatch = 0\n"), "'data.batch' is 0"));
  EXPECT_TRUE(contains(parse_error("[horizon]\nsteps = 1\n[optimizer]\nbeta2 = 1.0\n"), "'optimizer.beta2' is 1"));
  EXPECT_TRUE(contains(parse_error("[horizon]\nsteps = 1\ntokens = 5\n"), "exactly one of horizon.steps (1)"));
  EXPECT_TRUE(contains(parse_error(""), "exactly one of horizon.steps (0)"));
  EXPECT_TRUE(contains(parse_error("[horizon]\nsteps = 1\n[model]\nwidth = 9223372036854775807\n"), "at most"));
}

TEST(Recipe, overrides_set_keys_and_replace_the_horizon) {
  const Recipe recipe = parse_recipe(kMinimal, "r.toml",
                                     {"horizon.tokens=500", "seed=9", "schedule.kind=wsd", "optimizer.clip=0.5",
                                      "description=two words", "sample.prompts=[\"x\"]"});
  EXPECT_EQ(recipe.horizon.steps, 0);
  EXPECT_EQ(recipe.horizon.tokens, 500);
  EXPECT_EQ(recipe.seed, 9u);
  EXPECT_EQ(recipe.schedule.kind, ScheduleKind::wsd);
  EXPECT_EQ(recipe.optimizer.clip, 0.5);
  EXPECT_EQ(recipe.description, "two words");
  EXPECT_EQ(recipe.sample.prompts, std::vector<std::string>{"x"});
  EXPECT_TRUE(contains(override_error("data.bach=4"), "did you mean 'data.batch'?"));
  EXPECT_TRUE(contains(override_error("data.batch=four"), "'data.batch' is a string, it must be an integer"));
  EXPECT_TRUE(contains(override_error("clip"), "sets nothing"));
}

TEST(Recipe, resolving_turns_tokens_and_epochs_into_steps) {
  Recipe recipe = parse_recipe("[horizon]\ntokens = 1000\n[data]\nbatch = 4\n[model]\ncontext = 16\n", "r.toml");
  recipe.resolve(0);
  EXPECT_EQ(recipe.horizon.steps, 16);  // 1000 / 64, rounded up
  EXPECT_EQ(recipe.horizon.tokens, 0);
  EXPECT_EQ(recipe.model.kv_heads, recipe.model.heads);
  EXPECT_EQ(recipe.model.feed_forward, 352);
  const Recipe resolved = recipe;
  recipe.resolve(0);
  EXPECT_EQ(recipe_differences(resolved, recipe), std::vector<std::string>{});

  Recipe epochs = parse_recipe("[horizon]\nepochs = 2.5\n[data]\nbatch = 4\n[model]\ncontext = 16\n", "r.toml");
  Recipe unknown = epochs;
  epochs.resolve(640);
  EXPECT_EQ(epochs.horizon.steps, 25);
  EXPECT_THROW(unknown.resolve(0), Error);
}

TEST(Recipe, checkpointing_is_a_phrase) {
  const auto blocks = [](const char* text) {
    return parse_recipe(kMinimal, "r.toml", {fmt::format("compute.checkpointing={}", text)}).compute.checkpointing;
  };
  EXPECT_EQ(blocks("off"), 0);
  EXPECT_EQ(blocks("block"), 1);
  EXPECT_EQ(blocks("every 1"), 1);
  EXPECT_EQ(blocks("every 22"), 22);
  EXPECT_EQ(blocks("\"every 4\""), 4);
  for (const char* text : {"every", "every 0", "every -1", "every 2 blocks", "every 99999999999999999999", "blocks"}) {
    const std::string error = override_error(fmt::format("compute.checkpointing=\"{}\"", text));
    EXPECT_TRUE(contains(error, "it must be 'off', 'block' or 'every N'")) << error;
  }
}

TEST(Recipe, options_that_save_memory_refuse_what_contradicts_them) {
  const auto error = [](const std::vector<std::string>& overrides) {
    return error_of(ErrorKind::invalid_argument, [&] { parse_recipe(kMinimal, "r.toml", overrides); });
  };
  const std::string clipped = error({"optimizer.in_backward=true"});
  EXPECT_TRUE(contains(clipped, "'optimizer.in_backward' is true, but 'optimizer.clip' is 1")) << clipped;
  EXPECT_TRUE(contains(clipped, "set optimizer.clip = 0")) << clipped;
  const std::string summed = error({"optimizer.in_backward=true", "optimizer.clip=0", "data.accumulation=2"});
  EXPECT_TRUE(contains(summed, "'data.accumulation' is 2")) << summed;
  const std::string typed = error({"compute.weights=bf16", "compute.precision=f32"});
  EXPECT_TRUE(contains(typed, "'compute.weights' is \"bf16\", but 'compute.precision' is \"f32\"")) << typed;
  const Recipe recipe =
      parse_recipe(kMinimal, "r.toml", {"optimizer.in_backward=true", "optimizer.clip=0", "optimizer.kind=adamw8bit"});
  EXPECT_EQ(recipe.optimizer.kind, OptimizerKind::adamw8bit);
}

TEST(Recipe, width_must_be_a_multiple_of_heads) {
  Recipe recipe = parse_recipe(kMinimal, "r.toml", {"model.width=100", "model.heads=3"});
  const std::string error = error_of(ErrorKind::invalid_argument, [&] { decoder_config(recipe, 257); });
  EXPECT_TRUE(contains(error, "model.width 100 is no multiple of model.heads 3")) << error;
}

TEST(FindRecipe, takes_paths_and_bare_names_and_suggests) {
  TemporaryFolder folder;
  write_file_atomically(folder / "stories.toml", kMinimal);
  EXPECT_EQ(find_recipe((folder / "stories.toml").string(), {}), folder / "stories.toml");
  EXPECT_EQ(find_recipe("stories", {folder / "none", folder.path()}), folder / "stories.toml");
  EXPECT_EQ(find_recipe("stories.toml", {folder.path()}), folder / "stories.toml");
  const std::string error = error_of(ErrorKind::not_found, [&] { find_recipe("storeis", {folder.path()}); });
  EXPECT_TRUE(contains(error, "did you mean 'stories'?")) << error;
}

TEST(Recipes, those_of_the_project_are_valid) {
  int count = 0;
  for (const char* name : {"recipes", "tests/recipes"}) {
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(OWLET_SOURCE_DIR) / name)) {
      Recipe recipe = load_recipe(entry.path());
      recipe.resolve(1000000);
      EXPECT_NO_THROW(decoder_config(recipe, 2048)) << entry.path();
      ++count;
    }
  }
  EXPECT_GE(count, 3);
}

}  // namespace
}  // namespace owlet
