// Every tensor and struct value of a model with the path that errors and reports give it.
#pragma once

#include <string>

#include "onnx_struct.pb.h"
#include "tessera/base/error.h"

namespace tessera {

// Which values a walk visits.
enum class WalkedValues { kAll, kInitializers };

// Calls visit(value, path) for the initializers (dense, sparse and struct) and the attribute tensors and struct values
// of all graphs, those inside nodes and functions included, in file order. `path` is like `graph.initializer[3]`.
template <typename Visit>
class ValueWalk {
 public:
  explicit ValueWalk(Visit visit, WalkedValues values = WalkedValues::kAll)
      : visit_(std::move(visit)), all_(values == WalkedValues::kAll) {}

  void Model(const ir::ModelProto& model) {
    Path root;
    if (model.has_graph()) Graph(model.graph(), root.Field("graph"));
    for (int i = 0; i < model.training_info_size(); ++i) {
      Path at = root.Index("training_info", i);
      if (model.training_info(i).has_initialization())
        Graph(model.training_info(i).initialization(), at.Field("initialization"));
      if (model.training_info(i).has_algorithm()) Graph(model.training_info(i).algorithm(), at.Field("algorithm"));
    }
    for (int i = 0; i < model.functions_size(); ++i) Nodes(model.functions(i).node(), root.Index("functions", i));
  }

 private:
  void Graph(const ir::GraphProto& graph, const Path& path) {
    Each(graph.initializer(), path, "initializer", visit_);
    for (int i = 0; i < graph.sparse_initializer_size(); ++i) {
      Path at = path.Index("sparse_initializer", i);
      visit_(graph.sparse_initializer(i).values(), at.Field("values"));
      visit_(graph.sparse_initializer(i).indices(), at.Field("indices"));
    }
    Each(graph.struct_initializer(), path, "struct_initializer", visit_);
    Nodes(graph.node(), path);
  }

  template <typename NodeList>
  void Nodes(const NodeList& nodes, const Path& path) {
    for (int n = 0; n < nodes.size(); ++n) {
      Path at = path.Index("node", n);
      for (int a = 0; a < nodes[n].attribute_size(); ++a) Attribute(nodes[n].attribute(a), at.Index("attribute", a));
    }
  }

  void Attribute(const ir::AttributeProto& attribute, const Path& path) {
    if (all_) {
      if (attribute.has_t()) visit_(attribute.t(), path.Field("t"));
      Each(attribute.tensors(), path, "tensors", visit_);
      if (attribute.has_struct_()) visit_(attribute.struct_(), path.Field("struct"));
      Each(attribute.structs(), path, "structs", visit_);
    }
    if (attribute.has_g()) Graph(attribute.g(), path.Field("g"));
    for (int i = 0; i < attribute.graphs_size(); ++i) Graph(attribute.graphs(i), path.Index("graphs", i));
  }

  template <typename List>
  static void Each(const List& list, const Path& path, std::string_view field, Visit& visit) {
    for (int i = 0; i < list.size(); ++i) visit(list[i], path.Index(field, i));
  }

  Visit visit_;
  bool all_;
};

template <typename Visit>
void ForEachValue(const ir::ModelProto& model, Visit visit) {
  ValueWalk<Visit>(std::move(visit)).Model(model);
}

// The same for initializers alone, those of graphs inside nodes included.
template <typename Visit>
void ForEachInitializer(const ir::ModelProto& model, Visit visit) {
  ValueWalk<Visit>(std::move(visit), WalkedValues::kInitializers).Model(model);
}

}  // namespace tessera
