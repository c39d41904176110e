"""The result as one SVG: bars for /bin/true, then a small plot for each series. Times are on logarithmic scales:
what is compared differs by factors of hundreds."""

import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, BAR, TOP = 900, 200, 120, 22, 60
PANEL_WIDTH, PANEL_HEIGHT = 270, 220
OURS, THEIRS, PLAIN = "#1f6fb2", "#9a9a9a", "#444444"
OUR_LINES = ("#1f6fb2", "#0d3f73", "#2fa3c7", "#6f8fe0", "#14807a")
THEIR_LINES = ("#d1752b", "#3c8f4c", "#a3417e", "#7a6b1f", "#b23a3a", "#8a5a3a")
SERIES = (("protected", "protected paths"), ("mounts", "host mounts"), ("files", "workspace files (dashed: deny glob)"))


def label(x, y, words, size=12, anchor="start", colour="#222222"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{colour}">'
            f"{escape(words)}</text>")


def line(x1, y1, x2, y2, colour, width=1.0, dashes=""):
    extra = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"{extra}/>')


def colour_of(row):
    if row == "plain":
        return PLAIN
    return OURS if row.startswith(("sbx", "pool")) else THEIRS


def line_colours(result):
    """{row: colour}: blue ones are ours."""
    found = {}
    for row in result["rows"]:
        name = row["id"]
        shades = OUR_LINES if colour_of(name) == OURS else THEIR_LINES
        used = sum(1 for colour in found.values() if colour in shades)
        found[name] = PLAIN if name == "plain" else shades[used % len(shades)]
    return found


def decades(values):
    """The powers of ten around them."""
    low, high = 10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values) * 1.01))
    return low, max(high, low * 10)


def bars(result):
    """The parts of the first plot, and where it ends."""
    rows = [(row, result["start"][row["id"]]) for row in result["rows"]
            if (result.get("start") or {}).get(row["id"], {}).get("median_ms")]
    if not rows:
        return [], TOP
    low, high = decades([own["min_ms"] for _, own in rows] + [own["p95_ms"] for _, own in rows])
    bottom = TOP + BAR * len(rows)

    def at(value):
        return LEFT + (WIDTH - LEFT - RIGHT) * math.log(value / low) / math.log(high / low)

    parts = [label(20, TOP - 16, "/bin/true: median in ms, thin line to p95, logarithmic", 13)]
    tick = low
    while tick <= high * 1.001:
        parts.append(line(at(tick), TOP - 6, at(tick), bottom, "#dddddd"))
        parts.append(label(at(tick), bottom + 14, f"{tick:g}", 11, "middle", "#666666"))
        tick *= 10
    for index, (row, own) in enumerate(sorted(rows, key=lambda entry: entry[1]["median_ms"])):
        y = TOP + BAR * index
        parts.append(label(LEFT - 8, y + 14, row["name"], 12, "end"))
        parts.append(f'<rect x="{LEFT}" y="{y + 3}" width="{at(own["median_ms"]) - LEFT:.1f}" height="{BAR - 8}" '
                     f'fill="{colour_of(row["id"])}"/>')
        parts.append(line(at(own["median_ms"]), y + BAR / 2 - 1, at(own["p95_ms"]), y + BAR / 2 - 1, "#222222"))
        ratio = f" ({own['ratio']:.1f}x)" if own.get("ratio") else ""
        parts.append(label(at(own["p95_ms"]) + 5, y + 14, f"{own['median_ms']:.2f}{ratio}", 11))
    return parts, bottom + 30


def panel(result, series, title, x, y):
    points = [point for point in (result.get("series") or {}).get(series) or [] if point["median_ms"] is not None]
    if not points:
        return [], []
    most_x = max(point["x"] for point in points) or 1
    low, high = decades([point["median_ms"] for point in points])

    def height(value):
        return y + PANEL_HEIGHT * (1 - math.log(value / low) / math.log(high / low))

    parts = [label(x, y - 8, title, 12)]
    tick = low
    while tick <= high * 1.001:
        parts.append(line(x, height(tick), x + PANEL_WIDTH, height(tick), "#dddddd"))
        if tick > low:
            parts.append(label(x + 2, height(tick) + 11, f"{tick:g} ms", 10, "start", "#666666"))
        tick *= 10
    parts += [line(x, y, x, y + PANEL_HEIGHT, "#999999"),
              label(x + PANEL_WIDTH, y + PANEL_HEIGHT + 13, str(most_x), 10, "end", "#666666"),
              label(x, y + PANEL_HEIGHT + 13, "0", 10, "middle", "#666666")]
    rows = sorted({point["row"] for point in points})
    colours = line_colours(result)
    for row in rows:
        colour = colours.get(row, PLAIN)
        for glob in (False, True):
            own = sorted((point["x"], point["median_ms"]) for point in points
                         if point["row"] == row and point["glob"] == glob)
            path = " ".join(f"{x + PANEL_WIDTH * count / most_x:.1f},{height(value):.1f}"
                            for count, value in own)
            if path:
                dashes = ' stroke-dasharray="5 3"' if glob else ""
                parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
    return parts, rows


def legend(result, used, y):
    """Its parts, and where it ends."""
    parts, x = [], 20
    colours = line_colours(result)
    for row in result["rows"]:
        if row["id"] in used:
            width = 40 + 7 * len(row["name"])
            if x + width > WIDTH:
                x, y = 20, y + 18
            parts.append(line(x, y - 4, x + 18, y - 4, colours[row["id"]], 3))
            parts.append(label(x + 23, y, row["name"], 11))
            x += width
    return parts, y


def svg(result):
    parts, bottom = bars(result)
    used, height = set(), bottom
    if any((result.get("series") or {}).values()):
        for index, (series, title) in enumerate(SERIES):
            drawn, rows = panel(result, series, title, 25 + index * (PANEL_WIDTH + 25), bottom + 30)
            parts += drawn
            used |= set(rows)
        drawn, height = legend(result, used, bottom + PANEL_HEIGHT + 70)
        parts += drawn
        height += 20
    machine = result["machine"]
    title = f"sbx benchmark: {machine['cpus']} processors, Linux {machine['kernel']}"
    if result["settings"]["quick"]:
        title += " (quick run: too few runs to conclude anything)"
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        'font-family="sans-serif">', f"<title>{escape(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>', label(20, 24, title, 14), *parts, "</svg>"]) + "\n"
