"""sbx mcp as a host sees it: handshake, framing, faults, cancelling; nothing depends on a sandbox here."""

import json

from harness import COMMANDS, WINDOWS, main, promise
from mcp_client import NEWEST, REVISIONS, Host, text

LINE_MAX = 1 << 20


@promise("each revision of the protocol is spoken as it was asked for, an unknown one is answered with the newest")
def _(t):
    for asked, got in [(name, name) for name in REVISIONS] + [("2031-01-01", NEWEST), ("", NEWEST)]:
        host = Host(t, revision=None)
        answer = host.call("initialize", protocolVersion=asked, capabilities={}, clientInfo={"name": "x", "version": "1"})
        t.equal(answer["result"]["protocolVersion"], got)
        t.equal(sorted(answer["result"]["capabilities"]), ["resources", "tools"])
        t.equal(answer["result"]["serverInfo"]["name"], "sbx")
        host.note("notifications/initialized")
        tools = {tool["name"]: tool for tool in host.call("tools/list")["result"]["tools"]}
        t.equal(sorted(tools), ["explain", "run"])
        run = tools["run"]
        t.equal("annotations" in run, got >= "2025-03-26", got)
        t.equal("outputSchema" in run, got >= "2025-06-18", got)
        t.equal("title" in run, got >= "2025-06-18", got)
        t.equal(run["inputSchema"]["required"], ["argv"])
        t.equal(run["inputSchema"]["additionalProperties"], False)
        t.equal(host.close(), 0)


@promise("the descriptions of the tools say what boxes may do here")
def _(t):
    host = Host(t, "--mode", "read-only", "-t", "7s")
    for tool in host.call("tools/list")["result"]["tools"]:
        t.has(tool["description"], "network: deny")
        t.has(tool["description"], "time: 7s")
        t.has(tool["description"], "- read ")
    t.equal(host.close(), 0)
    t.manifest("[sandbox\n")
    host = Host(t)
    t.has(host.call("tools/list")["result"]["tools"][0]["description"], "nothing can run")
    t.equal(host.close(), 0)


@promise("before initialize only initialize and ping are answered, and initialize only once")
def _(t):
    host = Host(t, revision=None)
    t.equal(host.call("ping")["result"], {})
    for method in ("tools/list", "tools/call", "resources/list"):
        t.equal(host.fault(method)["code"], -32600)
    t.equal(host.fault("initialize")["code"], -32602)
    t.has(host.call("initialize", protocolVersion=NEWEST), "result")
    t.equal(host.fault("initialize", protocolVersion=NEWEST)["code"], -32600)
    t.equal(host.close(), 0)


