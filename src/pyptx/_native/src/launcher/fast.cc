// Calls on tensors that are known: from the arguments to the launch without Python's code.
//
// A fast path is a function of Python. Called on arguments that it has been told of (pyptx_fast_remember), it allocates
// the results and launches; on any other, and wherever more than a launch is to be done, it returns its `miss`, and
// Python does what the call needs. Everything here runs with the GIL but the launch itself.

#include <array>
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "call.h"
#include "dlpack.h"
#include "interpreter.h"
#include "modules.h"

#define PYPTX_LAUNCHER_EXPORT extern "C" __attribute__((visibility("default")))

namespace pyptx::python {
namespace {

constexpr const char* kPath = "pyptx_fast_path";
constexpr Size kMostArguments = 32;
constexpr size_t kMostEntries = 1024;  // a server sees each length of a sequence

// A tensor among the arguments.
struct Given {
  Size position;
  dlpack::Tensor tensor;
};

// The arguments of a call: its tensors, and a hash of what they are.
struct Arguments {
  Object* const* objects = nullptr;
  Size count = 0;
  std::array<Given, kMostArguments> tensors;
  Size tensor_count = 0;
  uint64_t hash = 0xcbf29ce484222325;

  void Mix(uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
};

bool IsContiguous(const dlpack::Tensor& tensor) {
  if (tensor.strides == nullptr) return true;
  int64_t expected = 1;
  for (int axis = tensor.rank - 1; axis >= 0; --axis) {
    const int64_t size = tensor.shape[axis];
    if (size == 0) return true;
    if (size != 1 && tensor.strides[axis] != expected) return false;
    expected *= size;
  }
  return true;
}

// What a tensor must be for an entry to be used.
struct Expected {
  Size position;
  int32_t device_type, device;
  dlpack::DataType dtype;
  std::vector<int64_t> shape;

  explicit Expected(const Given& given)
      : position(given.position), device_type(given.tensor.device_type), device(given.tensor.device),
        dtype(given.tensor.dtype), shape(given.tensor.shape, given.tensor.shape + given.tensor.rank) {}

  bool Matches(const Given& given) const {
    const dlpack::Tensor& tensor = given.tensor;
    return given.position == position && tensor.device_type == device_type && tensor.device == device &&
           std::memcmp(&tensor.dtype, &dtype, sizeof dtype) == 0 && size_t(tensor.rank) == shape.size() &&
           std::memcmp(tensor.shape, shape.data(), 8 * shape.size()) == 0;
  }
};

struct Constant {
  Size position;
  Ref value;
};

// A function of Python, and the arguments with which it makes a tensor for a result.
struct Allocation {
  Ref function, arguments;
};

// Arguments that are known, and what is launched for them.
struct Entry {
  Size count = 0;
  std::vector<Expected> tensors;
  std::vector<Constant> constants;
  Ref kept;  // what owns the call, and the values on the host
  std::unique_ptr<cuda::BoundCall> call;
  int32_t device = 0;
  uint64_t alignment = 0;     // of addresses, minus one
  std::vector<int64_t> inputs;  // for each of the call which tensor of the arguments it is, or minus an address
  std::vector<Allocation> results;
  Size returned = 0;          // the first results; the others are scratch
};

class FastPath {
 public:
  // `settings` is (classes of tensors, their exchange API, conditions, dictionary, key, its value, is_grad_enabled,
  // "requires_grad", "is_neg", True, miss, fail), where a condition is (function, its result).
  static std::unique_ptr<FastPath> Make(Object* settings);

  Object* Call(Object* const* objects, Size count);
  bool Remember(Object* arguments, Object* known);
  Object* Miss() const { return Ref::To(miss_).release(); }

 private:
  struct Condition {
    Object* function;
    Object* expected;
  };

  bool IsPlain() const;
  bool NeedsGradient(const Arguments& arguments) const;
  bool HasNegated(const Arguments& arguments) const;
  bool Read(Object* const* objects, Size count, Arguments* arguments) const;
  std::shared_ptr<Entry> Find(const Arguments& arguments) const;
  Object* Launch(const Entry& entry, const Arguments& arguments) const;
  bool Allocate(const Entry& entry, std::vector<Ref>* results, uint64_t* addresses) const;
  Object* Failed(int32_t status) const;

