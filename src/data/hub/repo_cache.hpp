// One repository in the Hugging Face cache, in huggingface_hub's layout, so that both read what either has fetched:
//
//   CACHE/CACHEDIR.TAG
//   CACHE/.locks/datasets--org--name/<etag>.lock
//   CACHE/datasets--org--name/blobs/<etag>                (<etag>.incomplete while it is fetched)
//                            /refs/<revision>             the commit's hash
//                            /snapshots/<commit>/<path>   relative link to ../../blobs/<etag>, or the file itself
//                            /.no_exist/<commit>/<path>   an empty file: asked for, not there
//                            /trees/<commit>.json         the list of its files
//
// Source: file_download.py, _tree_cache.py of huggingface_hub.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace owlet {

/// A file of a repository, as the tree listing has it.
struct RepoFile {
  std::string path;
  uint64_t bytes = 0;
  std::string git_sha1;  ///< of the blob in git (of the pointer, for large files)
  std::string sha256;    ///< of the content of large files, else empty
};

class RepoCache {
 public:
  /// `repo` is "org/name" and must have passed check_repo_name.
  RepoCache(std::filesystem::path cache, const std::string& repo);

  const std::filesystem::path& cache() const { return cache_; }
  const std::filesystem::path& folder() const { return folder_; }
  std::filesystem::path blob(const std::string& etag) const { return folder_ / "blobs" / etag; }
  std::filesystem::path incomplete(const std::string& etag) const { return folder_ / "blobs" / (etag + ".incomplete"); }
  std::filesystem::path lock(const std::string& etag) const;
  /// Where the file of a commit lies once it is here.
  std::filesystem::path snapshot(const std::string& commit, const std::string& path) const;
  bool has(const std::string& commit, const std::string& path) const;
  bool is_known_missing(const std::string& commit, const std::string& path) const;

  /// The commit that a branch or tag was last seen at.
  std::optional<std::string> read_ref(const std::string& revision) const;
  /// Remembers it; nothing for a commit's own hash or an unchanged one. Like mark_missing and write_tree it is a
  /// courtesy: a cache that cannot be written stays as it is.
  void write_ref(const std::string& revision, const std::string& commit) const;
  void mark_missing(const std::string& commit, const std::string& path) const;

  /// The stored list of a commit's files (or of those below a folder), nothing where it is missing or damaged.
  std::optional<std::vector<RepoFile>> read_tree(const std::string& commit, const std::string& below) const;
  void write_tree(const std::string& commit, const std::string& below, const std::vector<RepoFile>& files) const;
  /// The files of a commit that are in the cache, sorted by path.
  std::vector<RepoFile> list_snapshot(const std::string& commit) const;

  /// Makes the folders that a download of `etag` writes to, and CACHE/CACHEDIR.TAG. Throws Error io.
  void make_folders(const std::string& etag) const;
  /// Lets the snapshot's path lead to the blob: a relative link; where links fail or are not wanted the blob itself
  /// moves there (`is_new`) or is copied. Throws Error io.
  void link(const std::string& etag, const std::string& commit, const std::string& path, bool uses_symlinks,
            bool is_new) const;
  /// Removes unfinished downloads of an older content of the same file: those whose lock nobody holds and bears this
  /// note. Returns how many bytes were freed.
  uint64_t remove_outdated(const std::string& etag, const std::string& note) const;

 private:
  std::filesystem::path tree_file(const std::string& commit, const std::string& below) const;

  std::filesystem::path cache_;
  std::string folder_name_;
  std::filesystem::path folder_;
};

}  // namespace owlet
