"""The table of cases. A case is a promise, a function, and what it needs:

    @case("a run says what its command says")
    def _(c):
        run = c.start("say", "hi")
        c.equal(c.exit_of(run), 0)

needs: "box" (a real sandbox), "posix" (signals, terminals), "socket" (a unix socket), "many" (several connections)."""

import importlib


class Row:
    def __init__(self, text, function, needs, hello):
        self.text = text
        self.function = function
        self.needs = needs
        self.hello = hello

    def fits(self, is_boxed, platform, kind):
        has = {"box": is_boxed, "posix": platform != "windows", "socket": kind == "socket",
               "many": kind != "stdio"}
        return all(has[need] for need in self.needs)


_rows = []


def case(text, *needs, hello=True):
    def register(function):
        _rows.append(Row(text, function, needs, hello))
        return function
    return register


def rows():
    """Every case, in the order of the files."""
    for name in ("cases_frame", "cases_method", "cases_run", "cases_flow"):
        importlib.import_module(name)
    return list(_rows)
