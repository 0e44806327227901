#!/usr/bin/env python3
"""Makes processing.txt beside this file with Pillow: results of processors, as numbers. `python3 make-processing.py`

Each line is a name, a width, a height and the bytes in hexadecimal. The sources are patterns that the tests compute, too.
"""
from pathlib import Path
from PIL import Image, ImageChops, ImageDraw, ImageFilter, ImageOps

HERE = Path(__file__).parent
lines = []


def picture(width, height, pixel):
    image = Image.new("RGBA", (width, height))
    image.putdata([pixel(x, y) for y in range(height) for x in range(width)])
    return image


def colors(x, y):
    return (x * 7 % 256, y * 11 % 256, (x * x + y * 3) % 256)


def opaque(x, y):
    return colors(x, y) + (255,)


def alpha(x, y):
    return colors(x, y) + ((x * 14 + y * 5) % 256,)


def smooth(x, y):
    return (x * 255 // 199, y * 255 // 149, (x + y) * 255 // 348, 255)


def add(name, image):
    lines.append(f"{name} {image.width} {image.height} {image.tobytes().hex()}")


def oriented(image, orientation):
    image.getexif()[0x0112] = orientation
    return ImageOps.exif_transpose(image)


# Exact.
for orientation in range(1, 9):
    add(f"orientation-{orientation}", oriented(picture(5, 3, alpha), orientation))
add("crop", picture(37, 23, alpha).crop((7, 0, 30, 23)))
# Triangle, and averages before it where a side shrinks to a sixth (the reducing gap).
# Pillow counts an average of fewer rows as a whole one.
BILINEAR = Image.Resampling.BILINEAR
add("shrink", picture(37, 23, opaque).resize((12, 7), BILINEAR))
add("enlarge", picture(37, 23, opaque).resize((50, 31), BILINEAR))
add("alpha", picture(37, 23, alpha).convert("RGBa").resize((12, 7), BILINEAR))
add("much", picture(192, 144, smooth).resize((16, 12), BILINEAR, reducing_gap=3.0))
add("much-whole", picture(200, 150, smooth).resize((16, 12), BILINEAR))
add("fill", picture(200, 150, smooth).resize((12, 12), BILINEAR, box=(25, 0, 175, 150)))
# Three boxes on each axis.
for radius in (0.4, 1, 3, 20):
    add(f"blur-{radius}", picture(37, 23, opaque).filter(ImageFilter.GaussianBlur(radius)))
add("blur-alpha", picture(37, 23, alpha).convert("RGBa").filter(ImageFilter.GaussianBlur(3)))
add("tint-multiply", ImageChops.multiply(picture(37, 23, opaque), Image.new("RGBA", (37, 23), (200, 100, 50, 255))))
add("tint-atop", Image.blend(picture(37, 23, opaque), Image.new("RGBA", (37, 23), (200, 100, 50, 255)), 0.25))


def mask(width, height, radius):
    """Sixteen times as large, and averaged: the part of each pixel that is covered."""
    image = Image.new("L", (width * 16, height * 16))
    ImageDraw.Draw(image).rounded_rectangle((0, 0, width * 16 - 1, height * 16 - 1), radius * 16, fill=255)
    return image.resize((width, height), Image.Resampling.BOX)


add("mask-6", mask(24, 16, 6))
add("mask-circle", mask(21, 21, 10.5))
(HERE / "processing.txt").write_text("\n".join(lines) + "\n")
