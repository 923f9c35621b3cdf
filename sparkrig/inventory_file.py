"""A Python inventory file as its owner wrote it, with a host added to it or a host's data changed.

Whatever is not changed stays as it is, byte for byte: comments, quotes, blank lines. What is understood is the
shape of the files in `inventories/`: one list of hosts at the top level. A host is written out, or is a call with
its name (`_spark("spark-a")`), whose data its owner edits. Anything else is refused, with the lines to paste.
"""

from __future__ import annotations

import ast
import io
import json
import tokenize
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Interface
from pathlib import PurePath
from string import Template
from typing import Any

import libcst as cst
from libcst.metadata import ByteSpanPositionProvider, CodeSpan, MetadataWrapper

from sparkrig import programs
from sparkrig.refusal import Refusal
from sparkrig.shapes import HERE

_STEP = "    "
_MARK = "\ufeff"
_DEEPEST = 100  # levels of Python's syntax tree; libcst ends the process at some more
_IMPORT = "from sparkrig.inventory import stop_together as _stop_together"
_CALL = "_stop_together()  # a host that fails stops the pair"

# the text of an element, by the indentation of its first line; None where all stands on one line
Render = Callable[[str | None], str]


def new(file: PurePath) -> str:
    """An inventory of no host yet. file: as it is typed."""
    return Template(programs.file("sparks.py.template")).substitute(file=file)


def with_host(text: str, name: str, data: Mapping[str, Any]) -> str:
    """The file with one host more, at the end of its list.

    data: its data for pyinfra, in the order in which it is written. Raises Refusal.
    """
    source = _parse(text, entry(name, data))
    return source.appended(source.hosts(), lambda indent: _host(name, data, indent))


def with_data(text: str, name: str, data: Mapping[str, Any]) -> str:
    """The file with some data of one host set, each in its place where it stands there already.

    `pair` and `cluster` are written first, and all else last; `cluster` takes the place of a `pair`. Of what has
    items, such as `fabric`, those that stay are left as they are written. Raises Refusal.
    """
    for key, value in data.items():
        before = None
        while before != text:  # items of a dict are set one by one
            before, text = text, _with_item(text, name, key, value)
    return text


def stopped_together(text: str) -> str:
    """The file with a call of `stop_together()`, which a pair needs, where it has none. Raises Refusal."""
    source = _parse(text, f"{_IMPORT}\n{_CALL}")
    if any(_stops_together(line) for line in source.module.body):
        return text
    lines = [line for line in source.module.body if _is_import(line)]
    if not lines:
        raise source.unknown("it imports nothing")
    end = source.end_of_line(source.span(lines[-1])[1])
    return source.spliced(end, end, f"\n{_IMPORT}\n\n{_CALL}")


def entry(name: str, data: Mapping[str, Any]) -> str:
    """One host, as it is written into the list."""
    return f"{_host(name, data, '')},"


