"""Shared libraries are judged like functions. Needs a C++ compiler."""

import os
import shutil
import subprocess
import tempfile
import unittest

from support import HERE, ErrorLines, fusesmith, why_not

ROOT = os.path.dirname(os.path.dirname(HERE))
SOURCE = os.path.join(ROOT, "docs/plugin/rms_norm.cc")
COMPILER = shutil.which("c++")
MISSING = why_not() or (None if COMPILER else "no C++ compiler")


@unittest.skipIf(MISSING, MISSING)
class Plugins(ErrorLines):
    def built(self, *flags):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        library = os.path.join(folder.name, "mine.so")
        subprocess.run([COMPILER, "-O1", "-std=c++20", "-shared", "-fPIC", f"-I{ROOT}/include", *flags, "-o", library,
                        SOURCE], check=True)
        return library

    def test_a_right_one_passes(self):
        result = fusesmith.judge("plugin:" + self.built(), "rms_norm", dtypes="f32", runs=20)
        self.assertTrue(result.ok, str(result))

    def test_a_wrong_one_fails(self):
        result = fusesmith.judge("plugin:" + self.built("-DRMS_NORM_BUG"), "rms_norm", dtypes="f32", runs=40)
        self.assertFalse(result.ok)
        self.assertIn("plugin:", result.kernel)
        self.assertIn("--candidate=plugin:", str(result.repro))

    def test_a_missing_file_is_one_line(self):
        self.check_error("none.so: no such file", fusesmith.judge, "plugin:none.so", "rms_norm")


if __name__ == "__main__":
    unittest.main()
