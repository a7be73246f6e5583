// Data sets that Owlet knows by a short name. One file per family of sets; a new one is a file here and a line in
// catalogue.cpp (docs/adding/dataset.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace owlet {

enum class DatasetKind {
  text,         ///< documents to pre-train on
  instruction,  ///< one request and one answer a row
  chat,         ///< conversations of several turns
};

/// "text", "instruction" or "chat".
std::string_view to_string(DatasetKind kind);

/// Files of a set that belong together.
struct CataloguePart {
  std::string split;    ///< "train", "validation" or "test"
  std::string pattern;  ///< path in the repository; * and ? as in matches_pattern
};

struct CatalogueSet {
  std::string name;  ///< lower case, words joined by '-'
  std::string repo;  ///< on the Hub
  std::string licence;
  DatasetKind kind = DatasetKind::text;
  std::string format;  ///< of the files: "txt", "jsonl", "jsonl.zst", "json", "parquet"
  /// How text lies in it: the column of documents ("text"), the words between documents of a txt file
  /// ("<|endoftext|>"), or, for instruction and chat, the name of the rows' form (data/instruction/).
  std::string layout;
  uint64_t bytes = 0;   ///< to download, all parts, about
  std::string content;  ///< how much is in it, for people: "2.1 M stories"
  std::string purpose;  ///< one line: what it is good for
  std::vector<CataloguePart> parts;
};

/// Every set, families in the order of the list in catalogue.cpp.
const std::vector<CatalogueSet>& catalogue();

/// The set of this name, null where there is none.
const CatalogueSet* find_catalogue_set(std::string_view name);

/// Throws Error not_found for a name that is neither in the catalogue nor of the form org/name, with the nearest name.
[[noreturn]] void fail_unknown_set(const std::string& name);

}  // namespace owlet
