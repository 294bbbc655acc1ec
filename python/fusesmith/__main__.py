"""`fusesmith ...` and `python -m fusesmith ...`: the program, with the workers of this package."""

import os
import sys

from .errors import Error
from .program import binary, environment


def main():
    try:
        program = binary()
        os.execve(program, [program, *sys.argv[1:]], environment())
    except (Error, OSError) as error:
        sys.exit(f"fusesmith: {error}")


if __name__ == "__main__":
    main()
