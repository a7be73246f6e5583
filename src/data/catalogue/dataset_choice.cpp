#include "data/catalogue/dataset_choice.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/nearest_name.hpp"
#include "data/hub/hub_names.hpp"
#include "data/hub/parquet_listing.hpp"

namespace owlet {

namespace {

constexpr size_t kMaxNamesShown = 20;

bool has_wildcard(const std::string& pattern) { return pattern.find_first_of("*?") != std::string::npos; }

/// The folder above the first wildcard, so that only it must be listed; empty where there is none.
std::string folder_above(const std::string& pattern) {
  const std::string fixed = pattern.substr(0, pattern.find_first_of("*?"));
  const size_t slash = fixed.rfind('/');
  return slash == std::string::npos ? "" : fixed.substr(0, slash);
}

std::string join_names(const std::vector<std::string>& names) {
  const auto shown =
      std::vector(names.begin(), names.begin() + static_cast<long>(std::min(names.size(), kMaxNamesShown)));
  return fmt::format("{}{}", fmt::join(shown, ", "), names.size() > kMaxNamesShown ? ", …" : "");
}

[[noreturn]] void fail_unknown(const std::string& what, const std::string& name, const std::string& repo,
                               const std::vector<std::string>& known) {
  const std::string near = nearest_name(name, known);
  throw Error(ErrorKind::not_found,
              fmt::format("{} has no {} '{}'; there are: {}", repo, what, name, join_names(known)),
              near.empty() ? "" : fmt::format("did you mean '{}'?", near));
}

std::vector<std::string> distinct(const std::vector<ParquetFile>& files, std::string ParquetFile::*field) {
  std::vector<std::string> names;
  for (const ParquetFile& file : files) {
    if (std::ranges::find(names, file.*field) == names.end()) names.push_back(file.*field);
  }
  return names;
}

/// Keeps the first `count` files of each split.
void limit_files(std::vector<ChosenFile>& files, size_t count) {
  if (count == 0) return;
  std::map<std::string, size_t> seen;
  std::erase_if(files, [&](const ChosenFile& file) { return seen[file.split]++ >= count; });
}

std::string format_of(const std::vector<ChosenFile>& files) {
  std::set<std::string> endings;
  for (const ChosenFile& file : files) {
    const std::string name = file.path.substr(file.path.rfind('/') + 1);
    const size_t dot = name.find('.');
    std::string ending = dot == std::string::npos ? "" : name.substr(dot + 1);
    for (const char* known : {"parquet", "jsonl.gz", "jsonl.zst", "json.gz", "jsonl", "json", "txt"}) {
      if (name.ends_with(std::string(".") + known)) {
        ending = known;
        break;
      }
    }
    endings.insert(ending);
  }
  return endings.size() == 1 ? *endings.begin() : "";
}

/// "org/name" of what people copy: hf://datasets/org/name@revision, https://huggingface.co/datasets/org/name/tree/main.
/// The revision of the first form goes into `request` unless one was asked for.
DatasetRequest without_address(DatasetRequest request) {
  std::string& name = request.name;
  const size_t mark = name.find("datasets/");
  const bool is_address = mark != std::string::npos && (mark == 0 || name.find("://") < mark);
  if (!is_address) return request;
  name = name.substr(mark + std::string_view("datasets/").size());
  name = name.substr(0, name.find_first_of("?#"));
  const size_t first = name.find('/');
  if (first != std::string::npos) name = name.substr(0, name.find('/', first + 1));
  if (const size_t at = name.find('@'); at != std::string::npos) {
    if (request.revision.empty()) request.revision = name.substr(at + 1);
    name.resize(at);
  }
  return request;
}

/// One request's way through the Hub.
class DatasetChooser {
 public:
  DatasetChooser(HubClient& hub, const DatasetRequest& request) : hub_(hub), request_(without_address(request)) {
    choice_.name = request_.name;
    choice_.revision = request_.revision.empty() ? "main" : request_.revision;
    choice_.layout = request_.column;
  }

