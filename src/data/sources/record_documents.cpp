#include "data/sources/record_documents.hpp"

#include "base/error.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/sources/skipped_records.hpp"

namespace owlet {
namespace {

constexpr size_t kMaxColumnsNamed = 12;

std::string column_names(const Json& record) {
  std::string names;
  size_t count = 0;
  for (const auto& [name, value] : record.items()) {
    if (++count > kMaxColumnsNamed) return names + ", …";
    names += (names.empty() ? "" : ", ") + name.substr(0, 60);
  }
  return names.empty() ? "none" : names;
}

}  // namespace

ColumnText take_column(Json& record, const std::string& column, std::string& text, std::string& reason) {
  const auto found = record.find(column);
  if (found == record.end()) {
    reason = fmt::format("no column '{}'; there are: {}", column, column_names(record));
    if (recognise_instruction_format(record) != nullptr) {
      reason += " (rows like these are conversations: `owlet data prepare-chat` reads them)";
    }
    return ColumnText::bad;
  }
  if (found->is_null()) return ColumnText::empty;
  if (!found->is_string()) {
    reason = fmt::format("column '{}' is of type {}, expected string", column, found->type_name());
    return ColumnText::bad;
  }
  text = std::move(found->get_ref<std::string&>());
  return text.find_first_not_of(" \t\n\v\f\r") == std::string::npos ? ColumnText::empty : ColumnText::text;
}

void fail_column(const std::string& place, const std::string& reason) {
  throw Error(ErrorKind::corrupt_file, place + ": " + reason,
              "--column NAME chooses another column; --skip-bad passes over such rows");
}

RecordDocuments::RecordDocuments(std::unique_ptr<RecordSource> records, std::string column, bool skips)
    : records_(std::move(records)), column_(std::move(column)), skips_(skips) {}

bool RecordDocuments::next(std::string& document) {
  Json record;
  std::string reason;
  while (records_->next(record)) {
    switch (take_column(record, column_, document, reason)) {
      case ColumnText::text:
        ++num_documents_;
        return true;
      case ColumnText::empty:
        ++num_empty_;
        break;
      case ColumnText::bad:
        if (!skips_) fail_column(records_->place(), reason);
        ++num_skipped_;
        if (own_skipped_.size() < kMaxSkippedPlaces) own_skipped_.push_back({records_->place(), reason});
    }
  }
  return false;
}

void RecordDocuments::rewind() {
  records_->rewind();
  num_documents_ = num_empty_ = num_skipped_ = 0;
  own_skipped_.clear();
}

const std::vector<SkippedRecord>& RecordDocuments::skipped() const {
  all_skipped_ = own_skipped_;
  const auto& unreadable = records_->skipped();
  all_skipped_.insert(all_skipped_.end(), unreadable.begin(), unreadable.end());
  if (all_skipped_.size() > kMaxSkippedPlaces) all_skipped_.resize(kMaxSkippedPlaces);
  return all_skipped_;
}

}  // namespace owlet
