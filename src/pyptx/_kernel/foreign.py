"""`from_ptx`: kernels whose PTX others wrote."""

from __future__ import annotations

import hashlib
import linecache
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, Literal, cast

from pyptx import _assemble as assemble
from pyptx import _emulator as emulator
from pyptx import _ir as ir
from pyptx import _text as text
from pyptx._calls import binding
from pyptx._dims import Extent
from pyptx._grid import Grid, extent_of
from pyptx._kernel.arguments import Given, Param, Taken, checked_params, match
from pyptx._kernel.entry import Kernel
from pyptx._kernel.module_variables import warn_of_shared
from pyptx._kernel.options import (
    Options,
    Sizes,
    alias_pairs,
    byte_count,
    checked,
    dimension_names,
    flag,
    launch_grid,
    parse_target,
    triple,
)
from pyptx._kernel.rewriting import rewritten
from pyptx._kernel.signature import specs
from pyptx._kernel.specialisation import Key, Specialisation
from pyptx._kernel.structures import with_fields
from pyptx._kernel.textures import with_textures
from pyptx._launch.description import Number
from pyptx._launch.plan import Bytes, check_block, check_cluster
from pyptx._operands import Parameter
from pyptx._recent import SPECIALISATIONS, Recent
from pyptx._runtime import targets
from pyptx._source import SourceLocation, caller
from pyptx._spec import Spec, Tile
from pyptx._target import Target, targets_of
from pyptx._text.entries import reached_entries
from pyptx._trace.build import Signature
from pyptx._trace.core.batch import Batch
from pyptx.errors import PtxError, SpecError

SharedBytes = int | Callable[..., Extent]
Lines = Literal["ptx", "source"]

_ONE: Final = (1, 1, 1)


# ---- the file ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class File:
    """A PTX file that was read: its name, its text, and what it means."""

    name: str
    text: str
    module: ir.Module
    changed: bool = False
    """Whether the module has the fields of structures as parameters, which the text does not."""

    @staticmethod
    def read(source: object, where: SourceLocation) -> File:
        """A file by its path, or a text. Raises ParseError at a line and column of it."""
        if isinstance(source, Path):
            try:
                name, content = str(source), text.read_file(source)
            except PtxError as error:
                raise SpecError(error.problem, location=where) from None
        elif isinstance(source, str | bytes):
            given = text.decoded(source) if isinstance(source, bytes) else source
            _check_text(given, where)
            content = text.without_end(given)
            name = _named(content)
        else:
            raise SpecError(
                f"from_ptx takes PTX text or a pathlib.Path, not {type(source).__name__}",
                location=where,
                notes=(("help", 'from_ptx(Path("kernel.ptx"), ...)'),),
            )
        return File(name, content, text.parse(content, name))

    def entry(self, name: object, where: SourceLocation) -> ir.Kernel:
        """The kernel of that name, as in PTX or as C++ mangles it; the only one for None."""
        kernels = self.module.kernels
        names = ("entries", " ".join(kernel.name for kernel in kernels) or "none")
        if name is None:
            if len(kernels) == 1:
                return kernels[0]
            raise SpecError(
                f"{self.name} has {len(kernels)} entries, and entry= does not say which one",
                location=where,
                notes=(names,),
            )
        if not isinstance(name, str):
            raise SpecError(
                f"entry={name!r} is not the name of an entry",
                location=where,
                notes=(names, ("help", f'entry="{kernels[0].name}"' if kernels else "none")),
            )
        found = [k for k in kernels if k.name == name] or [
            k for k in kernels if k.name.startswith(f"_Z{len(name)}{name}")
        ]
        if len(found) != 1:
            what = "no entry" if not found else f"{len(found)} entries of the name"
            raise SpecError(f"{self.name} has {what} {name}", location=where, notes=(names,))
        return found[0]


def _check_text(source: str, where: SourceLocation) -> None:
    if "\n" not in source and ".version" not in source:
        raise SpecError(
            f"{source!r} is no PTX text",
            location=where,
            notes=(("help", f"from_ptx(Path({source!r}), ...) reads a file"),),
        )


def _named(content: str) -> str:
    """A name for a text that comes from no file, under which messages find its lines."""
    name = f"<ptx {hashlib.sha256(content.encode()).hexdigest()[:8]}>"
    lines = content.splitlines(keepends=True)
    linecache.cache[name] = (len(content), None, lines, name)
    return name


