#!/usr/bin/env python3
"""Puts what tools/bench/gpu.sh runs into a small archive that can be carried to a computer with a GPU.

Into bin/ and tests/ go the programs, stripped; into lib/ the libraries that they need, but for those of the C and C++ runtime,
which are the computer's, and those of the torch wheel (LibTorch, CUDA, NCCL), which are several GB. The file `commit` says what
was built.
Usage: tools/bench/gpu_pack.py BUILD ARCHIVE.tar.gz
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile

import report

PROGRAMS = ["bin/emplace", "bin/emplace-actor", "bin/emplace-learner", "bin/emplace-hardware", "bin/emplace-bench-cuda",
            "bin/emplace-bench-cuda-libtorch", "bin/emplace-bench-nccl", "bin/libemplace_torch.so", "tests/placeto_cuda_gpu_test",
            "tests/gpu_engine_test", "tests/torch_gpu_test"]
RUNTIME = re.compile(r"(ld-linux.*|linux-vdso|lib(c|m|dl|rt|pthread|util|resolv|anl|nsl|mvec|stdc\+\+|gcc_s))\.so")
DRIVER = re.compile(r"lib(cuda|nvidia-ml)\.so")
WHEEL = "/site-packages/"


def libraries(ldd, program):
    """Paths of the libraries to carry, of what ldd prints about a program."""
    paths = []
    for line in ldd.splitlines():
        name, _, place = line.strip().partition(" => ")
        name = pathlib.Path(name.split(" ")[0]).name
        if RUNTIME.match(name) or DRIVER.match(name):
            continue
        if place == "not found":
            sys.exit(f"gpu_pack.py: {program} needs {name}, which is not on this computer")
        path = place.rsplit(" (", 1)[0]
        if path and WHEEL not in path:
            paths.append(pathlib.Path(path))
    return paths


def gather(build, folder):
    for part in ("bin", "tests", "lib"):
        (folder / part).mkdir()
    for name in PROGRAMS:
        program = build / name
        if not program.exists():
            sys.exit(f"gpu_pack.py: there is no {program}: the preset cuda builds it")
        subprocess.run(["strip", "-o", folder / name, program], check=True)
        ldd = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        for library in libraries(ldd, name):
            if not (folder / "lib" / library.name).exists():
                shutil.copy(library, folder / "lib" / library.name)
    (folder / "commit").write_text(f"{report.commit()}\n")


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: tools/bench/gpu_pack.py BUILD ARCHIVE.tar.gz")
    build, archive = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="emplace-pack-") as folder:
        gather(build, pathlib.Path(folder))
        with tarfile.open(archive, "w:gz", compresslevel=6) as packed:
            packed.add(folder, arcname=".")
    print(f"{archive}: {archive.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
