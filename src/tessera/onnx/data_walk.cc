#include "tessera/onnx/data_walk.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <set>
#include <vector>

namespace tessera {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// The message types from which a tensor or struct value can be reached.
class Carriers {
 public:
  static bool Has(const Descriptor* type) {
    static const Carriers carriers;
    return carriers.types_.contains(type);
  }

 private:
  Carriers() {
    types_ = {ir::TensorProto::descriptor(), ir::StructProto::descriptor()};
    const google::protobuf::FileDescriptor* file = ir::ModelProto::descriptor()->file();
    for (size_t before = 0; before != types_.size();) {
      before = types_.size();
      for (int i = 0; i < file->message_type_count(); ++i) Note(file->message_type(i));
    }
  }

  void Note(const Descriptor* type) {
    for (int i = 0; i < type->nested_type_count(); ++i) Note(type->nested_type(i));
    for (int i = 0; i < type->field_count(); ++i) {
      if (types_.contains(type->field(i)->message_type())) types_.insert(type);
    }
  }

  std::set<const Descriptor*> types_;
};

DataPlace PlaceOf(const FieldDescriptor* field, bool in_type) {
  bool initializer = field->containing_type() == ir::GraphProto::descriptor() &&
                     (field->number() == ir::GraphProto::kInitializerFieldNumber ||
                      field->number() == ir::GraphProto::kStructInitializerFieldNumber);
  return initializer && !in_type ? DataPlace::kInitializer : DataPlace::kElsewhere;
}

// Recursion as deep as the messages, which the wire pass has bounded.
void Visit(Message* message, bool in_type, const DataVisitor& visitor) {
  in_type |= message->GetDescriptor() == ir::StructTypeProto::descriptor();
  const Reflection* reflection = message->GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection->ListFields(*message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->message_type() == nullptr || !Carriers::Has(field->message_type())) continue;
    const int count = field->is_repeated() ? reflection->FieldSize(*message, field) : 1;
    for (int i = 0; i < count; ++i) {
      Message* child = field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, i)
                                            : reflection->MutableMessage(message, field);
      if (field->message_type() == ir::TensorProto::descriptor()) {
        visitor.tensor(static_cast<ir::TensorProto*>(child), PlaceOf(field, in_type));
        continue;
      }
      if (field->message_type() == ir::StructProto::descriptor()) {
        visitor.value(static_cast<ir::StructProto*>(child), PlaceOf(field, in_type));
      }
      Visit(child, in_type, visitor);
    }
  }
}

}  // namespace

void VisitData(Message* message, const DataVisitor& visitor) { Visit(message, false, visitor); }

}  // namespace tessera
