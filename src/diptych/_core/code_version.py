"""A hash of the code a method's result depends on, so that a changed method is fitted again."""

import ast
import hashlib
from collections.abc import Callable, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PACKAGE = "diptych"
_ROOT = Path(__file__).parents[1]
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def code_version(module: str) -> str:
    """Hash a module's code and that of every part of this package it imports, directly or not.

    Comments, docstrings and layout do not count, nor does where a module lies and what it is called: none of them
    changes a result, so that an edited comment or a moved file discards nothing that was trained.
    """
    sources = {source for name in _closure(module) if (source := _source(name)) is not None}
    digest = hashlib.blake2b(digest_size=16)
    for code in sorted(_code(source, _content) for source in sources):
        digest.update(code.encode() + b"\0")
    return digest.hexdigest()


def _code(source: Path, named: Callable[[str], str]) -> str:
    """A file's syntax tree without its docstrings; modules of this package that it imports are called by `named`."""
    tree = ast.parse(source.read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:]
        elif isinstance(node, ast.ImportFrom) and _is_own(node.module):
            node.module = named(node.module or "")
    return ast.dump(tree)


@cache
def _content(module: str) -> str:
    """What a module is called in the code of another one: the hash of what it holds, so that its name is free."""
    source = _source(module)
    if source is None:
        return module
    return hashlib.blake2b(_code(source, lambda _: "").encode(), digest_size=16).hexdigest()


def _is_own(module: str | None) -> bool:
    return (module or "").split(".")[0] == _PACKAGE


def _closure(module: str) -> set[str]:
    """The module and all modules of this package that it reaches by import statements."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        waiting.extend(_imports(name))
    return seen


def _imports(module: str) -> Iterator[str]:
    source = _source(module)
    if source is None:
        return
    for node in _executed(ast.parse(source.read_bytes())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            # `from package import name` may name a module of the package, or what the package exports when it is used
            exports = _exports(node.module) if _is_own(node.module) else {}
            names = [node.module, *(exports.get(alias.name, f"{node.module}.{alias.name}") for alias in node.names)]
        else:
            continue
        yield from (name for name in names if _is_own(name) and _source(name) is not None)


@cache
def _exports(package: str) -> dict[str, str]:
    """Where the names come from that a package exports lazily, which it imports for a type checker only."""
    source = _source(package)
    if source is None or source.name != "__init__.py":
        return {}
    blocks = [node for node in ast.parse(source.read_bytes()).body if isinstance(node, ast.If)]
    imports = [each for node in blocks for each in node.body if isinstance(each, ast.ImportFrom) and each.module]
    return {alias.name: each.module for each in imports for alias in each.names if each.module}


def _executed(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node but what only a type checker reads, on which no result depends."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _executed(node)


@cache
def _source(module: str) -> Path | None:
    """The file of a module; None for what is no module or has no source.

    Those of this package are found by their place, because asking the import system imports the packages above them.
    """
    package, *parts = module.split(".")
    if package == _PACKAGE:
        place = _ROOT.joinpath(*parts)
        return next((file for file in (place / "__init__.py", place.with_suffix(".py")) if file.is_file()), None)
    try:
        spec = find_spec(module)
    except (ModuleNotFoundError, ValueError):
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    return Path(spec.origin)