@promise("a line that is no message gets an error and costs nothing else")
def _(t):
    host = Host(t)
    bad = ((b"{", -32700), (b"nonsense", -32700), (b'{"a":1,"a":2}', -32700), (b'"\xff"', -32700), (b"[" * 100, -32700),
           (b"3", -32600), (b"[]", -32600), (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600),
           (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600), (b'{"jsonrpc":"2.0","id":1}', -32600),
           (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
           (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600),
           (b'{"jsonrpc":"2.0","id":"' + b"x" * 129 + b'","method":"ping"}', -32600),
           (b'{"jsonrpc":"2.0","id":1,"method":7}', -32600),
           (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', -32600),
           (b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', -32601))
    for line, code in bad:
        host.raw(line + b"\n")
        answer = host.next()
        t.equal(answer.get("error", {}).get("code"), code, line[:60])
        if code == -32700:
            t.equal(answer["id"], None)
    host.raw(b"\n\r\n")  # empty lines are nothing
    t.equal(host.call("ping")["result"], {})
    t.equal(host.close(), 0)


@promise("lines are taken up to 1 MiB, however they arrive; the rest of a longer one is dropped")
def _(t):
    host = Host(t)
    whole = b'{"jsonrpc":"2.0","id":"a","method":"ping","params":{"x":"%s"}}'
    fits = whole % (b"x" * (LINE_MAX - len(whole) + 2))
    t.equal(len(fits), LINE_MAX)
    host.raw(fits + b"\r\n" if not WINDOWS and len(fits) < LINE_MAX else fits + b"\n")
    t.equal(host.next(), {"jsonrpc": "2.0", "id": "a", "result": {}})
    host.raw(fits + b"x\n")
    t.equal(host.next()["error"]["code"], -32700)
    host.raw(b"y" * (3 * LINE_MAX) + b"\n")
    t.equal(host.next()["error"]["code"], -32700)
    small = b'{"jsonrpc":"2.0","id":"b","method":"ping"}\n'
    for at in range(len(small)):
        host.raw(small[at:at + 1])
    t.equal(host.next()["id"], "b")
    host.raw(small * 20)
    t.equal([host.next()["id"] for _ in range(20)], ["b"] * 20)
    t.equal(host.close(), 0)


@promise("a batch of revision 2025-03-26 has one answer, an array")
def _(t):
    host = Host(t, revision="2025-03-26")
    host.raw(json.dumps([{"jsonrpc": "2.0", "id": 1, "method": "ping"},
                         {"jsonrpc": "2.0", "method": "notifications/initialized"},
                         {"jsonrpc": "2.0", "id": 2, "method": "no/such"},
                         {"jsonrpc": "2.0", "id": 3, "method": "resources/read", "params": {"uri": "sbx://doctor"}},
                         7]).encode() + b"\n")
    answer = host.next()
    t.equal(sorted(str(entry["id"]) for entry in answer), ["1", "2", "3", "None"])
    host.raw(b'[{"jsonrpc":"2.0","method":"notifications/initialized"}]\n')  # nothing to answer
    t.equal(host.call("ping")["result"], {})
    t.equal(host.close(), 0)


@promise("wrong arguments of a tool are told by name")
def _(t):
    host = Host(t)
    for name, arguments, word in (
            ("nosuch", {}, "run and explain"), ("run", {}, "argv"), ("run", {"argv": []}, "argv"),
            ("run", {"argv": "ls"}, "argv"), ("run", {"argv": [""]}, "argv"), ("run", {"argv": ["a\0b"]}, "argv"),
            ("run", {"argv": ["a"] * 1025}, "argv"), ("run", {"argv": ["a"], "shell": True}, '"shell"'),
            ("run", {"argv": ["a"], "timeout_ms": 0}, "timeout_ms"), ("run", {"argv": ["a"], "timeout_ms": "1"}, "timeout_ms"),
            ("run", {"argv": ["a"], "stdin": 1}, "stdin"), ("run", {"argv": ["a"], "cwd": 1}, "cwd"),
            ("run", {"argv": ["a"], "output_bytes": 1 << 30}, "output_bytes"),
            ("run", {"argv": ["a"], "deny": "x"}, "deny"), ("run", {"argv": ["a"], "strict": 1}, "strict"),
            ("explain", {"argv": ["a"], "path": "/x"}, "exclude"), ("explain", {"stdin": ""}, '"stdin"')):
        fault = host.fault("tools/call", name=name, arguments=arguments)
        t.equal(fault["code"], -32602, (name, arguments))
        t.has(fault["message"], word)
    t.equal(host.fault("tools/call", name="run", arguments=[1])["code"], -32602)
    t.equal(host.fault("tools/list", cursor="x")["code"], -32602)
    t.equal(host.close(), 0)


@promise("resources are listed and read, another one is not found")
def _(t):
    host = Host(t)
    listed = [entry["uri"] for entry in host.call("resources/list")["result"]["resources"]]
    t.equal(listed, ["sbx://doctor", "sbx://outcomes"])
    t.equal(host.call("resources/templates/list")["result"], {"resourceTemplates": []})
    content = host.call("resources/read", uri="sbx://doctor")["result"]["contents"][0]
    t.equal((content["uri"], content["mimeType"]), ("sbx://doctor", "application/json"))
    t.equal(json.loads(content["text"])["command"], "doctor")
    t.equal(json.loads(host.call("resources/read", uri="sbx://outcomes")["result"]["contents"][0]["text"]), [])
    fault = host.fault("resources/read", uri="sbx://nothing")
    t.equal((fault["code"], fault["data"]["uri"]), (-32002, "sbx://nothing"))
    t.equal(host.fault("resources/read")["code"], -32602)
    t.equal(host.close(), 0)


@promise("what a model asks for may be less than the options of sbx mcp allow, never more")
def _(t):
    host = Host(t, "--mode", "read-only", "-t", "5s", "--net", "deny")
    for more in ({"mode": "workspace-write"}, {"mode": "danger-full-access"}, {"profile": "none"}, {"network": "inherit"},
                 {"network": "example.com"}, {"timeout_ms": 6000}, {"mode": "external-sandbox"}):
        for tool in ("run", "explain"):
            result = host.tool(tool, argv=[t.actor, "exit", "0"], **more)
            t.equal(result.get("isError"), True, more)
            t.has(text(result), "refused, nothing ran", more)
            t.has(text(result), "ask the user", more)
    result = host.tool("explain", argv=[t.actor], timeout_ms=4000, strict=True, network="deny")
    t.equal(result.get("isError"), False, result)
    t.has(text(result), "network   deny")
    t.has(text(result), "time 4s")
    t.equal(host.close(), 0)


@promise("sbx mcp takes no command, no manifest from its own input, and no wrong option")
def _(t):
    for words in (("ls",), ("-f", "-"), ("--no-such",), ("--mode", "nonsense")):
        done = t.run("mcp", *words)
        t.true(done.status in (1, 2), done)
        t.equal(done.out, "")
        t.true(done.err)
    t.has(COMMANDS, "mcp")


main()
