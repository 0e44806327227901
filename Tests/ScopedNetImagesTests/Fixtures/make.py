#!/usr/bin/env python3
"""Makes the pictures beside this file with Pillow, a program that shares no code with the decoders. `python3 make.py`

All show patterns that the tests compute, so that each pixel is compared.
"""
from pathlib import Path
from PIL import Image

HERE = Path(__file__).parent
WIDTH, HEIGHT = 19, 13


def colors(x, y, shift=0):
    return ((x * 13 + shift * 40) % 256, y * 19 % 256, (x ^ y) * 8 % 256)


def picture(mode="RGB", shift=0):
    image = Image.new("RGB", (WIDTH, HEIGHT))
    image.putdata([colors(x, y, shift) for y in range(HEIGHT) for x in range(WIDTH)])
    return image if mode == "RGB" else image.quantize(256, dither=Image.Dither.NONE) if mode == "P" else image.convert(mode)


def exact():
    """A palette in which each pixel has its own colour."""
    image = Image.new("P", (WIDTH, HEIGHT))
    image.putdata(list(range(WIDTH * HEIGHT)))
    image.putpalette([value for y in range(HEIGHT) for x in range(WIDTH) for value in colors(x, y)])
    return image


def alpha():
    image = Image.new("RGBA", (WIDTH, HEIGHT))
    image.putdata([colors(x, y) + (x * 14 % 256,) for y in range(HEIGHT) for x in range(WIDTH)])
    return image


def bits():
    image = Image.new("1", (WIDTH, HEIGHT))
    image.putdata([255 if (x + y) % 3 == 0 else 0 for y in range(HEIGHT) for x in range(WIDTH)])
    return image


def grey():
    image = Image.new("L", (WIDTH, HEIGHT))
    image.putdata([(x * 13 + y) % 256 for y in range(HEIGHT) for x in range(WIDTH)])
    return image


picture().save(HERE / "rgb.bmp")
exact().save(HERE / "palette.bmp")
bits().save(HERE / "bits.bmp")
alpha().save(HERE / "alpha.bmp")
exact().save(HERE / "palette.gif", interlace=0)
exact().save(HERE / "interlaced.gif", interlace=1)
frames = []
for number in range(5):
    frame = exact()
    # A square that walks, on a picture that stays.
    for y in range(4):
        for x in range(4):
            frame.putpixel((number * 3 + x, number * 2 + y), 0)
    frames.append(frame)
frames[0].save(HERE / "walk.gif", save_all=True, append_images=frames[1:], duration=[100, 10, 250, 40, 50], loop=3, disposal=[1, 1, 2, 1, 1])
alpha().save(HERE / "alpha.ico", format="ICO", bitmap_format="bmp", sizes=[(WIDTH, HEIGHT)])
alpha().save(HERE / "png.ico", format="ICO", sizes=[(WIDTH, HEIGHT)])
bits().save(HERE / "bits.xbm")
picture().save(HERE / "rgb.tif")
picture().save(HERE / "packed.tif", compression="packbits")
exact().save(HERE / "palette.tif")
bits().save(HERE / "bits.tif")
grey().save(HERE / "grey.tif")
alpha().save(HERE / "alpha.tif")
