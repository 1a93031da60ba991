#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tessera/base/checked.h"
#include "tessera/quant/message_reader.h"
#include "tessera/quant/profile_text.h"

namespace tessera {
namespace {

// How the use of a parameter begins that stands for data. No field of a message is called so.
constexpr std::string_view kDataUse = "data of FLOAT";

// `[2, 256, 8]`
template <typename T>
std::string ShapeOf(const std::vector<T>& dims) {
  return fmt::format("[{}]", fmt::join(dims, ", "));
}

class ProfileParser : private MessageReader<ProfileParser> {
 public:
  ProfileParser(std::string_view text, const NotationOptions& options) : MessageReader(text, options) {}

  Result<ProfileText> Run() {
    TESSERA_TRY(parameters_.CheckShape());
    ProfileText result;
    do {
      const Token first = lexer_.peek();
      if (first.IsName("StructTypeProto") || first.IsName("ModelProto")) {
        return lexer_.ErrorAt(first, ErrorCode::kSyntax, "is a struct type, not a quantization profile",
                              fmt::format("{} {{ ... }}", Fields<Profile>::kName));
      }
      if (!first.IsName(Fields<Profile>::kName)) return lexer_.Expected(Fields<Profile>::kName);
      Profile profile;
      TESSERA_TRY(Read(first, 0, &profile));
      result.profiles.push_back(std::move(profile));
      lexer_.TakeIf(",");
    } while (lexer_.peek().kind != TokenKind::kEnd);
    result.unbound = TakeUnbound();
    return result;
  }

 private:
  friend class MessageReader<ProfileParser>;
  using MessageReader::Finish;
  using MessageReader::Read;
  using MessageReader::Second;

  tl::unexpected<Error> Second(const Token& key, const Scale&) {
    return lexer_.ErrorAt(key, ErrorCode::kSyntax,
                          fmt::format("a scale is one of {}, and this is a second", fmt::join(kScaleNames, ", ")),
                          "one of them");
  }
  tl::unexpected<Error> Second(const Token& key, const Profile::Kind&) {
    return lexer_.ErrorAt(key, ErrorCode::kSyntax, "a profile has one family, and this is a second", "one family");
  }

  // ---- values: `key` is the field's name, behind whose colon the value comes

  Result<void> Read(const Token&, uint32_t depth, Profile* profile) {
    if (depth >= limits_.depth) {
      return lexer_.ErrorAt(lexer_.peek(), ErrorCode::kLimitDepth,
                            fmt::format("profiles are nested more than {} deep", limits_.depth), "a flatter profile");
    }
    return ReadMessage(depth + 1, profile);
  }

  Result<void> Read(const Token& key, uint32_t depth, Box<Profile>* profile) { return Read(key, depth, &**profile); }

  Result<void> Read(const Token& key, uint32_t depth, Profile::Kind* kind) {
    Result<void> read;
    [&]<size_t... kIndex>(std::index_sequence<kIndex...>) {
      ((kFamilyNames[kIndex].field == key.text
            ? static_cast<void>(read = Read(key, depth, &kind->template emplace<kIndex + 1>()))
            : static_cast<void>(0)),
       ...);
    }(std::make_index_sequence<std::size(kFamilyNames)>());
    return read;
  }

  // ---- scales and zero points

  Result<void> Read(const Token& key, uint32_t depth, Scale* scale) {
    if (key.text == kScaleNames[0]) return Read(key, depth, &scale->emplace<float>());
    if (key.text == kScaleNames[1]) return Read(key, depth, &scale->emplace<ScaleExponent>().exponent);
    if (!lexer_.peek().IsName(Fields<Stored>::kName)) {
      return lexer_.ErrorAt(lexer_.peek(), ErrorCode::kSyntax,
                            fmt::format("expected stored(...), found {}", lexer_.peek().Describe()),
                            fmt::format("{} for a number, {} for an exponent of 2", kScaleNames[0], kScaleNames[1]));
    }
    return Read(key, depth, &scale->emplace<Stored>());
  }

  Result<void> Read(const Token& key, uint32_t depth, ZeroPoint* zero_point) {
    if (lexer_.peek().IsName(Fields<Stored>::kName)) return Read(key, depth, &zero_point->emplace<Stored>());
    return Read(key, depth, &zero_point->emplace<int64_t>());
  }

