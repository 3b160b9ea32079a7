#!/usr/bin/env python3
"""Writes `letters.txt`, the outlines of the letters of pictures, from a TrueType font.

    python crates/zipfold/fonts/letters.py DejaVuSans.ttf >crates/zipfold/fonts/letters.txt

Needs fontTools. The first line has the units of an em and the height of an x. Each other line has a letter as a hexadecimal
number, its width, and its outline as a path of SVG, in units of the font, upwards. The letter 0 is the box of a missing one.
"""

import sys

from fontTools.pens.svgPathPen import SVGPathPen
from fontTools.ttLib import TTFont

# Latin, Greek, Cyrillic; punctuation, raised and lowered digits, arrows, signs of mathematics, marks.
RANGES = [
    (0x20, 0x7E),
    (0xA0, 0x17F),
    (0x370, 0x3FF),
    (0x401, 0x451),
    (0x2010, 0x2027),
    (0x2030, 0x203A),
    (0x2070, 0x209C),
    (0x2102, 0x2135),
    (0x2190, 0x2199),
    (0x2200, 0x22A5),
    (0x25CB, 0x25CF),
]


def main():
    font = TTFont(sys.argv[1])
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    print(font["head"].unitsPerEm, font["glyf"]["x"].yMax)
    inside = [code for first, last in RANGES for code in range(first, last + 1) if code in names]
    for code in [0, *inside]:
        pen = SVGPathPen(glyphs, ntos=lambda number: str(round(number)))
        glyph = glyphs[names[code] if code else ".notdef"]
        glyph.draw(pen)
        print(f"{code:x} {glyph.width} {pen.getCommands()}".rstrip())


main()
