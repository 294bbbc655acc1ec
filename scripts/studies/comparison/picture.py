"""Recall against false alarms of every oracle, as an SVG that follows light and dark themes."""

import math
from xml.sax.saxutils import escape

from comparison.counting import FUSESMITH

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 64, 30, 24, 56
LOWEST = 1e-4  # false alarms: what is below is drawn at the left edge, as 0
TICKS = [0, 1e-3, 1e-2, 0.1, 1]
LETTER, LINE = 6.6, 15
STYLE = """
svg { font: 12px system-ui, "Helvetica Neue", Arial, sans-serif; }
.paper { fill: #ffffff; } text { fill: #1f2328; } .quiet { fill: #59636e; } .grid { stroke: #d1d9e0; }
.axis { stroke: #59636e; } .curve { stroke: #8c959f; fill: none; stroke-dasharray: 4 3; }
.other { fill: #8250df; } .own { fill: #1a7f37; } .leader { stroke: #8c959f; stroke-width: 0.7; }
@media (prefers-color-scheme: dark) {
 .paper { fill: #0d1117; } text { fill: #f0f6fc; } .quiet { fill: #9198a1; } .grid { stroke: #3d444d; }
 .axis { stroke: #9198a1; } .curve { stroke: #6e7681; } .other { fill: #be8fff; } .own { fill: #3fb950; }
 .leader { stroke: #6e7681; } }
"""


def place_x(alarms):
    """Logarithmic from LOWEST on; a tenth of the width is for 0."""
    inner = WIDTH - LEFT - RIGHT
    if alarms < LOWEST:
        return float(LEFT)
    return LEFT + inner * (0.1 + 0.9 * (1 - math.log10(alarms) / math.log10(LOWEST)))


def place_y(recall):
    return TOP + (HEIGHT - TOP - BOTTOM) * (1 - recall)


def share(part, whole):
    return part / whole if whole else 0.0


def points(trial):
    """(label, is it ours, false alarms, recall) of each oracle, over finite cases."""
    everything, clean = trial["all_faults"], trial["clean"]
    for oracle in trial["oracles"]:
        label = FUSESMITH if oracle == FUSESMITH else trial["rules"][oracle]["title"].replace("`", "")
        yield (label, oracle == FUSESMITH, share(clean["alarms_finite"][oracle], clean["finite"]),
               share(everything["flagged_finite"][oracle], everything["changed_finite"]))


def frame(changed, clean):
    bottom, right = HEIGHT - BOTTOM, WIDTH - RIGHT
    for tick in TICKS:
        x = place_x(tick)
        yield f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{bottom}"/>'
        yield f'<text class="quiet" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{100 * tick:g} %</text>'
    for step in range(6):
        y = place_y(step / 5)
        yield f'<line class="grid" x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text class="quiet" x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{20 * step} %</text>'
    yield f'<path class="axis" fill="none" d="M{LEFT} {TOP}V{bottom}H{right}"/>'
    middle = (LEFT + right) / 2
    yield (f'<text x="{middle}" y="{HEIGHT - 14}" text-anchor="middle">false alarms, share of {clean:,} cases without '
           'faults (log scale)</text>')
    yield (f'<text transform="translate(16 {(TOP + bottom) / 2}) rotate(-90)" text-anchor="middle">flagged, share of '
           f'{changed:,} results that a fault changed</text>')


def overlap(a, b):
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


def label_box(label, x, y):
    """(left, top, right, bottom, anchor x) of a label at a point, or nothing where it leaves the picture."""
    width = LETTER * len(label)
    return (x, y - LINE / 2, x + width, y + LINE / 2) if x > LEFT and x + width < WIDTH - 4 else None


def placed_labels(dots):
    """A place for each label, near its dot, that covers no other label and no dot."""
    taken = [(x - 6, y - 6, x + 6, y + 6) for _, _, x, y in dots]
    for label, own, x, y in sorted(dots, key=lambda dot: dot[3]):
        width = LETTER * len(label)
        for reach in range(1, 16):
            offsets = [(10 * reach, 0), (-width - 10 * reach, 0), (8, -14 * reach), (8, 14 * reach),
                       (-width - 8, -14 * reach), (-width - 8, 14 * reach), (-width / 2, 14 * reach)]
            boxes = [label_box(label, x + dx, y + dy) for dx, dy in offsets]
            free = [box for box in boxes if box and box[1] > TOP - 12 and box[3] < HEIGHT - BOTTOM
                    and not any(overlap(box, other) for other in taken)]
            if free:
                taken.append(free[0])
                yield label, own, x, y, free[0]
                break


def dots_and_labels(trial):
    dots = [(label, own, place_x(alarms), place_y(recall)) for label, own, alarms, recall in points(trial)]
    for label, own, x, y, box in placed_labels(dots):
        near = min(max(x, box[0]), box[2])
        middle = (box[1] + box[3]) / 2
        if math.hypot(near - x, middle - y) > 14:
            yield f'<line class="leader" x1="{x:.1f}" y1="{y:.1f}" x2="{near:.1f}" y2="{middle:.1f}"/>'
        weight = ' font-weight="bold"' if own else ""
        yield f'<text x="{box[0]:.1f}" y="{middle + 4:.1f}"{weight}>{escape(label)}</text>'
    for label, own, x, y in dots:
        kind = "own" if own else "other"
        yield f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"><title>{escape(label)}</title></circle>'


def curve(trial):
    steps = [(place_x(share(step["alarms"], step["clean"])), place_y(share(step["flagged"], step["changed"])))
             for step in trial["curve"]]
    path = "L".join(f"{x:.1f} {y:.1f}" for x, y in steps)
    yield f'<path class="curve" d="M{path}"/>'
    x, y = WIDTH - RIGHT - 12, HEIGHT - BOTTOM - LINE
    text = "assert_close, its tolerances times 0.001 to 1,000,000"
    yield f'<path class="curve" d="M{x - LETTER * len(text) - 16:.1f} {y - 4}h28"/>'
    yield f'<text class="quiet" x="{x + 16}" y="{y}" text-anchor="end">{text}</text>'


def svg(trial):
    everything, clean = trial["all_faults"], trial["clean"]
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}">',
                      "<!-- Written by scripts/studies/trial. -->", f"<style>{STYLE}</style>",
                      f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
                      *frame(everything["changed_finite"], clean["finite"]), *curve(trial), *dots_and_labels(trial),
                      "</svg>", ""])


def write(path, trial):
    with open(path, "w", encoding="utf-8") as file:
        file.write(svg(trial))
