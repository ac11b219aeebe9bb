"""What a container's command would do: when it ends, and with which exit code. No container runs: it is read.

A person who reads `sleep 5; exit 3` knows the answer. Whatever cannot be known that way, a condition or a program,
counts as a success that takes no time; what is known to go on, a server or `tail -f`, runs for ever.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from fakekube.struct import Struct

_SHELLS = frozenset({"sh", "bash", "ash", "dash", "zsh"})

#: Programs that run until they are stopped, and the parts of names by which such are known.
_ENDLESS = frozenset({"tail", "wait", "nginx", "httpd", "redis-server", "top", "watch", "yes"})
_ENDLESS_PARTS = ("pause", "serve", "netexec")

#: Words of a shell before the command that is read.
_KEYWORDS = frozenset({"then", "do", "else", "exec", "time", "nohup", "command", "{", "("})
_CONDITIONS = frozenset({"if", "elif", "case", "for", "until", "while"})
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SLEEP = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)$")


class Outcome(Struct, frozen=True):
    """How a command ends. `seconds`: after its start, None: never; `code`: its exit code."""

    seconds: float | None
    code: int = 0


def outcome_of(container: Mapping[str, Any]) -> Outcome | None:
    """What the command of a container does; None if it has none, so that its image decides."""
    words = (*(container.get("command") or ()), *(container.get("args") or ()))
    if not container.get("command") and not _is_shell(words):
        return None  # arguments of the image's program
    return _outcome(tuple(map(str, words)))


def is_loop(container: Mapping[str, Any]) -> bool:
    """Whether the command of a container waits in a loop which may end."""
    text = " ".join(map(str, (*(container.get("command") or ()), *(container.get("args") or ()))))
    return re.search(r"\b(until|while)\b", text) is not None and not _FOREVER.search(text)


_FOREVER = re.compile(r"\bwhile\s+(true|:|\[\s*1\s*\]|1)\s*[;\n]")


def _is_shell(words: Sequence[str]) -> bool:
    return bool(words) and _name(words[0]) in _SHELLS


@lru_cache(maxsize=1024)
def _outcome(words: tuple[str, ...]) -> Outcome:
    if not _is_shell(words):
        return _run([("", list(words))])
    for index, word in enumerate(words[1:], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return _script(words[index + 1]) if index + 1 < len(words) else Outcome(0.0)
        if not word.startswith("-"):
            break
    return Outcome(0.0)  # a script in a file, or a shell without input


def _script(text: str) -> Outcome:
    """The outcome of a shell's script."""
    if _FOREVER.search(text) and not re.search(r"\b(break|exit)\b", text):
        return Outcome(None)
    try:
        lexer = shlex.shlex(text.replace("\\\n", " ").replace("\n", " ; "), posix=True, punctuation_chars=";&|()")
        lexer.whitespace_split = True
        tokens = list(lexer)
    except ValueError:  # quotes that do not end
        return Outcome(0.0)
    statements: list[tuple[str, list[str]]] = [("", [])]
    for token in tokens:
        if token and all(one in ";&|()" for one in token):
            statements.append((token, []))
        else:
            statements[-1][1].append(token)
    return _run(statements)


def _run(statements: Sequence[tuple[str, list[str]]]) -> Outcome:
    """The outcome of statements, each after its operator."""
    seconds, status, conditional = 0.0, 0, False
    for operator, words in statements:
        rest = _without_keywords(words)
        conditional = conditional or bool(words and words[0] in _CONDITIONS)
        if words and words[0] in ("fi", "done", "esac"):
            conditional, status = False, 0
        if not rest or conditional or (operator == "&&" and status) or (operator == "||" and not status):
            continue
        name = _name(rest[0])
        if name == "exit":
            return Outcome(seconds, _code(rest, status))
        if name == "sleep":
            slept = [_SLEEP.match(one) for one in rest[1:]]
            if not slept or None in slept:
                return Outcome(None)
            seconds += sum(float(one[1]) * _UNITS[one[2]] for one in slept if one is not None)
            status = 0
        elif _is_endless(name, rest):
            return Outcome(None)
        else:
            status = 1 if name == "false" else 0
    return Outcome(seconds, status)


def _without_keywords(words: Sequence[str]) -> Sequence[str]:
    rest = list(words)
    while rest and (rest[0] in _KEYWORDS or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*=.*", rest[0], re.S)):
        rest.pop(0)
    return rest


def _is_endless(name: str, words: Sequence[str]) -> bool:
    return name in _ENDLESS or any(part in _name(word) for word in words[:2] for part in _ENDLESS_PARTS)


def _code(words: Sequence[str], status: int) -> int:
    """The exit code of `exit`."""
    if len(words) < 2:
        return status
    return int(words[1]) % 256 if words[1].isdigit() else 0


def _name(word: str) -> str:
    return PurePosixPath(word).name
