"""Extract the texts that a JavaScript file can show: its string and template literals that read as words."""

from __future__ import annotations

import re

_TEMPLATE_END = "`"
_REGEX_BEFORE = set("(,=:[!&|?{};+-*<>%~^\n")  # a slash after one of these begins a regular expression
_KEYWORD_BEFORE = re.compile(r"\b(?:return|typeof|case|in|of|void|delete)\s*$")
_REGEX = re.compile(r"/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n\[])+/[a-z]*")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_STRING = re.compile(r"""'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*\"""", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]+)\}|u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(\n)|(.))", re.DOTALL)
_SHORT = {"n": "\n", "t": "\t"}
_KEYS = {
    "Delete",
    "End",
    "Enter",
    "Escape",
    "Home",
    "Space",
    "Tab",
}  # of the keyboard, compared with event.key
# Literals that style, select or draw rather than speak, by the code before them and by their own form.
_MACHINE_BEFORE = re.compile(
    r"(?:class: |className = |classList\.\w+\(|style: |\.font = |\bd: |points: |transform: |viewBox: |from |import\("
    r"|querySelector(?:All)?\(|closest\(|matches\(|\.style\.\w+ = |setProperty\([^)]*)$"
)
_MACHINE = re.compile(
    r"^[ML] ?[-0-9]|\d(?:px|rem|ms|s)\b.*(?:;|serif|solid|var|auto|px)"
    r"|^(?:rgba?|translate[XY]?|grayscale|rotate|scale|repeat|calc|var)\("
    r"|\[[\w-]+[\^$*]?=|^[.#\[][\w-]+|^:|\{|::|=>|^; |Path=/|^\(prefers"
    r"|^[a-z]+-[\w-]+(?: [a-z]+-[\w-]+)*$"
)
_WORD = re.compile(r"[A-Za-z]{2,}")


def texts_of(source: str) -> list[str]:
    """Return the texts of a file in their order, each once, holes of templates written as 0."""
    literals = _read_code(source, 0, "")[0]
    return list(dict.fromkeys(text for before, text in literals if _is_words(before, text)))


def _is_words(before: str, text: str) -> bool:
    if _MACHINE_BEFORE.search(before) or _MACHINE.search(text) or not _WORD.search(text):
        return False
    return " " in text.strip() or bool(re.fullmatch(r"[A-Z][a-z]+", text) and text not in _KEYS)


def _read_code(source: str, at: int, end: str) -> tuple[list[tuple[str, str]], int]:
    """Return the literals from `at` on, each with the code before it, and where `end` closes the code."""
    found: list[tuple[str, str]] = []
    depth, start = 0, at
    while at < len(source):
        char, before = source[at], source[max(start, at - 60) : at]
        if skipped := _COMMENT.match(source, at):
            at = skipped.end()
        elif string := _STRING.match(source, at):
            found.append((before, _unescape(string[0][1:-1])))
            at = string.end()
        elif char == _TEMPLATE_END:
            text, inner, at = _read_template(source, at + 1)
            found += [(before, text), *inner]
        elif char == "/" and _begins_regex(before) and (regex := _REGEX.match(source, at)):
            at = regex.end()
        elif char == end and not depth:
            return found, at + 1
        else:
            depth += (char == "{") - (char == "}")
            at += 1
    return found, at


def _read_template(source: str, at: int) -> tuple[str, list[tuple[str, str]], int]:
    """Return a template's text, the literals within its holes, and where it ends."""
    text, inner = "", list[tuple[str, str]]()
    while source[at] != _TEMPLATE_END:
        if source.startswith("${", at):
            found, at = _read_code(source, at + 2, "}")
            inner += found
            text += "0"
        else:
            size = 2 if source[at] == "\\" else 1
            text += source[at : at + size]
            at += size
    return _unescape(text), inner, at + 1


def _begins_regex(before: str) -> bool:
    stripped = before.rstrip(" ")
    return not stripped or stripped[-1] in _REGEX_BEFORE or bool(_KEYWORD_BEFORE.search(before))


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        code = match[1] or match[2] or match[3]
        if code:
            return chr(int(code, 16))
        return "" if match[4] else _SHORT.get(match[5], match[5])

    return _ESCAPE.sub(character, text)