# ---- the kernel ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ForeignCode(Specialisation):
    """Foreign PTX for a target: `module` has its kernel alone, and all functions and variables.

    `written` is the file as it is, or what was made of it for a call. `parameters` are those of the
    kernel with the names of tensors, which findings show.
    """

    target: Target = targets.DEFAULT
    parameters: tuple[Parameter, ...] = ()
    lines: Lines = "ptx"
    entries: tuple[str, ...] = ()
    """The kernel's name, and those of other kernels whose addresses it takes."""
    textures: bool = False

    @property
    def shown(self) -> ir.Kernel:
        return replace(self.module.kernels[0], parameters=self.parameters)

    @property
    def locations(self) -> tuple[SourceLocation, ...]:
        """The line of each instruction of the emulator's program: in the PTX, or in its source."""
        if self.lines == "ptx":
            return super().locations
        instructions = emulator.link(self.module.kernels[0], self.module).program
        files = dict(self.module.debug.files)
        return tuple(
            i.location if i.debug is None else SourceLocation(files[i.debug.file], i.debug.line)
            for i in instructions
        )

    @property
    def dynamic_shared(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        """What `smem=` says is a function of the dimensions: the launch asks for it."""
        return 0

    def access_widths(self, count: int) -> tuple[int, ...]:
        """The widest access of any tensor: which is of which is not known."""
        return (emulator.Program(self.image).alignment,) * count

    @property
    def all_shared(self) -> int:
        """Bytes of shared memory of one CTA, as far as they are known."""
        return self.module.kernels[0].shared.size + (self.shared or 0)

    def _assembled(self, written: text.Text, *, line_info: bool) -> assemble.Cubin:
        return assemble.assemble(
            written.ptx,
            self.target,
            contract=self.contract,
            line_info=line_info,
            entries=self.entries,
            lines=written.lines,
        )

    def launched(self) -> assemble.Cubin:
        """The cubin of compiled programs. Raises SpecError with textures and surfaces.

        A driver's texture objects are made on the host, of arrays of its own, and none of that is
        in a launch.
        """
        if self.textures:
            raise SpecError(
                f"{self.module.kernels[0].name} has textures or surfaces, which run in the "
                "emulator only: a launch makes no texture objects",
                location=self.location,
                notes=(("help", "call it on NumPy arrays, or on arrays of a CPU"),),
            )
        return self.assemble()


class ForeignKernel(Kernel):
    """An entry of a PTX file as a kernel: called, emulated and inspected like a traced one."""

    def __init__(
        self,
        file: File,
        given: Given,
        taken: Taken,
        *,
        options: Options,
        shared: SharedBytes | None,
        lines: Lines,
    ) -> None:
        self._file = file
        self._entry = given.entry
        self._taken = taken
        self._textures = given.textures
        self._smem = shared
        self._lines: Lines = lines
        names = _tensor_names(given, taken)
        every = (*given.in_specs, *given.out_specs)
        made = Signature(given.entry.name, names, every, options.parallel, given.where)
        outputs = cast("tuple[Tile, ...]", given.out_specs)
        super().__init__(
            None,
            made,
            in_specs=given.in_specs,
            out_specs=outputs,
            constants={},
            options=options,
        )
        self.__name__ = given.entry.name
        self.__doc__ = f"The entry {given.entry.name} of {file.name}."
        self._codes: Recent[ForeignCode] = Recent(SPECIALISATIONS)

    def __repr__(self) -> str:
        return f"<pyptx kernel {self.name} of {self._file.name}>"

    @property
    def file(self) -> str:
        """The name of the PTX file."""
        return self._file.name

    @binding(SpecError, "k.module")
    def module(self, **dims_and_constants: object) -> ir.Module:
        """What the file means, with all of its entries."""
        self._look_for(dims_and_constants)
        return self._file.module

    def _look(self, given: Mapping[str, object], arch: str | None = None) -> Specialisation:
        self._look_for(given)
        return self._code(self._target(arch), by_reference=False, batch=None)

    def _look_for(self, given: Mapping[str, object]) -> None:
        """Sizes may be given as for a traced kernel; the PTX is the same for all."""
        self._split(dict.fromkeys(self.dimension_names, 1) | dict(given))

    def _target(self, arch: str | None) -> Target:
        if arch is not None:
            return parse_target(arch, caller())
        return self._options.arch or targets.named() or self._file.module.target.current

    @property
    def _usual(self) -> Target:
        return self._options.arch or self._file.module.target.current

    def _takes(self) -> tuple[int | Number | Bytes, ...]:
        return self._taken.takes

    def _shared(self) -> Callable[[Mapping[str, Extent]], Extent]:
        smem = self._smem
        if callable(smem):
            return lambda dims: extent_of(smem, dims, "smem=")
        return lambda _: smem or 0

    def _specialise(
        self,
        dims: Mapping[str, int],  # noqa: ARG002  # the code is the same for all
        constants: Mapping[str, object],  # noqa: ARG002  # there are none
        target: Target,
        *,
        by_reference: bool,
        batch: Batch | None = None,
        partial: bool = False,
    ) -> Specialisation:
        """The code for a target, as the file has it or changed for a batch."""
        assert not partial
        return self._code(target, by_reference=by_reference, batch=batch)

    def _code(self, target: Target, *, by_reference: bool, batch: Batch | None) -> ForeignCode:
        inputs = len(self.in_specs)
        scalars = frozenset(
            parameter
            for parameter, number in self._taken.numbers.items()
            if by_reference and number < inputs and not isinstance(self.in_specs[number], Tile)
        )
        key = Key((), (), target, bool(scalars), batch, partial=False)
        with self._lock:
            found = self._codes.get(key)
            if found is None:
                found = self._codes.keep(key, self._make_code(target, scalars, batch))
        return found

    def _make_code(
        self, target: Target, scalars: frozenset[int], batch: Batch | None
    ) -> ForeignCode:
        self._check_target(target)
        entries = reached_entries(self._entry, self._file.module)
        module = replace(self._file.module, kernels=(self._entry,))
        if scalars or batch is not None or self._file.changed:
            if batch is not None and self._textures:
                raise SpecError(f"{self.name} has textures, which are of one element of a batch")
            if scalars or batch is not None:
                numbers = self._taken.numbers
                module = rewritten(module, self._entry, numbers, scalars, batch)
            others = (k for k in self._file.module.kernels if k.name in entries[1:])
            written = text.write(replace(module, kernels=(*others, *module.kernels)))
        else:
            written = text.for_assembler(self._file.text, self._file.module, self._file.name)
        self._check_serialization(module)
        smem = self._smem if isinstance(self._smem, int) else None
        parameters = tuple(self._shown(p, scalars) for p in module.kernels[0].parameters)
        contract = self._options.contract
        where = self._signature.location
        return ForeignCode(
            module,
            written,
            contract,
            smem,
            where,
            target,
            parameters,
            self._lines,
            entries,
            self._textures,
        )

    def _shown(self, parameter: Parameter, scalars: frozenset[int]) -> Parameter:
        """A parameter as findings name it: tensors by their names, and scalars in memory too."""
        number = self._taken.numbers.get(parameter.index)
        every = (*self.in_specs, *self.out_specs)
        if number is None or not (isinstance(every[number], Tile) or parameter.index in scalars):
            return parameter
        return replace(parameter, name=self._signature.parameters[number], tensor=True)

    def _check_target(self, target: Target) -> None:
        own = self._file.module.target
        if target not in targets_of(str(own)):
            raise SpecError(
                f"{self._file.name} is for {own}, so it cannot be assembled for {target}",
                location=self._signature.location,
                notes=(("legal", " ".join(map(str, sorted_targets(own)))),),
            )


def sorted_targets(own: Target) -> list[Target]:
    """The targets that PTX for `own` can be assembled for."""
    return sorted(targets_of(str(own)), key=lambda target: (target.sm, target.suffix))


def _tensor_names(given: Given, taken: Taken) -> tuple[str, ...]:
    """The names of inputs and outputs: those of the parameters that they are."""
    parameters = {p.index: p for p in given.entry.parameters}
    names = {number: parameters[index].name for index, number in taken.numbers.items()}
    inputs = len(given.in_specs)
    for source, target in given.aliases:
        pair = (source, target + inputs)
        known = [names[number] for number in pair if number in names]
        for number in pair:
            names.setdefault(number, known[0])
    return tuple(names[n] for n in range(inputs + len(given.out_specs)))


# ---- what the file asks of a launch --------------------------------------------------------------


def _directive(entry: ir.Kernel, name: str) -> tuple[int, int, int] | None:
    """The sizes of a directive, filled up with ones."""
    for directive in entry.directives:
        if directive.name == name:
            x, y, z = (*directive.values, 1, 1, 1)[:3]
            return x, y, z
    return None


def _block(given: Given, block: Sizes | None) -> tuple[int, int, int]:
    """The threads of a CTA: `block=`, or what the file requires."""
    entry, where = given.entry, given.where
    required, most = _directive(entry, "reqntid"), _directive(entry, "maxntid")
    if block is None:
        if required is not None:
            return required
        limit = f", at most {math.prod(most)} threads (.maxntid)" if most is not None else ""
        raise SpecError(
            f"from_ptx needs block= for {entry.name}{limit}: the file does not require a size",
            location=where,
            notes=(("help", "block=(128, 1, 1)"),),
        )
    sizes = checked(check_block, triple("block", block, where), where)
    if required is not None and sizes != required:
        raise _against(given, f"block={sizes}", f".reqntid {_listed(required)}")
    if most is not None and math.prod(sizes) > math.prod(most):
        raise _against(given, f"block={sizes}", f".maxntid {_listed(most)}")
    return sizes


def _cluster(given: Given, cluster: Sizes | None) -> tuple[int, int, int]:
    """The CTAs of a cluster: `cluster=`, or what the file requires."""
    entry, where = given.entry, given.where
    required = _directive(entry, "reqnctapercluster")
    names = {directive.name for directive in entry.directives}
    if "blocksareclusters" in names:
        raise SpecError(
            f"{entry.name} has .blocksareclusters, whose launches count clusters; that is not "
            "supported",
            location=given.line(),
        )
    if cluster is None:
        if required is None and "explicitcluster" in names:
            raise SpecError(
                f"from_ptx needs cluster= for {entry.name}, which has .explicitcluster",
                location=where,
                notes=(("help", "cluster=(2, 1, 1)"),),
            )
        return required or _ONE
    sizes = checked(check_cluster, triple("cluster", cluster, where), where)
    if required is not None and sizes != required:
        raise _against(given, f"cluster={sizes}", f".reqnctapercluster {_listed(required)}")
    rank = _directive(entry, "maxclusterrank")
    if rank is not None and math.prod(sizes) > rank[0]:
        raise _against(given, f"cluster={sizes}", f".maxclusterrank {rank[0]}")
    return sizes


def _listed(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def _against(given: Given, what: str, directive: str) -> SpecError:
    return SpecError(
        f"{what} is against the {directive} of {given.entry.name}",
        location=given.where,
        notes=(("file", str(given.line())),),
    )


def _smem(given: Given, module: ir.Module, smem: object) -> SharedBytes | None:
    """Bytes of dynamic shared memory, which a kernel that declares some must be given."""
    if callable(smem):
        return cast("Callable[..., Extent]", smem)
    if smem is not None:
        return byte_count(smem, given.where)
    try:
        variables = emulator.link(given.entry, module).variables
    except PtxError:  # what the emulator cannot run may still be launched
        variables = given.entry.variables
    dynamic = [v for v in variables if v.space == "shared" and not v.size]
    if dynamic:
        raise SpecError(
            f"from_ptx needs smem= for {given.entry.name}: {dynamic[0].name} is dynamic shared "
            "memory",
            location=given.where,
            notes=(("help", "smem=4096 bytes, or a function of dimensions: smem=lambda N: 4 * N"),),
        )
    return None


def _arch(file: File, arch: object, where: SourceLocation) -> Target | None:
    """The target to assemble for; None for that of the device."""
    own = file.module.target
    if arch is None:
        return own if own.suffix == "a" else None
    if isinstance(arch, str) and arch == "auto":
        return None
    target = parse_target(arch, where)
    if target not in targets_of(str(own)):
        raise SpecError(
            f"{file.name} is for {own}, so it cannot be assembled for {target}",
            location=where,
            notes=(("legal", " ".join(map(str, sorted_targets(own)))),),
        )
    return target


def _check_sums(out_specs: Sequence[Spec], where: SourceLocation) -> None:
    for spec in out_specs:
        if spec.accumulate is not None:
            raise SpecError(
                f"{spec!r} has accumulate=, for which a kernel is traced in two types; PTX that is "
                "given writes one",
                location=where,
            )


@binding(SpecError, "from_ptx")
def from_ptx(
    source: str | Path,
    /,
    *,
    in_specs: Sequence[Spec],
    out_specs: Sequence[Tile],
    grid: Grid,
    block: Sizes | None = None,
    entry: str | None = None,
    params: Sequence[Param] | None = None,
    cluster: Sizes | None = None,
    smem: int | Callable[..., Extent] | None = None,
    arch: str | None = None,
    contract: bool = False,
    parallel: Iterable[str] = (),
    input_output_aliases: Mapping[int, int] | None = None,
    cooperative: bool = False,
    programmatic_stream_serialization: bool = False,
    lines: Lines = "ptx",
) -> ForeignKernel:
    """Make a kernel from existing PTX: from nvcc, Triton, NVRTC, or written by hand.

        saxpy = pyptx.from_ptx(
            Path("saxpy.ptx"),  # __global__ void saxpy(int n, float a, const float *x, float *y)
            in_specs=(Scalar(f32), Tile("N", f32), Tile("N", f32)),
            out_specs=(Tile("N", f32),),
            input_output_aliases={2: 0},
            params=("N", In(0), In(1), Out(0)),
            grid=lambda N: (ptx.cdiv(N, 256),),
            block=256,
        )

    source                   the text of a PTX file, as str or bytes, or its pathlib.Path
    in_specs, out_specs      as for `kernel`: what it is called on, and what it gives
    grid, block, cluster     as for `kernel`; block and cluster may be left out where the file has
                             .reqntid and .reqnctapercluster, and must agree with them
    entry                    which entry, where the file has several; mangled or as in C++
    params                   what each parameter of the entry is, in its order: `In(i)` or `Out(i)`,
                             a tensor's address or a Scalar's value; "N", a dimension, or "N//2",
                             an expression of such; a function of dimensions,
                             `lambda B, N: B * N`; a number; the bytes of a structure, or a `Struct`
                             of its fields; a `Texture` or a `Surface`.
                             By default in_specs, then the out_specs that share no buffer
    smem                     bytes of dynamic shared memory, or a function of dimensions
    arch                     target to assemble for; by default the device's, or the file's own
                             where that is for one architecture or family, as sm_90a is
    contract                 let the assembler fuse a `mul` and an `add`, as nvcc's default does
    parallel, input_output_aliases, cooperative, programmatic_stream_serialization
                             as for `kernel`
    lines                    where findings point: "ptx" lines, or "source", which `.loc` names

    Under `jax.vmap`, and for Scalars in JAX programs, loads of parameters are changed in a copy of
    the PTX. Each kernel is a module of its own: a global variable of the file is one variable for
    each entry that it is read for, and where another entry uses it too and it is changed, there is
    a SharedVariableWarning. It keeps its value between launches on a device, and is reset at
    each launch in the emulator. Raises ParseError for text that is not PTX, SpecError for the rest.
    """
    where = caller()
    file = File.read(source, where)
    inputs = cast("tuple[Spec, ...]", specs("in_specs", in_specs, where) or ())
    outputs = cast("tuple[Spec, ...]", specs("out_specs", out_specs, where) or ())
    _check_sums(outputs, where)
    aliases = alias_pairs(input_output_aliases, where)
    found = file.entry(entry, where)
    listed = checked_params(params, where)
    textured, listed, textures = with_textures(found, listed, inputs, outputs, where)
    changed, listed = with_fields(textured, listed, inputs, outputs, where)
    if changed is not found:
        kernels = tuple(changed if k is found else k for k in file.module.kernels)
        found, file = (
            changed,
            replace(file, module=replace(file.module, kernels=kernels), changed=True),
        )
    given = Given(found, file.name, file.text, inputs, outputs, aliases, where, textures)
    if not isinstance(lines, str) or lines not in ("ptx", "source"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise SpecError(f"lines={lines!r} is neither 'ptx' nor 'source'", location=where)
    options = Options(
        launch_grid(grid, where),
        _block(given, block),
        _cluster(given, cluster),
        None,
        _arch(file, arch, where),
        None,
        (),
        flag("contract", contract, where),
        dimension_names(parallel, where),
        aliases,
        flag("cooperative", cooperative, where),
        flag("programmatic_stream_serialization", programmatic_stream_serialization, where),
    )
    taken = match(given, listed)
    warn_of_shared(file.module, found, file.name)
    shared = _smem(given, file.module, smem)
    return ForeignKernel(file, given, taken, options=options, shared=shared, lines=lines)
