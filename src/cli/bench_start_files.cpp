#include "cli/bench_start_files.hpp"

#include <filesystem>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "formats/safetensors.hpp"
#include "models/decoder/checkpoint_names.hpp"
#include "train/schedule.hpp"

namespace owlet {
namespace {

void save_weights(const std::filesystem::path& folder, Trainer& trainer) {
  Context ctx(trainer.backend());
  Tensor scratch;
  std::vector<SafetensorsItem> items;
  for (const NamedShape& each : exported_shapes(trainer.config())) {
    const auto dims = each.shape.dims();
    items.push_back({each.name, "F32", {dims.begin(), dims.end()}, [&, name = each.name] {
                       scratch = export_weight(ctx, trainer.config(), trainer.model().parameters(), DType::f32, name);
                       return std::span<const std::byte>(scratch.bytes(), scratch.size_bytes());
                     }});
  }
  write_safetensors(folder / "model.safetensors", items);
  write_file_atomically(folder / "config.json",
                        dump_json(to_hub_config(trainer.config(), -1, -1, "float32"), 2) + "\n");
}

void save_batches(const std::filesystem::path& file, BatchStream& stream, const Recipe& recipe, int64_t num_steps) {
  std::vector<int32_t> inputs, targets;
  for (int64_t step = 0; step < num_steps; ++step) {
    const Batch batch = stream.next();
    inputs.insert(inputs.end(), batch.inputs.begin(), batch.inputs.end());
    targets.insert(targets.end(), batch.targets.begin(), batch.targets.end());
  }
  const std::vector<int64_t> shape{num_steps, recipe.data.batch, recipe.model.context};
  write_safetensors(file, {{"inputs", "I32", shape, [&] { return std::as_bytes(std::span(inputs)); }},
                           {"targets", "I32", shape, [&] { return std::as_bytes(std::span(targets)); }}});
}

void save_settings(const std::filesystem::path& file, const Recipe& recipe, int64_t num_steps) {
  const OptimizerRecipe& optimizer = recipe.optimizer;
  OrderedJson rates = OrderedJson::array();
  for (int64_t step = 0; step < num_steps; ++step) {
    rates.push_back(learning_rate_at(recipe.schedule, optimizer.learning_rate, step, recipe.horizon.steps));
  }
  const OrderedJson settings{{"beta1", optimizer.beta1}, {"beta2", optimizer.beta2},
                             {"eps", optimizer.eps},     {"weight_decay", optimizer.weight_decay},
                             {"clip", optimizer.clip},   {"learning_rates", rates}};
  write_file_atomically(file, dump_json(settings, 2) + "\n");
}

}  // namespace

void save_bench_start(const std::string& folder, Trainer& trainer, BatchStream& stream, int64_t num_steps) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  check(!error, ErrorKind::io, "cannot create the folder '{}': {}", folder, error.message());
  save_weights(folder, trainer);
  save_batches(std::filesystem::path(folder) / "batches.safetensors", stream, trainer.recipe(), num_steps);
  save_settings(std::filesystem::path(folder) / "training.json", trainer.recipe(), num_steps);
}

}  // namespace owlet
