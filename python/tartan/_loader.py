# SPDX-License-Identifier: Apache-2.0
"""Finds OpenCL: the ICD loader that the compiled module needs, and drivers installed from PyPI."""

import ctypes
import glob
import importlib
import importlib.util
import os
import pathlib
import sys

REMEDY = (
    "Tartan needs OpenCL: on Debian or Ubuntu  apt install pocl-opencl-icd  brings it for every CPU; from PyPI  "
    "pip install intel-opencl-rt intel-cmplr-lib-rt  for x86-64; NVIDIA, AMD and Intel GPUs have it in their drivers")
_SYSTEM_VENDORS = "/etc/OpenCL/vendors"


def _folders():
    """Returns the folders in which packages of this environment install libraries."""
    folders = [pathlib.Path(sys.prefix) / "lib", pathlib.Path(sys.prefix) / "lib" / "intel-ocl"]
    if importlib.util.find_spec("site"):
        import site

        folders.append(pathlib.Path(site.getuserbase()) / "lib")
    return folders


def _find(name):
    for folder in _folders():
        for path in glob.glob(str(folder / name)):
            return path
    return None


def _load(path, mode=ctypes.DEFAULT_MODE):
    """Loads a library after its dependencies that the system lacks, from the same folders. Wheels install libraries
    outside the search path of the dynamic linker. ImportError names missing libraries."""
    while True:
        try:
            return ctypes.CDLL(path, mode=mode)
        except OSError as error:
            missing = str(error).partition(":")[0]
            needed = _find(missing)
            if needed is None or needed == path:
                raise ImportError(f"{path} could not be loaded: {error}. {REMEDY}") from None
            _load(needed)


def _export_library_folder(path):
    """Lets child processes find the libraries in the same folder."""
    folders = os.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep)
    folder = os.path.dirname(path)
    if folder not in folders:
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join([f for f in folders if f] + [folder])


def find_drivers():
    """Passes the driver of intel-opencl-rt to the loader if the system has no driver."""
    if os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OCL_ICD_FILENAMES"):
        return
    if glob.glob(os.path.join(_SYSTEM_VENDORS, "*.icd")):
        return
    driver = _find("libintelocl.so")
    if driver is None:
        return
    _load(driver)
    _export_library_folder(driver)
    os.environ["OCL_ICD_VENDORS"] = driver  # Debian's ICD loader
    os.environ["OCL_ICD_FILENAMES"] = driver  # Khronos' ICD loader


def load_opencl():
    """Loads libOpenCL.so.1 so that the compiled module finds it. ImportError says what to install."""
    try:
        ctypes.CDLL("libOpenCL.so.1", mode=ctypes.RTLD_GLOBAL)
        return
    except OSError:
        pass
    bundled = _find("libOpenCL.so.1")
    if bundled is None:
        raise ImportError(f"libOpenCL.so.1 was not found. {REMEDY}")
    _load(bundled, ctypes.RTLD_GLOBAL)
    _export_library_folder(bundled)


def name_compiler():
    """Sets the path of the program that compiles kernels in separate processes; it is installed with this package."""
    program = pathlib.Path(__file__).parent / "bin" / "tartan"
    if program.exists():
        os.environ.setdefault("TARTAN_COMPILER", str(program))


def load_module():
    """Imports the compiled module with local symbol binding (RTLD_DEEPBIND): other frameworks publish their own copies
    of protobuf, Abseil and LLVM to the whole process, which would replace the module's."""
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | getattr(os, "RTLD_DEEPBIND", 0))
    try:
        importlib.import_module("tartan._core")
    finally:
        sys.setdlopenflags(flags)


def prepare():
    find_drivers()
    load_opencl()
    name_compiler()
    load_module()


try:
    prepare()
except ImportError as error:
    # The command `tartan` reports a missing device as a message and an exit code.
    if pathlib.Path(sys.argv[0]).name != "tartan":
        raise
    print(f"tartan: {error}", file=sys.stderr)
    sys.exit(4)
