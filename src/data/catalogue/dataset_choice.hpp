// Which files of a set on the Hub are meant: a name of the catalogue, or any org/name with configuration and split.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/catalogue/catalogue.hpp"
#include "data/hub/hub_client.hpp"

namespace owlet {

/// What a person asks for. Empty fields: as the set has it.
struct DatasetRequest {
  std::string name = {};                   ///< of the catalogue, or org/name, or the address of its page
  std::string config = {};                 ///< configuration of an org/name set
  std::string split = {};                  ///< only this one
  std::string revision = {};               ///< branch, tag or commit
  std::string column = {};                 ///< that holds the text
  std::vector<std::string> patterns = {};  ///< only files of the repository that fit one of them
  size_t max_files = 0;                    ///< at most so many of each split; 0: all
};

struct ChosenFile {
  std::string revision;  ///< to fetch it at
  std::string path;      ///< in the repository
  std::string split;     ///< empty where unknown
  uint64_t bytes = 0;    ///< 0: unknown
};

struct DatasetChoice {
  std::string name, repo, licence;
  std::string kind;      ///< "text", "instruction", "chat"; empty: unknown
  std::string format;    ///< "parquet", "txt", …; empty: mixed or unknown
  std::string layout;    ///< see CatalogueSet; for others the column asked for
  std::string config;    ///< empty where there are none
  std::string revision;  ///< as asked, "main" by default
  std::vector<ChosenFile> files;
  std::vector<std::string> notes;  ///< what a person should know: a partial conversion, a way round
};

/// Finds the files. A set of the catalogue is looked up in its repository. Any other comes from the dataset server's
/// parquet listing; where that is not to be had, from the branch refs/convert/parquet, and where there is none, from
/// the data files of the repository itself (also whenever files or a revision are asked for). Throws Error not_found
/// for unknown names, configurations, splits and patterns, each with what there is; and what HubClient throws.
DatasetChoice choose_dataset(HubClient& hub, const DatasetRequest& request);

/// True for names of files that hold data: parquet, jsonl, ndjson, json, txt; jsonl, json and txt also with .gz or
/// .zst.
bool is_data_file(std::string_view path);

}  // namespace owlet
