#include "tessera/onnx/wire.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fmt/format.h>
#include <functional>
#include <google/protobuf/descriptor.h>
#include <map>
#include <memory>

#include "onnx_struct.pb.h"
#include "tessera/base/checked.h"

namespace tessera {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

constexpr std::string_view kMark("\x93TessCut", 8);
constexpr size_t kPlaceholderBytes = 24;  // mark, owner, index
constexpr uint64_t kLargestMessage = (uint64_t{1} << 31) - 1;  // protobuf's limit

// ---- Which fields the pass goes into or cuts

struct MessageTable;

struct FieldEntry {
  int number = 0;
  std::string_view name;
  const MessageTable* message = nullptr;  // of a message field
  bool raw_data = false;
  bool repeated = false;
  int oneof = -1;
  uint32_t wire_type = 2;  // with another one the field is unknown to protobuf
};

struct MessageTable {
  std::string_view name;
  std::vector<FieldEntry> fields;  // by number: message fields, raw_data, and all members of oneofs
  std::vector<std::string_view> oneofs;

  const FieldEntry* Find(uint64_t number) const {
    auto field = std::lower_bound(fields.begin(), fields.end(), number,
                                  [](const FieldEntry& f, uint64_t n) { return static_cast<uint64_t>(f.number) < n; });
    return field != fields.end() && static_cast<uint64_t>(field->number) == number ? &*field : nullptr;
  }
};

class Tables {
 public:
  static const MessageTable* Of(const Descriptor* type) {
    static const Tables tables;
    auto found = tables.tables_.find(type);
    return found == tables.tables_.end() ? nullptr : found->second.get();
  }

 private:
  Tables() {
    for (const Descriptor* root : {ir::ModelProto::descriptor(), ir::SequenceProto::descriptor(),
                                   ir::MapProto::descriptor(), ir::OptionalProto::descriptor()}) {
      Build(root);
    }
  }

  const MessageTable* Build(const Descriptor* type) {
    std::unique_ptr<MessageTable>& slot = tables_[type];
    if (slot != nullptr) return slot.get();
    slot = std::make_unique<MessageTable>();
    MessageTable* table = slot.get();
    table->name = type->name();
    for (int i = 0; i < type->oneof_decl_count(); ++i) table->oneofs.push_back(type->oneof_decl(i)->name());
    bool holds_data = type == ir::TensorProto::descriptor() || type == ir::StructProto::descriptor();
    for (int i = 0; i < type->field_count(); ++i) {
      const FieldDescriptor* field = type->field(i);
      FieldEntry entry;
      entry.number = field->number();
      entry.name = field->name();
      entry.repeated = field->is_repeated();
      entry.raw_data = holds_data && field->name() == "raw_data";
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_INT32 || field->cpp_type() == FieldDescriptor::CPPTYPE_INT64) {
        entry.wire_type = 0;
      }
      if (field->containing_oneof() != nullptr) entry.oneof = field->containing_oneof()->index();
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) entry.message = Build(field->message_type());
      if (entry.message != nullptr || entry.raw_data || entry.oneof >= 0) table->fields.push_back(entry);
    }
    std::sort(table->fields.begin(), table->fields.end(),
              [](const FieldEntry& a, const FieldEntry& b) { return a.number < b.number; });
    return table;
  }

  std::map<const Descriptor*, std::unique_ptr<MessageTable>> tables_;
};

// ---- The pass

// A length-delimited field whose length changes: an enclosing message, or raw_data that is replaced.
struct Edit {
  uint64_t offset = 0;        // of the old length
  uint32_t length_bytes = 0;  // of the old length's varint
  uint64_t old_length = 0;
  uint64_t new_length = 0;
  bool replaced = false;  // the content goes too
};

std::string Varint(uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
  return out;
}

size_t VarintBytes(uint64_t value) {
  size_t bytes = 1;
  for (; value >= 0x80; value >>= 7) ++bytes;
  return bytes;
}

// Walks a message, lists the edits in the order of their offsets, and checks the structure on the way. The levels of
// nesting stand on the heap, not on the stack.
class Scanner {
 public:
  // Says what raw_data with this content becomes: the new length, or nothing to leave it.
  using Replace = std::function<std::optional<uint64_t>(std::span<const uint8_t> raw_data)>;

