#include "data/hub/hub_client.hpp"

#include <algorithm>
#include <set>

#include "base/error.hpp"
#include "base/human.hpp"
#include "data/hub/file_lock.hpp"
#include "data/hub/hub_names.hpp"
#include "data/hub/url.hpp"

namespace owlet {

namespace {

constexpr int kMaxRedirects = 10;
constexpr int kMaxRounds = 8;
constexpr size_t kMaxTreeFiles = 2'000'000;
constexpr size_t kPagesBetweenMessages = 10;

/// The first value that a chain of answers gives for each header counts: a redirect to the storage host carries the
/// Hub's own, the storage host's mean other things.
struct MetadataHeaders {
  std::optional<std::string> commit, linked_etag, linked_size, etag;

  void add(const HttpResponse& response) {
    const auto take = [&](std::optional<std::string>& field, const char* name) {
      if (!field) field = response.header(name);
    };
    take(commit, "x-repo-commit");
    take(linked_etag, "x-linked-etag");
    take(linked_size, "x-linked-size");
    take(etag, "etag");
  }
};

[[noreturn]] void fail_offline(const HubSubject& subject, const HubSettings& settings) {
  throw Error(ErrorKind::not_found,
              fmt::format("{} is not in the cache '{}', and HF_HUB_OFFLINE forbids to ask the Hub", subject.what,
                          settings.cache.string()),
              "run once without HF_HUB_OFFLINE while there is a network");
}

}  // namespace

std::string resolve_url(const HubSettings& settings, const std::string& repo, const std::string& revision,
                        const std::string& path) {
  return fmt::format("{}/datasets/{}/resolve/{}/{}", settings.endpoint, percent_encode(repo, true),
                     percent_encode(revision, false), percent_encode(path, true));
}

std::optional<std::string> next_link(const std::string& link_header) {
  size_t at = 0;
  while ((at = link_header.find('<', at)) != std::string::npos) {
    const size_t end = link_header.find('>', at);
    if (end == std::string::npos) return std::nullopt;
    const size_t following = std::min(link_header.find('<', end), link_header.size());
    const std::string_view parameters = std::string_view(link_header).substr(end + 1, following - end - 1);
    if (parameters.find("rel=\"next\"") != std::string_view::npos ||
        parameters.find("rel=next") != std::string_view::npos) {
      return link_header.substr(at + 1, end - at - 1);
    }
    at = end;
  }
  return std::nullopt;
}

std::vector<RepoFile> parse_tree_page(const Json& page, const std::string& source) {
  check(page.is_array(), ErrorKind::corrupt_file, "{}: the list of files is {}, expected an array", source,
        page.type_name());
  std::vector<RepoFile> files;
  for (const Json& entry : page) {
    if (json_get_or<std::string>(entry, "type", "file", source) != "file") continue;
    RepoFile file;
    file.path = json_get<std::string>(entry, "path", source);
    check_file_path(file.path, source);
    file.bytes = json_get<uint64_t>(entry, "size", source);
    file.git_sha1 = json_get_or<std::string>(entry, "oid", "", source);
    if (const Json* lfs = find_json_member(entry, "lfs", source); lfs != nullptr && lfs->is_object()) {
      file.sha256 = json_get_or<std::string>(*lfs, "oid", "", source);
      file.bytes = json_get_or<uint64_t>(*lfs, "size", file.bytes, source);
    }
    files.push_back(std::move(file));
  }
  return files;
}

HubClient::HubClient(const HubSettings& settings, const HubHooks& hooks)
    : settings_(settings), hooks_(hooks), requests_(settings, hooks) {}

std::string HubClient::resolve(const std::string& repo, const std::string& revision) {
  check_repo_name(repo);
  check_revision(revision);
  if (is_commit(revision)) return revision;
  const RepoCache cache(settings_.cache, repo);
  const HubSubject subject{repo, repo, revision};
  const auto remembered = cache.read_ref(revision);
  if (settings_.is_offline) {
    if (!remembered) fail_offline(subject, settings_);
    return *remembered;
  }
  const std::string url = fmt::format("{}/api/datasets/{}/revision/{}", settings_.endpoint, percent_encode(repo, true),
                                      percent_encode(revision, false));
  try {
    const auto commit = json_get<std::string>(requests_.get_json(url, subject), "sha", url);
    check(is_plain_token(commit), ErrorKind::corrupt_file, "{}: '{}' is no commit", url, commit);
    cache.write_ref(revision, commit);
    return commit;
  } catch (const HubUnreachable& error) {
    if (!remembered) throw;
    hooks_.say("{}: {}; going on with what the cache has", repo, error.what());
    return *remembered;
  }
}

std::vector<RepoFile> HubClient::list_files(const std::string& repo, const std::string& commit,
                                            const std::string& below) {
  check_repo_name(repo);
  check_revision(commit);
  check(below.empty() || is_safe_path(below), ErrorKind::invalid_argument, "'{}' is no folder of a set", below);
  const RepoCache cache(settings_.cache, repo);
  if (is_commit(commit)) {
    if (auto files = cache.read_tree(commit, below)) return *files;
  }
  if (settings_.is_offline) {
    const auto remembered = cache.read_ref(commit);
    auto files = cache.list_snapshot(remembered.value_or(commit));
    std::erase_if(files, [&](const RepoFile& file) { return !below.empty() && !file.path.starts_with(below + "/"); });
    if (files.empty()) fail_offline({"the list of files of " + repo, repo, commit}, settings_);
    return files;
  }
  const HubSubject subject{"the list of files of " + repo, repo, commit};
  std::string url =
      fmt::format("{}/api/datasets/{}/tree/{}{}{}?recursive=true", settings_.endpoint, percent_encode(repo, true),
                  percent_encode(commit, false), below.empty() ? "" : "/", percent_encode(below, true));
  std::vector<RepoFile> files;
  std::set<std::string> seen_urls;
  while (true) {
    check(seen_urls.insert(url).second, ErrorKind::corrupt_file, "{}: the list of files leads back to itself", url);
    HttpResponse answer;
    const auto page = parse_tree_page(requests_.get_json(url, subject, &answer), url);
    files.insert(files.end(), page.begin(), page.end());
    if (seen_urls.size() % kPagesBetweenMessages == 0) hooks_.say("{}: {} so far", subject.what, files.size());
    check(files.size() <= kMaxTreeFiles, ErrorKind::corrupt_file, "{}: more than {} files", repo, kMaxTreeFiles);
    const auto next = next_link(answer.header("link").value_or(""));
    if (!next) break;
    url = redirect_target(url, *next);
    check(origin_of(url) == origin_of(settings_.endpoint), ErrorKind::io,
          "the list of files of {} goes on at another server: {}", repo, url);
  }
  std::ranges::sort(files, {}, &RepoFile::path);
  if (is_commit(commit)) cache.write_tree(commit, below, files);
  return files;
}

FileMetadata HubClient::ask_metadata(const RepoCache& cache, const HubSubject& subject, const std::string& path) {
  FileMetadata metadata;
  MetadataHeaders headers;
  HttpRequest request;
  request.url = resolve_url(settings_, subject.repo, subject.revision, path);
  request.wants_header_only = true;
  request.timeout_seconds = settings_.metadata_timeout_seconds;
  for (int hop = 0;; ++hop) {
    check(hop <= kMaxRedirects, ErrorKind::io, "{}: more than {} redirects", subject.what, kMaxRedirects);
    const HttpResponse response = requests_.send(request, subject);
    headers.add(response);
    metadata.location = request.url;
    const auto location = response.header("location");
    if (response.is_redirect() && location) {
      metadata.location = redirect_target(request.url, *location);
      const bool leaves = origin_of(metadata.location) != origin_of(settings_.endpoint);
      if (leaves || (headers.linked_etag && headers.commit)) break;
      request.url = metadata.location;
      continue;
    }
    if (response.status >= 400 && response.header("x-error-code") == "EntryNotFound" && headers.commit &&
        is_plain_token(*headers.commit)) {
      cache.mark_missing(*headers.commit, path);
    }
    requests_.throw_if_failed(response, subject);
    metadata.size = response.content_length();
    break;
  }
  if (headers.linked_size) metadata.size = parse_whole_number(*headers.linked_size);
  metadata.commit = headers.commit.value_or("");
  metadata.etag = normalize_etag(headers.linked_etag ? *headers.linked_etag : headers.etag.value_or(""));
  if (!is_plain_token(metadata.commit) || !is_plain_token(metadata.etag)) {
    throw Error(ErrorKind::io,
                fmt::format("{}: {} answers without {}", subject.what, request.url,
                            is_plain_token(metadata.commit) ? "a usable ETag" : "a usable X-Repo-Commit header"),
                "this is no Hub, or a proxy stands in between: check HF_ENDPOINT and the network");
  }
  return metadata;
}

std::optional<CachedFile> HubClient::find_cached(const RepoCache& cache, const std::string& revision,
                                                 const std::string& path) {
  const std::string commit = is_commit(revision) ? revision : cache.read_ref(revision).value_or(revision);
  if (!cache.has(commit, path)) return std::nullopt;
  const auto file = cache.snapshot(commit, path);
  return CachedFile{file, commit, std::filesystem::file_size(file), true};
}

HubClient::Place HubClient::locate(const RepoCache& cache, const HubSubject& subject, const std::string& path) {
  check_revision(subject.revision);
  check_file_path(path, subject.repo);
  Place place;
  place.cached = find_cached(cache, subject.revision, path);
  if (place.cached && (is_commit(subject.revision) || settings_.is_offline)) return place;
  if (settings_.is_offline) fail_offline(subject, settings_);
  try {
    place.metadata = ask_metadata(cache, subject, path);
  } catch (const HubUnreachable& error) {
    if (!place.cached) throw;
    hooks_.say("{}; going on with what the cache has", error.what());
  }
  return place;
}

HubClient::FoundFile HubClient::look_up(const std::string& repo, const std::string& revision, const std::string& path) {
  check_repo_name(repo);
  const RepoCache cache(settings_.cache, repo);
  const Place place = locate(cache, {fmt::format("{} of {}", path, repo), repo, revision}, path);
  if (!place.metadata) return {place.cached->commit, place.cached->bytes, true};
  const FileMetadata& metadata = *place.metadata;
  cache.write_ref(revision, metadata.commit);
  return {metadata.commit, metadata.size.value_or(0), cache.has(metadata.commit, path)};
}

CachedFile HubClient::fetch(const std::string& repo, const std::string& revision, const std::string& path,
                            TransferMeter& meter) {
  check_repo_name(repo);
  const RepoCache cache(settings_.cache, repo);
  const HubSubject subject{fmt::format("{} of {}", path, repo), repo, revision};
  Place place = locate(cache, subject, path);
  if (place.metadata) return fetch_known(cache, std::move(*place.metadata), subject, path, meter);
  meter.end_file(place.cached->bytes);
  return *place.cached;
}

CachedFile HubClient::fetch_known(const RepoCache& cache, FileMetadata metadata, const HubSubject& subject,
                                  const std::string& path, TransferMeter& meter) {
  bool was_damaged = false;
  for (int round = 0; round < kMaxRounds; ++round) {
    cache.write_ref(subject.revision, metadata.commit);
    if (cache.has(metadata.commit, path)) {
      CachedFile file = *find_cached(cache, metadata.commit, path);
      meter.end_file(file.bytes);
      return file;
    }
    cache.make_folders(metadata.etag);
    FileLock lock(cache.lock(metadata.etag), hooks_.should_stop,
                  [&] { hooks_.say("{}: another process fetches it; waiting", subject.what); });
    const std::string note = subject.revision + " " + path;
    lock.write_note(note);
    // Whoever held the lock may have finished the file.
    const bool has_blob =
        cache.has(metadata.commit, path) || std::filesystem::is_regular_file(cache.blob(metadata.etag));
    std::string reason;
    const BlobOutcome outcome =
        has_blob ? BlobOutcome::whole : download_blob(requests_, cache, metadata, subject, meter, reason);
    if (outcome == BlobOutcome::whole) {
      if (!cache.has(metadata.commit, path)) {
        cache.link(metadata.etag, metadata.commit, path, settings_.uses_symlinks, !has_blob);
      }
      if (const uint64_t freed = cache.remove_outdated(metadata.etag, note); freed > 0) {
        hooks_.say("{}: {} of an older content, never finished, are removed", subject.what, format_bytes(freed));
      }
      const auto place = cache.snapshot(metadata.commit, path);
      const CachedFile file{place, metadata.commit, std::filesystem::file_size(place), has_blob};
      meter.end_file(file.bytes);
      return file;
    }
    if (outcome == BlobOutcome::damaged) {
      if (was_damaged) {
        throw Error(ErrorKind::corrupt_file, fmt::format("{} came damaged twice: {}", subject.what, reason),
                    "nothing of it is kept; try again later, and tell the owner of the set if it stays so");
      }
      hooks_.say("{}: {}; starting again", subject.what, reason);
      was_damaged = true;
    } else {
      hooks_.say("{}: it changed on the server meanwhile, or its address expired; asking again", subject.what);
    }
    metadata = ask_metadata(cache, subject, path);
  }
  fail(ErrorKind::io, "{}: the server changed it {} times while it was fetched", subject.what, kMaxRounds);
}

}  // namespace owlet
