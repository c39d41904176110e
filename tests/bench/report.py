"""The result as text."""

WORK_ORDER = ("sh", "python3", "node", "git", "gcc", "find")
SERIES = {"protected": "protected paths below the writable directory", "mounts": "mounts of the host",
          "files": "files of the workspace"}


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def columns(head, lines, left=1):
    """Text in columns: the first `left` of them to the left, numbers to the right."""
    rows = [head, *lines]
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    texts = []
    for row in rows:
        cells = [cell.ljust(width) if i < left else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        texts.append("  ".join(cells).rstrip())
    return "\n".join([texts[0], "  ".join("-" * width for width in widths), *texts[1:]]) + "\n"


def names(result):
    return {row["id"]: row["name"] for row in result["rows"]}


def start_table(result):
    start, throughput = result.get("start") or {}, result.get("throughput") or {}
    lines = []
    for row in result["rows"]:
        own, rate = start.get(row["id"], {}), throughput.get(row["id"], {})
        if own or rate:
            rss = own.get("rss_kb")
            lines.append([row["name"], str(own.get("n", "-")), str(own.get("failed", 0) + rate.get("failed", 0)),
                          number(own.get("min_ms")), number(own.get("median_ms")), number(own.get("p95_ms")),
                          number(own.get("ratio")), number(own.get("settle_ms")), number(own.get("cpu_ms")),
                          number(rss / 1024 if rss else None, 1), number(rate.get("runs_per_s"), 0)])
    return columns(["row", "runs", "failed", "min ms", "median ms", "p95 ms", "x plain", "settled ms", "CPU ms",
                    "RSS MiB", "runs/s"], lines) if lines else ""


def work_table(result):
    work = result.get("work") or {}
    shown = [name for name in WORK_ORDER if name in work]
    lines = []
    for row in result["rows"]:
        cells = []
        for name in shown:
            own = work[name].get(row["id"], {})
            cells.append(number(own.get("median_ms"), 1) +
                         (f" ({(own['ratio'] - 1) * 100:+.0f} %)" if own.get("ratio") else ""))
        if any(cell != "-" for cell in cells):
            lines.append([row["name"], *cells])
    return columns(["median ms", *shown], lines) if lines else ""


def series_table(result, series):
    points = (result.get("series") or {}).get(series) or []
    counts = sorted({point["x"] for point in points})
    titles, lines = names(result), []
    for row, glob in sorted({(point["row"], point["glob"]) for point in points}):
        own = {point["x"]: point for point in points if (point["row"], point["glob"]) == (row, glob)}
        lines.append([titles.get(row, row) + (", deny glob" if glob else ""),
                      *(number(own[count]["median_ms"]) if count in own else "-" for count in counts),
                      number(own[counts[-1]]["first_ms"] if counts[-1] in own else None)])
    return columns(["median ms", *(str(count) for count in counts), "first run"], lines) if lines else ""


def goal_table(result):
    lines = []
    for goal in result.get("goals") or []:
        sign = ">=" if goal["more_is_better"] else "<="
        lines.append([goal["text"], goal["row"], number(goal["value"]), f"{sign} {goal['limit']:.2f} {goal['unit']}",
                      goal["verdict"] + (f" ({goal['why']})" if goal["why"] else "")])
    return columns(["goal", "row", "value", "limit", "verdict"], lines, 5) if lines else ""


def busy_share(result):
    tables = [result.get("start") or {}, *(result.get("work") or {}).values()]
    fields = [own for table in tables for own in table.values()]
    fields += [point for points in (result.get("series") or {}).values() for point in points]
    runs = sum(own["n"] for own in fields)
    return sum(own["busy"] for own in fields) / runs if runs else 0.0


def text(result):
    machine, settings = result["machine"], result["settings"]
    parts = ["sbx benchmark" + (" (quick: too few runs to conclude anything)" if settings["quick"] else ""),
             f"{machine['system']}, Linux {machine['kernel']}, {machine['cpus']} processors ({machine['cpu']}), "
             f"{machine['mounts']} mounts\ncommands ran as {settings['ran_as']}; CPU is {settings['cpu_from']}\n"
             f"{busy_share(result) * 100:.0f} % of the runs started while something else ran"]
    sections = [("/bin/true, and runs per second with 2 workers", start_table(result)),
                ("workloads, in brackets the difference to plain", work_table(result))]
    sections += [(f"over {title}", series_table(result, series)) for series, title in SERIES.items()]
    sections.append(("goals", goal_table(result)))
    limits = [[entry["name"], entry["says"], "kept" if entry["kept"] else "not kept"]
              for entry in result.get("limits") or []]
    sections.append(("limits", columns(["what", "measured", "verdict"], limits, 3) if limits else ""))
    parts += [f"{title}\n\n{body}" for title, body in sections if body]
    layers = [[row["name"], row["version"] or "-", {True: "yes", False: "no", None: "-"}[row.get("holds_files")],
               row["layers"]] for row in result["rows"]]
    parts.append("what the rows are\n\n" + columns(["row", "version", "holds files", "layers"], layers, 4))
    left = [[entry["name"], entry["reason"]] for entry in result["left_out"]]
    parts.append("left out\n\n" + (columns(["what", "why"], left, 2) if left else "nothing\n"))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"