  Scanner(std::span<const uint8_t> bytes, const CutOptions& options, Replace replace)
      : bytes_(bytes), max_depth_(std::min(options.message_depth, kMostMessageDepth)), replace_(std::move(replace)) {}

  Result<void> Run(const MessageTable* table) {
    if (table == nullptr) return Fail(ErrorCode::kUnsupported, "", "the pass does not know this message type");
    TESSERA_TRY(Enter(table, bytes_.size(), nullptr));
    while (!levels_.empty()) {
      if (at_ == levels_.back().end) Leave();
      else TESSERA_TRY(Field());
    }
    return {};
  }

  const std::vector<Edit>& edits() const { return edits_; }
  uint64_t new_length() const { return new_length_; }
  std::vector<Error>& conflicts() { return conflicts_; }

 private:
  // A message that the pass is in.
  struct Level {
    const MessageTable* table = nullptr;
    uint64_t end = 0;
    uint64_t new_length = 0;            // as far as it is known
    size_t edit = 0;                    // of this message's length; none for the root
    const FieldEntry* field = nullptr;  // of the enclosing message, and which of its entries this is
    size_t index = 0;
    std::array<const FieldEntry*, 2> set_members{};  // of the oneofs; no message of ours has more than two
    std::vector<uint32_t> counts;                    // of repeated message fields, by position in the table
  };

  tl::unexpected<Error> Malformed(std::string what) const {
    return Fail(ErrorCode::kWireMalformed, fmt::format("offset {}", at_), std::move(what), "an ONNX (protobuf) file");
  }
  // A field runs past the `end` of the message that it is in.
  tl::unexpected<Error> Truncated(uint64_t end) const {
    if (end != bytes_.size()) return Malformed(fmt::format("a field runs past the end of its message, {}", end));
    return Fail(ErrorCode::kWireTruncated, fmt::format("offset {}", at_), "the message ends inside a field",
                "the whole file");
  }

  Result<uint64_t> ReadVarint(uint64_t end) {
    uint64_t value = 0;
    for (uint32_t shift = 0; shift < 70; shift += 7) {
      if (at_ >= end) return Truncated(end);
      uint8_t byte = bytes_[at_++];
      value |= shift < 64 ? static_cast<uint64_t>(byte & 0x7F) << shift : 0;
      if (byte < 0x80) return value;
    }
    return Malformed("a varint of more than 10 bytes");
  }

  Result<void> Skip(uint64_t bytes, uint64_t end) {
    if (bytes > end - at_) return Truncated(end);
    at_ += bytes;
    return {};
  }

  // Skips a group, which only unknown fields can be, and the groups in it.
  Result<void> SkipGroup(uint64_t number, uint64_t end) {
    std::vector<uint64_t> open{number};
    while (!open.empty()) {
      if (levels_.size() + open.size() > max_depth_) return TooDeep();
      TESSERA_ASSIGN(uint64_t tag, ReadVarint(end));
      TESSERA_TRY(CheckNumber(tag));
      if ((tag & 7) == 3) {
        open.push_back(tag >> 3);
      } else if ((tag & 7) == 4) {
        if (tag >> 3 != open.back()) return Malformed("a group ends that did not begin");
        open.pop_back();
      } else {
        TESSERA_TRY(SkipField(tag, end));
      }
    }
    return {};
  }

  Result<void> CheckNumber(uint64_t tag) const {
    if (tag >> 3 == 0 || tag >> 3 > 0x1FFFFFFF) return Malformed(fmt::format("field number {}", tag >> 3));
    return {};
  }

  Result<void> SkipField(uint64_t tag, uint64_t end) {
    switch (tag & 7) {
      case 0: {
        TESSERA_TRY(ReadVarint(end));
        return {};
      }
      case 1:
        return Skip(8, end);
      case 2: {
        TESSERA_ASSIGN(uint64_t length, ReadVarint(end));
        return Skip(length, end);
      }
      case 3:
        return SkipGroup(tag >> 3, end);
      case 5:
        return Skip(4, end);
      default:
        return Malformed(fmt::format("wire type {}", tag & 7));
    }
  }

