#include "data/instruction/conversation_reader.hpp"

#include "base/error.hpp"
#include "data/instruction/instruction_rows.hpp"

namespace owlet {
namespace {

constexpr int kRowsToRecognise = 100;
constexpr size_t kMaxShownFields = 12, kMaxShownName = 40;
/// A hostile set could make up reasons without end.
constexpr size_t kMaxReasons = 64;

std::string field_names(const Json& row) {
  std::string names;
  size_t count = 0;
  for (const auto& [name, value] : row.items()) {
    if (++count > kMaxShownFields) return names + ", …";
    names += fmt::format("{}'{}'", names.empty() ? "" : ", ", name.substr(0, kMaxShownName));
  }
  return names.empty() ? "no fields" : names;
}

}  // namespace

ConversationReader::ConversationReader(std::unique_ptr<RecordSource> rows, std::string_view format, uint64_t seed)
    : rows_(std::move(rows)), seed_(seed) {
  if (holds_lines_of_text(*rows_)) rows_ = join_lines(std::move(rows_));
  format_ = format == "auto" ? &recognise() : &find_instruction_format(format);
}

const InstructionFormat& ConversationReader::recognise() {
  Json row;
  std::string first_fields;
  const InstructionFormat* found = nullptr;
  for (int i = 0; i < kRowsToRecognise && found == nullptr && rows_->next(row); ++i) {
    found = recognise_instruction_format(row);
    if (first_fields.empty() && row.is_object()) first_fields = field_names(row);
  }
  rows_->rewind();
  const std::string first_file = rows_->files().empty() ? std::string("the set") : rows_->files()[0].path;
  check(!first_fields.empty() || found != nullptr, ErrorKind::invalid_argument, "{} has no rows", first_file);
  if (found != nullptr) return *found;
  std::string names;
  for (const InstructionFormat* format : instruction_formats()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format->name);
  }
  throw Error(ErrorKind::invalid_argument,
              fmt::format("{}: rows with {} are none of the known instruction formats", first_file, first_fields),
              "--format names one of: " + names);
}

void ConversationReader::drop(const std::string& reason, const std::string& place) {
  const bool is_known = dropped_.contains(reason) || dropped_.size() < kMaxReasons;
  DroppedRows& rows = dropped_[is_known ? reason : "other reasons"];
  if (rows.count++ == 0) rows.first_place = place;
}

uint64_t ConversationReader::num_dropped() const {
  uint64_t count = 0;
  for (const auto& [reason, rows] : dropped_) count += rows.count;
  return count;
}

bool ConversationReader::next(Conversation& conversation) {
  Json row;
  while (rows_->next(row)) {
    const std::string place = rows_->place();
    try {
      check(row.is_object(), ErrorKind::corrupt_file, "a row is no object");
      conversation.messages = format_->read(row, {seed_, rows_->num_records() - 1});
      open_questions_ += normalise_messages(conversation.messages) ? 1 : 0;
      conversation.place = place;
      return true;
    } catch (const Error& error) {
      drop(error.what(), place);
    }
  }
  return false;
}

}  // namespace owlet
