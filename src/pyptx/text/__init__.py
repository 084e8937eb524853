"""PTX text: the writer, and the parser of statements, both driven by the ISA table."""
