"""Checks that the tests run the libraries' arithmetic: arithmetic_test.py NM BUILD

Test bodies are compiled without optimization. An inline function that both a test's object and a library define is linked only once, and the
linker takes the test's copy. Such a copy may have other bits, since products and sums are not fused in it. So no function of the namespaces
dikkat::simd and dikkat::kernels may be defined in both."""
import pathlib
import re
import subprocess
import sys

ARITHMETIC = re.compile(r"\bdikkat::(simd|kernels)::")


def weak_functions(nm, files):
    """The inline functions of arithmetic that the files define, demangled."""
    printed = subprocess.run([nm, "-C", "--defined-only", *map(str, files)], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^[0-9a-f]+ [Wu] (.+)$", printed, re.MULTILINE)
    return {name for name in found if ARITHMETIC.search(name)}


def main():
    nm, build = sys.argv[1], pathlib.Path(sys.argv[2])
    libraries = sorted((build / "autograd").glob("*/libdikkat_*.a")) + sorted(build.glob("layers/*.a")) + sorted(build.glob("optim/*.a"))
    tests = sorted((build / "tests/CMakeFiles").rglob("*.o"))  # tests that run now make and remove other folders of build/tests
    tests = [path for path in tests if "test_simd_sse42.dir" not in path.parts]  # it has arithmetic of its own, and links no library with any
    assert libraries and tests, f"found {len(libraries)} libraries and {len(tests)} objects of tests in {build}, expected some of both"
    of_libraries = weak_functions(nm, libraries)
    assert of_libraries, "the libraries define no inline function of arithmetic: does this test still look for the right names?"
    both = of_libraries & weak_functions(nm, tests)
    assert not both, "these functions are defined in a library and in a test, whose copy is not optimized:\n" + "\n".join(sorted(both))


if __name__ == "__main__":
    main()
