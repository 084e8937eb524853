// Calls FFI handlers as XLA does, through a hand-made API table, for tests without XLA.
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "xla/ffi/api/c_api.h"

// FFI 0.4 gave the context another name.
#if XLA_FFI_API_MINOR >= 4
#define CONTEXT XLA_FFI_InvokeContext
#else
#define CONTEXT XLA_FFI_ExecutionContext
#endif

struct XLA_FFI_Error { std::string message; };
struct CONTEXT { void* state; void* stream; int32_t ordinal; bool has_stream; };
using Context = CONTEXT;

namespace {

int64_t g_types = 0;
int64_t g_streams_asked = 0;
int64_t g_runs = 0;

XLA_FFI_Error* CreateError(XLA_FFI_Error_Create_Args* a) { return new XLA_FFI_Error{a->message}; }
XLA_FFI_Error* RegisterType(XLA_FFI_Type_Register_Args* a) {
  a->type_id->type_id = ++g_types;
  return nullptr;
}
XLA_FFI_Error* SetState(XLA_FFI_State_Set_Args* a) { a->ctx->state = a->state; return nullptr; }
XLA_FFI_Error* GetState(XLA_FFI_State_Get_Args* a) { a->state = a->ctx->state; return nullptr; }
XLA_FFI_Error* GetStream(XLA_FFI_Stream_Get_Args* a) {
  ++g_streams_asked;
  if (!a->ctx->has_stream) return new XLA_FFI_Error{"no stream in this stage"};
  a->stream = a->ctx->stream;
  return nullptr;
}
XLA_FFI_Error* GetOrdinal(XLA_FFI_DeviceOrdinal_Get_Args* a) {
  a->device_ordinal = a->ctx->ordinal;
  return nullptr;
}

XLA_FFI_Error* GetRunId(XLA_FFI_RunId_Get_Args* a) {
  a->run_id = ++g_runs;
  return nullptr;
}

const XLA_FFI_Api& Api() {
  static const XLA_FFI_Api table = [] {
    XLA_FFI_Api api{};
    api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
    api.XLA_FFI_Error_Create = CreateError;
    api.XLA_FFI_Type_Register = RegisterType;
    api.XLA_FFI_State_Set = SetState;
    api.XLA_FFI_State_Get = GetState;
    api.XLA_FFI_Stream_Get = GetStream;
    api.XLA_FFI_DeviceOrdinal_Get = GetOrdinal;
    api.XLA_FFI_RunId_Get = GetRunId;
    return api;
  }();
  return table;
}

// Attributes of one dictionary; XLA hands them over sorted by name.
struct Attributes {
  struct Value {
    XLA_FFI_AttrType type;
    std::string bytes;
    int64_t integer = 0;
    XLA_FFI_ByteSpan name{}, span{};
    XLA_FFI_Array array{};
    XLA_FFI_Scalar scalar{};
    std::shared_ptr<Attributes> children;
  };
  std::map<std::string, Value> values;
  std::vector<XLA_FFI_AttrType> types;
  std::vector<XLA_FFI_ByteSpan*> names;
  std::vector<void*> pointers;
  XLA_FFI_Attrs raw{};

  // Built at the first stage; later stages, on several threads, share it.
  XLA_FFI_Attrs* Raw() {
    if (raw.size > 0) return &raw;
    for (auto& [name, value] : values) {
      value.name = {name.data(), name.size()};
      value.span = {value.bytes.data(), value.bytes.size()};
      value.array = {XLA_FFI_DataType_U8, value.bytes.size(), value.bytes.data()};
      value.scalar = {XLA_FFI_DataType_S64, &value.integer};
      types.push_back(value.type);
      names.push_back(&value.name);
      pointers.push_back(value.type == XLA_FFI_AttrType_STRING ? static_cast<void*>(&value.span)
                         : value.type == XLA_FFI_AttrType_ARRAY ? static_cast<void*>(&value.array)
                         : value.type == XLA_FFI_AttrType_SCALAR ? static_cast<void*>(&value.scalar)
                                                                 : static_cast<void*>(value.children->Raw()));
    }
    raw.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
    raw.size = int64_t(types.size());
    raw.types = types.data();
    raw.names = names.data();
    raw.attrs = pointers.data();
    return &raw;
  }
};

struct Buffers {
  struct Buffer { XLA_FFI_Buffer raw; std::vector<int64_t> dims; };
  std::deque<Buffer> inputs, outputs;
};

struct CallSite {
  Attributes attributes;
  Buffers buffers;
  Context context{nullptr, nullptr, 0, false};
};

template <typename Type>
void Point(std::deque<Buffers::Buffer>& buffers, Type kind, std::vector<Type>* types, std::vector<void*>* pointers) {
  for (auto& buffer : buffers) {
    types->push_back(kind);
    pointers->push_back(&buffer.raw);
  }
}

}  // namespace

