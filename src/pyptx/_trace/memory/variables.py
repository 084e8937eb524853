"""Memory that is declared by hand: parameters, local memory, and variables of the module.

`ptx.param` and `ptx.local` stand in the body of a kernel. `ptx.const`, `ptx.global_`, `ptx.shared`
and `smem.extern` are variables of the module: declared anywhere, they become part of the module of
each kernel and function that names them. Each of them is its address where it is an operand.
Source: PTX ISA, "State Spaces", "Variables" and "Initializers".
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, NoReturn, TypeAlias

from pyptx._isa import scalar
from pyptx._isa.constants import BadConstantError, constant
from pyptx._operands import FunctionName, Initial, Parameter, Pointer, Symbol, Variable
from pyptx._source import caller
from pyptx._text.names import DYNAMIC_SHARED, identifier
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.elements import Elements
from pyptx._trace.core.indexed import Indexed
from pyptx._trace.core.scope import DeviceFunction, ModuleScope
from pyptx._trace.core.values import checked_dtype, integer, raw
from pyptx.errors import LanguageError
from pyptx.types import DType, u64

_UNKNOWN: Final = 2**31
"""Elements of a variable that is defined elsewhere."""
_OPAQUE: Final = ("texref", "samplerref", "surfref")


class _Variable(Indexed):
    """The elements of a variable by one index, in its type: `v[i]`, `v.load`, `v.store`, `v.at`.

    The kernel begins with a `mov` of the variable's address, whatever is loaded from it.
    """

    __slots__ = ()

    @abstractmethod
    def _declared(self, trace: Trace) -> Variable: ...

    def __iter__(self) -> NoReturn:
        raise LanguageError("a variable is not iterable", location=caller())

    def _elements(self, what: str) -> Elements:  # noqa: ARG002  # messages name the variable
        trace = current("a variable")
        variable = self._declared(trace)
        found = trace.elements.get(variable)
        if found is None:
            base, dtype = trace.register(u64), variable.dtype
            with trace.beginning():
                trace.write("mov.u64", base, Symbol(variable))
            name = variable.name or f"{variable.space}_{variable.index}"
            count = variable.size // dtype.bytes or _UNKNOWN
            strides = (dtype.bytes,)
            found = Elements(
                name, (count,), dtype, base, strides, variable.space, align=variable.align
            )
            trace.elements[variable] = found
        assert isinstance(found, Elements)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class LocalArray(_Variable):
    """Local memory of each thread; as an operand it is its address in `.local`."""

    trace: Trace = field(repr=False)
    variable: Variable

    def __repr__(self) -> str:
        count = self.variable.size // self.variable.dtype.bytes
        return f"<{count} values .{self.variable.dtype} in local memory>"

    def _declared(self, trace: Trace) -> Variable:
        if trace is not self.trace:
            raise LanguageError("local memory of another kernel is used here", location=caller())
        return self.variable

    def __ptx_operand__(self, trace: Trace) -> Symbol:
        return Symbol(self._declared(trace))


@dataclass(frozen=True, slots=True, eq=False)
class ModuleVariable(_Variable):
    """A variable of the module; as an operand it is its address."""

    variable: Variable
    names: tuple[ModuleVariable | DeviceFunction, ...] = ()

    def __repr__(self) -> str:
        of = self.variable
        return (
            f"<variable {of.name} of {of.size // of.dtype.bytes} values .{of.dtype} in .{of.space}>"
        )

    def _declared(self, trace: Trace) -> Variable:
        return used(trace, self)

    def require(self, scope: ModuleScope) -> None:
        """Bring in what the initial value names."""
        for named in self.names:
            if isinstance(named, ModuleVariable):
                scope.variable(named)
            else:
                scope.function(named)

    def __ptx_operand__(self, trace: Trace) -> Symbol:
        return Symbol(used(trace, self))


Named: TypeAlias = ModuleVariable | DeviceFunction


@dataclass(frozen=True, slots=True)
class AddressOf:
    """`of + offset` as an operand of `mov`, or in the initial value of a variable."""

    of: object
    offset: int = 0
    generic: bool = False
    mask: int = 0

    def __ptx_operand__(self, trace: Trace) -> Symbol | FunctionName:
        if self.generic or self.mask:
            raise LanguageError(
                "generic= and mask= are for initial values of variables",
                location=caller(),
                notes=(("help", "ptx.inst.cvta.global_.u64(...) makes an address generic"),),
            )
        found = raw(trace, self.of)
        if isinstance(found, Symbol):
            return replace(found, offset=found.offset + self.offset)
        if isinstance(found, FunctionName):
            if self.offset:
                raise LanguageError(
                    f"the address of a function takes no offset, not {self.offset}",
                    location=caller(),
                )
            return found
        raise LanguageError(
            "ptx.address_of takes shared memory, a variable, a parameter or a function, "
            f"not {scalar.describe(found)}",
            location=caller(),
        )


def used(trace: Trace, declared: ModuleVariable) -> Variable:
    """The variable in the module of a trace, which then is one that the body names."""
    found = trace.module.variable(declared)
    if found not in trace.variables:
        trace.variables.append(found)
    return found


# ---- in the body of a kernel or function ---------------------------------------------------------


def param(
    dtype: DType,
    name: str,
    count: int | None = None,
    *,
    align: int = 0,
    pointer: str | None = None,
    pointer_align: int = 4,
    opaque: str = "",
) -> Parameter:
    """A further parameter: a scalar, or an array of `count`, at `align` bytes (its type's).

    `ptx.inst.ld.param.u32(n)` loads it, at an offset with `ptx.addr(n, 8)`. `pointer` names the
    state space of what it points to, "" for generic, which lies at `pointer_align` bytes. `opaque`
    is "texref", "samplerref" or "surfref". For kernels that are launched by hand, in the order of
    these calls, after the parameters that the function takes. No instruction.
    """
    trace = current("ptx.param")
    index = sum(not other.returned for other in trace.parameters)
    made = parameter(dtype, name, count, align, index, opaque=opaque)
    if pointer is not None:
        made = replace(made, pointer=Pointer(pointer, pointer_align))
    if any(other.name == name for other in trace.parameters):
        raise LanguageError(f"two parameters are called {name}", location=caller())
    trace.parameters.append(made)
    return made


def parameter(
    dtype: DType, name: str, count: int | None, align: int, index: int, *, opaque: str = ""
) -> Parameter:
    """A checked parameter of a kernel, function or prototype."""
    _checked_count(count)
    _checked_align(dtype, align)
    return Parameter(
        index, checked_dtype(dtype), _checked_name(name), False, count, align, None, opaque
    )


def local(dtype: DType, count: int = 1, *, align: int | None = None, name: str = "") -> LocalArray:
    """`count` values in local memory, at `align` bytes (its type's): one for each thread.

    `a[i]` loads one of them and `a[i] = v` stores; as an operand it is its address in `.local`. No
    instruction.
    """
    made = _own("ptx.local", "local", dtype, count, align=align, name=name)
    return LocalArray(current("ptx.local"), made)


def argument(dtype: DType, count: int = 1, *, align: int | None = None, name: str = "") -> Variable:
    """An argument or a result of `ptx.call`, in the parameter space.

    `ptx.inst.st.param` stores to it before the call, `ptx.inst.ld.param` reads it after. No
    instruction. Source: PTX ISA, "Parameter State Space", device functions.
    """
    return _own("ptx.argument", "param", dtype, count, align=align, name=name)


def _own(
    what: str, space: str, dtype: DType, count: int, *, align: int | None, name: str
) -> Variable:
    trace = current(what)
    _checked_count(count)
    _checked_align(dtype, align or 0)
    size = checked_dtype(dtype).bytes * count
    made = Variable(len(trace.variables), space, size, align or dtype.bytes, name, dtype=dtype)
    trace.variables.append(made)
    return made


# ---- variables of the module ---------------------------------------------------------------------


def const(
    dtype: DType,
    count: int | None = None,
    *,
    name: str,
    init: bytes | Sequence[object] | None = None,
    align: int | None = None,
    linkage: str = "",
) -> ModuleVariable:
    """A variable in constant memory: `count` values, or as many as `init` has.

    `init` holds numbers, addresses (`ptx.address_of`) or the bytes of all values; what it leaves
    out is zero. Where it is not given, the host fills it. `linkage` is "visible", "extern" or
    "weak". Raises LanguageError.
    """
    return _module_variable(
        "const", dtype, count, name=name, init=init, align=align, linkage=linkage
    )


def global_(
    dtype: DType,
    count: int | None = None,
    *,
    name: str,
    init: bytes | Sequence[object] | None = None,
    align: int | None = None,
    linkage: str = "",
    opaque: str = "",
    attributes: Sequence[str] = (),
) -> ModuleVariable:
    """A variable in global memory, as `ptx.const` describes it.

    `opaque` is "texref", "samplerref" or "surfref" for a reference to one; `attributes` are
    "managed" or "unified(...)".
    """
    if opaque not in ("", *_OPAQUE):
        raise LanguageError(f"opaque={opaque!r} is none of {_OPAQUE}", location=caller())
    made = _module_variable(
        "global", dtype, count, name=name, init=init, align=align, linkage=linkage
    )
    variable = replace(made.variable, opaque=opaque, attributes=tuple(attributes))
    return ModuleVariable(variable, made.names)


def shared(
    dtype: DType,
    count: int = 1,
    *,
    name: str,
    align: int | None = None,
    linkage: str = "",
) -> ModuleVariable:
    """`count` values in the shared memory of each CTA, at `align` bytes (its type's).

    Unlike `smem.alloc` it has a name that the kernel and the functions that it calls share; two of
    them never overlap. `linkage` is as for `ptx.const`. A kernel that names one can have 48 KiB of
    shared memory besides `smem.extern` at most.
    """
    return _module_variable(
        "shared", dtype, count, name=name, init=None, align=align, linkage=linkage
    )


def extern(dtype: DType, *, name: str, align: int | None = None) -> ModuleVariable:
    """The dynamic shared memory of a CTA, as long as the launch makes it: `.extern .shared`.

    All of them begin at the same address: it is one memory by several names.
    """
    dtype = checked_dtype(dtype)
    _checked_align(dtype, align or 0)
    name = name if name == DYNAMIC_SHARED else _checked_name(name)
    size_is_unknown = 0
    variable = Variable(
        0, "shared", size_is_unknown, align or dtype.bytes, name, b"", dtype, "extern"
    )
    return ModuleVariable(variable)


def address_of(of: object, offset: int = 0, *, generic: bool = False, mask: int = 0) -> AddressOf:
    """The address of a variable, parameter or function, plus `offset` bytes.

    It is an operand of `mov`, and a value of `init=`, where `generic` makes it a generic address
    and `mask` (0xFF, 0xFF00 and on) takes one byte of it. That of a function has no offset.
    """
    return AddressOf(of, offset, generic, mask)


def _module_variable(
    space: str,
    dtype: DType,
    count: int | None,
    *,
    name: str,
    init: bytes | Sequence[object] | None,
    align: int | None,
    linkage: str,
) -> ModuleVariable:
    dtype = checked_dtype(dtype)
    _checked_align(dtype, align or 0)
    data, addresses, names = _initial(dtype, () if init is None else init)
    held = len(data) // dtype.bytes
    while data and not any(data[-dtype.bytes :]):
        data = data[: -dtype.bytes]  # what is left out is zero
    wanted = max(held, 1) if count is None else count
    if linkage != "extern" or wanted:
        _checked_count(wanted)
    if held > wanted:
        raise LanguageError(
            f"init of {name} has {held} values, and {wanted} fit", location=caller()
        )
    variable = Variable(
        0,
        space,
        wanted * dtype.bytes,
        align or dtype.bytes,
        _checked_name(name),
        data,
        dtype,
        linkage,
        addresses,
    )
    return ModuleVariable(variable, names)


def _initial(
    dtype: DType, init: bytes | Sequence[object]
) -> tuple[bytes, tuple[Initial, ...], tuple[Named, ...]]:
    """The bytes of an initial value, the addresses in it, and what they are of."""
    if isinstance(init, bytes):
        return init, (), ()
    data = bytearray()
    addresses: list[Initial] = []
    names: list[Named] = []
    for value in init:
        address = AddressOf(value) if isinstance(value, ModuleVariable | DeviceFunction) else value
        if isinstance(address, AddressOf):
            named, of = _named(address)
            names.append(named)
            initial = Initial(len(data), of, address.offset, address.generic, address.mask)
            addresses.append(initial)
        bits = 0 if isinstance(address, AddressOf) else _bits(value, dtype)
        data += (bits & (1 << 8 * dtype.bytes) - 1).to_bytes(dtype.bytes, "little")
    return bytes(data), tuple(addresses), tuple(names)


def _named(address: AddressOf) -> tuple[Named, str]:
    of = address.of
    if isinstance(of, ModuleVariable):
        return of, of.variable.name
    if isinstance(of, DeviceFunction):
        return of, of.name
    raise LanguageError(
        f"{of!r} has no address that is known before a launch",
        location=caller(),
        notes=(("legal", "ptx.const(...), ptx.global_(...), functions of @ptx.func"),),
    )


def _bits(value: object, dtype: DType) -> int:
    try:
        return constant(value, dtype).bits
    except BadConstantError as error:
        raise LanguageError(f"init: {error}", location=caller()) from None


# ---- checks --------------------------------------------------------------------------------------


def _checked_name(name: str) -> str:
    if identifier(name, "") != name or not name:
        raise LanguageError(
            f"{name!r} cannot be a name in PTX",
            location=caller(),
            notes=(("legal", "letters, digits, _ and $, with no digit first"),),
        )
    return name


def _checked_count(count: object) -> None:
    if count is None:
        return
    found = integer(count)
    if found is None or found < 1:
        raise LanguageError(f"count={count!r} is no positive number of values", location=caller())


def _checked_align(dtype: object, align: int) -> None:
    checked_dtype(dtype)
    if align < 0 or align & (align - 1):
        raise LanguageError(f"align={align!r} is not a power of two", location=caller())
