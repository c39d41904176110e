"""The table of cases. A case is a promise, a function, and what it needs:

    @case("a run says what its command says")
    def _(c):
        run = c.start("say", "hi")
        c.equal(c.exit_of(run), 0)

needs: "box" (a real sandbox), "posix" (signals, terminals), "socket" (a unix socket), "many" (several connections).

What Windows cannot do is a promise there too, of being refused:

    @instead("every signal reaches the command", "processes have no signals")
    def _(c):
        c.refused("unsupported", …)

A case that needs no box is played on Windows, or has such a row: whoever has neither is told."""

import importlib


class Row:
    def __init__(self, text, function, needs, hello):
        self.text = text
        self.function = function
        self.needs = needs
        self.hello = hello
        self.windows = None  # the row to play on Windows in place of this one

    def fits(self, is_boxed, platform, kind):
        has = {"box": is_boxed, "posix": platform != "windows", "socket": kind == "socket",
               "many": kind != "stdio"}
        return all(has[need] for need in self.needs)

    def on_windows(self, kind):
        """This row, or what is played for it; None where only a box would do."""
        if self.windows is not None:
            return self.windows
        if "box" in self.needs or ("many" in self.needs and kind == "stdio"):
            return None
        if not self.fits(False, "windows", kind):
            raise SystemExit(f"nothing is said about Windows: {self.text}")
        return self


_rows = []


def case(text, *needs, hello=True):
    def register(function):
        _rows.append(Row(text, function, needs, hello))
        return function
    return register


def instead(text, reason):
    """What is played on Windows in place of the case with this text."""
    def register(function):
        (row,) = [row for row in _rows if row.text == text]
        row.windows = Row(f"not on Windows, {reason}: {text}", function, (), row.hello)
        return function
    return register


def rows():
    """Every case, in the order of the files."""
    for name in ("cases_frame", "cases_method", "cases_run", "cases_flow"):
        importlib.import_module(name)
    return list(_rows)