  DatasetChoice choose() {
    if (const CatalogueSet* set = find_catalogue_set(request_.name)) {
      choose_from_catalogue(*set);
    } else if (request_.name.find('/') == std::string::npos) {
      fail_unknown_set(request_.name);
    } else {
      check_repo_name(request_.name);
      choice_.repo = request_.name;
      choice_.licence = "see the set's page";
      choose_from_hub();
    }
    limit_files(choice_.files, request_.max_files);
    if (choice_.format.empty()) choice_.format = format_of(choice_.files);
    return std::move(choice_);
  }

 private:
  void choose_from_catalogue(const CatalogueSet& set) {
    check(request_.config.empty(), ErrorKind::invalid_argument,
          "'{}' of the catalogue has no configurations; `owlet data get {} --config {}` takes the whole set", set.name,
          set.repo, request_.config);
    choice_.repo = set.repo;
    choice_.licence = set.licence;
    choice_.kind = to_string(set.kind);
    choice_.layout = request_.column.empty() ? set.layout : request_.column;
    if (!request_.patterns.empty()) {
      choose_by_patterns();
      return;
    }
    choice_.format = set.format;
    std::vector<std::string> splits;
    for (const CataloguePart& part : set.parts) {
      if (std::ranges::find(splits, part.split) == splits.end()) splits.push_back(part.split);
    }
    if (!request_.split.empty() && std::ranges::find(splits, request_.split) == splits.end()) {
      fail_unknown("split", request_.split, set.name, splits);
    }
    for (const CataloguePart& part : set.parts) {
      if (request_.split.empty() || part.split == request_.split) add_part(part);
    }
  }

  void add_part(const CataloguePart& part) {
    if (!has_wildcard(part.pattern)) {
      add_named_file(part);
      return;
    }
    const std::string commit = resolve();
    const size_t before = choice_.files.size();
    for (const RepoFile& file : hub_.list_files(choice_.repo, commit, folder_above(part.pattern))) {
      if (matches_pattern(file.path, part.pattern))
        choice_.files.push_back({commit, file.path, part.split, file.bytes});
    }
    check(choice_.files.size() > before, ErrorKind::not_found, "{} has no files '{}' at revision '{}'", choice_.repo,
          part.pattern, choice_.revision);
  }

  /// Files that the catalogue names need no list: asking for each is less, and works with mirrors that have no lists.
  void add_named_file(const CataloguePart& part) {
    const HubClient::FoundFile found =
        hub_.look_up(choice_.repo, commit_.empty() ? choice_.revision : commit_, part.pattern);
    commit_ = found.commit;
    choice_.files.push_back({found.commit, part.pattern, part.split, found.bytes});
  }

  const std::string& resolve() {
    if (commit_.empty()) commit_ = hub_.resolve(choice_.repo, choice_.revision);
    return commit_;
  }

  void choose_by_patterns() {
    const std::string commit = resolve();
    const std::string below = request_.patterns.size() == 1 && has_wildcard(request_.patterns[0])
                                  ? folder_above(request_.patterns[0])
                                  : std::string();
    for (const std::string& pattern : request_.patterns) {
      const size_t before = choice_.files.size();
      for (const RepoFile& file : hub_.list_files(choice_.repo, commit, below)) {
        if (!matches_pattern(file.path, pattern)) continue;
        const bool is_new = std::ranges::find(choice_.files, file.path, &ChosenFile::path) == choice_.files.end();
        if (is_new) choice_.files.push_back({commit, file.path, "", file.bytes});
      }
      if (choice_.files.size() == before) {
        throw Error(ErrorKind::not_found, fmt::format("{} has no file that fits '{}'", choice_.repo, pattern),
                    fmt::format("{}/datasets/{}/tree/{} shows its files; * stands for anything",
                                hub_.settings().endpoint, choice_.repo, choice_.revision));
      }
    }
  }

  void choose_from_hub() {
    if (!request_.patterns.empty()) {
      choose_by_patterns();
      return;
    }
    // The conversion to parquet exists for the main branch only.
    if (request_.revision.empty() || request_.revision == "main") {
      const ParquetListing listing = find_listing();
      note_state(listing);
      if (!listing.files.empty()) {
        choose_from_listing(listing);
        return;
      }
    }
    choose_data_files();
  }

