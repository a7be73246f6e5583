// The folder of one run and its lock:
//
//   RUN/recipe.toml      resolved recipe            RUN/run.json        data folder, program version
//   RUN/metrics.jsonl    one JSON object a line     RUN/log.txt         what was said
//   RUN/samples.md       text written on the way    RUN/checkpoints/    step-N/, latest, best
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "train/recipe.hpp"

namespace owlet {

/// An open run folder. While it lives, nobody else can open it (Error invalid_argument). Not thread-safe.
class RunFolder {
 public:
  /// Makes a run folder and writes recipe.toml and run.json. Throws Error invalid_argument if `path` holds a run
  /// already and `force` is false (hint: `owlet resume`); with `force` the old run is removed. A folder that is not
  /// empty and holds no run is refused either way.
  static RunFolder create(const std::filesystem::path& path, const Recipe& recipe,
                          const std::filesystem::path& data_folder, bool force);
  /// Throws what create() would throw for `path`, without touching anything.
  static void check_can_create(const std::filesystem::path& path, bool force);
  /// Opens an existing run. Throws Error not_found naming the file that is missing.
  static RunFolder open(const std::filesystem::path& path);

  RunFolder(RunFolder&& other) noexcept;
  RunFolder& operator=(RunFolder&&) = delete;
  RunFolder(const RunFolder&) = delete;
  ~RunFolder();

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path checkpoints() const { return path_ / "checkpoints"; }
  /// The recipe in the folder.
  Recipe recipe() const;
  void write_recipe(const Recipe& recipe) const;
  /// The data folder the run was started with, absolute.
  std::filesystem::path data_folder() const;

  /// Each appends and flushes, so that a killed run has everything said before. Throws Error io.
  void append_metrics(const OrderedJson& line) const;
  void append_log(std::string_view message) const;
  void append_sample(int64_t step, std::string_view prompt, std::string_view text) const;

  /// Cuts metrics and samples of later steps off, atomically, and what a killed writer left unfinished.
  void cut_back_to(int64_t step) const;

 private:
  RunFolder(std::filesystem::path path, int lock);

  std::filesystem::path path_;
  int lock_ = -1;
};

/// Whether `path` holds a run.
bool is_run_folder(const std::filesystem::path& path);

}  // namespace owlet
