"""What the body of a kernel sees of its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from pyptx._isa.given import Raw
from pyptx._isa.special import SPECIAL
from pyptx._layouts import Im2col, L2Promotion, Layout, OobFill
from pyptx._operands import Address, Parameter, Register
from pyptx._source import caller
from pyptx._spec import Box, Tile, unstarred
from pyptx._trace.core.context import Trace, current
from pyptx._trace.core.elements import Elements, strides_of
from pyptx._trace.core.indexed import Indexed
from pyptx._trace.core.values import Reg
from pyptx._trace.tensors.tensor_map import TensorMapReg, check_tensor, map_address
from pyptx.errors import LanguageError, SpecError
from pyptx.types import DType, u32, u64

Extent: TypeAlias = "int | Reg"


@dataclass(frozen=True, slots=True, eq=False)
class Tensor(Indexed):
    """A tensor argument: `shape` holds ints, and a 64-bit register for each run-time dimension."""

    name: str
    shape: tuple[Extent, ...]
    dtype: DType
    parameter: Parameter
    tile: Tile | None = None

    def __repr__(self) -> str:
        sizes = ", ".join(str(e) if isinstance(e, int) else "?" for e in self.shape)
        return f"<tensor {self.name} of ({sizes}{',' * (self.rank == 1)}) .{self.dtype}>"

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def tma_desc(
        self,
        box: Box | None = None,
        *,
        layout: Layout | None = None,
        element_strides: Sequence[int] | None = None,
        l2_promotion: L2Promotion | None = None,
        oob_fill: OobFill | None = None,
        im2col: Im2col | None = None,
        split: int | None = None,
    ) -> TensorMapReg:
        """The generic address of a tensor map of this tensor, for `cp.async.bulk.tensor` and such.

        What is left out is what the tensor's Tile says, so `X.tma_desc()` has the Tile's box, and
        `X.tma_desc((64, 32))` another one of the same tensor; `im2col` stands for a box. Each
        description is one parameter of the kernel, 128 bytes that are encoded at each launch. Two
        instructions, `mov.b64` and `cvta.param.u64`, wherever it is called.

        With `split`, the tensor's last axis is two axes of the map: whole groups of so many
        elements, and the elements of a group, so `X.tma_desc((64, 1, 64), split=32)` is for a
        tensor of rank 2. What of a box lies beyond its group is outside the map: zeros, and nothing
        is read for them. So are elements behind the last whole group. An axis that is shorter than
        one is a group.

        Raises SpecError for a rule of CUDA's cuTensorMapEncodeTiled that the description breaks,
        and where `jax.vmap` runs the kernel with a batch of this tensor on an axis of the grid.
        """
        trace, where = current(f"{self.name}.tma_desc"), caller()
        if self.tile is None:
            raise LanguageError(
                f"{self.name} has no Tile, and a tensor map needs the sizes of its tensor",
                location=where,
                notes=(("help", "@kernel(in_specs=(Tile(...),), ...)"),),
            )
        own_parameter(trace, self)
        if self.parameter in trace.strides:
            raise SpecError(
                f"{self.name} has one element of jax.vmap for each CTA of a grid axis, and a "
                "tensor map has one address for the whole grid",
                location=where,
                notes=(("help", "jax.lax.map runs the kernel once per element"),),
            )
        named = zip(self.tile.dims, self.shape, strict=True)
        sizes = {
            **trace.sizes,
            **{unstarred(dim): size for dim, size in named if isinstance(dim, str)},
        }
        try:
            described = self.tile.tensor_map(
                sizes,
                box,
                layout=layout,
                element_strides=element_strides,
                l2_promotion=l2_promotion,
                oob_fill=oob_fill,
                im2col=im2col,
                split=split,
            )
        except SpecError as error:
            raise error.at(where) from None
        check_tensor(described, self.name, self.shape, where)
        return map_address(trace, self.parameter, described)

    # ---- elements --------------------------------------------------------------------------------

    def _elements(self, what: str) -> Elements:
        trace = current(what.replace("X", self.name))
        own_parameter(trace, self)
        found = trace.elements.get(self.parameter)
        if found is None:
            if self.tile is None:
                raise LanguageError(
                    f"{self.name} has no Tile, so its elements have no type and no indices",
                    location=caller(),
                    notes=(("help", "@kernel(in_specs=(Tile(...),), ...)"),),
                )
            with trace.beginning():
                base = _global_address(trace, self.parameter)
                strides = strides_of(trace, self.shape, self.dtype)
            found = Elements(self.name, self.shape, self.dtype, base, strides)
            trace.elements[self.parameter] = found
        assert isinstance(found, Elements)
        return found

    def __iter__(self) -> NoReturn:
        raise LanguageError(
            f"{self.name} is a tensor in global memory, which is not iterable",
            location=caller(),
            notes=(("help", f"for i in ptx.range_(n): ... {self.name}[i]"),),
        )

    def __ptx_operand__(self, trace: Trace) -> Raw:
        raise LanguageError(
            f"{self.name} is a tensor, not an operand",
            location=caller(),
            notes=(("help", f"p, = ptx.global_ptrs({self.name}) gives its global address"),),
        )


def global_pointer(trace: Trace, tensor: object) -> Reg:
    """The global address of a tensor: `ld.param.u64` and `cvta.to.global.u64`.

    Under jax.vmap two more, a load and a `mad.lo.u64`, for each level that the tensor has.
    """
    if not isinstance(tensor, Tensor):
        raise LanguageError(
            f"ptx.global_ptrs takes tensors of the kernel, not {tensor!r}", location=caller()
        )
    own_parameter(trace, tensor)
    return Reg(trace, _global_address(trace, tensor.parameter))


def own_parameter(trace: Trace, tensor: Tensor) -> None:
    """Raises LanguageError for a tensor that is no argument of the kernel that is traced."""
    if not any(tensor.parameter is own for own in trace.parameters):
        raise LanguageError(
            f"{tensor.name} belongs to another kernel, or to another trace of this one",
            location=caller(),
        )


def _global_address(trace: Trace, parameter: Parameter) -> Register:
    generic, pointer = trace.register(u64), trace.register(u64)
    trace.write("ld.param.u64", generic, Address(parameter))
    trace.write("cvta.to.global.u64", pointer, generic)
    for index, stride in trace.strides.get(parameter, ()):
        step, moved = trace.register(u64), trace.register(u64)
        trace.write("ld.param.u64", step, Address(stride))
        trace.write("mad.lo.u64", moved, index, step, pointer)
        pointer = moved
    return pointer


def load_value(trace: Trace, parameter: Parameter, dtype: DType) -> Reg:
    """A parameter passed by value, in a register of its type. One `ld.param`."""
    register = trace.register(dtype)
    trace.write(f"ld.param.{dtype.access}", register, Address(parameter))
    return Reg(trace, register)


def load_reference(trace: Trace, parameter: Parameter, dtype: DType) -> Reg:
    """A scalar that lives in device memory, in a register of its type: its address, one load."""
    pointer = _global_address(trace, parameter)
    register: Register = trace.register(dtype)
    trace.write(f"ld.global.{dtype.access}", register, Address(pointer))
    return Reg(trace, register)


def batch_indices(trace: Trace, axis: str, sizes: Sequence[Parameter]) -> list[Register]:
    """This CTA's index in each level of a batch, outermost first, as u64.

    `sizes` are the parameters with the sizes of all levels but the outermost, which varies slowest
    along the grid's axis. Two instructions, and six more for each further level.
    """
    position = trace.register(u32)
    trace.write("mov.u32", position, SPECIAL[f"ctaid.{axis}"].operand)
    found: list[Register] = []
    for parameter in reversed(sizes):
        wide, size, index, rest = (trace.register(t) for t in (u64, u32, u32, u32))
        trace.write("ld.param.u64", wide, Address(parameter))
        trace.write("cvt.u32.u64", size, wide)
        trace.write("rem.u32", index, position, size)
        trace.write("div.u32", rest, position, size)
        found.append(_widened(trace, index))
        position = rest
    found.append(_widened(trace, position))
    return found[::-1]


def _widened(trace: Trace, register: Register) -> Register:
    wide = trace.register(u64)
    trace.write("cvt.u64.u32", wide, register)
    return wide
