"""Cases: lines, hello, ids, and lines that no client sends."""

import json

from cases import case

HELLO = b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":[1],"client":{"name":"t","version":"1"}}}\n'
PING = b'{"jsonrpc":"2.0","id":2,"method":"ping"}\n'


@case("hello tells who the service is and what it allows", hello=False)
def _(c):
    got = c.client.hello()
    c.equal(got["protocol"], 1)
    c.equal(got["server"]["name"], "sbx")
    c.true(got["platform"] in ("linux", "macos", "windows"), got["platform"])
    c.equal(got["limits"]["line"], 1 << 20)
    c.true(got["limits"]["window"] >= 65536 and got["limits"]["stdinWindow"] >= 65536, "windows are of use")


@case("hello with several protocols takes one that both speak", hello=False)
def _(c):
    got = c.client.ask("hello", protocol=[7, 1, 3], client={"name": "t", "version": "1"})
    c.equal(got["protocol"], 1)


@case("hello without a common protocol is refused, and can be said again", hello=False)
def _(c):
    c.refused("version", "hello", protocol=[2, 3], client={"name": "t", "version": "1"})
    c.equal(c.client.hello()["protocol"], 1)


@case("nothing is answered before hello", hello=False)
def _(c):
    c.refused("not_initialised", "ping")
    c.refused("not_initialised", "run.list")
    c.refused("not_initialised", "run.start", argv=["x"])
    c.client.hello()
    c.equal(c.client.ask("ping"), {})


@case("a second hello is refused")
def _(c):
    c.refused("invalid_request", "hello", protocol=[1], client={"name": "t", "version": "1"})
    c.equal(c.client.ask("ping"), {})


@case("the longest line can be lowered, not raised", hello=False)
def _(c):
    error = c.refused("invalid_params", "hello", protocol=[1], client={"name": "t", "version": "1"}, maxLine=1 << 21)
    c.true("maxLine" in error["message"], error["message"])
    c.equal(c.client.hello(maxLine=4096)["limits"]["line"], 4096)


@case("no line is longer than the client reads", hello=False)
def _(c):
    c.client.hello(maxLine=4096)
    run = c.start("flood", 20000)
    c.equal(c.exit_of(run), 0)
    c.equal(len(run.bytes["stdout"]), 20000)


@case("ids are numbers or texts, and come back as they were")
def _(c):
    for key in (0, -5, 9007199254740991, "", "a", "é\"\\\n", "x" * 64):
        c.client.ask_later("ping", {}, key)
        c.equal(c.client.answered(key), {})


@case("an id that is too long, or of another kind, is an invalid request")
def _(c):
    for text in ('"' + "x" * 65 + '"', "null", "{}", "[]", "true"):
        c.client.write(f'{{"jsonrpc":"2.0","id":{text},"method":"ping"}}\n'.encode())
    c.client.ask("ping")
    c.equal([error["data"]["name"] for error in c.client.unasked], ["invalid_request"] * 5)


@case("an id that is not answered yet cannot be used again")
def _(c):
    run = c.start("hold")
    c.client.ask_later("run.wait", {"run": run.name}, "same")
    c.client.write(b'{"jsonrpc":"2.0","id":"\\u0073ame","method":"ping"}\n')
    try:
        c.client.answered("same")
        c.true(False, "the second use of the id was answered")
    except Exception as refusal:  # pylint: disable=broad-except
        c.equal(getattr(refusal, "name", str(refusal)), "invalid_request")
    c.client.asked['"same"'] = ("run.wait", {})
    c.client.ask("run.cancel", run=run.name)
    c.true("started" in c.client.answered("same"), "the first use of the id is answered")
    c.ended(run)


@case("what is no message of JSON-RPC is refused, and the connection stays")
def _(c):
    for line in (b"{}", b'{"jsonrpc":"1.0","id":null,"method":"ping"}', b'{"jsonrpc":"2.0","method":7}',
                 b'{"jsonrpc":"2.0","method":"ping","params":[]}', b'{"jsonrpc":"2.0","x":1,"method":"y"}'):
        c.client.write(line + b"\n")
    c.equal(c.client.ask("ping"), {})
    c.equal([error["code"] for error in c.client.unasked], [-32600] * 5)


@case("an unknown method is refused, an unknown notification is not answered")
def _(c):
    c.refused("no_method", "no.such")
    c.refused("no_method", "exited", run="r1")
    c.client.tell("no.such", a=1)
    c.client.tell("ping")
    c.equal(c.client.ask("ping"), {})
    c.equal(c.client.unasked, [])


