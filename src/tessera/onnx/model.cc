#include "tessera/onnx/model.h"

#include <fmt/format.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>

#include <algorithm>
#include <random>
#include <utility>

#include "tessera/base/checked.h"
#include "tessera/onnx/model_state.h"
#include "tessera/onnx/tensor.h"
#include "tessera/onnx/wire.h"

namespace tessera {
namespace {

// Protobuf's own messages about a stranger's bytes go nowhere; the error says what is wrong.
bool ParseQuietly(const std::string& bytes, uint32_t depth, google::protobuf::Message* message) {
  google::protobuf::LogSilencer silencer;
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  // Ours, checked by the wire pass, speaks first.
  stream.SetRecursionLimit(static_cast<int>(std::min(depth, kMostMessageDepth)) + 16);
  return message->ParsePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage();
}

}  // namespace

Result<std::vector<std::span<const uint8_t>>> ParseCut(std::span<const uint8_t> bytes, const LoadOptions& options,
                                                       google::protobuf::Message* message,
                                                       std::vector<Error>* conflicts, uint64_t owner) {
  const CutOptions cut_options{options.limits.message_depth, options.inline_bytes, owner};
  TESSERA_ASSIGN(CutMessage cut, Cut(bytes, message->GetDescriptor(), cut_options));
  if (!ParseQuietly(cut.skeleton, options.limits.message_depth, message)) {
    return Fail(ErrorCode::kWireMalformed, "", "protobuf cannot parse it", "an ONNX (protobuf) file");
  }
  if (conflicts != nullptr) *conflicts = std::move(cut.conflicts);
  return std::move(cut.cuts);
}

namespace {

uint64_t RandomId() {
  std::random_device random;
  return uint64_t{random()} << 32 | random();
}

}  // namespace

Model::State::State() : id(RandomId()) {}

std::span<const uint8_t> Model::State::Raw(const std::string& raw_data) const {
  std::optional<Placeholder> placeholder = Placeholder::Parse(raw_data);
  if (placeholder && placeholder->owner == id && placeholder->index < cuts.size()) return cuts[placeholder->index];
  return {reinterpret_cast<const uint8_t*>(raw_data.data()), raw_data.size()};
}

std::string Model::State::Adopt(std::vector<uint8_t> data) {
  owned.push_back(std::move(data));
  cuts.emplace_back(owned.back());
  return Placeholder{id, cuts.size() - 1}.Bytes();
}

std::shared_ptr<const MappedFile> Model::State::Mapped(const std::string& location) {
  std::lock_guard lock(mutex);
  auto found = data_files.find(location);
  return found == data_files.end() ? nullptr : found->second;
}

Result<std::span<const uint8_t>> Model::State::Map(const DataSegment& segment, std::string_view where) {
  std::shared_ptr<const MappedFile> data = Mapped(segment.location);
  if (data == nullptr) {
    TESSERA_ASSIGN(std::filesystem::path real, folder.Resolve(segment.location, where));
    Result<std::shared_ptr<const MappedFile>> opened = MappedFile::Open(real);
    if (!opened) {
      return Fail(opened.error().code, std::string(where), opened.error().where + ": " + opened.error().what,
                  opened.error().fix);
    }
    std::lock_guard lock(mutex);
    data =
        data_files.emplace(segment.location, *std::move(opened)).first->second;  // another thread may have been first
  }
  std::optional<uint64_t> end = CheckedAdd(segment.offset, segment.length);
  if (!end || *end > data->bytes().size()) {
    return Fail(ErrorCode::kExternalRange, std::string(where),
                fmt::format("offset {} and length {} do not fit into {}", segment.offset, segment.length,
                            Quoted(segment.location)),
                fmt::format("a range inside its {} bytes", data->bytes().size()));
  }
  return data->bytes().subspan(segment.offset, segment.length);
}

Model::Model(ir::ModelProto proto, const std::filesystem::path& folder) : state_(std::make_unique<State>()) {
  state_->proto = std::move(proto);
  state_->folder = DataFolder(folder, true);
}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Result<Model> Model::Load(const std::filesystem::path& path, const LoadOptions& options) {
  Model model;
  TESSERA_ASSIGN(model.state_->file, MappedFile::Open(path));
  model.state_->path = path;
  model.state_->limits = options.limits;
  model.state_->folder = DataFolder(path, false);
  Result<void> parsed = model.Parse(model.state_->file->bytes(), options);
  if (!parsed) {
    Error error = std::move(parsed).error();
    error.where = error.where.empty() ? path.string() : path.string() + ": " + error.where;
    return tl::unexpected<Error>(std::move(error));
  }
  return model;
}

Result<Model> Model::FromBytes(std::vector<uint8_t> bytes, const std::filesystem::path& folder,
                               const LoadOptions& options) {
  Model model({}, folder);
  model.state_->bytes = std::move(bytes);
  model.state_->limits = options.limits;
  TESSERA_TRY(model.Parse(model.state_->bytes, options));
  return model;
}

Result<void> Model::Parse(std::span<const uint8_t> bytes, const LoadOptions& options) {
  TESSERA_ASSIGN(state_->cuts, ParseCut(bytes, options, &state_->proto, &state_->conflicts, state_->id));
  const ir::ModelProto& proto = state_->proto;
  if (!proto.has_graph() && proto.functions_size() == 0 && proto.struct_types_size() == 0 &&
      proto.compiled_tensors_size() == 0) {
    return Fail(ErrorCode::kNotAModel, "", "has neither a graph nor functions, struct types or compiled tensors",
                "an ONNX model");
  }
  return {};
}

const ir::ModelProto& Model::proto() const { return state_->proto; }
ir::ModelProto& Model::mutable_proto() { return state_->proto; }
const std::filesystem::path& Model::path() const { return state_->path; }
const std::filesystem::path& Model::folder() const { return state_->folder.path(); }
const std::vector<Error>& Model::conflicts() const { return state_->conflicts; }

std::span<const uint8_t> Model::RawData(const ir::TensorProto& tensor) const { return state_->Raw(tensor.raw_data()); }
std::span<const uint8_t> Model::RawData(const ir::StructProto& value) const { return state_->Raw(value.raw_data()); }

void Model::SetRawData(ir::TensorProto* tensor, std::vector<uint8_t> bytes) {
  tensor->set_raw_data(state_->Adopt(std::move(bytes)));
}
void Model::SetRawData(ir::StructProto* value, std::vector<uint8_t> bytes) {
  value->set_raw_data(state_->Adopt(std::move(bytes)));
}

namespace {

// The segment of raw_data: with its offset where it lies in the model file.
DataSegment InlineSegment(std::span<const uint8_t> raw, const MappedFile* file) {
  DataSegment segment{"", 0, raw.size()};
  if (file != nullptr && !raw.empty() && raw.data() >= file->bytes().data() &&
      raw.data() < file->bytes().data() + file->bytes().size()) {
    segment.offset = static_cast<uint64_t>(raw.data() - file->bytes().data());
  }
  return segment;
}

tl::unexpected<Error> BothPlaces(std::string_view where) {
  return Fail(ErrorCode::kExternalInline, std::string(where), "has both raw_data and external data", "one of the two");
}

}  // namespace

Result<std::vector<DataSegment>> Model::Segments(const ir::TensorProto& tensor, std::string_view where) const {
  if (!IsExternal(tensor)) return std::vector{InlineSegment(RawData(tensor), state_->file.get())};
  if (!tensor.raw_data().empty()) return BothPlaces(where);
  TESSERA_ASSIGN(TensorFacts facts, FactsOf(tensor, where));
  TESSERA_ASSIGN(DataSegment segment, ParseTensorData(tensor.external_data(), facts.bytes, where));
  return std::vector{std::move(segment)};
}

Result<std::vector<DataSegment>> Model::Segments(const ir::StructProto& value, std::string_view where) const {
  if (value.external_data_size() == 0) return std::vector{InlineSegment(RawData(value), state_->file.get())};
  if (!value.raw_data().empty()) return BothPlaces(where);
  return ParseStructData(value.external_data(), where);
}

Result<std::span<const uint8_t>> Model::Bytes(const ir::TensorProto& tensor, std::string_view where) const {
  if (!IsExternal(tensor)) return RawData(tensor);
  TESSERA_ASSIGN(TensorFacts facts, FactsOf(tensor, where));
  TESSERA_ASSIGN(std::vector<DataSegment> segments, Segments(tensor, where));
  if (segments[0].length != facts.bytes) {
    return Fail(ErrorCode::kTensorSize, std::string(where),
                fmt::format("external data has length {}", segments[0].length),
                fmt::format("{}, which type and dimensions need", facts.bytes));
  }
  return state_->Map(segments[0], where);
}

Result<Payload> Model::Bytes(const ir::StructProto& value, std::string_view where) const {
  if (value.external_data_size() == 0) return Payload{RawData(value)};
  TESSERA_ASSIGN(std::vector<DataSegment> segments, Segments(value, where));
  Payload payload;
  for (const DataSegment& segment : segments) {
    TESSERA_ASSIGN(std::span<const uint8_t> bytes, state_->Map(segment, where));
    payload.push_back(bytes);
  }
  return payload;
}

Result<uint64_t> Model::DataFileSize(std::string_view location, std::string_view where) const {
  if (auto mapped = state_->Mapped(std::string(location))) return mapped->bytes().size();
  TESSERA_ASSIGN(std::filesystem::path real, state_->folder.Resolve(location, where));
  std::error_code error;
  uint64_t size = std::filesystem::file_size(real, error);
  if (error) return Fail(ErrorCode::kFileRead, std::string(where), real.string() + ": " + error.message());
  return size;
}

}  // namespace tessera
