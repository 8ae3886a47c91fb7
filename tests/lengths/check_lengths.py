#!/usr/bin/env python3
"""Checks that no source file is longer than 400 lines and no function longer than 60.

    check_lengths.py ROOT

Source is C, C++, assembly, Python, Fortran and shell, by the ending of the name or by the first line.
A function is counted from the first line of its head to its last line: in C and C++ by its braces,
in Python and shell by what the language says. Other languages: files only.

What must be longer says why, in a comment line of this form (// or # or what the language has):

    "// Long: REASON"

For a file it stands among its first lines, for a function in the comment above it or inside of it.
A reason that is no longer needed is reported too.

Exit status: 0 clean, 1 violations (one line each).
"""
import ast
import bisect
import re
import sys
from pathlib import Path

MOST_FILE_LINES = 400
MOST_FUNCTION_LINES = 60
HEAD_LINES = 40                                 # a file's reason stands among them
SKIPPED_FOLDERS = {"build", ".git", ".cache", "docs"}
C_FAMILY = {".h", ".c", ".cc", ".cpp", ".inc"}
OTHERS = {".S", ".f", ".f90"}                   # files only
REASON = re.compile(r"^[ \t]*(?://|#|/?\*|!)[ \t]*Long:[ \t]*\S", re.MULTILINE)


def language_of(path):
    """"c", "python", "shell", "other", or "" for what is no source."""
    name = path.with_suffix("") if path.suffix == ".in" else path
    if name.suffix in C_FAMILY:
        return "c"
    if name.suffix in OTHERS:
        return "other"
    if name.suffix in (".py", ".sh"):
        return {".py": "python", ".sh": "shell"}[name.suffix]
    if name.suffix:
        return ""
    with path.open("rb") as file:
        first = file.readline()
    if not first.startswith(b"#!"):
        return ""
    return "python" if b"python" in first else "shell" if b"sh" in first else "other"


def source_files(root):
    for path in sorted(root.rglob("*")):
        relative = path.relative_to(root)
        first = relative.parts[0]
        if first in SKIPPED_FOLDERS or first.startswith("build-") or not path.is_file():
            continue
        language = language_of(path)
        if language:
            yield relative.as_posix(), path.read_text(errors="replace"), language


# --- C and C++ ---------------------------------------------------------------------------------

NOT_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/"                                  # comments
    r'|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'              # strings
    r"|(?<!\w)(?:u8|[uUL])?'(?:\\.|[^'\\\n])+'"            # characters; not the ' of 1'000
    r"|^[ \t]*#(?:[^\n]*\\\n)*[^\n]*",                     # directives
    re.DOTALL | re.MULTILINE)
BRANCH = re.compile(r"^[ \t]*#[ \t]*(if|el|endif)\w*", re.MULTILINE)
NAMED_SCOPE = re.compile(r"\b(?:namespace|class|struct|union)\b")
ACCESS = re.compile(r"^(?:\s*(?:public|private|protected)\s*:)+")
FUNCTION_END = re.compile(r"(?:@|\b(?:const|noexcept|override|final))$")


def spaces(match):
    return re.sub(r"[^\n]", " ", match[0])


def first_branches(text):
    """Without what stands between #else or #elif and its #endif."""
    out, depth, hidden_at, begin = [], 0, None, 0
    for match in BRANCH.finditer(text):
        depth += {"if": 1, "el": 0, "endif": -1}[match[1]]
        if match[1] == "el" and hidden_at is None:
            out.append(text[begin:match.start()])
            hidden_at, begin = depth, match.start()
        elif match[1] == "endif" and hidden_at is not None and depth < hidden_at:
            out.append(re.sub(r"[^\n]", " ", text[begin:match.start()]))
            hidden_at, begin = None, match.start()
    return "".join(out) + text[begin:]


def kind_of(head):
    """What a { behind this text opens: "scope", "function" or "data"."""
    head = re.sub(r"\boperator\s*(?:\(\s*\)|[^\s\w(]+)", "operator_", head)
    for pair, stands_for in ((r"\([^()]*\)", "@"), (r"<[^<>]*>", "")):   # what is in brackets says nothing
        before = None
        while before != head:
            before, head = head, re.sub(pair, stands_for, head)
    head = re.sub(r"\[\[.*?\]\]", "", head).strip()
    if head == "extern":            # "C"
        return "scope"
    if NAMED_SCOPE.search(head) and not FUNCTION_END.search(head):
        return "scope"
    return "function" if "@" in head and "=" not in head else "data"


