"""PTX text: the writer and the parsers of files and of statements, driven by the ISA table."""

from pyptx._text.files import decoded, for_assembler, read_file, without_end
from pyptx._text.instructions import instruction_text
from pyptx._text.lexer import ParseError
from pyptx._text.module import parse
from pyptx._text.names import Names, identifier
from pyptx._text.normal import normal_form
from pyptx._text.parser import StatementParser
from pyptx._text.writer import Text, write

__all__ = [
    "Names",
    "ParseError",
    "StatementParser",
    "Text",
    "decoded",
    "for_assembler",
    "identifier",
    "instruction_text",
    "normal_form",
    "parse",
    "read_file",
    "without_end",
    "write",
]
