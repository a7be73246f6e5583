#include "train/checkpoint.hpp"

#include <map>

#include "base/atomic_file.hpp"
#include "base/error.hpp"
#include "data/token_sequence.hpp"
#include "formats/checkpoint_folder.hpp"
#include "formats/safetensors.hpp"
#include "models/decoder/checkpoint_names.hpp"

namespace owlet {
namespace {

namespace fs = std::filesystem;

std::vector<int64_t> dims_of(const Shape& shape) { return {shape.dims().begin(), shape.dims().end()}; }

/// Copies tensors of the backend into one buffer, so that a file of any size needs memory for one tensor.
class TensorReader {
 public:
  explicit TensorReader(Backend& backend) : backend_(backend) {}
  std::span<const std::byte> read(const Tensor& tensor) {
    bytes_.resize(tensor.size_bytes());
    backend_.read(tensor, bytes_.data());
    return bytes_;
  }

 private:
  Backend& backend_;
  std::vector<std::byte> bytes_;
};

std::string prefix_name(std::string_view prefix, const Moments& moments) {
  return std::string(prefix) + moments.parameter->name;
}

std::vector<SafetensorsItem> optimizer_items(Trainer& trainer, TensorReader& reader) {
  std::vector<SafetensorsItem> items;
  for (const Moments& each : trainer.optimizer().moments()) {
    for (const auto& [prefix, tensor] : each.tensors()) {
      items.push_back({prefix_name(prefix, each), safetensors_dtype(tensor.dtype()), dims_of(tensor.shape()),
                       [&reader, moment = tensor] { return reader.read(moment); }});
    }
  }
  return items;
}

/// Type in which the matrices of the model exist: writing it loses nothing.
DType matrix_type(Trainer& trainer) {
  const ParameterStorage& storage = trainer.model().parameters().storage();
  return storage.keeps_master ? DType::f32 : storage.compute_type;
}

std::vector<SafetensorsItem> weight_items(Trainer& trainer, Tensor& scratch) {
  std::vector<SafetensorsItem> items;
  for (const NamedShape& each : exported_shapes(trainer.config())) {
    const DType dtype = each.shape.rank() >= 2 ? matrix_type(trainer) : DType::f32;
    items.push_back(
        {each.name, safetensors_dtype(dtype), dims_of(each.shape), [&trainer, &scratch, dtype, name = each.name] {
           Context ctx(trainer.backend());
           scratch = export_weight(ctx, trainer.config(), trainer.model().parameters(), dtype, name);
           return std::span<const std::byte>(scratch.bytes(), scratch.size_bytes());
         }});
  }
  return items;
}

void write_model_files(const fs::path& folder, Trainer& trainer, const Tokenizer& tokenizer) {
  const int begin_id = tokenizer.begin_id().value_or(-1);
  const std::vector<int32_t> end_ids = tokenizer.end_ids();
  const int end_id = end_ids.empty() ? -1 : end_ids[0];
  const OrderedJson config = to_hub_config(trainer.config(), begin_id, end_id, to_string(matrix_type(trainer)));
  write_file_atomically(folder / "config.json", dump_json(config, 2) + "\n");
  OrderedJson generation = OrderedJson::object();
  if (begin_id >= 0) generation["bos_token_id"] = begin_id;
  if (end_ids.size() == 1) generation["eos_token_id"] = end_id;
  if (end_ids.size() > 1) generation["eos_token_id"] = end_ids;
  generation["do_sample"] = true;
  write_file_atomically(folder / "generation_config.json", dump_json(generation, 2) + "\n");
  tokenizer.save(folder, trainer.config().max_context);
}

std::string record_to_json(const TrainerRecord& record) {
  OrderedJson json{{"format", "owlet trainer state"},
                   {"version", 1},
                   {"owlet_version", OWLET_VERSION},
                   {"step", record.state.step},
                   {"updates", record.state.updates},
                   {"tokens", record.state.tokens},
                   {"skipped", record.state.skipped},
                   {"consecutive_skips", record.state.consecutive_skips},
                   {"stream", {{"epoch", record.state.stream.epoch}, {"position", record.state.stream.position}}},
                   {"seconds", record.seconds},
                   {"recipe", to_toml(record.recipe)}};
  if (record.best) json["best"] = {{"step", record.best->step}, {"loss", record.best->loss}};
  for (const auto& [name, value] : record.data) json["data"][name] = value;
  return dump_json(json, 2) + "\n";
}

void check_element_count(const SafetensorsTensor& tensor, const Tensor& target, const fs::path& file) {
  check(tensor.dtype == safetensors_dtype(target.dtype()) && tensor.shape == dims_of(target.shape()),
        ErrorKind::corrupt_file, "{}: tensor '{}' is {} ({}), the model needs {}", file.string(), tensor.name,
        tensor.dtype, fmt::join(tensor.shape, ", "), describe(target));
}

void load_weights(const fs::path& path, Trainer& trainer) {
  const SafetensorsFile file(path);
  Context ctx(trainer.backend());
  const auto fetch = [&](const std::string& name) -> Tensor {
    const SafetensorsTensor* found = file.find(name);
    if (found == nullptr) return {};
    const std::optional<DType> dtype = dtype_from_safetensors(found->dtype);
    check(dtype.has_value(), ErrorKind::corrupt_file, "{}: tensor '{}' has the type {}", path.string(), name,
          found->dtype);
    const Tensor values = make_host_tensor(Shape(std::span<const int64_t>(found->shape)), *dtype);
    std::copy(found->bytes.begin(), found->bytes.end(), values.bytes());
    file.release(*found);
    return values;
  };
  import_weights(ctx, trainer.config(), trainer.model().parameters(), fetch);
}

void load_moments(const fs::path& path, Trainer& trainer) {
  const SafetensorsFile file(path);
  for (const Moments& each : trainer.optimizer().moments()) {
    for (const auto& [prefix, tensor] : each.tensors()) {
      const SafetensorsTensor& stored = file.get(prefix_name(prefix, each));
      check_element_count(stored, tensor, path);
      trainer.backend().write(tensor, stored.bytes.data());
      file.release(stored);
    }
  }
}

std::string checksum_of(const TokenSequence& tokens) {
  std::string text;
  for (const ShardReader& shard : tokens.shards()) {
    text += fmt::format("{:08x}", shard.header().tokens_crc);
    if (shard.header().has_loss_mask()) text += fmt::format("/{:08x}", shard.header().loss_mask_crc);
  }
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> data_identity(const Dataset& dataset) {
  const DatasetInfo& info = dataset.info();
  return {{"tokenizer fingerprint", info.tokenizer_fingerprint},
          {"vocabulary size", fmt::format("{}", info.vocab_size)},
          {"training tokens", fmt::format("{}", info.train.tokens)},
          {"training checksum", checksum_of(*dataset.train())},
          {"validation tokens", fmt::format("{}", info.validation.tokens)},
          {"validation checksum", checksum_of(*dataset.validation())}};
}

uint64_t checkpoint_bytes(Trainer& trainer) {
  TensorReader reader(trainer.backend());
  Tensor scratch;
  constexpr uint64_t kSmallFilesBytes = 256 << 10;
  return safetensors_file_bytes(weight_items(trainer, scratch)) +
         safetensors_file_bytes(optimizer_items(trainer, reader)) + kSmallFilesBytes +
         static_cast<uint64_t>(trainer.config().vocab_size) * 64;
}

fs::path save_checkpoint(const fs::path& checkpoints, Trainer& trainer, const TrainerRecord& record,
                         const Tokenizer& tokenizer) {
  return write_checkpoint(checkpoints, record.state.step, checkpoint_bytes(trainer), [&](const fs::path& folder) {
    write_model_files(folder, trainer, tokenizer);
    Tensor scratch;
    write_safetensors(folder / "model.safetensors", weight_items(trainer, scratch));
    TensorReader reader(trainer.backend());
    write_safetensors(folder / "optimizer.safetensors", optimizer_items(trainer, reader));
    write_file_atomically(folder / "trainer.json", record_to_json(record));
  });
}

TrainerRecord read_trainer_record(const fs::path& checkpoint) {
  const fs::path path = checkpoint / "trainer.json";
  const std::string source = path.string();
  const Json json = read_json(path);
  const auto version = json_get<int64_t>(json, "version", source);
  check(version == 1, ErrorKind::unsupported, "{}: version {}, this program reads version 1", source, version);
  const auto count = [&](const char* key) {
    const auto value = json_get<int64_t>(json, key, source);
    check(value >= 0, ErrorKind::corrupt_file, "{}: '{}' is {}", source, key, value);
    return value;
  };
  TrainerRecord record;
  record.state.step = count("step");
  record.state.updates = count("updates");
  record.state.tokens = count("tokens");
  record.state.skipped = count("skipped");
  record.state.consecutive_skips = count("consecutive_skips");
  const auto stream = json_get<Json>(json, "stream", source);
  record.state.stream.epoch = json_get<uint64_t>(stream, "epoch", source);
  record.state.stream.position = json_get<uint64_t>(stream, "position", source);
  record.seconds = json_get<double>(json, "seconds", source);
  record.recipe = parse_recipe(json_get<std::string>(json, "recipe", source), source);
  if (json.contains("best")) {
    const auto best = json_get<Json>(json, "best", source);
    record.best = BestEvaluation{json_get<int64_t>(best, "step", source), json_get<double>(best, "loss", source)};
  }
  const auto data = json_get<Json>(json, "data", source);
  for (const auto& [name, value] : data.items()) {
    record.data.emplace_back(name, json_to<std::string>(value, name, source));
  }
  return record;
}

void load_checkpoint(const fs::path& checkpoint, Trainer& trainer, const TrainerRecord& record) {
  load_weights(checkpoint / "model.safetensors", trainer);
  load_moments(checkpoint / "optimizer.safetensors", trainer);
  trainer.set_state(record.state);
}

void check_same_data(const TrainerRecord& record, const Dataset& dataset) {
  const std::map<std::string, std::string> before(record.data.begin(), record.data.end());
  std::string changes;
  for (const auto& [name, value] : data_identity(dataset)) {
    const auto found = before.find(name);
    if (found != before.end() && found->second == value) continue;
    changes += fmt::format("{}{}: {} -> {}", changes.empty() ? "" : "; ", name,
                           found == before.end() ? "unknown" : found->second, value);
  }
  if (changes.empty()) return;
  throw Error(
      ErrorKind::invalid_argument,
      fmt::format("the data in '{}' are not those the run was trained on ({})", dataset.folder().string(), changes),
      "prepare the data as before, or start a new run");
}

}  // namespace owlet