def blocks(text):
    """(head, its place, place of the end) of each function; None if braces do not match."""
    found, open_scopes, inside, begin, last = [], 0, 0, 0, None
    is_argument = False                 # a default value in braces belongs to the head
    for match in re.finditer(r"[{};]", text):
        at, token = match.start(), match[0]
        if inside:
            inside += {"{": 1, "}": -1, ";": 0}[token]
            if inside == 0 and not is_argument:
                if last is not None:
                    found.append((*last, at))
                begin = at + 1
            continue
        head = ACCESS.sub(spaces, text[begin:at])
        is_argument = token == "{" and head.count("(") > head.count(")")
        if is_argument:
            inside = 1
            continue
        start, begin, end_before = begin + len(head) - len(head.lstrip()), at + 1, begin
        head = head.strip()
        if token == "}":
            open_scopes -= 1
        elif token == "{" and kind_of(head) == "scope":
            open_scopes += 1
        elif token == "{":
            inside = 1
            if found and head[:1] in ("", ",") and found[-1][2] + 1 == end_before:
                *last, _ = found.pop()  # a constructor's member, set with braces
            else:
                last = (head, start) if kind_of(head) == "function" else None
    return found if open_scopes == 0 and inside == 0 else None


def functions_of_c(text):
    """[(name, first line, last line)] of each function, lines from 0; None if the braces do not match."""
    found = blocks(NOT_CODE.sub(spaces, text))
    if found is None:
        found = blocks(NOT_CODE.sub(spaces, first_branches(text)))
    if found is None:
        return None
    ends = [match.start() for match in re.finditer("\n", text)]
    return [(name_of(head), bisect.bisect_left(ends, start), bisect.bisect_left(ends, end))
            for head, start, end in found]


def name_of(head):
    test = re.match(r"TEST\w*\s*\([^)]*\)", head)
    name = test or re.search(r"(?:[~\w:]*operator\W+|[~\w:]+)(?=\s*\()", head)
    return name[0] if name else head


# --- the other languages -------------------------------------------------------------------------

def functions_of_python(text):
    try:
        tree = ast.parse(text)
    except SyntaxError:             # a template
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name, node.lineno - 1, node.end_lineno - 1


def functions_of_shell(text):
    name, begin = "", 0
    for number, line in enumerate(text.splitlines()):
        match = re.match(r"(\w+)\(\) *\{$", line)
        if match:
            name, begin = match[1], number
        elif line == "}" and name:
            yield name, begin, number
            name = ""


FUNCTIONS = {"c": functions_of_c, "python": functions_of_python, "shell": functions_of_shell,
             "other": lambda text: ()}


# --- judging -------------------------------------------------------------------------------------

def comment_above(lines, line):
    """The first line of the comment that ends above `line`."""
    while line > 0 and re.match(r"[ \t]*(?://|#|/?\*|@)", lines[line - 1]):
        line -= 1
    return line


def check_file(name, text, language):
    """All that is wrong with one file, as lines of text."""
    lines = text.splitlines()
    reasons = {text.count("\n", 0, match.start()) for match in REASON.finditer(text)}
    problems = []
    functions = FUNCTIONS[language](text)
    if functions is None:
        problems.append(f"braces: {name}: cannot be read, its functions are not counted")
    for function, first, last in functions or ():
        own = {line for line in reasons if comment_above(lines, first) <= line <= last}
        reasons -= own
        count = last - first + 1
        if count > MOST_FUNCTION_LINES and not own:
            problems.append(f"function: {name}:{first + 1}: {function} has {count} lines, "
                            f"more than {MOST_FUNCTION_LINES}")
        elif count <= MOST_FUNCTION_LINES and own:
            problems.append(f"reason: {name}:{min(own) + 1}: {function} has {count} lines "
                            "and needs none")
    is_explained = any(line < HEAD_LINES for line in reasons)
    if len(lines) > MOST_FILE_LINES and not is_explained:
        problems.append(f"file: {name} has {len(lines)} lines, more than {MOST_FILE_LINES}")
    elif reasons and not (is_explained and len(lines) > MOST_FILE_LINES):
        problems.append(f"reason: {name}:{min(reasons) + 1}: belongs to nothing that is long")
    return problems


def check(root):
    """All violations below `root`, as lines of text."""
    return [problem for name, text, language in source_files(root)
            for problem in check_file(name, text, language)]


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    problems = check(Path(sys.argv[1]).resolve())
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