  tl::unexpected<Error> TooDeep() const {
    return Fail(ErrorCode::kWireDepth, fmt::format("offset {}", at_),
                fmt::format("messages are nested more than {} deep", max_depth_), "a flatter model");
  }

  Result<void> Enter(const MessageTable* table, uint64_t length, const FieldEntry* field) {
    if (levels_.size() >= max_depth_) return TooDeep();
    Level level;
    level.table = table;
    level.end = at_ + length;
    level.new_length = length;
    if (field != nullptr) {
      Level& parent = levels_.back();
      if (parent.counts.empty()) parent.counts.resize(parent.table->fields.size());
      level.field = field;
      level.index = parent.counts[field - parent.table->fields.data()]++;
      level.edit = edits_.size() - 1;
    }
    levels_.push_back(std::move(level));
    return {};
  }

  void Leave() {
    const size_t edit = levels_.back().edit;
    const uint64_t length = levels_.back().new_length;
    levels_.pop_back();
    if (levels_.empty()) {
      new_length_ = length;
    } else if (edits_.size() == edit + 1) {
      edits_.pop_back();  // nothing inside has changed
    } else {
      Change(edit, length);
    }
  }

  // Gives the field of an edit its new length, which the message around it then has to count.
  void Change(size_t position, uint64_t new_length) {
    Edit& edit = edits_[position];
    edit.new_length = new_length;
    uint64_t& outer = levels_.back().new_length;
    outer = outer - edit.length_bytes - edit.old_length + VarintBytes(new_length) + new_length;
  }

  Result<void> Field() {
    const uint64_t end = levels_.back().end;
    TESSERA_ASSIGN(uint64_t tag, ReadVarint(end));
    TESSERA_TRY(CheckNumber(tag));
    const FieldEntry* field = levels_.back().table->Find(tag >> 3);
    if (field == nullptr || field->wire_type != (tag & 7)) return SkipField(tag, end);
    if (field->oneof >= 0) NoteMember(field);
    if (field->message == nullptr && !field->raw_data) return SkipField(tag, end);
    Edit edit;
    edit.offset = at_;
    TESSERA_ASSIGN(edit.old_length, ReadVarint(end));
    edit.length_bytes = static_cast<uint32_t>(at_ - edit.offset);
    if (edit.old_length > end - at_) return Truncated(end);
    if (field->message != nullptr) {
      edits_.push_back(edit);
      return Enter(field->message, edit.old_length, field);
    }
    std::optional<uint64_t> length = replace_(bytes_.subspan(at_, edit.old_length));
    at_ += edit.old_length;
    if (!length) return {};
    edit.replaced = true;
    edits_.push_back(edit);
    Change(edits_.size() - 1, *length);
    return {};
  }

  void NoteMember(const FieldEntry* field) {
    constexpr size_t kMostConflicts = 1000;
    Level& level = levels_.back();
    if (static_cast<size_t>(field->oneof) >= level.set_members.size()) return;
    const FieldEntry*& seen = level.set_members[field->oneof];
    if (seen != nullptr && seen != field && conflicts_.size() < kMostConflicts) {
      ErrorCode code = level.table->name == "StructProto" ? ErrorCode::kValueType
                       : level.table->name == "Field"     ? ErrorCode::kFieldContent
                                                          : ErrorCode::kOneofConflict;
      conflicts_.push_back({code, PathHere(), fmt::format("has both {} and {}", seen->name, field->name),
                            "exactly one of the two"});
    }
    seen = field;
  }

  std::string PathHere() const {
    std::string path;
    for (const Level& level : levels_) {
      if (level.field == nullptr) continue;
      if (!path.empty()) path += '.';
      path += level.field->name;
      if (level.field->repeated) path += fmt::format("[{}]", level.index);
    }
    return path;
  }

  std::span<const uint8_t> bytes_;
  uint64_t at_ = 0;
  uint32_t max_depth_;
  Replace replace_;
  std::vector<Level> levels_;
  std::vector<Edit> edits_;
  uint64_t new_length_ = 0;
  std::vector<Error> conflicts_;
};

}  // namespace

