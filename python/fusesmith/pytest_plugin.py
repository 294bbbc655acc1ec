"""pytest: a test function with the mark `fusesmith` is a kernel, and its test is to judge it.

    @pytest.mark.fusesmith("softmax", runs=200)
    def test_softmax(x):
        return my_softmax(x)

Its parameters are the inputs of the graph, no fixtures. The arguments of the mark are those of `fusesmith.judge`; the
first may be named `graph`. With `reference=` and `inputs=`, they are those of `fusesmith.judge_against`.
"""

import os

import pytest

from .adapters import judge_against
from .errors import Error
from .judge import judge

MARK = "fusesmith"


def pytest_configure(config):
    config.addinivalue_line("markers", f"{MARK}(graph, **arguments): the function is a kernel; fusesmith.judge judges "
                                       "it as an implementation of this op, Graph or case file")


def marks_of(function):
    marks = getattr(function, "pytestmark", [])
    return marks if isinstance(marks, list) else [marks]


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    """One item for each mark `fusesmith`; None, so that pytest goes on, where there is none."""
    if not callable(obj) or not collector.funcnamefilter(name):
        return None
    mine = [mark for mark in marks_of(obj) if mark.name == MARK]
    if not mine:
        return None
    items = []
    for mark in reversed(mine):
        subject = str(mark.args[0]) if mark.args and isinstance(mark.args[0], str) else mark.kwargs.get("graph", "")
        suffix = f"[{subject or len(items)}]" if len(mine) > 1 else ""
        items.append(KernelItem.from_parent(collector, name=name + suffix, kernel=obj, mark=mark))
    return items


class WrongKernel(Exception):
    """Holds the result, which is the failure's report."""


class KernelItem(pytest.Item):
    def __init__(self, kernel, mark, **kwargs):
        super().__init__(**kwargs)
        self.obj, self.mark = kernel, mark
        self.own_markers.extend(marks_of(kernel))

    def runtest(self):
        arguments = dict(self.mark.kwargs)
        given = list(self.mark.args) or ([arguments.pop("graph")] if "graph" in arguments else [])
        if given and isinstance(given[0], str) and given[0].endswith(".json"):
            given[0] = os.path.join(self.path.parent, given[0])
        if "reference" in arguments:
            result = judge_against(self.obj, arguments.pop("reference"), **arguments)
        elif len(given) == 1:
            result = judge(self.obj, given[0], **arguments)
        else:
            raise Error('pytest.mark.fusesmith needs what the kernel computes, such as graph="softmax"')
        if not result.ok:
            raise WrongKernel(result)

    def repr_failure(self, excinfo, style=None):
        if isinstance(excinfo.value, (WrongKernel, Error)):
            return str(excinfo.value.args[0])
        return super().repr_failure(excinfo, style)

    def reportinfo(self):
        line = getattr(getattr(self.obj, "__code__", None), "co_firstlineno", 1) - 1
        return self.path, line, self.name
