"""The parts of a kernel for tensor cores, and the matrix products that are made of them."""