  Ref settings_;  // has all of the objects below
  const dlpack::ExchangeApi* api_ = nullptr;
  std::vector<Object*> classes_;
  std::vector<Condition> conditions_;
  Object *dictionary_, *key_, *value_, *grad_enabled_, *requires_grad_, *is_neg_, *true_, *miss_, *fail_;
  std::unordered_multimap<uint64_t, std::shared_ptr<Entry>> entries_;
};

std::vector<Object*> Items(Object* tuple) {
  std::vector<Object*> items;
  const Size count = Python().TupleSize(tuple);
  for (Size i = 0; i < count; ++i) items.push_back(Python().TupleGetItem(tuple, i));
  return items;
}

// ---- whether it is a call that is known -------------------------------------------------------------------

// Whether nothing but the tensors decides what a call does: no mode, no transformation, no target that is named.
bool FastPath::IsPlain() const {
  for (const Condition& condition : conditions_) {
    Ref found(Python().CallNoArgs(condition.function));
    if (found.get() == nullptr) Python().ErrClear();
    if (found.get() != condition.expected) return false;
  }
  return Python().DictGetItem(dictionary_, key_) == value_;
}

bool FastPath::NeedsGradient(const Arguments& arguments) const {
  Ref enabled(Python().CallNoArgs(grad_enabled_));
  if (enabled.get() != true_) return false;
  for (Size i = 0; i < arguments.tensor_count; ++i) {
    Ref required(Python().GetAttr(arguments.objects[arguments.tensors[size_t(i)].position], requires_grad_));
    if (required.get() == nullptr) Python().ErrClear();
    if (required.get() == nullptr || required.get() == true_) return true;
  }
  return false;
}

// Whether a tensor is a view that PyTorch negates when it is read: its memory has the numbers before that.
bool FastPath::HasNegated(const Arguments& arguments) const {
  for (Size i = 0; i < arguments.tensor_count; ++i) {
    Ref ask(Python().GetAttr(arguments.objects[arguments.tensors[size_t(i)].position], is_neg_));
    Ref negated(ask.get() == nullptr ? nullptr : Python().CallNoArgs(ask.get()));
    if (negated.get() == nullptr) Python().ErrClear();
    if (negated.get() == nullptr || negated.get() == true_) return true;
  }
  return false;
}

bool FastPath::Read(Object* const* objects, Size count, Arguments* arguments) const {
  if (count > kMostArguments) return false;
  arguments->objects = objects;
  arguments->count = count;
  for (Size i = 0; i < count; ++i) {
    Ref type(Python().Type(objects[i]));
    bool is_tensor = false;
    for (Object* each : classes_) is_tensor |= each == type.get();
    if (!is_tensor) continue;
    Given& given = arguments->tensors[size_t(arguments->tensor_count++)];
    given.position = i;
    if (api_->from_object(objects[i], &given.tensor) != 0) {
      Python().ErrClear();
      return false;
    }
    const dlpack::Tensor& tensor = given.tensor;
    if (!IsContiguous(tensor)) return false;
    arguments->Mix(uint64_t(tensor.dtype.code) << 8 | tensor.dtype.bits | uint64_t(tensor.rank) << 16);
    for (int axis = 0; axis < tensor.rank; ++axis) arguments->Mix(uint64_t(tensor.shape[axis]));
  }
  return true;
}

// Constants are of types that compare without running code of the user.
bool IsSame(Object* value, Object* known) {
  if (value == known) return true;
  Ref type(Python().Type(value)), other(Python().Type(known));
  return type.get() == other.get() && Python().RichCompareBool(value, known, kEqual) == 1;
}

bool Matches(const Entry& entry, const Arguments& arguments) {
  if (entry.count != arguments.count || Size(entry.tensors.size()) != arguments.tensor_count) return false;
  for (size_t i = 0; i < entry.tensors.size(); ++i) {
    if (!entry.tensors[i].Matches(arguments.tensors[i])) return false;
  }
  for (const Constant& constant : entry.constants) {
    if (!IsSame(arguments.objects[constant.position], constant.value.get())) return false;
  }
  return true;
}

std::shared_ptr<Entry> FastPath::Find(const Arguments& arguments) const {
  auto [begin, end] = entries_.equal_range(arguments.hash);
  for (auto each = begin; each != end; ++each) {
    if (Matches(*each->second, arguments)) return each->second;
  }
  return nullptr;
}

// ---- launching one ----------------------------------------------------------------------------------------

// The results and scratch of a call. Whether there was memory; if not, an exception is set.
bool FastPath::Allocate(const Entry& entry, std::vector<Ref>* results, uint64_t* addresses) const {
  for (const Allocation& allocation : entry.results) {
    results->emplace_back(Python().CallObject(allocation.function.get(), allocation.arguments.get()));
    dlpack::Tensor tensor;
    if (results->back().get() == nullptr || api_->from_object(results->back().get(), &tensor) != 0) return false;
    *addresses++ = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
  }
  return true;
}

Object* FastPath::Failed(int32_t status) const {
  Ref arguments(Python().TupleNew(1));
  if (arguments.get() == nullptr) return nullptr;
  Python().TupleSetItem(arguments.get(), 0, Python().LongFromLong(status));
  return Python().CallObject(fail_, arguments.get());  // which raises
}

Object* FastPath::Launch(const Entry& entry, const Arguments& arguments) const {
  if (!cuda::PrimaryContextIsCurrent(entry.device)) return Miss();
  std::vector<uint64_t> addresses(entry.inputs.size() + entry.results.size());
  for (size_t i = 0; i < entry.inputs.size(); ++i) {
    if (entry.inputs[i] < 0) {
      addresses[i] = uint64_t(-entry.inputs[i]);
      continue;
    }
    const dlpack::Tensor& tensor = arguments.tensors[size_t(entry.inputs[i])].tensor;
    addresses[i] = reinterpret_cast<uintptr_t>(tensor.data) + tensor.byte_offset;
    if (addresses[i] & entry.alignment) return Miss();
  }
  std::vector<Ref> results;
  results.reserve(entry.results.size());
  if (!Allocate(entry, &results, &addresses[entry.inputs.size()])) return nullptr;
  void* stream = nullptr;
  const Expected& first = entry.tensors.front();
  if (api_->current_stream(first.device_type, first.device, &stream) != 0) return nullptr;
  // A launch waits where the device has too many of them to come.
  void* thread = Python().SaveThread();
  const int32_t status = entry.call->Launch(entry.device, static_cast<cuda::Stream>(stream), addresses.data());
  Python().RestoreThread(thread);
  if (status != 0) return Failed(status);
  if (entry.returned == 1) return results[0].release();
  Ref all(Python().TupleNew(entry.returned));
  for (Size i = 0; all.get() != nullptr && i < entry.returned; ++i) {
    Python().TupleSetItem(all.get(), i, results[size_t(i)].release());
  }
  return all.release();
}

Object* FastPath::Call(Object* const* objects, Size count) {
  if (entries_.empty() || !IsPlain()) return Miss();
  Arguments arguments;
  if (!Read(objects, count, &arguments)) return Miss();
  std::shared_ptr<Entry> entry = Find(arguments);  // another thread may forget it during the launch
  if (entry == nullptr || NeedsGradient(arguments) || HasNegated(arguments)) return Miss();
  return Launch(*entry, arguments);
}

// ---- what is known ----------------------------------------------------------------------------------------

std::unique_ptr<FastPath> FastPath::Make(Object* settings) {
  auto path = std::make_unique<FastPath>();
  path->settings_ = Ref::To(settings);
  const std::vector<Object*> items = Items(settings);
  if (items.size() != 12) return nullptr;
  path->classes_ = Items(items[0]);
  path->api_ = static_cast<const dlpack::ExchangeApi*>(Python().CapsuleGetPointer(items[1], dlpack::kCapsule));
  if (path->api_ == nullptr) return nullptr;
  for (Object* each : Items(items[2])) {
    path->conditions_.push_back({Python().TupleGetItem(each, 0), Python().TupleGetItem(each, 1)});
  }
  Object** places[] = {&path->dictionary_,    &path->key_,  &path->value_, &path->grad_enabled_,
                       &path->requires_grad_, &path->is_neg_, &path->true_, &path->miss_, &path->fail_};
  for (size_t i = 0; i < std::size(places); ++i) *places[i] = items[i + 3];
  return path;
}

// `known` is (what owns the call and what has constant addresses, its handle, device, alignment, positions of its inputs
// among the arguments, or minus the address of a value on the host,
// ((function, arguments) that allocates each result), how many of them are returned, sizes of all axes).
bool FastPath::Remember(Object* arguments, Object* known) {
  const std::vector<Object*> objects = Items(arguments), items = Items(known);
  Arguments read;
  if (items.size() != 8 || !Read(objects.data(), Size(objects.size()), &read) || read.tensor_count == 0) return false;
  if (Find(read) != nullptr) return true;
  auto entry = std::make_shared<Entry>();
  entry->count = read.count;
  std::vector<Size> tensor_at(objects.size(), -1);
  for (Size i = 0; i < read.tensor_count; ++i) {
    entry->tensors.emplace_back(read.tensors[size_t(i)]);
    tensor_at[size_t(read.tensors[size_t(i)].position)] = i;
  }
  for (Size i = 0; i < read.count; ++i) {
    if (tensor_at[size_t(i)] < 0) entry->constants.push_back({i, Ref::To(objects[size_t(i)])});
  }
  entry->kept = Ref::To(items[0]);
  auto* call = reinterpret_cast<PyptxCall*>(static_cast<intptr_t>(Python().LongAsLongLong(items[1])));
  entry->device = int32_t(Python().LongAsLongLong(items[2]));
  entry->alignment = uint64_t(Python().LongAsLongLong(items[3]) - 1);
  for (Object* item : Items(items[4])) {
    const int64_t position = Python().LongAsLongLong(item);
    if (position >= 0 && tensor_at.at(size_t(position)) < 0) return false;
    entry->inputs.push_back(position < 0 ? position : tensor_at.at(size_t(position)));
  }
  for (Object* each : Items(items[5])) {
    entry->results.push_back({Ref::To(Python().TupleGetItem(each, 0)), Ref::To(Python().TupleGetItem(each, 1))});
  }
  entry->returned = Size(Python().LongAsLongLong(items[6]));
  std::vector<int64_t> sizes;
  for (Object* size : Items(items[7])) sizes.push_back(Python().LongAsLongLong(size));
  entry->call = cuda::BoundCall::Make(call, std::move(sizes));
  if (entry->call == nullptr || entry->call->buffers() != entry->inputs.size() + entry->results.size()) return false;
  if (entries_.size() >= kMostEntries) entries_.clear();
  entries_.emplace(read.hash, std::move(entry));
  return true;
}

Object* CallPath(Object* self, Object* const* arguments, Size count) {
  auto* path = static_cast<FastPath*>(Python().CapsuleGetPointer(self, kPath));
  try {
    return path->Call(arguments, count);
  } catch (const std::exception&) {  // no memory for a few words: Python's own way says so
    return path->Miss();
  }
}

void Destroy(Object* capsule) { delete static_cast<FastPath*>(Python().CapsuleGetPointer(capsule, kPath)); }

MethodDef g_method{"fast_path", reinterpret_cast<void*>(&CallPath), kFastCall, nullptr};

}  // namespace
}  // namespace pyptx::python

using pyptx::python::Object;

PYPTX_LAUNCHER_EXPORT Object* pyptx_fast_path(Object* settings) {
  using namespace pyptx::python;
  if (!Python().found) return nullptr;
  try {
    std::unique_ptr<FastPath> path = FastPath::Make(settings);
    if (path == nullptr) return nullptr;
    Ref capsule(Python().CapsuleNew(path.get(), kPath, Destroy));
    if (capsule.get() == nullptr) return nullptr;
    path.release();  // NOLINT: the capsule has it
    Ref function(Python().FunctionNew(&g_method, capsule.get(), nullptr));
    Ref both(Python().TupleNew(2));
    if (function.get() == nullptr || both.get() == nullptr) return nullptr;
    Python().TupleSetItem(both.get(), 0, function.release());
    Python().TupleSetItem(both.get(), 1, capsule.release());
    return both.release();
  } catch (const std::exception&) {
    return nullptr;
  }
}

PYPTX_LAUNCHER_EXPORT int32_t pyptx_fast_remember(Object* capsule, Object* arguments, Object* known) {
  using namespace pyptx::python;
  try {
    auto* path = static_cast<FastPath*>(Python().CapsuleGetPointer(capsule, kPath));
    return path != nullptr && path->Remember(arguments, known) ? 1 : 0;
  } catch (const std::exception&) {
    return 0;
  }
}
