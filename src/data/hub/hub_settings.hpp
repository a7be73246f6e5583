// Where the Hub is, who asks and where files are kept: the environment variables of huggingface_hub, so that Owlet
// shares its cache and its token. docs/data.md lists them for people.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

namespace owlet {

struct HubSettings {
  std::string endpoint = "https://huggingface.co";  ///< HF_ENDPOINT; without a slash at its end
  /// Lists the parquet files of sets. HF_DATASETS_SERVER; else Hugging Face's own beside the default endpoint, and the
  /// endpoint itself beside any other.
  std::string datasets_server = "https://datasets-server.huggingface.co";
  /// HF_TOKEN > HUGGING_FACE_HUB_TOKEN > the file HF_TOKEN_PATH or $HF_HOME/token; empty: ask without a name.
  std::string token;
  std::filesystem::path token_file;  ///< where a token may be written, for hints
  /// HF_HUB_CACHE > HUGGINGFACE_HUB_CACHE > $HF_HOME/hub; HF_HOME is by default $XDG_CACHE_HOME/huggingface or
  /// ~/.cache/huggingface.
  std::filesystem::path cache;
  bool is_offline = false;               ///< HF_HUB_OFFLINE
  bool uses_symlinks = true;             ///< not HF_HUB_DISABLE_SYMLINKS
  bool shows_progress = true;            ///< not HF_HUB_DISABLE_PROGRESS_BARS
  double metadata_timeout_seconds = 10;  ///< HF_HUB_ETAG_TIMEOUT
  double download_timeout_seconds = 10;  ///< HF_HUB_DOWNLOAD_TIMEOUT
  /// Waits between attempts: this, then twice as long each time, up to 32 times this.
  double first_wait_seconds = 1;
  /// Attempts without a byte of progress before giving up.
  int max_attempts = 6;
};

using EnvironmentLookup = std::function<std::optional<std::string>(const char*)>;

/// The variable of this process, nothing where it is unset or empty.
std::optional<std::string> process_environment(const char* name);

/// Reads the settings; `endpoint`, where not empty, goes before HF_ENDPOINT. Throws Error invalid_argument for an
/// endpoint that is no address, a timeout that is no number above 0, or a token with control characters.
HubSettings read_hub_settings(const std::string& endpoint = {}, const EnvironmentLookup& lookup = process_environment);

}  // namespace owlet
