"""Makes the input files of HeCBench's programs that its repository lacks, for run_hecbench.py.

HeCBench keeps the data of some programs in a storage of its own, and has only pointers to it. This makes files of the
same formats where `make run` looks for them: random, but the same each time, and of sizes that an emulator is through
with in seconds. Where a file belongs into a folder that is a link (into a checkout, which is left as it is), a folder
of links to what it held takes the link's place.
"""

from __future__ import annotations

import functools
import math
import struct
import zlib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Random = np.random.Generator


# Text and numbers


def lines(rows: Iterable[Iterable[object]], separator: str = " ") -> bytes:
    """Text with a line for each row."""
    return "".join(separator.join(map(str, row)) + "\n" for row in rows).encode()


def uniform(random: Random, shape: tuple[int, ...], low: float, high: float, digits: int = 3) -> list[Any]:
    """Numbers of a range, for text."""
    found: list[Any] = np.round(random.uniform(low, high, shape), digits).tolist()
    return found


def table(random: Random, rows: int, columns: int, low: float, high: float, digits: int = 3) -> bytes:
    """Text with a table of numbers."""
    return lines(uniform(random, (rows, columns), low, high, digits))


def floats(random: Random, count: int, low: float, high: float) -> bytes:
    """Floating point numbers in binary."""
    return random.uniform(low, high, count).astype("<f4").tobytes()


def waves(random: Random, count: int, kind: str = "<f4") -> bytes:
    """A smooth signal of few different numbers in binary, which can be compressed."""
    steps = np.arange(count)
    signal = np.sin(steps / 50) + 0.3 * np.sin(steps / 7 + random.uniform(0, math.tau))
    return np.round(signal, 2).astype(kind).tobytes()


