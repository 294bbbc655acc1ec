"""How much memory an import may use: a file of some kilobytes can ask for any amount.

The limit is of what a process can write to (RLIMIT_DATA), beyond which an allocation fails: address space that is only
reserved, as PyTorch does, does not count.
"""

import contextlib
import os
import resource

BESIDE = 8  # times the size of the files that are read
MIB = 1 << 20
limit_mb, allowed = 0, 0


def set_limit(megabytes):
    """0: none."""
    global limit_mb, allowed
    limit_mb, allowed = megabytes, megabytes * MIB
    apply()


def allow_for(paths):
    """More, for files that are read: as large as they are on the disk, where holes take nothing."""
    global allowed
    for path in paths:
        with contextlib.suppress(OSError):  # whoever reads it says so
            allowed += BESIDE * os.stat(path).st_blocks * 512
    apply()


def apply():
    if limit_mb:
        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        wanted = allowed if hard == resource.RLIM_INFINITY else min(allowed, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (wanted, hard))


def problem():
    return f"out of memory: the model needs more than --rss_limit_mb={limit_mb} allows" if limit_mb else "out of memory"
