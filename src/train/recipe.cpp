#include "train/recipe.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"
#include "base/nearest_name.hpp"

namespace owlet {
namespace {

void check_at_least(std::string_view key, int64_t value, int64_t least) {
  check(value >= least, ErrorKind::invalid_argument, "recipe: '{}' is {}, it must be at least {}", key, value, least);
}

void check_range(std::string_view key, double value, double low, double high) {
  check(value >= low && value <= high, ErrorKind::invalid_argument, "recipe: '{}' is {}, it must lie in [{}, {}]", key,
        value, low, high);
}

void check_at_most(std::string_view key, int64_t value, int64_t most) {
  check(value <= most, ErrorKind::invalid_argument, "recipe: '{}' is {}, it must be at most {}", key, value, most);
}

int64_t derived_feed_forward(const ModelRecipe& model) {
  const bool is_gelu = family_defaults(model.family).feed_forward == FeedForwardKind::gelu;
  const int64_t wanted = is_gelu ? 4 * model.width : (8 * model.width + 2) / 3;
  return (wanted + 31) / 32 * 32;
}

std::string join_paths(const std::vector<std::filesystem::path>& folders) {
  std::string text;
  for (const auto& folder : folders) text += (text.empty() ? "'" : ", '") + folder.string() + "'";
  return text;
}

/// Keys that contradict each other.
void check_together(const Recipe& recipe) {
  if (recipe.compute.weights == DType::bf16 && recipe.compute.precision != DType::bf16) {
    throw Error(ErrorKind::invalid_argument,
                "recipe: 'compute.weights' is \"bf16\", but 'compute.precision' is \"f32\"",
                "weights in bf16 need compute.precision = \"bf16\"");
  }
  if (!recipe.optimizer.in_backward) return;
  if (recipe.optimizer.clip > 0) {
    throw Error(ErrorKind::invalid_argument,
                fmt::format("recipe: 'optimizer.in_backward' is true, but 'optimizer.clip' is {}: the norm of all "
                            "gradients is known only when the first parameters are updated already",
                            recipe.optimizer.clip),
                "set optimizer.clip = 0");
  }
  if (recipe.data.accumulation > 1) {
    throw Error(
        ErrorKind::invalid_argument,
        fmt::format("recipe: 'optimizer.in_backward' is true, but 'data.accumulation' is {}: gradients that are "
                    "given back cannot be added to",
                    recipe.data.accumulation),
        "set data.accumulation = 1");
  }
}

}  // namespace

void Recipe::check() const {
  // Upper limits keep products of a few of these far from overflow.
  constexpr int64_t kMany = int64_t{1} << 24;
  for (const auto& [key, value, least] : {std::tuple<std::string_view, int64_t, int64_t>  //
                                          {"model.vocab", model.vocab, 0},
                                          {"model.width", model.width, 1},
                                          {"model.layers", model.layers, 1},
                                          {"model.heads", model.heads, 1},
                                          {"model.kv_heads", model.kv_heads, 0},
                                          {"model.feed_forward", model.feed_forward, 0},
                                          {"model.context", model.context, 1},
                                          {"model.window", model.window, 0},
                                          {"data.batch", data.batch, 1},
                                          {"data.accumulation", data.accumulation, 1},
                                          {"optimizer.skip_limit", optimizer.skip_limit, 1},
                                          {"compute.loss_chunk_rows", compute.loss_chunk_rows, 1},
                                          {"sample.max_tokens", sample.max_tokens, 1},
                                          {"checkpoint.keep", checkpoint.keep, 1},
                                          {"log.every", log.every, 1}}) {
    check_at_least(key, value, least);
    check_at_most(key, value, kMany);
  }
  for (const auto& [key, value] : {std::pair<std::string_view, int64_t>  //
                                   {"schedule.warmup_steps", schedule.warmup_steps},
                                   {"horizon.steps", horizon.steps},
                                   {"horizon.tokens", horizon.tokens},
                                   {"evaluation.every", evaluation.every},
                                   {"evaluation.batches", evaluation.batches},
                                   {"sample.every", sample.every},
                                   {"checkpoint.every", checkpoint.every}}) {
    check_at_least(key, value, 0);
    check_at_most(key, value, int64_t{1} << 50);
  }
  check_range("optimizer.learning_rate", optimizer.learning_rate, 0, 100);
  check_range("optimizer.beta1", optimizer.beta1, 0, 0.999999);
  check_range("optimizer.beta2", optimizer.beta2, 0, 0.9999999);
  check_range("optimizer.eps", optimizer.eps, 1e-30, 1);
  check_range("optimizer.weight_decay", optimizer.weight_decay, 0, 100);
  check_range("optimizer.clip", optimizer.clip, 0, 1e30);
  check_range("schedule.min_lr_ratio", schedule.min_lr_ratio, 0, 1);
  check_range("schedule.decay_fraction", schedule.decay_fraction, 0, 1);
  check_range("horizon.epochs", horizon.epochs, 0, 1e9);
  check_range("model.rope_theta", model.rope_theta, 1, 1e12);
  check_range("model.initializer_range", model.initializer_range, 0, 10);
  const int num_horizons = (horizon.steps > 0) + (horizon.tokens > 0) + (horizon.epochs > 0);
  owlet::check(num_horizons == 1, ErrorKind::invalid_argument,
               "recipe: exactly one of horizon.steps ({}), horizon.tokens ({}) and horizon.epochs ({}) must be set",
               horizon.steps, horizon.tokens, horizon.epochs);
  check_together(*this);
}

void Recipe::resolve(int64_t train_tokens) {
  check();
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.feed_forward == 0) model.feed_forward = derived_feed_forward(model);
  double tokens = static_cast<double>(horizon.tokens);
  if (horizon.epochs > 0) {
    owlet::check(train_tokens > 0, ErrorKind::invalid_argument,
                 "recipe: horizon.epochs is {}, but the number of training tokens is not known", horizon.epochs);
    tokens = horizon.epochs * static_cast<double>(train_tokens);
  }
  if (horizon.steps == 0) {
    const double steps = std::ceil(tokens / static_cast<double>(tokens_per_step()));
    owlet::check(steps < 1e15, ErrorKind::invalid_argument, "recipe: a horizon of {} tokens is {} steps, too many",
                 tokens, steps);
    horizon = {.steps = std::max<int64_t>(1, static_cast<int64_t>(steps))};
  }
}

