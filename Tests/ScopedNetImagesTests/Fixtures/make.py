#!/usr/bin/env python3
"""Makes the pictures beside this file with Pillow, a program that shares no code with the decoders. `python3 make.py`

All show patterns that the tests compute, so that each pixel is compared.
"""
import struct
import zlib
from pathlib import Path
from PIL import Image, ImageChops

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

# For the codecs in C. The pixels of a lossy file, as Pillow decodes it, are stored beside it: four bytes a pixel, in a file that ends with
# ".rgba".

CODECS = HERE / "Codecs"
CODECS.mkdir(exist_ok=True)


def photo(width, height, mode="RGB"):
    """Soft gradients with some edges, as nothing that is computed in the tests."""
    image = Image.new("RGB", (width, height))
    image.putdata([
        ((x * 255 // width + (40 if (x // 7 + y // 5) % 2 else 0)) % 256, y * 255 // height, (x * y * 3 + 90) // 4 % 256 // 2 + 60)
        for y in range(height) for x in range(width)
    ])
    return image.convert(mode)


def reference(path, name=None, size=None, inverted=False):
    with Image.open(path) as image:
        if size:
            image.draft("RGB", size)
        if inverted:
            image = ImageChops.invert(image)
        (CODECS / f"{name or path.stem}.rgba").write_bytes(image.convert("RGBA").tobytes())
        return image.size


def jpegs():
    def save(name, image, **options):
        image.save(CODECS / f"{name}.jpg", **options)
        reference(CODECS / f"{name}.jpg")

    save("baseline", photo(37, 29), quality=85)
    save("progressive", photo(37, 29), quality=85, progressive=True)
    save("grey", photo(37, 29, "L"), quality=85)
    save("rgb", photo(37, 29), quality=85, keep_rgb=True)
    save("restarts", photo(37, 29), quality=85, restart_marker_rows=1, subsampling="4:4:4")
    # Orientation 6 is told, and not applied.
    exif = Image.Exif()
    exif[0x0112] = 6
    photo(37, 29).save(CODECS / "rotated.jpg", quality=85, exif=exif)
    photo(160, 120).save(CODECS / "scans.jpg", quality=90, progressive=True)
    reference(CODECS / "scans.jpg", "scans8", (20, 15))
    for part in (2, 4, 8):
        reference(CODECS / "baseline.jpg", f"baseline-{part}", (37 // part, 29 // part))
    # Ink: as Adobe stores it, the same as YCCK by the byte for the transform, and without Adobe's marker. Pillow takes that for inverted as
    # well; here it is not.
    save("cmyk", photo(37, 29, "CMYK"), quality=85)
    data = (CODECS / "cmyk.jpg").read_bytes()
    start = data.index(b"\xff\xee")
    end = start + 2 + int.from_bytes(data[start + 2:start + 4], "big")
    assert data[start + 4:start + 9] == b"Adobe" and data[end - 1] in (0, 2)
    for name, content in (("ycck", data[:end - 1] + bytes([2 - data[end - 1]]) + data[end:]), ("ink", data[:start] + data[end:])):
        (CODECS / f"{name}.jpg").write_bytes(content)
        reference(CODECS / f"{name}.jpg", inverted=name == "ink")


GREY, RGB, PALETTE, GREY_ALPHA, RGBA = 0, 2, 3, 4, 6
CHANNELS = {GREY: 1, RGB: 3, PALETTE: 1, GREY_ALPHA: 2, RGBA: 4}
PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def sample(x, y, channel, depth):
    return (x * 3001 + y * 1777 + channel * 9973) % 65536 if depth == 16 else (x * 13 + y * 7 + channel * 29) % (1 << depth)


def png_chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_rows(kind, depth, columns, rows):
    """Rows of bits, each with the filter of its number: all of the five are used."""
    previous, output = b"", b""
    channels, step = CHANNELS[kind], max(1, CHANNELS[kind] * depth // 8)
    for number, y in enumerate(rows):
        value = bits_used = 0
        for x in columns:
            for channel in range(channels):
                value, bits_used = value << depth | sample(x, y, channel, depth), bits_used + depth
        size = (bits_used + 7) // 8
        row = (value << size * 8 - bits_used).to_bytes(size, "big")
        output += png_filter(number % 5, row, previous or bytes(size), step)
        previous = row
    return output


def png_filter(kind, row, above, step):
    def paeth(a, b, c):
        distances = [abs(b - c), abs(a - c), abs(a + b - 2 * c)]
        return (a, b, c)[distances.index(min(distances))]

    result = bytearray([kind])
    for index, byte in enumerate(row):
        a, b, c = (row[index - step], above[index], above[index - step]) if index >= step else (0, above[index], 0)
        result.append((byte - (0, a, b, (a + b) // 2, paeth(a, b, c))[kind]) % 256)
    return bytes(result)


def png(kind, depth, interlaced, transparent):
    chunks = [png_chunk(b"IHDR", struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, kind, 0, 0, interlaced))]
    if kind == PALETTE:
        chunks.append(png_chunk(b"PLTE", bytes(v for i in range(1 << depth) for v in (i * 7 % 256, i * 13 % 256, 255 - i))))
        if transparent:
            chunks.append(png_chunk(b"tRNS", bytes(i * 11 % 256 for i in range((1 << depth) // 2))))
    elif transparent:
        chunks.append(png_chunk(b"tRNS", b"".join(struct.pack(">H", sample(3, 2, c, depth)) for c in range(CHANNELS[kind]))))
    if interlaced:
        parts = [(range(left, WIDTH, right), range(top, HEIGHT, down)) for left, top, right, down in PASSES]
    else:
        parts = [(range(WIDTH), range(HEIGHT))]
    pixels = zlib.compress(b"".join(png_rows(kind, depth, columns, rows) for columns, rows in parts), 9)
    # In two chunks.
    chunks += [png_chunk(b"IDAT", pixels[:20]), png_chunk(b"IDAT", pixels[20:]), png_chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def pngs():
    depths = {GREY: (1, 2, 4, 8, 16), RGB: (8, 16), PALETTE: (1, 2, 4, 8), GREY_ALPHA: (8, 16), RGBA: (8, 16)}
    for kind, all_depths in depths.items():
        for depth in all_depths:
            for interlaced in (0, 1):
                for transparent in (0, 1) if kind in (GREY, RGB, PALETTE) else (0,):
                    name = f"png-{kind}-{depth}{'-i' if interlaced else ''}{'-t' if transparent else ''}.png"
                    (CODECS / name).write_bytes(png(kind, depth, interlaced, transparent))
                    with Image.open(CODECS / name) as image:
                        image.load()  # Pillow reads what is written here.


def webps():
    def save(name, image, **options):
        image.save(CODECS / f"{name}.webp", **options)
        reference(CODECS / f"{name}.webp")

    save("lossy", photo(37, 29), quality=80)
    fading = photo(37, 29)
    fading.putalpha(Image.linear_gradient("L").resize((37, 29)))
    save("lossy-alpha", fading, quality=80)
    picture().save(CODECS / "lossless.webp", lossless=True)
    alpha().save(CODECS / "lossless-alpha.webp", lossless=True, exact=True)
    frames = []
    for number in range(5):
        frame = alpha()
        for y in range(4):
            for x in range(4):
                frame.putpixel((number * 3 + x, number * 2 + y), (number * 50, 0, 255, 255 if number % 2 else 128))
        frames.append(frame)
    frames[0].save(
        CODECS / "animated.webp", save_all=True, append_images=frames[1:], duration=[100, 10, 250, 40, 50], loop=3, lossless=True,
        exact=True)
    with Image.open(CODECS / "animated.webp") as image:
        assert image.n_frames == 5
        content = b""
        for number in range(5):
            image.seek(number)
            content += image.convert("RGBA").tobytes()
    (CODECS / "animated.rgba").write_bytes(content)


jpegs()
pngs()
webps()