  /// From the dataset server, else from the branch; empty where the set was never converted.
  ParquetListing find_listing() {
    if (!hub_.settings().is_offline) {
      try {
        return ask_parquet_listing(hub_, choice_.repo);
      } catch (const Error& error) {
        if (error.kind() == ErrorKind::cancelled) throw;
        hub_.hooks().say("{}; looking into the set itself", error.what());
      }
    }
    try {
      const std::string commit = hub_.resolve(choice_.repo, std::string(kParquetBranch));
      return listing_of_branch(hub_.list_files(choice_.repo, commit), commit);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::not_found) throw;
      return {};
    }
  }

  void note_state(const ParquetListing& listing) {
    if (listing.is_partial) {
      choice_.notes.push_back(
          fmt::format("only a part of {} (about the first 5 GB of each large split) was converted to parquet; --files "
                      "gets the original files",
                      choice_.repo));
    }
    if (!listing.pending.empty()) {
      choice_.notes.push_back(
          fmt::format("still being converted to parquet, missing here: {}", join_names(listing.pending)));
    }
    if (!listing.failed.empty()) {
      choice_.notes.push_back(fmt::format("could not be converted to parquet: {}", join_names(listing.failed)));
    }
  }

  void choose_from_listing(const ParquetListing& listing) {
    const auto configs = distinct(listing.files, &ParquetFile::config);
    const auto has_config = [&](const std::string& name) { return std::ranges::find(configs, name) != configs.end(); };
    std::string config = request_.config;
    if (config.empty()) config = configs.size() == 1 ? configs[0] : "default";
    if (request_.config.empty() && !has_config(config)) {
      throw Error(ErrorKind::invalid_argument,
                  fmt::format("{} has {} configurations: {}", choice_.repo, configs.size(), join_names(configs)),
                  "choose one with --config");
    }
    if (!has_config(config)) fail_unknown("configuration", config, choice_.repo, configs);
    choice_.config = config;
    std::vector<ParquetFile> files;
    std::ranges::copy_if(listing.files, std::back_inserter(files),
                         [&](const ParquetFile& file) { return file.config == config; });
    const auto splits = distinct(files, &ParquetFile::split);
    if (!request_.split.empty() && std::ranges::find(splits, request_.split) == splits.end()) {
      fail_unknown("split", request_.split, choice_.repo, splits);
    }
    for (const ParquetFile& file : files) {
      if (!request_.split.empty() && file.split != request_.split) continue;
      choice_.files.push_back({file.revision, file.path, file.split, file.bytes});
    }
    choice_.format = "parquet";
  }

  void choose_data_files() {
    const auto ask_for = [&](const char* option, const std::string& value) {
      check(value.empty(), ErrorKind::invalid_argument,
            "{} at revision '{}' is only there as its original files, which have no {}; choose with --files",
            choice_.repo, choice_.revision, option);
    };
    ask_for("configurations", request_.config);
    ask_for("splits", request_.split);
    const std::string commit = resolve();
    for (const RepoFile& file : hub_.list_files(choice_.repo, commit)) {
      if (is_data_file(file.path)) choice_.files.push_back({commit, file.path, "", file.bytes});
    }
    if (choice_.files.empty()) {
      throw Error(
          ErrorKind::not_found,
          fmt::format("{} holds no parquet, jsonl, json or txt files at revision '{}'", choice_.repo, choice_.revision),
          "--files takes any file of it");
    }
    choice_.notes.push_back(
        fmt::format("no conversion to parquet: taking the {} data files of the set itself", choice_.files.size()));
  }

  HubClient& hub_;
  const DatasetRequest request_;
  DatasetChoice choice_;
  std::string commit_;
};

}  // namespace

DatasetChoice choose_dataset(HubClient& hub, const DatasetRequest& request) {
  return DatasetChooser(hub, request).choose();
}

bool is_data_file(std::string_view path) {
  for (const std::string_view packing : {".gz", ".zst"}) {
    if (path.ends_with(packing)) {
      path.remove_suffix(packing.size());
      break;
    }
  }
  const std::string_view name = path.substr(path.rfind('/') + 1);
  // Cards and settings that many repositories have.
  if (name == "dataset_infos.json" || name == "dataset_dict.json" || name == "state.json" ||
      name == "dataset_info.json")
    return false;
  for (const std::string_view ending : {".parquet", ".jsonl", ".ndjson", ".json", ".txt"}) {
    if (path.ends_with(ending) && name.size() > ending.size()) return true;
  }
  return false;
}

}  // namespace owlet