DecoderConfig decoder_config(const Recipe& recipe, int64_t vocab_size) {
  const ModelRecipe& model = recipe.model;
  DecoderConfig config = family_defaults(model.family);
  check(model.width % model.heads == 0, ErrorKind::invalid_argument,
        "recipe: model.width {} is no multiple of model.heads {}", model.width, model.heads);
  config.vocab_size = vocab_size;
  config.width = model.width;
  config.num_layers = model.layers;
  config.num_heads = model.heads;
  config.num_kv_heads = model.kv_heads == 0 ? model.heads : model.kv_heads;
  config.head_size = model.width / model.heads;
  config.feed_forward_width = model.feed_forward == 0 ? derived_feed_forward(model) : model.feed_forward;
  config.max_context = model.context;
  config.ties_embeddings = model.tied;
  config.rope_theta = model.rope_theta;
  config.sliding_window = model.window;
  config.initializer_range = static_cast<float>(model.initializer_range);
  config.check();
  return config;
}

std::filesystem::path find_recipe(const std::string& name_or_path, const std::vector<std::filesystem::path>& folders) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(name_or_path, ignored)) return name_or_path;
  const bool is_bare_name = name_or_path.find('/') == std::string::npos;
  std::vector<std::string> known;
  for (const auto& folder : folders) {
    if (!is_bare_name) break;
    for (const std::string& file : {name_or_path, name_or_path + ".toml"}) {
      if (!file.empty() && std::filesystem::is_regular_file(folder / file, ignored)) return folder / file;
    }
    for (std::filesystem::directory_iterator entry(folder, ignored), end; entry != end; entry.increment(ignored)) {
      if (entry->path().extension() == ".toml") known.push_back(entry->path().stem().string());
    }
  }
  std::ranges::sort(known);
  const std::string nearest = nearest_name(name_or_path, known);
  std::string hint = nearest.empty() ? std::string() : fmt::format("did you mean '{}'?", nearest);
  if (hint.empty() && !known.empty()) hint = fmt::format("known recipes: {}", fmt::join(known, ", "));
  const std::string where = is_bare_name && !folders.empty() ? ", nor in " + join_paths(folders) : std::string();
  throw Error(ErrorKind::not_found, fmt::format("there is no recipe '{}'{}", name_or_path, where), hint);
}

}  // namespace owlet