  // `stored(FLOAT16, per=tile, at=before)`
  Result<void> Read(const Token& key, uint32_t depth, Stored* stored) {
    lexer_.Take();
    TESSERA_TRY(lexer_.Expect("("));
    if (lexer_.peek().IsName(Fields<Profile>::kName) || lexer_.peek().Is("{")) {
      TESSERA_TRY(Read(key, depth, &stored->type.emplace<Box<Profile>>()));
    } else {
      TESSERA_TRY(Read(key, depth, &stored->type.emplace<ElementType>()));
    }
    std::array<bool, std::tuple_size_v<decltype(Fields<Stored>::kRows)>> seen{};
    while (!lexer_.TakeIf(")")) {
      if (!lexer_.TakeIf(",")) return lexer_.Expected("',' or ')'");
      if (lexer_.TakeIf(")")) break;
      if (lexer_.peek().kind != TokenKind::kIdentifier) return lexer_.Expected("an argument or ')'");
      const Token argument = lexer_.Take();
      TESSERA_TRY(lexer_.Expect("="));
      bool known = false;
      Result<void> read;
      size_t index = 0;
      ForEachField<Stored>([&](const auto& row) {
        const size_t i = index++;
        if (row.name != argument.text) return;
        known = true;
        read = std::exchange(seen[i], true) ? Result<void>(GivenTwice(argument))
                                            : Read(argument, depth, &(stored->*row.member));
      });
      if (!known) return UnknownField(argument, Fields<Stored>::kName, FieldNames<Stored>());
      TESSERA_TRY(std::move(read));
    }
    return {};
  }

  // ---- data

  // `[values]`, `[...]` for the parameter called like the field, NAME, or "NAME" for one that is no plain name.
  Result<void> Read(const Token& key, uint32_t, FloatData* data) {
    const Token at = lexer_.peek();
    if (TakeEllipsis()) return Parameter(at, std::string(key.text), data);
    if (at.kind == TokenKind::kString) {
      if (at.value.empty()) return lexer_.Expected("the name of a parameter");
      return Parameter(lexer_.Take(), at.value, data);
    }
    if (at.kind == TokenKind::kIdentifier && !IsLiteralName(at.text)) {
      const ParameterValue* value = parameters_.Find(at.text);
      if (value == nullptr || std::holds_alternative<Constant>(*value)) {
        return Parameter(lexer_.Take(), std::string(at.text), data);
      }
    }
    Constant constant;
    constant.type = ElementType::kFloat;
    const ElementBounds bounds{.count = std::nullopt, .bytes = limits_.constant_bytes - data_bytes_};
    TESSERA_TRY(ParseElements(&lexer_, &parameters_, "[", "]", ElementStyle::kNotation, bounds, &constant));
    if (constant.bytes.size() > bounds.bytes) return TooMuchData(at);
    data_bytes_ += constant.bytes.size();
    data->values.resize(constant.bytes.size() / sizeof(float));
    for (size_t i = 0; i < data->values.size(); ++i) data->values[i] = FloatAt(constant, i);
    return {};
  }

  bool TakeEllipsis() {
    Lexer ahead = lexer_;
    if (!ahead.TakeIf("[") || !ahead.TakeIf("...") || !ahead.TakeIf("]")) return false;
    lexer_ = std::move(ahead);
    return true;
  }

  // All data from a parameter, which may have no value yet.
  Result<void> Parameter(const Token& at, std::string name, FloatData* data) {
    const ParameterValue* value = parameters_.Find(name);
    if (value == nullptr) {
      open_data_.try_emplace(name, UnboundParameter{name, at.line, at.column, std::string(kDataUse)});
      data->parameter = std::move(name);
      return {};
    }
    const Constant* constant = std::get_if<Constant>(value);
    const ElementKind kind = constant == nullptr ? ElementKind::kNone : Info(constant->type).kind;
    if ((kind != ElementKind::kUnsigned && kind != ElementKind::kSigned && kind != ElementKind::kFloat) ||
        !HasWholeData(*constant)) {
      const std::string found =
          constant != nullptr ? fmt::format("{}{}", Name(constant->type), ShapeOf(constant->dims)) : "one value";
      return lexer_.ErrorAt(at, ErrorCode::kParameterData, fmt::format("{} is bound to {}", Quoted(name), found),
                            "an array of integers or floats");
    }
    const uint64_t count = *ElementCount(constant->dims);
    if (count > (limits_.constant_bytes - data_bytes_) / sizeof(float)) return TooMuchData(at);
    data_bytes_ += count * sizeof(float);
    data->values.resize(count);
    for (uint64_t i = 0; i < count; ++i) {
      data->values[i] = FloatAt(*constant, i);
      if (constant->type == ElementType::kDouble && std::isinf(data->values[i]) &&
          !IsInfinite(ElementType::kDouble, LoadCode(constant->bytes, ElementType::kDouble, i))) {
        return lexer_.ErrorAt(at, ErrorCode::kParameterData,
                              fmt::format("{} is bound to data whose value {} is beyond FLOAT", Quoted(name), i),
                              "values that FLOAT has");
      }
    }
    return {};
  }