extern "C" {

CallSite* site_new() { return new CallSite(); }
// The state that instantiate left, if any, is the handler's and stays.
void site_delete(CallSite* site) { delete site; }
void site_string(CallSite* site, const char* name, const char* text, size_t size) {
  auto& value = site->attributes.values[name];
  value.type = XLA_FFI_AttrType_STRING;
  value.bytes.assign(text, size);
}
void site_integer(CallSite* site, const char* name, int64_t integer) {
  auto& value = site->attributes.values[name];
  value.type = XLA_FFI_AttrType_SCALAR;
  value.integer = integer;
}
// `path` names dictionaries from the outermost inwards, separated by slashes: "cubins/0".
void site_entry(CallSite* site, const char* path, const char* name, const char* data, size_t size) {
  Attributes* inner = &site->attributes;
  std::string rest = path;
  while (!rest.empty()) {
    size_t slash = rest.find('/');
    auto& outer = inner->values[rest.substr(0, slash)];
    rest = slash == std::string::npos ? "" : rest.substr(slash + 1);
    outer.type = XLA_FFI_AttrType_DICTIONARY;
    if (!outer.children) outer.children = std::make_shared<Attributes>();
    inner = outer.children.get();
  }
  if (data == nullptr) return;
  auto& value = inner->values[name];
  value.type = XLA_FFI_AttrType_ARRAY;
  value.bytes.assign(data, size);
}
void site_buffer(CallSite* site, int output, void* data, int64_t rank, const int64_t* dims) {
  auto& list = output ? site->buffers.outputs : site->buffers.inputs;
  list.push_back({{}, std::vector<int64_t>(dims, dims + rank)});
  auto& buffer = list.back();
  buffer.raw.struct_size = XLA_FFI_Buffer_STRUCT_SIZE;
  buffer.raw.dtype = XLA_FFI_DataType_F32;
  buffer.raw.data = data;
  buffer.raw.rank = rank;
  buffer.raw.dims = buffer.dims.data();
}

// Runs one stage; instantiate and prepare get no stream, as in XLA. Returns 1 and "" or 0 and the error.
int site_run(CallSite* site, XLA_FFI_Handler* handler, int stage, intptr_t stream, int ordinal, char* out,
             size_t capacity) {
  XLA_FFI_CallFrame frame{};
  // Concurrent executions of one call site have contexts of their own and share the state.
  Context context = site->context;
  context.stream = reinterpret_cast<void*>(stream);
  context.has_stream = stage == XLA_FFI_ExecutionStage_EXECUTE;
  context.ordinal = ordinal;
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &Api();
  frame.ctx = &context;
  frame.stage = XLA_FFI_ExecutionStage(stage);
  frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame.attrs = *site->attributes.Raw();
  std::vector<XLA_FFI_ArgType> argument_types;
  std::vector<XLA_FFI_RetType> result_types;
  std::vector<void*> arguments, results;
  if (stage != XLA_FFI_ExecutionStage_INSTANTIATE) {
    Point(site->buffers.inputs, XLA_FFI_ArgType_BUFFER, &argument_types, &arguments);
    Point(site->buffers.outputs, XLA_FFI_RetType_BUFFER, &result_types, &results);
  }
  frame.args.size = int64_t(arguments.size());
  frame.args.types = argument_types.data();
  frame.args.args = arguments.data();
  frame.rets.size = int64_t(results.size());
  frame.rets.types = result_types.data();
  frame.rets.rets = results.data();
  XLA_FFI_Error* error = handler(&frame);
  if (stage == XLA_FFI_ExecutionStage_INSTANTIATE) site->context.state = context.state;
  std::unique_ptr<XLA_FFI_Error> owned(error);
  std::strncpy(out, owned ? owned->message.c_str() : "", capacity - 1);
  out[capacity - 1] = 0;
  return owned == nullptr;
}

// The metadata that XLA asks for at registration: minor version, traits, id of the state's type.
int handler_metadata(XLA_FFI_Handler* handler, int64_t out[3]) {
  XLA_FFI_Metadata metadata{};
  metadata.struct_size = XLA_FFI_Metadata_STRUCT_SIZE;
  metadata.api_version.struct_size = XLA_FFI_Api_Version_STRUCT_SIZE;
  XLA_FFI_Metadata_Extension extension{};
  extension.extension_base.struct_size = XLA_FFI_Metadata_Extension_STRUCT_SIZE;
  extension.extension_base.type = XLA_FFI_Extension_Metadata;
  extension.metadata = &metadata;
  XLA_FFI_CallFrame frame{};
  frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
  frame.api = &Api();
  frame.extension_start = &extension.extension_base;
  frame.args.struct_size = XLA_FFI_Args_STRUCT_SIZE;
  frame.rets.struct_size = XLA_FFI_Rets_STRUCT_SIZE;
  frame.attrs.struct_size = XLA_FFI_Attrs_STRUCT_SIZE;
  XLA_FFI_Error* error = handler(&frame);
  out[0] = metadata.api_version.minor_version;
  out[1] = metadata.traits;
  out[2] = metadata.state_type_id.type_id;
  return error == nullptr;
}

int64_t types_registered() { return g_types; }
int64_t streams_asked() { return g_streams_asked; }

}  // extern "C"