@case("an unknown member of a request is named, one of a notification is ignored")
def _(c):
    error = c.refused("invalid_params", "ping", extra=1)
    c.true('"extra"' in error["message"], error["message"])
    error = c.refused("invalid_params", "run.start", argv=["a"], tty={"rows": 1, "cols": 1, "deep": 1})
    c.true('"tty.deep"' in error["message"], error["message"])
    c.client.tell("run.credit", run="r99", stream="stdout", bytes=1, extra=1)
    c.equal(c.client.ask("ping"), {})


# Lines that end a connection: what, bytes without the newline.
FATAL = (
    ("garbage", b"\x00\xff\x17 garbage"),
    ("an empty line", b""),
    ("a line of white space", b"  \t "),
    ("an array", b"[]"),
    ("a batch", b"[" + PING.strip() + b"]"),
    ("two objects", b"{} {}"),
    ("a byte-order mark", b"\xef\xbb\xbf" + PING.strip()),
    ("half an object", PING.strip()[:-1]),
    ("a member twice", b'{"jsonrpc":"2.0","id":1,"id":1,"method":"ping"}'),
    ("a member twice in other letters", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":1,"\\u0061":2}}'),
    ("a fraction", b'{"jsonrpc":"2.0","id":1.0,"method":"ping"}'),
    ("an exponent", b'{"jsonrpc":"2.0","id":1e2,"method":"ping"}'),
    ("a number beyond 2^53", b'{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}'),
    ("bytes that are not UTF-8", b'{"jsonrpc":"2.0","id":"\xff","method":"ping"}'),
    ("a lone surrogate", b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}'),
    ("33 levels", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 32 + b"1" + b"}" * 33),
    ("a control character", b'{"jsonrpc":"2.0","id":"\x01","method":"ping"}'),
    ("a comment", b'{"jsonrpc":"2.0","id":1,"method":"ping"} // hi'),
)


@case("a line that is not one strict object is answered once, with id null, and ends the connection")
def _(c):
    for what, line in FATAL:
        other = c.connect(hello=False)
        other.write(HELLO[:-1].replace(b'"id":1', b'"id":77') + b"\n" + line + b"\n" + PING)
        other.asked["77"] = ("hello", {})
        other.wait_closed()
        c.equal([error["code"] for error in other.unasked], [-32700], what)
    c.equal(c.client.ask("ping"), {})


@case("a line may have 1 MiB")
def _(c):
    start = b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{'
    c.client.asked['"big"'] = ("ping", {})
    c.client.write(start + b" " * ((1 << 20) - len(start) - 2) + b"}}\n")
    c.equal(c.client.answered("big"), {})


@case("a line of 1 MiB and a byte ends the connection")
def _(c):
    start = b'{"jsonrpc":"2.0","id":"big","method":"ping","params":{'
    c.client.write(start + b" " * ((1 << 20) + 1 - len(start) - 2) + b"}}\n")
    c.client.wait_closed()
    c.equal([error["code"] for error in c.client.unasked], [-32700])


@case("lines may come in any pieces", hello=False)
def _(c):
    c.client.asked["1"] = ("hello", {})
    c.client.asked["2"] = ("ping", {})
    for byte in HELLO:
        c.client.write(bytes([byte]))
    c.client.answered(1)
    c.client.write(PING + PING[:9])
    c.equal(c.client.answered(2), {})
    c.client.asked["2"] = ("ping", {})
    c.client.write(PING[9:])
    c.equal(c.client.answered(2), {})


@case("white space around and inside a message does not matter")
def _(c):
    c.client.asked["5"] = ("ping", {})
    c.client.write(b' \t{ "jsonrpc" : "2.0" ,\r "id" : 5 , "method" : "p\\u0069ng" , "params" : { } } \r\n')
    c.equal(c.client.answered(5), {})


@case("requests that come at once are all answered")
def _(c):
    keys = [f"k{number}" for number in range(50)]
    for key in keys:
        c.client.asked[json.dumps(key)] = ("ping", {})
    c.client.write(b"".join(b'{"jsonrpc":"2.0","id":"%s","method":"ping"}\n' % key.encode() for key in keys))
    c.equal([c.client.answered(key) for key in keys], [{}] * 50)


@case("half a line at the end is no request")
def _(c):
    run = c.start("hold")
    c.said(run, "ready")
    c.client.write(b'{"jsonrpc":"2.0","id":9,"method":"ping"}')
    c.client.peer.half_close()
    c.client.wait_closed()
    c.true("9" not in c.client.answers, "it was answered")
