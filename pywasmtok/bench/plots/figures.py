"""Figures of small panels side by side: lines over lengths or threads, and spans of percentiles."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from .scales import Scale, linear, logarithmic, short, thinned
from .svg import Canvas

__all__ = ["Figure", "Panel", "Point", "lines", "spans"]

WIDTH = 880.0
SIDE, GAP = 16.0, 26.0
LABELS = 44.0  # room for the numbers along the upright axis
RIGHT = 10.0  # room for half of the last number along the bottom
NAMES = 84.0  # room for names there
PLOT_HEIGHT = 150.0
PANEL_HEIGHT = PLOT_HEIGHT + 62.0
SMALLEST = 3  # panels in a row, at least; fewer are not stretched over the page


@dataclass(frozen=True)
class Look:
    color: str
    shape: str
    width: float = 1.7
    dashes: str = ""

    @property
    def sign(self) -> tuple[str, str]:
        return self.shape, self.color

    @property
    def stroke(self) -> str:
        dashes = f' stroke-dasharray="{self.dashes}"' if self.dashes else ""
        return f'stroke="{self.color}" stroke-width="{self.width}"{dashes}'


# Told apart by shape, too, and of a brightness that is seen on white and on black.
OURS = Look("#e8590c", "circle", 2.6)
LOOKS = {
    "twin": Look("#e8590c", "circle", 1.0, "2 4"),
    "fastokens": Look("#2483d5", "square"),
    "gigatoken": Look("#2b9a4b", "up"),
    "tiktoken": Look("#a24ac0", "diamond"),
    "hf": Look("#8a929a", "down"),
    "hf-fast": Look("#8a929a", "square", 1.3, "5 3"),
}
OTHERS = (Look("#b58900", "diamond"), Look("#0c8f9a", "up"), Look("#d6508c", "square"))


@dataclass(frozen=True)
class Point:
    x: float
    y: float
    wrong: bool = False


@dataclass
class Panel:
    title: str
    series: dict[str, list[Point]] = field(default_factory=dict)
    """By library. For spans, x is the percentile's place in the row of them."""


@dataclass(frozen=True)
class Figure:
    title: str
    subtitle: str
    panels: Sequence[Panel]
    unit: str
    ours: str
    across: str = ""
    """What the numbers along the bottom are."""
    name_of: Callable[[float], str] = short
    """How one of them is written."""
    shared: bool = True
    """Whether all panels have the same upright scale."""
    from_zero: bool = False
    straight: bool = False
    """Whether the numbers along the bottom stand at even distances: those of time."""
    columns: int = 3

    @property
    def libraries(self) -> list[str]:
        return list(dict.fromkeys(name for panel in self.panels for name in panel.series))

    def look(self, name: str) -> Look:
        if name == self.ours:
            return OURS
        unknown = [one for one in self.libraries if one not in LOOKS and one != self.ours]
        return LOOKS.get(name) or OTHERS[unknown.index(name) % len(OTHERS)]


@dataclass(frozen=True)
class Frame:
    """Where on the canvas the inside of a panel is."""

    left: float
    top: float
    width: float
    height: float

    def x(self, share: float) -> float:
        return self.left + share * self.width

    def y(self, share: float) -> float:
        return self.top + (1 - share) * self.height


def lines(figure: Figure) -> str:
    """A line for each library, a panel for each kind of text."""
    canvas, frames = page(figure, LABELS, PANEL_HEIGHT)
    scales = [upright(figure, [panel]) for panel in figure.panels]
    if figure.shared:
        scales = [upright(figure, figure.panels)] * len(figure.panels)
    for panel, frame, scale in zip(figure.panels, frames, scales, strict=True):
        steps = sorted({point.x for points in panel.series.values() for point in points})
        across = along(figure, steps)
        canvas.text(frame.left, frame.top - 10, panel.title, "panel")
        for tick in scale.ticks:
            place = frame.y(scale.place(tick))
            canvas.line(frame.left, place, frame.left + frame.width, place, css="grid")
            canvas.text(frame.left - 6, place + 4, short(tick), "tick", "end")
        bottom = frame.top + frame.height
        canvas.line(frame.left, bottom, frame.left + frame.width, bottom, css="axis")
        named = across.ticks if figure.straight else steps
        for step in thinned(named, max(2, int(frame.width / 48))):
            place = frame.x(across.place(step))
            canvas.line(place, bottom, place, bottom + 4, css="axis")
            canvas.text(place, bottom + 17, figure.name_of(step), "tick", "middle")
        if figure.across:
            canvas.text(frame.left + frame.width, bottom + 32, figure.across, "note", "end")
        for name in front_last(figure, panel):
            points = panel.series[name]
            places = [(frame.x(across.place(one.x)), frame.y(scale.place(one.y))) for one in points]
            draw_line(canvas, figure, name, points, places)
    return canvas.document()


