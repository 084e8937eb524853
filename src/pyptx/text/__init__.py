"""PTX text: the writer and the parsers of files and of statements, driven by the ISA table."""

from pyptx.text.files import decoded, for_assembler, read_file, without_end
from pyptx.text.instructions import instruction_text
from pyptx.text.lexer import ParseError
from pyptx.text.module import parse
from pyptx.text.names import Names, identifier
from pyptx.text.normal import normal_form
from pyptx.text.parser import StatementParser
from pyptx.text.writer import Text, write

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