@dataclass(frozen=True)
class _Source:
    """A parsed file, and where in its bytes each part stands.

    mark: the byte order mark that an editor wrote in front of it, or nothing; told: what its owner can write.
    """

    mark: str
    code: bytes
    module: cst.Module
    spans: Mapping[cst.CSTNode, CodeSpan]
    told: str

    @property
    def text(self) -> str:
        return self.mark + self.code.decode()

    def unknown(self, why: str) -> Refusal:
        return _unknown(why, self.told)

    def hosts(self) -> cst.List:
        """The one list of hosts."""
        lists = [found for line in self.module.body if (found := _list_of(line)) is not None]
        if len(lists) != 1:
            raise self.unknown(f"{len(lists) or 'no'} lists of hosts are in it, and one is expected")
        return lists[0]

    def span(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where a part begins and ends."""
        span = self.spans[node]
        return span.start, span.start + span.length

    def end_of_line(self, at: int) -> int:
        end = self.code.find(b"\n", at)
        end = len(self.code) if end < 0 else end
        return end - 1 if self.code[:end].endswith(b"\r") else end

    def indent(self, at: int) -> str:
        """The blanks at the begin of the line that a place is on."""
        line = self.code[self.code.rfind(b"\n", 0, at) + 1 : at].decode()
        return line[: len(line) - len(line.lstrip())]

    def spliced(self, begin: int, end: int, text: str) -> str:
        """The file with other text from one place to another."""
        lines = text.replace("\n", self.module.default_newline).encode()
        return self.mark + (self.code[:begin] + lines + self.code[end:]).decode()

    def appended(self, box: cst.List | cst.Dict, render: Render) -> str:
        """The file with one element more at the end of a list or dict; comments stay where they are."""
        if not box.elements:
            return self._filled(box, render)
        last, end = box.elements[-1], self.span(box)[1] - 1
        comma, at = ",", self.span(last)[1]
        if isinstance(last.comma, cst.Comma):
            comma, at = "", self.span(last.comma)[1]
        if (inner := self._column(box)) is None:
            return self.spliced(at, at, f"{comma} {render(None)}")
        stop = min(self.end_of_line(at), end)
        remark = self.code[at:stop].decode().rstrip()
        return self.spliced(at, stop, f"{comma}{remark}\n{inner}{render(inner)},")

    def prepended(self, box: cst.Dict, render: Render) -> str:
        """The file with one element more at the begin of a dict."""
        if not box.elements:
            return self._filled(box, render)
        at, inner = self.span(box.elements[0])[0], self._column(box)
        return self.spliced(at, at, f"{render(inner)}, " if inner is None else f"{render(inner)},\n{inner}")

    def _filled(self, box: cst.List | cst.Dict, render: Render) -> str:
        """The same for an empty one, whose comments stay below."""
        begin, end = self.span(box)
        outer = self.indent(begin)
        inner = outer + _STEP
        remark = self.code[begin + 1 : end - 1].decode().rstrip()
        return self.spliced(begin + 1, end - 1, f"\n{inner}{render(inner)},{remark}\n{outer}")

    def _column(self, box: cst.List | cst.Dict) -> str | None:
        """The indentation of the elements, or None where all stand on one line."""
        first = self.span(box.elements[0])[0]
        return self.indent(first) if b"\n" in self.code[self.span(box)[0] : first] else None


def _parse(text: str, told: str) -> _Source:
    """Raises Refusal for what Python does not read, too: libcst, a native parser, may end the process by that."""
    mark = text[: text.startswith(_MARK)]
    code = text[len(mark) :]
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(code.encode()).readline)
        if encoding != "utf-8":
            raise _unknown(f"it says of itself that it is {encoding}, and UTF-8 is expected", told)
        if _depth(ast.parse(code)) > _DEEPEST:
            raise _unknown(f"it is nested more than {_DEEPEST} deep", told)
        wrapper = MetadataWrapper(cst.parse_module(code), unsafe_skip_copy=True)
    except cst.ParserSyntaxError as error:
        raise _unknown(f"line {error.raw_line} is no Python that is understood", told) from None
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        at = f"line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else "it"
        raise _unknown(f"{at} is no Python that is understood", told) from None
    spans = wrapper.resolve(ByteSpanPositionProvider)
    return _Source(mark, code.encode(), wrapper.module, spans, told)


def _unknown(why: str, told: str) -> Refusal:
    return Refusal(f"the inventory cannot be edited: {why}", f"write it there yourself:\n{told}")


def _depth(tree: ast.AST) -> int:
    """How deep it is nested; without recursion, which is what is bounded."""
    depth, row = 0, [tree]
    while row:
        depth, row = depth + 1, [child for node in row for child in ast.iter_child_nodes(node)]
    return depth


def _list_of(line: cst.BaseCompoundStatement | cst.SimpleStatementLine) -> cst.List | None:
    """The list of hosts of `sparks = [...]` or `sparks = checked([...], __file__)`."""
    if not isinstance(line, cst.SimpleStatementLine) or not isinstance(small := line.body[0], cst.Assign):
        return None
    target, value = small.targets[0].target, small.value
    if isinstance(value, cst.Call) and value.args:
        value = value.args[0].value
    private = isinstance(target, cst.Name) and target.value.startswith("_")
    if private or not isinstance(value, cst.List):
        return None
    return value if all(_name(element.value) for element in value.elements) else None


def _name(node: cst.BaseExpression) -> str | None:
    """The name of a host that is written out, as "a", ("a", {...}) or spark("a"), or of a key."""
    if isinstance(node, cst.Tuple) and len(node.elements) == 2:
        node = node.elements[0].value
    elif isinstance(node, cst.Call) and node.args:
        node = node.args[0].value
    return _written(node)


def _written(node: cst.BaseExpression) -> str | None:
    """A text that is written out."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else None
    return value if isinstance(value, str) else None


def _keys(box: cst.Dict) -> Iterator[str | None]:
    return (_name(element.key) if isinstance(element, cst.DictElement) else None for element in box.elements)


def _is(node: cst.BaseExpression, host: str) -> bool:
    """Whether a host that is written out has this name; the machine that runs sparkrig has more in front of it."""
    written = _name(node)
    return written is not None and written.removeprefix(HERE) == host


def _is_import(line: cst.BaseCompoundStatement | cst.SimpleStatementLine) -> bool:
    return isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], (cst.Import, cst.ImportFrom))