def draw_line(
    canvas: Canvas,
    figure: Figure,
    name: str,
    points: Sequence[Point],
    places: Sequence[tuple[float, float]],
) -> None:
    look = figure.look(name)
    canvas.path(places, look.stroke)
    if name == "twin":
        return
    for (x, y), point in zip(places, points, strict=True):
        wrong = ", wrong answers" if point.wrong else ""
        hint = f"{name}, {figure.name_of(point.x)}: {point.y:.3g} {figure.unit}{wrong}"
        size = 3.4 if name == figure.ours else 2.8
        size += 1.5 * point.wrong  # seen around the line
        canvas.mark(x, y, look.sign, size, hint=hint, hollow=point.wrong)


def spans(figure: Figure, percentiles: Sequence[str]) -> str:
    """For each library the span from the first percentile to the last, on a scale of time."""
    names = figure.libraries
    inner = 22.0 * len(names)
    canvas, frames = page(figure, NAMES, inner + 62.0, inner)
    for panel, frame in zip(figure.panels, frames, strict=True):
        values = [point.y for points in panel.series.values() for point in points]
        across = logarithmic(values, most=max(2, int(frame.width / 34)))
        canvas.text(frame.left, frame.top - 10, panel.title, "panel")
        bottom = frame.top + frame.height
        for tick in across.ticks:
            place = frame.x(across.place(tick))
            canvas.line(place, frame.top, place, bottom, css="grid")
            canvas.text(place, bottom + 16, short(tick), "tick", "middle")
        canvas.text(frame.left + frame.width, bottom + 31, figure.unit, "note", "end")
        for row, name in enumerate(names):
            y = frame.top + 22.0 * row + 11
            canvas.text(frame.left - 8, y + 4, name, "tick", "end")
            look = figure.look(name)
            places = [(frame.x(across.place(one.y)), one) for one in panel.series.get(name, ())]
            if places:
                canvas.line(places[0][0], y, places[-1][0], y, stroke=look.stroke)
            for place, point in places:
                label = percentiles[int(point.x)]
                size = 5.0 - 1.2 * point.x
                hint = f"{name}, {label}: {point.y:.3g} {figure.unit}"
                canvas.mark(place, y, ("circle", look.color), size, hint=hint)
    return canvas.document()


def page(
    figure: Figure, room: float, panel_height: float, inner: float = PLOT_HEIGHT
) -> tuple[Canvas, list[Frame]]:
    """A canvas with title and key, and the places of the panels."""
    columns = max(min(SMALLEST, figure.columns), min(figure.columns, len(figure.panels)))
    rows = math.ceil(len(figure.panels) / columns)
    top = 92.0
    canvas = Canvas(WIDTH, top + rows * panel_height + 4, figure.title)
    canvas.text(SIDE, 28, figure.title, "title")
    canvas.text(SIDE, 48, figure.subtitle, "subtitle")
    x = SIDE
    for name in figure.libraries:
        look = figure.look(name)
        canvas.line(x, 66, x + 22, 66, stroke=look.stroke)
        if name != "twin":
            canvas.mark(x + 11, 66, look.sign, 3.2)
        canvas.text(x + 28, 70, name, "key")
        x += 28 + 7.2 * len(name) + 20
    points = [one for panel in figure.panels for some in panel.series.values() for one in some]
    if any(point.wrong for point in points):
        canvas.text(x, 70, "hollow: wrong answers", "key")
    width = (WIDTH - 2 * SIDE - (columns - 1) * GAP) / columns
    frames = [
        Frame(
            SIDE + (number % columns) * (width + GAP) + room,
            top + (number // columns) * panel_height + 24,
            width - room - RIGHT,
            inner,
        )
        for number in range(len(figure.panels))
    ]
    return canvas, frames


def upright(figure: Figure, panels: Sequence[Panel]) -> Scale:
    values = [one.y for panel in panels for points in panel.series.values() for one in points]
    return linear(values) if figure.from_zero else logarithmic(values)


def along(figure: Figure, steps: Sequence[float]) -> Scale:
    if figure.straight:
        return linear(steps)
    return logarithmic(steps, margin=1.0) if len(steps) > 1 else logarithmic(steps)


def front_last(figure: Figure, panel: Panel) -> list[str]:
    """Ours is drawn last, over the others."""
    return sorted(panel.series, key=lambda name: name == figure.ours)
