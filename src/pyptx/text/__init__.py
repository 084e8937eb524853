"""PTX text: the writer, and the parser of statements, both driven by the ISA table."""

from pyptx.text.parser import ParseError, StatementParser
from pyptx.text.writer import Names, Text, identifier, instruction_text, write

__all__ = [
    "Names",
    "ParseError",
    "StatementParser",
    "Text",
    "identifier",
    "instruction_text",
    "write",
]
