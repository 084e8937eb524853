"""PTX text: the writer, and the parser of statements, both driven by the ISA table."""

from pyptx.text.instructions import instruction_text
from pyptx.text.names import Names, identifier
from pyptx.text.parser import ParseError, StatementParser
from pyptx.text.writer import Text, write

__all__ = [
    "Names",
    "ParseError",
    "StatementParser",
    "Text",
    "identifier",
    "instruction_text",
    "write",
]