  // REQUIRES: numbers, and not complex ones. Rounds to nearest even.
  static float FloatAt(const Constant& constant, uint64_t index) {
    const uint64_t code = LoadCode(constant.bytes, constant.type, index);
    if (constant.type == ElementType::kFloat) return std::bit_cast<float>(static_cast<uint32_t>(code));
    if (Info(constant.type).kind == ElementKind::kFloat) return DecodeToFloat(constant.type, code);
    const int64_t integer = DecodeInteger(constant.type, code);
    return constant.type == ElementType::kUint64 ? static_cast<float>(static_cast<uint64_t>(integer))
                                                 : static_cast<float>(integer);
  }

  tl::unexpected<Error> TooMuchData(const Token& at) const {
    return lexer_.ErrorAt(at, ErrorCode::kLimitConstant, "the data of the profiles pass the limit",
                          fmt::format("at most {} bytes, as FLOAT", limits_.constant_bytes));
  }

  // ---- what is known only at the end of a message; `start` is its first token

  Result<void> Finish(const Token&, CodebookProfile* codebook) {
    if (codebook->codebook_size > 0) {
      DescribeData(codebook->codebook_data,
                   std::vector<int32_t>{std::max(codebook->num_codebooks, 1), codebook->codebook_size,
                                        std::max(codebook->vector_size, 1)});
    }
    return {};
  }

  Result<void> Finish(const Token& start, Rotation* rotation) {
    FloatData& matrix = rotation->matrix;
    const bool has_data = !matrix.values.empty() || !matrix.parameter.empty();
    if (rotation->matrix_type == RotationType::kPlain && rotation->matrix_index.value_or(-1) >= 0 && !has_data) {
      TESSERA_TRY(Parameter(start, fmt::format("rotation_matrix_{}", *rotation->matrix_index), &matrix));
      DescribeData(matrix, rotation->dims);
      matrix.parameter.clear();  // matrix_index says it already
    } else {
      DescribeData(matrix, rotation->dims);
    }
    return {};
  }

  // Adds the shape to the use of open data.
  void DescribeData(const FloatData& data, const std::vector<int32_t>& dims) {
    auto open = open_data_.find(data.parameter);
    if (open != open_data_.end() && open->second.use == kDataUse && !dims.empty()) open->second.use += ShapeOf(dims);
  }

  // By name. A name that stands for a number somewhere is listed as a number, since it is these that must have a value.
  std::vector<UnboundParameter> TakeUnbound() {
    std::vector<UnboundParameter> list = parameters_.TakeUnbound();
    for (const UnboundParameter& number : list) open_data_.erase(number.name);
    for (auto& [name, parameter] : open_data_) list.push_back(std::move(parameter));
    std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
    return list;
  }

  uint64_t data_bytes_ = 0;                                         // of all data so far
  std::map<std::string, UnboundParameter, std::less<>> open_data_;  // by name
};

}  // namespace

Result<std::vector<Profile>> ProfileText::Concrete() && {
  std::vector<UnboundParameter> numbers;
  for (const UnboundParameter& parameter : unbound) {
    if (!parameter.use.starts_with(kDataUse)) numbers.push_back(parameter);
  }
  if (!numbers.empty()) return FailUnbound(numbers);
  return std::move(profiles);
}

Result<ProfileText> ParseProfiles(std::string_view text, const NotationOptions& options) {
  return ProfileParser(text, options).Run();
}

bool IsProfileText(std::string_view text) { return Lexer(text).peek().IsName(Fields<Profile>::kName); }

}  // namespace tessera