def _stops_together(line: cst.BaseCompoundStatement | cst.SimpleStatementLine) -> bool:
    call = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    called = call.value.func if isinstance(call, cst.Expr) and isinstance(call.value, cst.Call) else None
    return isinstance(called, (cst.Name, cst.Attribute)) and cst.Module([]).code_for_node(called).endswith(
        "stop_together"
    )


def _with_item(text: str, name: str, key: str, value: Any) -> str:
    source = _parse(text, f"in the data of {name}: {_item(key, value, None)}")
    there = [element for element in source.hosts().elements if _is(element.value, name)]
    if len(there) != 1:
        raise source.unknown(
            f"{name} is {'not written out' if not there else 'written twice'} in its list of hosts"
        )
    (found,) = there
    if isinstance(found.value, cst.Call):
        raise source.unknown(f"the data of {name} is made by a call")
    if not isinstance(found.value, cst.Tuple):
        begin, end = source.span(found)
        return source.spliced(begin, end, _host(name, {key: value}, source.indent(begin)))
    data = found.value.elements[1].value
    if not isinstance(data, cst.Dict):
        raise source.unknown(f"the data of {name} is not written out")
    if (item := _element(source, data, key)) is not None:
        return _set(source, item, value)
    if key == "cluster" and (pair := _element(source, data, "pair")) is not None:
        if None in _keys(data):
            raise source.unknown("what stands beside pair may set it, too")
        begin, end = source.span(pair.key)[0], source.span(pair.value)[1]
        return source.spliced(begin, end, _item(key, value, None))
    first = key in ("pair", "cluster") and None not in _keys(data)  # which could set it again
    add = source.prepended if first else source.appended
    return add(data, lambda indent: _item(key, value, indent))


def _element(source: _Source, data: cst.Dict, key: str) -> cst.DictElement | None:
    """The item of a key. Raises Refusal where Python may take its value from elsewhere: the last one counts."""
    keys = [*_keys(data)]
    if key not in keys:
        return None
    at = keys.index(key)
    if key in keys[at + 1 :]:
        raise source.unknown(f"{key} is written twice, of which Python reads the last one")
    if None in keys[at + 1 :]:
        raise source.unknown(f"what stands behind {key} may set it again")
    item = data.elements[at]
    assert isinstance(item, cst.DictElement)
    return item


def _set(source: _Source, there: cst.DictElement, value: Any) -> str:
    """The file with another value of an item; of a dict the first item that differs is set, and no other yet."""
    box, (begin, end) = there.value, source.span(there.value)
    if not (isinstance(value, Mapping) and isinstance(box, cst.Dict) and {*_keys(box)} <= {*value}):
        return source.spliced(begin, end, _value(value, source.indent(begin)))
    before = source.text
    inner = (_item_of(source, box, key, each) for key, each in value.items())
    return next((text for text in inner if text != before), before)


def _item_of(source: _Source, box: cst.Dict, key: str, value: Any) -> str:
    """The file with an item of a dict set."""
    there = _element(source, box, key)
    if there is None:
        return source.appended(box, lambda indent: _item(key, value, indent))
    return source.text if _written(there.value) == str(value) else _set(source, there, value)


def _host(name: str, data: Mapping[str, Any], indent: str | None) -> str:
    if indent is None:
        return f"({_value(name, None)}, {_value(data, None)})"
    inner = indent + _STEP
    return f"(\n{inner}{_value(name, inner)},\n{inner}{_value(data, inner)},\n{indent})"


def _item(key: str, value: Any, indent: str | None) -> str:
    return f"{_value(key, None)}: {_value(value, indent)}"


def _value(value: Any, indent: str | None) -> str:
    if isinstance(value, Mapping):
        if indent is None:
            return "{" + ", ".join(_item(*item, None) for item in value.items()) + "}"
        inner = indent + _STEP
        return "{\n" + "".join(f"{inner}{_item(*item, inner)},\n" for item in value.items()) + indent + "}"
    if isinstance(value, (str, IPv4Interface)):
        return json.dumps(str(value), ensure_ascii=False)  # a JSON string is one of Python's, too
    return repr(value)
