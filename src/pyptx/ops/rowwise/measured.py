"""Up to which sizes one kernel of a row-wise operation is quicker than another, as measured.

`make tune` measures both kernels on the sides of each limit, and clusters of many shapes, and
writes the numbers below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Limits:
    """Each is the largest size that the first of two kernels takes.

    Few rows, by the bytes that are read of all of them:

    direct          rows of a CTA, of up to 512 vectors, go to registers; of more rows each is
                    copied to shared memory while another CTA computes
    direct_late     the same where more rows would have inputs per column loaded late, or would go
                    to registers, too, by CTAs of other numbers of threads
    direct_of_two   the same where there are two inputs and nothing per column, and up to 3072
                    vectors of both
    narrow          rows of 1025 to 2048 vectors have CTAs of 128 threads, which read them twice
    spread          rows of part of a warp have two accesses of a thread; of more rows four
    wide            the same rows, of four accesses, have CTAs of 256 threads; of more rows 128
    once            short rows with inputs per column are of CTAs that have them once; of more rows
                    CTAs stay, and load these inputs once
    rounds          CTAs stay for such rows; of more rows they have them once again, four accesses
                    of a thread
    single          elements that need nothing of their row have CTAs of 256 threads; of more 512
    twice           long rows are read twice, in chunks that all CTAs share
    twice_summed    the same, where there are sums over rows
    apart           where there are sums over rows, a row has twice as many CTAs

    Few rows, by their number for each multiprocessor:

    clusters        long rows that a CTA could hold have clusters of four
    alone           where there are sums over rows, a team of threads is alone in its CTA, which
                    would have several (by the number for each CTA)
    alone_of_two    the same where there are several sums over rows
    four            four CTAs reduce the same row, and each writes a quarter of it, where formulas
                    are light; of rows of more than 2048 vectors half as many rows
    eight           the same with eight
    two             two CTAs reduce the same row, of two inputs or where formulas are not light
    four_of_two     the same with four
    whole           elements of one input that need nothing but numbers of their row have a CTA for
                    the row, or several; of more rows CTAs have chunks of 256 vectors
    chunked         rows of which no element is written are copied to shared memory; of more rows a
                    CTA each reads them once
    chunked_long    rows that no CTA could hold are read in chunks that all CTAs share instead

    Any number of rows, by the vectors of 16 bytes of one row:

    subwarp         part of a warp has a row; above that a CTA
    subwarp_ends    the same, where rows begin within a vector
    clustered       where there are sums over rows, a few rows have teams that are alone in their
                    CTAs; longer ones clusters that take several at once
    held            a CTA holds a row of 16-bit elements in registers; of more it reads it twice
    held_between    the same, where there is no power of two of vectors
    held_wide       the same of wider elements, of which there is no power of two of vectors
    held_regular    the same, where there is one
    """

    direct: int
    direct_late: int
    direct_of_two: int
    narrow: int
    spread: int
    wide: int
    once: int
    rounds: int
    single: int
    twice: int
    twice_summed: int
    apart: int
    clusters: float
    alone: float
    four: float
    eight: float
    two: float
    four_of_two: float
    alone_of_two: float
    whole: float
    chunked: float
    chunked_long: float
    subwarp: int
    subwarp_ends: int
    clustered: int
    held: int
    held_between: int
    held_wide: int
    held_regular: int


@dataclass(frozen=True, slots=True)
class Rates:
    """What long rows that are whole vectors take by clusters, without sums over rows.

    memory          KiB that memory gives and takes in a microsecond, for each SM
    of_two, of_four, of_eight, of_sixteen
                    the part of it that rows of so many CTAs get: the fewer rows at a time, the more
    on_their_way    KiB for each SM that are read at a time, at least, or memory waits
    vector          microseconds of 256 threads for a vector of each, of 16 bits, and for each array
    vector_of_32    the same of 32 bits, which are half as many elements
    one_number      microseconds of a row besides, with 256 threads, where its statistic is one
                    number
    several         the same where it is more numbers
    of_threads      the part of that time that grows with the number of threads
    """

    memory: float
    of_two: float
    of_four: float
    of_eight: float
    of_sixteen: float
    on_their_way: float
    vector: float
    vector_of_32: float
    one_number: float
    several: float
    of_threads: float


@dataclass(frozen=True, slots=True)
class EndRates:
    """The same of rows of 16 bits that begin within a vector.

    memory          KiB that memory gives and takes in a microsecond, for each SM
    odd             the part of it where an odd number of CTAs has a row
    on_their_way    KiB for each SM that are read at a time, with which it does so
    less            the exponent of the part of them that is read, where that is less
    more            how fast it falls where that is more: the exponent's negative
    vector          microseconds of 256 threads for a vector of each, and for each array
    one_number      microseconds of a row besides, with 256 threads, where its statistic is one
                    number
    several         the same where it is more numbers
    of_threads      the part of that time that grows with the number of threads
    """

    memory: float
    odd: float
    on_their_way: float
    less: float
    more: float
    vector: float
    one_number: float
    several: float
    of_threads: float


DEVICE: Final = "NVIDIA H200"

LIMITS: Final = Limits(
    direct=67108864,
    direct_late=4194304,
    direct_of_two=134217728,
    narrow=67108864,
    spread=8388608,
    wide=16777216,
    once=6291456,
    rounds=41943040,
    single=8388608,
    twice=11534336,
    twice_summed=11534336,
    apart=8388608,
    clusters=8.0,
    alone=1.0,
    four=1.0,
    eight=0.125,
    two=0.5,
    four_of_two=0.25,
    alone_of_two=2.0,
    whole=0.5,
    chunked=1.25,
    chunked_long=0.45,
    subwarp=96,
    subwarp_ends=250,
    clustered=480,
    held=512,
    held_between=200,
    held_wide=1024,
    held_regular=2048,
)

RATES: Final = Rates(
    memory=31.1,
    of_two=0.97,
    of_four=0.957,
    of_eight=0.976,
    of_sixteen=1.0,
    on_their_way=84.4,
    vector=0.0266,
    vector_of_32=0.016,
    one_number=0.55,
    several=1.11,
    of_threads=0.29,
)

END_RATES: Final = EndRates(
    memory=29.5,
    odd=0.97,
    on_their_way=66.4,
    less=0.485,
    more=0.1,
    vector=0.0663,
    one_number=0.1,
    several=0.642,
    of_threads=0.29,
)
