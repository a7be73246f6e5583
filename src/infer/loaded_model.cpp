#include "infer/loaded_model.hpp"

#include <set>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "formats/checkpoint_folder.hpp"
#include "formats/safetensors.hpp"
#include "models/decoder/checkpoint_names.hpp"
#include "models/decoder/decoder.hpp"

namespace owlet {

namespace fs = std::filesystem;

namespace {

std::optional<fs::path> marked_folder(const fs::path& checkpoints) {
  for (const char* name : {"best", "latest"}) {
    if (const auto step = marked_checkpoint(checkpoints, name)) return checkpoint_path(checkpoints, *step);
  }
  return {};
}

/// An id field of config.json or generation_config.json: a number, a list of numbers, null or missing.
std::vector<int32_t> ids_of(const Json& json, const std::string& key, const std::string& source) {
  std::vector<int32_t> ids;
  if (!json.is_object() || !json.contains(key) || json.at(key).is_null()) return ids;
  const Json& value = json.at(key);
  for (const Json& item : value.is_array() ? value : Json::array({value})) {
    check(item.is_number_integer() && item.get<int64_t>() >= 0 && item.get<int64_t>() <= INT32_MAX,
          ErrorKind::corrupt_file, "{}: '{}' is {}, expected token ids", source, key, dump_json(item));
    ids.push_back(item.get<int32_t>());
  }
  return ids;
}

/// Copies a tensor of the file into ordinary memory of our element type.
Tensor copy_tensor(const SafetensorsTensor& stored, const fs::path& folder) {
  const auto dtype = dtype_from_safetensors(stored.dtype);
  check(dtype.has_value(), ErrorKind::unsupported, "{}: tensor '{}' has the element type {}", folder.string(),
        stored.name, stored.dtype);
  Tensor tensor = make_host_tensor(Shape(std::span<const int64_t>(stored.shape)), *dtype);
  std::copy(stored.bytes.begin(), stored.bytes.end(), tensor.bytes());
  return tensor;
}

/// Makes the model and fills it. A head that the file keeps beside the embedding it should be tied to stays a head of
/// its own.
void load_weights(Context& ctx, LoadedModel& loaded, const ParameterStorage& storage) {
  // A checkpoint of a run holds the optimizer's state beside the weights: that is as it should be.
  const bool is_checkpoint = fs::exists(loaded.folder / "trainer.json");
  const SafetensorsFolder weights(
      loaded.folder, is_checkpoint ? std::set<std::string>{"optimizer.safetensors"} : std::set<std::string>{});
  loaded.notes = weights.leftovers();
  const auto fetch = [&](const std::string& name) {
    const SafetensorsTensor* stored = weights.find(name);
    if (stored == nullptr) return Tensor();
    Tensor values = copy_tensor(*stored, loaded.folder);
    weights.release(*stored);
    return values;
  };
  if (has_separate_head(loaded.config, fetch)) {
    loaded.config.ties_embeddings = false;
    loaded.notes.push_back(
        fmt::format("{}: config.json ties the output head to the embedding, but the weights hold a head of their own; "
                    "both are kept",
                    loaded.folder.string()));
  }
  loaded.model = make_decoder(ctx, loaded.config, storage);
  import_weights(ctx, loaded.config, loaded.model->parameters(), fetch);
}

}  // namespace

fs::path find_model_folder(const fs::path& path) {
  check(fs::exists(path), ErrorKind::not_found, "there is no model or run at '{}'", path.string());
  if (fs::exists(path / "config.json")) return path;
  for (const fs::path& checkpoints : {path / "checkpoints", path}) {
    if (const auto folder = marked_folder(checkpoints); folder && fs::exists(*folder / "config.json")) return *folder;
  }
  throw Error(ErrorKind::not_found, fmt::format("'{}' holds neither config.json nor checkpoints", path.string()),
              "give a Hugging Face model folder, or a run folder that has saved at least once");
}

LoadedModel load_model(Context& ctx, const fs::path& path, const ParameterStorage& storage) {
  const fs::path folder = find_model_folder(path);
  const std::string source = (folder / "config.json").string();
  const Json json = read_json(folder / "config.json");
  LoadedModel loaded{folder, from_hub_config(json, source), nullptr, load_tokenizer(folder.string()), {}, {}, {}};
  check(loaded.tokenizer.vocab_size() <= loaded.config.vocab_size, ErrorKind::corrupt_file,
        "{}: the tokenizer has {} ids, the model only {}", folder.string(), loaded.tokenizer.vocab_size(),
        loaded.config.vocab_size);
  const fs::path generation_path = folder / "generation_config.json";
  const Json generation = fs::exists(generation_path) ? read_json(generation_path) : Json::object();
  for (const auto& [ids_source, name] :
       {std::pair<const Json&, std::string>{generation, generation_path.string()}, {json, source}}) {
    if (loaded.end_ids.empty()) loaded.end_ids = ids_of(ids_source, "eos_token_id", name);
    if (const auto begin = ids_of(ids_source, "bos_token_id", name); !loaded.begin_id && !begin.empty())
      loaded.begin_id = begin[0];
  }
  load_weights(ctx, loaded, storage);
  return loaded;
}

}  // namespace owlet
