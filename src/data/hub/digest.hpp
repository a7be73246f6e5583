// Digests of file contents as the Hub names them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace owlet {

enum class DigestKind {
  sha256,    ///< of the content: large files (LFS, Xet)
  git_blob,  ///< SHA-1 of "blob <size>\0" and the content: files that lie in git itself
};

/// The kind whose hexadecimal form an entity tag has (64 or 40 digits in lower case); nothing for other tags.
std::optional<DigestKind> digest_kind_of(std::string_view etag);

/// A digest fed piece by piece (OpenSSL).
class Digest {
 public:
  /// `size_bytes`, the size of the whole content, is part of a git blob's digest and ignored by sha256.
  Digest(DigestKind kind, uint64_t size_bytes);
  ~Digest();
  Digest(Digest&&) noexcept;
  Digest& operator=(Digest&&) noexcept;
  void update(std::string_view bytes);
  /// Lower-case hexadecimal; the object takes no more bytes afterwards.
  std::string finish();

 private:
  struct Context;
  std::unique_ptr<Context> context_;
};

/// The digest of a file's first `count_bytes`, fed into `digest`; throws Error io / not_found, and cancelled where
/// `should_stop` says so.
void digest_file(const std::filesystem::path& path, uint64_t count_bytes, Digest& digest,
                 const std::function<bool()>& should_stop = {});
/// SHA-256 of a whole file.
std::string sha256_of_file(const std::filesystem::path& path, const std::function<bool()>& should_stop = {});

}  // namespace owlet
