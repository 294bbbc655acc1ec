"""Finds the modules of the workers, for the tests here: import this one before them."""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
WORKERS = os.path.join(ROOT, "python", "workers")
sys.path[1:1] = [os.path.join(WORKERS, folder) for folder in ("protocol", "import", "onnx", "jax")]