def labelled_table(random: Random, rows: int, columns: int) -> bytes:
    """A table with names of columns and rows. In half of the columns, half of the rows are alike."""
    course = random.normal(0, 3, columns)
    values = random.normal(0, 1, (rows, columns))
    values[: rows // 2, : columns // 2] = course[: columns // 2] + 0.1 * values[: rows // 2, : columns // 2]
    header = ["id", *(f"c{column}" for column in range(columns))]
    body = [[f"r{row}", *numbers] for row, numbers in enumerate(np.round(values, 4).tolist())]
    return lines([header, *body], "\t")


def around(random: Random, points: int, centers: Array) -> list[list[float]]:
    """Points around some centers."""
    places = centers[random.integers(len(centers), size=points)]
    found: list[list[float]] = np.round(places + random.normal(0, 1, places.shape), 3).tolist()
    return found


def clusters(random: Random, points: int, columns: int, centers: int) -> list[list[float]]:
    """Points around some random centers."""
    return around(random, points, random.uniform(-10, 10, (centers, columns)))


def numbered_clusters(random: Random, points: int, columns: int) -> bytes:
    """Points around five centers, each with a number in front."""
    return lines([number, *point] for number, point in enumerate(clusters(random, points, columns, 5)))


def named_clusters(random: Random, points: int, columns: int) -> bytes:
    """Points around three centers, below the names of the columns."""
    return lines([[f"d{column}" for column in range(columns)], *clusters(random, points, columns, 3)], ",")


# Letters and words


def letters(random: Random, count: int, alphabet: str = "ACGT") -> str:
    """Random letters."""
    return "".join(random.choice(list(alphabet), count))


def changed(random: Random, text: str, share: float, alphabet: str = "ACGT") -> str:
    """The same with a share of its letters replaced."""
    return "".join(str(random.choice(list(alphabet))) if random.random() < share else letter for letter in text)


def fasta(random: Random, count: int, shortest: int, longest: int, alphabet: str = "ACGT", kinds: int = 8) -> bytes:
    """Sequences, each one of a few kinds with some letters replaced."""
    models = [letters(random, longest, alphabet) for _ in range(kinds)]
    rows = []
    for number in range(count):
        length = int(random.integers(shortest, longest + 1))
        rows.append([f">sequence{number}\n" + changed(random, models[number % kinds][:length], 0.02, alphabet)])
    return lines(rows)


def pairs_of_reads(random: Random, count: int, length: int) -> bytes:
    """Pairs of sequences which differ in up to a third of their letters."""
    reads = [letters(random, length) for _ in range(count)]
    return lines(([read, changed(random, read, random.uniform(0, 0.33))] for read in reads), "\t")


def words(random: Random, count: int, vocabulary: int, named: str = "") -> bytes:
    """Words in one line, the first of a vocabulary often and the last ones rarely, with a named word here and there."""
    known = [letters(random, int(random.integers(2, 9)), "abcdefghijklmnopqrstuvwxyz") for _ in range(vocabulary)]
    if named:
        known[3] = named
    chances = 1 / np.arange(1, vocabulary + 1)
    return " ".join(known[index] for index in random.choice(vocabulary, count, p=chances / chances.sum())).encode()


# Graphs, meshes and sparse matrices


def edges(random: Random, nodes: int, degree: int, parts: int = 1) -> Array:
    """The edges of a random graph of some connected parts: pairs of nodes, the larger first."""
    later = np.arange(parts, nodes)
    tree = np.stack([later, later % parts + random.integers(0, later // parts) * parts], 1)
    others = random.integers(0, nodes, (nodes * max(0, degree - 2) // 2, 2))
    others = others[(others[:, 0] % parts == others[:, 1] % parts) & (others[:, 0] != others[:, 1])]
    found: Array = np.unique(np.concatenate([tree, np.sort(others, 1)[:, ::-1]]), axis=0)
    return found


def both_ways(pairs: Array) -> Array:
    """Each edge in both directions, sorted by the node that it leaves."""
    found: Array = np.unique(np.concatenate([pairs, pairs[:, ::-1]]), axis=0)
    return found


def starts(arcs: Array, nodes: int) -> Array:
    """Where the arcs of each node start, and the number of arcs."""
    found: Array = np.searchsorted(arcs[:, 0], np.arange(nodes + 1))
    return found


def rodinia_graph(random: Random, nodes: int, degree: int) -> bytes:
    """A graph as text: first arc and number of arcs of each node, the source, end and cost of each arc."""
    arcs = both_ways(edges(random, nodes, degree))
    first = starts(arcs, nodes)
    costs = random.integers(1, 10, len(arcs))
    heads = lines([[nodes], *np.stack([first[:-1], np.diff(first)], 1).tolist(), [0], [len(arcs)]])
    return heads + lines(np.stack([arcs[:, 1], costs], 1).tolist())


@functools.cache
def road_map(size: int) -> tuple[bytes, bytes]:
    """A square lattice as text: nodes, arcs and source, first arc and number of arcs of each node, end and cost of each
    arc; and how far each node is from the source."""
    nodes = np.arange(size * size)
    right, down = nodes[nodes % size > 0], nodes[size:]
    arcs = both_ways(np.concatenate([np.stack([right, right - 1], 1), np.stack([down, down - size], 1)]))
    first = starts(arcs, len(nodes))
    costs = np.random.default_rng(1).integers(1, 100, len(arcs))
    far = np.full(len(nodes), 1 << 30)
    far[0] = 0
    for _ in nodes:  # Bellman and Ford's: a shortest path has fewer arcs than there are nodes
        before = far.copy()
        np.minimum.at(far, arcs[:, 1], before[arcs[:, 0]] + costs)
        if (far == before).all():
            break
    heads = lines([[len(nodes), len(arcs), 0], *np.stack([first[:-1], np.diff(first)], 1).tolist()])
    return heads + lines(np.stack([arcs[:, 1], costs], 1).tolist()), lines([[len(nodes)], *enumerate(far.tolist())])


@functools.cache
def nearest(points: int, neighbors: int) -> tuple[bytes, bytes]:
    """For points of three clouds, how far the nearest ones are (squared), and which they are, in binary."""
    random = np.random.default_rng(1)
    cloud = random.normal(0, 1, (points, 16)) + random.normal(0, 4, (3, 16))[np.arange(points) % 3]
    squares = (cloud**2).sum(1)
    far = squares[:, None] + squares - 2 * cloud @ cloud.T
    found = np.argsort(far, 1)[:, :neighbors]
    return np.take_along_axis(far, found, 1).clip(0).astype("<f4").tobytes(), found.astype("<i8").tobytes()


def ecl_graph(random: Random, nodes: int, degree: int, parts: int = 1) -> bytes:
    """A graph with weights in the binary format of the ECL programs."""
    pairs = edges(random, nodes, degree, parts)
    arcs = both_ways(pairs)
    weights = (arcs.sum(1) * 7919 + arcs.max(1)) % 97 + 1
    numbers = [[nodes, len(arcs)], starts(arcs, nodes), arcs[:, 1], weights]
    return np.concatenate(numbers).astype("<i4").tobytes()


def edge_list(random: Random, nodes: int, degree: int) -> bytes:
    """A graph as text with a line for each edge."""
    return lines(edges(random, nodes, degree).tolist())


def arc_list(random: Random, nodes: int, degree: int) -> bytes:
    """A graph as text with a line for each direction of an edge."""
    return lines(both_ways(edges(random, nodes, degree)).tolist())


def signed_edges(random: Random, nodes: int, degree: int) -> bytes:
    """A graph as text with a sign for each edge."""
    pairs = edges(random, nodes, degree)
    signs = random.choice([-1, 1], len(pairs), p=[0.3, 0.7])
    return b"source,target,sign\n" + lines(np.column_stack([pairs, signs]).tolist(), ",")


def matrix_market(random: Random, rows: int, degree: int) -> bytes:
    """A sparse matrix of real numbers with a full diagonal."""
    places = np.concatenate([both_ways(edges(random, rows, degree)), np.stack([np.arange(rows)] * 2, 1)]) + 1
    values = uniform(random, (len(places),), 1, 2)
    body = [[row, column, value] for (row, column), value in zip(places.tolist(), values, strict=True)]
    return b"%%MatrixMarket matrix coordinate real general\n" + lines([[rows, rows, len(body)], *body])


def ones_of_a_matrix(random: Random, rows: int, columns: int, rank: int) -> bytes:
    """The places of the ones of a Boolean product of two thin matrices."""
    left, right = (random.random((size, rank)) < 0.15 for size in (rows, columns))
    places = np.argwhere(left.astype(int) @ right.T.astype(int) > 0)
    return lines([[rows, columns, len(places)], *places.tolist()])


def sparse_tensor(random: Random, sizes: tuple[int, ...], count: int) -> bytes:
    """The non-zero elements of a tensor."""
    places = np.unique(np.stack([random.integers(1, size + 1, count) for size in sizes], 1), axis=0)
    values = uniform(random, (len(places),), -1, 1)
    body = [[*place, value] for place, value in zip(places.tolist(), values, strict=True)]
    return lines([[len(sizes)], sizes, *body])


def svm_rows(random: Random, rows: int, features: int, used: int) -> bytes:
    """Rows with a label, 1 or -1, and some numbered features, on which the label depends."""
    found = []
    for _ in range(rows):
        columns = np.sort(random.choice(features, used, replace=False))
        values = np.round(random.normal(0, 1, used), 4)
        label = 1 if values @ np.cos(columns) > 0 else -1
        found.append([label, *(f"{c + 1}:{v}" for c, v in zip(columns.tolist(), values.tolist(), strict=True))])
    return lines(found)


def box_mesh(size: int) -> bytes:
    """A mesh of boxes without depth: volume, and number of the neighbor and normal of each of four faces of each box.

    The left face of the mesh is a wing (0 for a neighbor), and the others are far away (a negative one).
    """
    rows = []
    for y in range(size):
        for x in range(size):
            row: list[object] = [1.0]
            for across, up in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                inside = 0 <= x + across < size and 0 <= y + up < size
                outside = 0 if x + across < 0 else -2
                row += [(y + up) * size + x + across + 1 if inside else outside, -float(across), -float(up), 0.0]
            rows.append(row)
    return lines([[size * size], *rows])


# Images


def picture(random: Random, width: int, height: int, channels: int = 3, noise: float = 4) -> Array:
    """An image with slopes, bright discs and noise."""
    y, x = np.mgrid[0:height, 0:width]
    image = np.stack([60 + 60 * np.sin(x / (19 + 7 * c)) * np.cos(y / (23 - 5 * c)) for c in range(channels)], -1)
    for _ in range(8):
        center_x, center_y, radius = random.uniform(0, width), random.uniform(0, height), random.uniform(8, 12)
        image[np.hypot(x - center_x, y - center_y) < radius] += random.uniform(40, 100)
    found: Array = np.clip(image + random.normal(0, noise, image.shape) + 10, 0, 255).astype(np.uint8)
    return found


def bmp(image: Array) -> bytes:
    """An image as a bitmap of 24 bits. The width has to be a multiple of four."""
    height, width = image.shape[:2]
    pixels = np.ascontiguousarray(image[::-1, :, ::-1]).tobytes()
    head = struct.pack("<2sihhi", b"BM", 54 + len(pixels), 0, 0, 54)
    return head + struct.pack("<iiihhIIiiii", 40, width, height, 1, 24, 0, len(pixels), 0, 0, 0, 0) + pixels


def netpbm(image: Array) -> bytes:
    """An image as PPM, or as PGM where it has one channel."""
    height, width, channels = image.shape
    return f"P{6 if channels == 3 else 5}\n{width} {height}\n255\n".encode() + image.tobytes()


def gray_levels(image: Array) -> bytes:
    """An image of one channel as text: height, width, and the rows."""
    return lines([[image.shape[0]], [image.shape[1]], *image[..., 0].tolist()])


def avi(random: Random, width: int, height: int, frames: int) -> bytes:
    """A film of gray frames, not compressed, which moves slowly to the right."""

    def chunk(tag: bytes, content: bytes) -> bytes:
        return tag + struct.pack("<I", len(content)) + content + b"\0" * (len(content) % 2)

    scene = picture(random, width + frames, height, 1)[..., 0]
    shown = [np.ascontiguousarray(scene[::-1, frames - n : frames - n + width]).tobytes() for n in range(frames)]
    main = struct.pack("<14I", 40_000, 0, 0, 0, frames, 0, 1, width * height, width, height, 0, 0, 0, 0)
    stream = b"vidsDIB " + struct.pack("<12I", 0, 0, 0, 1, 25, 0, frames, width * height, 0, 0, 0, 0)
    layout = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 0, width * height, 0, 0, 0, 0)
    streams = chunk(b"LIST", b"strl" + chunk(b"strh", stream) + chunk(b"strf", layout))
    headers = chunk(b"LIST", b"hdrl" + chunk(b"avih", main) + streams)
    return chunk(b"RIFF", b"AVI " + headers + chunk(b"LIST", b"movi" + b"".join(chunk(b"00db", s) for s in shown)))


def bright_pixels(random: Random, width: int, height: int) -> bytes:
    """An image as text: red, green, blue and opacity of each pixel, over a wide range."""
    colors = np.exp(random.normal(0, 1, (height * width, 3)))
    return lines([[width, height], *([*pixel, 1.0] for pixel in np.round(colors, 4).tolist())])


def sky(random: Random, size: int, stars: int) -> bytes:
    """A square image of blurred stars, one of them in the middle: floating point numbers in binary."""
    y, x = np.mgrid[0:size, 0:size]
    places = [(size // 2, size // 2), *random.integers(0, size, (stars - 1, 2)).tolist()]
    image = np.zeros((size, size))
    for row, column in places:
        distance = np.hypot(y - row, x - column)
        image += np.exp(-distance / 3) * np.cos(distance / 2)
    return image.astype("<f4").tobytes()


def digits(random: Random, count: int) -> bytes:
    """Images in MNIST's format, each with a bar where its label says."""
    images = random.integers(0, 40, (count, 28, 28)).astype(np.uint8)
    for number, image in enumerate(images):
        start = 4 + 2 * (number % 10)
        image[:, start : start + 3] = 220
    return struct.pack(">4i", 2051, count, 28, 28) + images.tobytes()


def labels(count: int) -> bytes:
    """The labels of these images."""
    return struct.pack(">2i", 2049, count) + bytes(number % 10 for number in range(count))


# What only one program reads


def channel(width: int, height: int) -> bytes:
    """The cells of a channel's upper and lower wall, and of a square obstacle in it."""
    walls = [(x, y) for y in (0, height - 1) for x in range(width)]
    square = [(x, y) for y in range(height // 3, height // 3 + 8) for x in range(width // 4, width // 4 + 8)]
    return lines([x, y, 1] for x, y in walls + square)


def sea_floor(size: int) -> bytes:
    """Depths on a grid from 96 to 106 degrees east and 10 degrees south to the equator, with a coast in the east."""
    y, x = np.mgrid[0:size, 0:size] / (size - 1)
    depths = np.where(x > 0.85, 200.0, -4000 + 3000 * x + 200 * np.sin(9 * y))
    head = struct.pack("<4s2h6d", b"DSBB", size, size, 96, 106, -10, 0, depths.min(), depths.max())
    return head + depths.astype("<f4").tobytes()


def seismic_traces(random: Random, points: int, traces: int, samples: int) -> bytes:
    """Traces around some points, in the format of Seismic Unix: a hyperbola in each point's traces, and noise."""
    found = b""
    for point in range(points):
        for trace in range(traces):
            offset = 20 * (trace + 1)
            header = bytearray(240)
            struct.pack_into("<i", header, 20, point + 1)
            struct.pack_into("<h4i", header, 70, 1, 100 * point - offset, 0, 100 * point + offset, 0)
            struct.pack_into("<2H", header, 114, samples, 2000)
            arrival = math.sqrt((samples // 3) ** 2 + 0.2 * offset * offset)
            wave = np.exp(-(((np.arange(samples) - arrival) / 4) ** 2)) + random.normal(0, 0.05, samples)
            found += bytes(header) + wave.astype("<f4").tobytes()
    return found


def cascade(random: Random, stages: int, features: int) -> bytes:
    """A face detector that has learnt nothing: per feature three rectangles with weights, threshold and votes."""
    found: list[int] = []
    for _ in range(stages):
        for _ in range(features):
            for weight in (-4096, 8192):
                x, y, width, height = random.integers(1, 11, 4).tolist()
                found += [x, y, width, height, weight]
            found += [0, 0, 0, 0, 0, int(random.integers(-100, 100)), *random.integers(-90, 110, 2).tolist()]
        found.append(-160 * features)
    return lines([number] for number in found)


def crystal(random: Random, atoms: int) -> bytes:
    """A cubic cell of a crystal with atoms of four elements."""
    places = uniform(random, (atoms, 3), 0, 1)
    rows = [[number + 1, ("Zn", "O", "C", "H")[number % 4], *place] for number, place in enumerate(places)]
    return lines([[25.832, 25.832, 25.832], [90, 90, 90], [atoms, 0], ["0 cell"], *rows])


def heart_points(rows: int, columns: int) -> bytes:
    """Sizes of a template and of its surroundings, and 20 and 31 points on two ellipses."""
    found: list[list[object]] = [[5, 8, 5, 0.87], [20, 31]]
    for count, share in ((20, 0.15), (31, 0.25)):
        angles = np.arange(count) * math.tau / count
        found.append((rows / 2 + share * rows * np.sin(angles)).astype(int).tolist())
        found.append((columns / 2 + share * columns * np.cos(angles)).astype(int).tolist())
    return lines(found)


def tight_binding(cells: int) -> bytes:
    """A square lattice with one orbital for each cell, and hopping to the four neighbors."""
    hopping = [[x, y, 0, 0, -1, 0] for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))]
    return lines([[cells, cells, 1], [1, 1, 1, 0], [1, 1, 1], [1, 4], [0, 0, 0], [4], *hopping])


def anchors(random: Random, reads: int, longest: int) -> bytes:
    """Matches between reads and a genome, in their order: tag, place in the genome, width, place in the read."""
    found = b""
    for _ in range(reads):
        count = int(random.integers(1, longest))
        steps = random.integers(1, 40, (2, count)).cumsum(1)
        body = [[1, x, 15, y] for x, y in steps.T.tolist()]
        found += lines([[count, 15.37, 5000, 5000, 500], *body, ["EOR"]])
    return found


def twisters(random: Random, stripped: bool) -> bytes:
    """The constants of 4096 small Mersenne twisters: those that differ, or all."""
    matrix, mask_b, mask_c = random.integers(1 << 31, 1 << 32, (3, 4096))
    if stripped:
        return np.stack([matrix, mask_b, mask_c, matrix * 0], 1).astype("<u4").tobytes()
    same = np.tile([9, 19, 1, 32, 0xFFFFFFFF, 0xFFFFFFFE, 1, 12, 18, 7, 15], (4096, 1))
    return np.column_stack([matrix, same, mask_b, mask_c, matrix * 0, matrix * 0]).astype("<u4").tobytes()


def trajectory(random: Random, samples: int, points: int) -> bytes:
    """Samples of a scanner's trajectory (place, then real and imaginary part), and the points of an image."""
    sizes = struct.pack("<2i", samples, points)
    places = floats(random, 3 * samples, -0.5, 0.5) + floats(random, 3 * points, -1, 1)
    return sizes + places + floats(random, 2 * samples, -1, 1)


def storms(random: Random, count: int) -> bytes:
    """Records of 48 letters with a latitude and a longitude."""
    places = random.uniform(5, [60, 99], (count, 2)).tolist()
    return lines(
        [f"1950  1  1  0  {n:<8}STORM{north:5.1f}{east:5.1f}   75    2"] for n, (north, east) in enumerate(places)
    )


def cloud(random: Random, points: int) -> bytes:
    """Points of a laser scanner: place, brightness and time."""
    place = random.uniform([-8, -8, -2], [8, 8, 1], (points, 3))
    return np.column_stack([place, random.random((points, 1)), np.zeros(points)]).astype("<f4").tobytes()


def cities(random: Random) -> bytes:
    """Latitude and longitude of 4096 places, 512 times."""
    return lines(uniform(random, (4096, 2), -89, 89, 2)) * 512


def counts(random: Random, rows: int) -> bytes:
    """How often something happened, and in which time it did."""
    times = random.uniform(1, 9, rows)
    return lines(zip(random.poisson(3 * times).tolist(), np.round(times, 3).tolist(), strict=True))


def nets(random: Random, count: int, tiles: int) -> bytes:
    """Nets of a chip, in the format of the ISPD contests: a few pins each, and sometimes dozens."""
    head = lines(
        [
            ["grid", tiles, tiles, 2],
            *[[*kind, 10, 10] for kind in (("vertical", "capacity"), ("horizontal", "capacity"))],
            *[[*kind, 1, 1] for kind in (("minimum", "width"), ("minimum", "spacing"), ("via", "spacing"))],
            [0, 0, 10, 10],
            ["num", "net", count],
        ]
    )
    pins = np.where(random.random(count) < 0.9, random.integers(2, 6, count), random.integers(6, 60, count)).tolist()
    for net, number in enumerate(pins):
        places = random.integers(0, 10 * tiles, (number, 2)).tolist()
        head += lines([[f"net{net}", net, number, 1], *([*pin, 1] for pin in places)])
    return head


def line_with_noise(random: Random, points: int) -> bytes:
    """Points near a straight line."""
    x = random.uniform(0, 30, points)
    values = np.stack([x, 2 + 0.5 * x + random.normal(0, 1, points)], 1)
    return lines(np.round(values, 3).tolist(), "\t")


def matrices(random: Random, count: int) -> bytes:
    """Matrices of 3 by 3 numbers."""
    return lines([[count]]) + table(random, count, 9, -1, 1, 5)


def gene_levels(random: Random) -> bytes:
    """The levels of the genes of a chip."""
    levels = random.integers(-9, 10, 22283).tolist()
    return lines([["gene", "level"], *([f"g{number}", level] for number, level in enumerate(levels))], "\t")


CENTERS = np.array([[0.0, 0.0, 0.0], [60.0, 10.0, 0.0], [-20.0, 50.0, 40.0]])

# The basis STO-3G of oxygen and hydrogen.
ORBITALS = b"""O     0
S   3   1.00
    130.7093200    0.15432897
     23.8088610    0.53532814
      6.4436083    0.44463454
SP   3   1.00
      5.0331513   -0.09996723    0.15591627
      1.1695961    0.39951283    0.60768372
      0.3803890    0.70011547    0.39195739
****
H     0
S   3   1.00
      3.42525091   0.15432897
      0.62391373   0.53532814
      0.16885540   0.44463454
****
"""

WATER = b"""3
water
O  0.0  -0.0757918380989205  0.0
H  0.866811766181276  0.601435735705694  0.0
H  -0.866811766181276  0.601435735705694  0.0
"""

SETTINGS_OF_LSQT = b"""model 1
anderson_disorder 1
calculate_vac0
calculate_vac
calculate_msd
number_of_random_vectors 1
number_of_moments 60
energy_max 5
"""

# The numbers in each file of resnet-kernels.
RESNET = {
    "input_14_1_128": 16 * 16 * 128,
    "input_14_1_256": 16 * 16 * 256,
    "input_one_14_1024": 14 * 14 * 1024,
    "weight_one_1024": 256 * 1024,
    "weight_winograd_128_128": 36 * 128 * 128,
    "weight_winograd_256_256": 36 * 256 * 256,
    "bias_128": 128,
    "bnBias_winograd_128": 128,
    "bnScale_winograd_128": 128,
    "bnBias_winograd_256": 256,
    "bnScale_winograd_256": 256,
    "bnBias_myKernel_one_1024": 1024,
    "bnScale_myKernel_one_1024": 1024,
}

# The program, its file, and what makes it.
FILES: list[tuple[str, str, Callable[[Random], bytes]]] = [
    ("aes, urng", "urng-sycl/URNG_Input.bmp", lambda r: bmp(picture(r, 128, 128))),
    ("b+tree", "data/b+tree/mil.txt", lambda r: lines([[20000], *([n] for n in r.permutation(20000).tolist())])),
    ("b+tree", "data/b+tree/command.txt", lambda r: b"j 60 30\n\nk 100\n"),
    ("bfs", "data/bfs/graph1MW_6.txt", lambda r: rodinia_graph(r, 20000, 6)),
    ("bm3d", "bm3d-hip/image.ppm", lambda r: netpbm(picture(np.random.default_rng(1), 64, 64, 3, 0))),
    ("bm3d", "bm3d-hip/noised.ppm", lambda r: netpbm(picture(np.random.default_rng(1), 64, 64, 3, 20))),
    ("bmf", "bmf-cuda/data/MNIST.in", lambda r: ones_of_a_matrix(r, 320, 256, 8)),
    ("bsw", "bsw-cuda/test-data/protein-reference.fasta", lambda r: fasta(r, 64, 90, 120, "ARNDCQEGHILKMFPSTWYV", 1)),
    ("bsw", "bsw-cuda/test-data/protein-query.fasta", lambda r: fasta(r, 64, 40, 80, "ARNDCQEGHILKMFPSTWYV", 1)),
    ("cc", "cc-cuda/delaunay_n24.egr", lambda r: ecl_graph(r, 10000, 6, 5)),
    ("ccs", "ccs-cuda/Data_Constant_100_1_bicluster.txt", lambda r: labelled_table(r, 40, 40)),
    *[
        ("ced", f"ced-hip/input/peppa/{number}.txt", lambda r: gray_levels(picture(r, 160, 120, 1)))
        for number in range(3)
    ],
    ("cfd", "data/cfd/fvcorr.domn.097K", lambda r: box_mesh(16)),
    ("cm", "cm-hip/queries/query.sig", lambda r: lines([[f"g{n}", (-1) ** n] for n in range(100, 105)], "\t")),
    ("cm", "cm-hip/reffiles-tab/one_1_cell_1.tab", gene_levels),
    ("cm", "cm-hip/reffiles-tab/two_1_cell_1.tab", gene_levels),
    ("cm", "cm-hip/Results/README", lambda r: b"The program writes here.\n"),
    ("clink", "clink-hip/input.hpp", lambda r: table(r, 200, 1, -1, 1)),
    *[("clink", f"clink-hip/weight_{number}.hpp", lambda r: table(r, 146, 1, -1, 1)) for number in (1, 2)],
    ("cmp", "cmp-cuda/data/simple-synthetic.su", lambda r: seismic_traces(r, 6, 12, 200)),
    ("d2q9-bgk", "d2q9-bgk-hip/Inputs/input_256x256.params", lambda r: b"128\n64\n60\n12\n0.1\n0.005\n1.85\n"),
    ("d2q9-bgk", "d2q9-bgk-hip/Obstacles/obstacles_256x256.dat", lambda r: channel(128, 64)),
    ("deredundancy", "deredundancy-sycl/testData.fasta", lambda r: fasta(r, 200, 60, 200)),
    ("easyWave", "easyWave-omp/data/grids/e2Asean.grd", lambda r: sea_floor(101)),
    ("face", "face-cuda/Face.pgm", lambda r: netpbm(picture(r, 96, 80, 1))),
    ("face", "face-cuda/info.txt", lambda r: lines([[25], *[[2]] * 25])),
    ("face", "face-cuda/class.txt", lambda r: cascade(r, 25, 2)),
    ("floydwarshall2", "floydwarshall2-cuda/CollegeMsg.egr", lambda r: ecl_graph(r, 200, 6)),
    ("gd", "gd-hip/gisette_scale", lambda r: svm_rows(r, 1000, 512, 30)),
    ("ge-spmm", "ge-spmm-cuda/data/snap/amazon0302/amazon0302.mtx", lambda r: matrix_market(r, 1000, 8)),
    ("geodesic", "geodesic-sycl/locations.txt", cities),
    ("gibbs", "gibbs-cuda/data.csv", lambda r: counts(r, 4000)),
    ("gmm", "gmm-hip/data", lambda r: named_clusters(r, 1024, 24)),
    ("graphB+", "graphB+-cuda/graph.csv", lambda r: signed_edges(r, 1000, 6)),
    ("haversine", "geodesic-cuda/locations.txt", cities),
    ("hbc", "hbc-cuda/graphs/breast_coexpress.txt", lambda r: edge_list(r, 400, 6)),
    ("heartwall", "data/heartwall/test.avi", lambda r: avi(r, 180, 160, 4)),
    ("heartwall", "data/heartwall/input.txt", lambda r: heart_points(160, 180)),
    ("henry", "henry-cuda/IRMOF-1.cssr", lambda r: crystal(r, 4)),
    ("hogbom", "hogbom-cuda/data/dirty_4096.img", lambda r: sky(r, 256, 12)),
    ("hogbom", "hogbom-cuda/data/psf_4096.img", lambda r: sky(r, 256, 1)),
    ("hotspot", "data/hotspot/temp_512", lambda r: table(r, 512 * 512, 1, 320, 340)),
    ("hotspot", "data/hotspot/power_512", lambda r: table(r, 512 * 512, 1, 0, 0.01, 5)),
    ("hotspot3D", "data/hotspot3D/temp_512x8", lambda r: table(r, 64 * 64 * 8, 1, 320, 340)),
    ("hotspot3D", "data/hotspot3D/power_512x8", lambda r: table(r, 64 * 64 * 8, 1, 0, 0.01, 5)),
    ("kmeans", "data/kmeans/kdd_cup", lambda r: numbered_clusters(r, 4000, 34)),
    ("lanczos", "lanczos-cuda/data/social-large-800k.txt", lambda r: arc_list(r, 2000, 8)),
    ("leukocyte", "data/leukocyte/testfile.avi", lambda r: avi(r, 160, 400, 4)),
    ("lr", "lr-sycl/assets/temperature.txt", lambda r: line_with_noise(r, 96453)),
    ("lsqt", "lsqt-cuda/examples/input.txt", lambda r: b"../lsqt-cuda/examples/square\n"),
    ("lsqt", "lsqt-cuda/examples/square/para.in", lambda r: SETTINGS_OF_LSQT),
    ("lsqt", "lsqt-cuda/examples/square/energy.in", lambda r: lines([[21], [n / 2.5 for n in range(-10, 11)]])),
    ("lsqt", "lsqt-cuda/examples/square/time_step.in", lambda r: lines([[3], [1, 1, 1]])),
    ("lsqt", "lsqt-cuda/examples/square/lattice.in", lambda r: tight_binding(32)),
    ("lzss", "lzss-cuda/QCLOUDf48.bin.f32.errctrl.1e-3", lambda r: waves(r, 64 << 10)),
    ("mcpr", "mcpr-cuda/alphas.csv", lambda r: table(r, 26280, 21, -1, 1)),
    ("meanshift", "meanshift-cuda/dataset/data.csv", lambda r: lines(around(r, 2048, CENTERS), ",")),
    ("meanshift", "meanshift-cuda/dataset/centroids.csv", lambda r: lines(CENTERS.tolist(), ",")),
    ("medianfilter", "medianfilter-sycl/data/SierrasRGB.ppm", lambda r: netpbm(picture(r, 192, 128))),
    ("minimap2", "minimap2-sycl/in-1k.txt", lambda r: anchors(r, 1900, 60)),
    ("mmcsf", "mmcsf-hip/output.tns", lambda r: sparse_tensor(r, (60, 50, 40), 4000)),
    ("mnist", "mnist-cuda/data/train-images.idx3-ubyte", lambda r: digits(r, 100)),
    ("mnist", "mnist-cuda/data/train-labels.idx1-ubyte", lambda r: labels(100)),
    ("mnist", "mnist-cuda/data/t10k-images.idx3-ubyte", lambda r: digits(r, 20)),
    ("mnist", "mnist-cuda/data/t10k-labels.idx1-ubyte", lambda r: labels(20)),
    ("mpc", "mpc-cuda/msg_sp.trace.out", lambda r: waves(r, 40000, "<f8")),
    ("mriQ", "mriQ-cuda/datasets/128x128x128/input/128x128x128.bin", lambda r: trajectory(r, 1024, 4096)),
    ("mt", "mt-hip/data/MersenneTwister.dat", lambda r: twisters(np.random.default_rng(1), True)),
    ("mt", "mt-hip/data/MersenneTwister.raw", lambda r: twisters(np.random.default_rng(1), False)),
    *[("nn", f"data/nn/cane4_{number}.db", lambda r: storms(r, 5000)) for number in range(4)],
    ("recursiveGaussian", "recursiveGaussian-cuda/StoneRGB.ppm", lambda r: netpbm(picture(r, 192, 128))),
    *[
        (
            "resnet-kernels",
            f"resnet-kernels-hip/data/{name}.bin",
            lambda r, count=count: floats(r, count, -0.5, 0.5),
        )
        for name, count in RESNET.items()
    ],
    ("rsmt", "rsmt-cuda/newblue7.kraftwerk70.3d.80.20.82.m8.gr", lambda r: nets(r, 3000, 100)),
    ("sa", "sa-cuda/genome.txt", lambda r: letters(r, 100_000).encode()),
    ("snake", "snake-cuda/Datasets/ERR240727_1_E2_30000Pairs.txt", lambda r: pairs_of_reads(r, 2000, 100)),
    ("sobel", "sobel-sycl/SobelFilter_Input.bmp", lambda r: bmp(picture(r, 256, 256))),
    ("sptrsv", "sptrsv-sycl/lp1.mtx", lambda r: matrix_market(r, 2000, 8)),
    ("ss", "ss-sycl/StringSearch_Input.txt", lambda r: words(r, 20_000, 200, "clEnqueueNDRangeKernel")),
    ("sssp", "sssp-hip/input/NYR_input.dat", lambda r: road_map(128)[0]),
    ("sssp", "sssp-hip/output/NYR_bfs.out", lambda r: road_map(128)[1]),
    ("svd3x3", "svd3x3-cuda/Dataset_1M.txt", lambda r: matrices(r, 20_000)),
    ("tonemapping", "tonemapping-sycl/input.hdr", lambda r: bright_pixels(r, 160, 128)),
    ("tsne", "tsne-hip/data/mnist_faissed/distances", lambda r: nearest(2000, 32)[0]),
    ("tsne", "tsne-hip/data/mnist_faissed/indices", lambda r: nearest(2000, 32)[1]),
    ("tsne", "tsne-hip/data/points.txt", lambda r: lines(r.normal(0, 1e-4, (2000, 2)).tolist())),
    ("voxelization", "voxelization-cuda/data/test/scan.bin", lambda r: cloud(r, 20_000)),
    ("word2vec", "word2vec-hip/text8", lambda r: words(r, 20_000, 300)),
    ("xlqc", "xlqc-hip/example/geom.xyz", lambda r: WATER),
    ("xlqc", "xlqc-hip/example/basis.dat", lambda r: ORBITALS),
]


def place(folder: Path, name: str) -> Path:
    """The path of a file of a folder. Folders on the way are made, also in place of links."""
    path = folder
    for part in Path(name).parts[:-1]:
        path /= part
        if path.is_symlink():
            held = list(path.resolve().iterdir()) if path.exists() else []
            path.unlink()
            path.mkdir()
            for entry in held:
                (path / entry.name).symlink_to(entry)
        path.mkdir(exist_ok=True)
    return path / Path(name).name


def make(folder: Path, wanted: Collection[str]) -> None:
    """Make the files of some programs, in a folder that is laid out as HeCBench's src/."""
    for programs, name, contents in FILES:
        if not set(wanted).isdisjoint(programs.split(", ")):
            path = place(folder, name)
            path.unlink(missing_ok=True)
            path.write_bytes(contents(np.random.default_rng(zlib.crc32(name.encode()))))
