// Conversations out of the rows of an instruction set; what cannot be used is counted with its reason.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "data/chat_info.hpp"
#include "data/instruction/conversation.hpp"
#include "data/instruction/instruction_format.hpp"
#include "data/record_source.hpp"

namespace owlet {

/// Reads one set, in the order of its rows. Not thread-safe.
class ConversationReader {
 public:
  /// `format` is a name of instruction_formats() or "auto": the first of the first 100 rows that a format recognises
  /// decides. Rows that are lines of text are joined to blocks first. Throws invalid_argument for an unknown name, or
  /// where no format fits (naming the fields found).
  ConversationReader(std::unique_ptr<RecordSource> rows, std::string_view format, uint64_t seed);

  /// The next usable conversation; false at the end. Throws what reading the rows throws.
  bool next(Conversation& conversation);

  const InstructionFormat& format() const { return *format_; }
  const RecordSource& rows() const { return *rows_; }
  uint64_t num_rows() const { return rows_->num_records(); }       ///< read so far, unreadable ones not counted
  uint64_t num_open_questions() const { return open_questions_; }  ///< last questions without answer, left out
  const DropReport& dropped() const { return dropped_; }
  uint64_t num_dropped() const;
  /// Leaves out one more row for a reason found later.
  void drop(const std::string& reason, const std::string& place);

 private:
  const InstructionFormat& recognise();

  std::unique_ptr<RecordSource> rows_;
  const InstructionFormat* format_ = nullptr;
  uint64_t seed_;
  uint64_t open_questions_ = 0;
  DropReport dropped_;
};

}  // namespace owlet
