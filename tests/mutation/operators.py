"""Automatic mutants: one small change of one function each, made in the syntax tree.

Comparisons are swapped and moved by one, conditions negated, ``and`` exchanged with ``or``, numbers raised by
one, sums and differences exchanged, statements dropped, and results replaced by None. Messages of errors and
the texts of ``__repr__`` are left alone.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import CodeType

_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_SUMS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
}
_OTHER_CALLS = {"min": "max", "max": "min", "any": "all", "all": "any"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SILENT = {"__repr__", "__str__"}


@dataclass(frozen=True)
class Mutant:
    """One change. ``name`` says where and what, and stays the same when lines move.

    ``function`` and ``line`` identify the outermost function: its qualified name and its first line.
    """

    name: str
    function: str
    line: int
    site: int


@dataclass
class _Site:
    name: str
    function: str
    line: int
    change: Callable[[], None]


def mutants(source: str) -> list[Mutant]:
    """Return all mutants of a module, in the order of its lines."""
    counts: Counter[str] = Counter()
    found = []
    for number, site in enumerate(_sites(ast.parse(source))):
        counts[site.name] += 1
        again = f" (no. {counts[site.name]})" if counts[site.name] > 1 else ""
        found.append(Mutant(site.name + again, site.function, site.line, number))
    return found


def code_of(source: str, mutant: Mutant, filename: str) -> CodeType:
    """Return the code of the mutant's outermost function, with the change."""
    tree = ast.parse(source)
    sites = list(_sites(tree))
    sites[mutant.site].change()
    module = compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)
    found = [
        code
        for code in codes_in(module)
        if (code.co_qualname, code.co_firstlineno) == (mutant.function, mutant.line)
    ]
    [code] = found
    return code


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all that it contains."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


def _sites(tree: ast.Module) -> Iterator[_Site]:
    for names, function in _outermost(tree, ()):
        if function.name in _SILENT:
            continue
        qualname = ".".join((*names, function.name))
        line = min([function.lineno, *(d.lineno for d in function.decorator_list)])
        for what, change in _changes_of_body(function):
            yield _Site(f"{qualname}: {what}", qualname, line, change)


def _outermost(
    node: ast.AST, names: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], ast.FunctionDef | ast.AsyncFunctionDef]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield names, child
        elif isinstance(child, ast.ClassDef):
            yield from _outermost(child, (*names, child.name))


Change = tuple[str, Callable[[], None]]


def _changes_of_body(function: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Change]:
    for statement in function.body:
        yield from _changes(statement, function.body)


def _changes(node: ast.AST, body: list[ast.stmt] | None = None) -> Iterator[Change]:
    """Yield the changes of a node, its own first. ``body`` contains it if it is a statement."""
    if isinstance(node, ast.stmt) and body is not None:
        yield from _of_statement(node, body)
    if isinstance(node, ast.expr):
        yield from _of_expression(node)
    if isinstance(node, (ast.JoinedStr, ast.Raise, ast.Assert)):
        return  # its text; that it is raised at all is a change of the statement
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "args", "decorator_list") and isinstance(
            node, (*_FUNCTIONS, ast.AnnAssign)
        ):
            continue
        if isinstance(value, list):
            for child in value:
                if isinstance(child, ast.AST):
                    yield from _changes(child, value if isinstance(child, ast.stmt) else None)
        elif isinstance(value, ast.AST):
            yield from _changes(value)


def _of_statement(node: ast.stmt, body: list[ast.stmt]) -> Iterator[Change]:
    def drop() -> None:
        body[body.index(node)] = ast.copy_location(ast.Pass(), node)

    first = ast.unparse(node).splitlines()[0]
    match node:
        case ast.Expr(value=ast.Constant()):
            return
        case ast.Expr() | ast.AugAssign() | ast.Delete() | ast.Raise() | ast.Continue() | ast.Break():
            yield f"drop `{first}`", drop
        case ast.Assign(targets=[ast.Attribute() | ast.Subscript(), *_]):
            yield f"drop `{first}`", drop
        case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Constant):

            def nothing() -> None:
                node.value = ast.copy_location(ast.Constant(None), node)

            yield f"`{first}` returns None", nothing
        case ast.If() | ast.While() if not isinstance(node.test, (ast.Compare, ast.BoolOp)):

            def negate() -> None:
                node.test = _negated(node.test)

            yield f"negate `{first}`", negate


def _of_expression(node: ast.expr) -> Iterator[Change]:
    text = ast.unparse(node)
    match node:
        case ast.Compare():
            for at, op in enumerate(node.ops):

                def swap(at: int = at, op: ast.cmpop = op) -> None:
                    node.ops[at] = _COMPARISONS[type(op)]()

                yield f"`{text}` with another comparison, no. {at + 1}", swap
        case ast.BoolOp():

            def other() -> None:
                node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()

            yield f"`{text}` with {'or' if isinstance(node.op, ast.And) else 'and'}", other
        case ast.UnaryOp(op=ast.Not()):

            def without() -> None:
                node.op = ast.Not()
                node.operand = _negated(node.operand)

            yield f"`{text}` without not", without
        case ast.IfExp():

            def otherwise() -> None:
                node.test = _negated(node.test)

            yield f"`{text}` the other way", otherwise
        case ast.Constant(value=bool()):

            def flip() -> None:
                node.value = not node.value

            yield f"`{text}` is {not node.value}", flip
        case ast.Constant(value=int() as number):

            def more() -> None:
                node.value = number + 1

            yield f"`{text}` is {number + 1}", more
        case ast.BinOp() if type(node.op) in _SUMS and not _is_text(node):

            def exchange() -> None:
                node.op = _SUMS[type(node.op)]()

            yield f"`{text}` with another operator", exchange
        case ast.Call(func=ast.Name(id=name)) if name in _OTHER_CALLS:

            def call() -> None:
                assert isinstance(node.func, ast.Name)
                node.func.id = _OTHER_CALLS[name]

            yield f"`{text}` with {_OTHER_CALLS[name]}", call


def _is_text(node: ast.AST) -> bool:
    return any(
        isinstance(part, ast.JoinedStr)
        or (isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)))
        for part in ast.walk(node)
    )


def _negated(test: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