std::string Placeholder::Bytes() const {
  std::string text(kMark);
  for (uint64_t number : {owner, index}) {
    for (int i = 0; i < 8; ++i) text += static_cast<char>(number >> (8 * i));
  }
  return text;
}

std::optional<Placeholder> Placeholder::Parse(std::string_view raw_data) {
  if (raw_data.size() != kPlaceholderBytes || !raw_data.starts_with(kMark)) return std::nullopt;
  auto number = [&](size_t at) {
    uint64_t value = 0;
    for (size_t i = 0; i < 8; ++i) value |= static_cast<uint64_t>(static_cast<uint8_t>(raw_data[at + i])) << (8 * i);
    return value;
  };
  return Placeholder{number(8), number(16)};
}

Result<CutMessage> Cut(std::span<const uint8_t> message, const Descriptor* type, const CutOptions& options) {
  CutMessage result;
  Scanner scanner(message, options, [&](std::span<const uint8_t> raw) -> std::optional<uint64_t> {
    std::string_view text(reinterpret_cast<const char*>(raw.data()), raw.size());
    if (raw.size() <= options.inline_bytes && !Placeholder::Parse(text)) return std::nullopt;
    result.cuts.push_back(raw);
    return kPlaceholderBytes;
  });
  TESSERA_TRY(scanner.Run(Tables::Of(type)));
  if (scanner.new_length() > kLargestMessage) {
    return Fail(ErrorCode::kWireSize, "", fmt::format("{} bytes remain without the tensors' data", scanner.new_length()),
                fmt::format("at most {}, protobuf's limit", kLargestMessage));
  }
  result.skeleton.reserve(scanner.new_length());
  uint64_t at = 0;
  uint64_t cut = 0;
  auto copy_to = [&](uint64_t end) {
    result.skeleton.append(reinterpret_cast<const char*>(message.data()) + at, end - at);
    at = end;
  };
  for (const Edit& edit : scanner.edits()) {
    copy_to(edit.offset);
    result.skeleton += Varint(edit.new_length);
    at = edit.offset + edit.length_bytes;
    if (!edit.replaced) continue;
    result.skeleton += Placeholder{options.owner, cut++}.Bytes();
    at += edit.old_length;
  }
  copy_to(message.size());
  result.conflicts = std::move(scanner.conflicts());
  return result;
}

Result<std::vector<WireChunk>> Splice(std::string_view skeleton, const Descriptor* type,
                                      std::span<const std::span<const uint8_t>> cuts, const CutOptions& options) {
  std::vector<std::span<const uint8_t>> found;
  bool foreign = false;
  std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(skeleton.data()), skeleton.size());
  Scanner scanner(bytes, options, [&](std::span<const uint8_t> raw) -> std::optional<uint64_t> {
    auto placeholder = Placeholder::Parse({reinterpret_cast<const char*>(raw.data()), raw.size()});
    if (!placeholder) return std::nullopt;
    if (placeholder->owner != options.owner || placeholder->index >= cuts.size()) {
      foreign = true;
      return std::nullopt;
    }
    found.push_back(cuts[placeholder->index]);
    return found.back().size();
  });
  TESSERA_TRY(scanner.Run(Tables::Of(type)));
  if (foreign) {
    return Fail(ErrorCode::kForeignData, "", "a raw_data was copied from the messages of another model",
                "Model::SetRawData with the bytes that the other model's RawData gives");
  }
  if (scanner.new_length() > kLargestMessage) {
    return Fail(ErrorCode::kWireSize, "", fmt::format("the model would have {} bytes in one file", scanner.new_length()),
                fmt::format("at most {}, protobuf's limit; put data outside (external data)", kLargestMessage));
  }
  std::vector<WireChunk> chunks(1);
  uint64_t at = 0;
  size_t next = 0;
  for (const Edit& edit : scanner.edits()) {
    chunks.back().owned.append(skeleton, at, edit.offset - at);
    chunks.back().owned += Varint(edit.new_length);
    at = edit.offset + edit.length_bytes;
    if (!edit.replaced) continue;
    chunks.back().data = found[next++];
    chunks.emplace_back();
    at += edit.old_length;
  }
  chunks.back().owned.append(skeleton, at, skeleton.size() - at);
  return chunks;
}

}  // namespace tessera
