"""The PTX ISA as data, and what follows from it: opcode paths and checks."""
