VERSION: int

def sign(
    main: bytes, details: bytes, title: bytes, classes: bytes, seed: int, occasion: bytes, /
) -> tuple[int, int, int, bool, bytes, bytes, bytes, bytes, bytes, bytes]: ...
