# SPDX-License-Identifier: Apache-2.0
"""Finds OpenCL: the loader that the compiled module needs, and drivers that PyPI brought."""

import ctypes
import glob
import importlib.util
import os
import pathlib
import sys
import tempfile

REMEDY = (
    "Tartan needs OpenCL: on Debian or Ubuntu  apt install pocl-opencl-icd  brings it for every CPU; from PyPI  "
    "pip install intel-opencl-rt  for x86-64; NVIDIA, AMD and Intel GPUs have it in their drivers")
_SYSTEM_VENDORS = "/etc/OpenCL/vendors"


def _folders():
    """Where packages of this environment put libraries."""
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


def find_drivers():
    """Names the driver of intel-opencl-rt to the loader where the system has no driver of its own."""
    if os.environ.get("OCL_ICD_VENDORS") or os.environ.get("OCL_ICD_FILENAMES"):
        return
    if glob.glob(os.path.join(_SYSTEM_VENDORS, "*.icd")):
        return
    driver = _find("libintelocl.so")
    if driver is None:
        return
    folder = os.path.join(tempfile.mkdtemp(prefix="tartan-opencl-"))
    with open(os.path.join(folder, "intel.icd"), "w", encoding="utf-8") as file:
        file.write(driver + "\n")
    os.environ["OCL_ICD_VENDORS"] = folder  # Debian's loader
    os.environ["OCL_ICD_FILENAMES"] = driver  # Khronos' loader


def load_opencl():
    """Loads libOpenCL.so.1 so that the compiled module finds it. ImportError telling what to install."""
    try:
        ctypes.CDLL("libOpenCL.so.1", mode=ctypes.RTLD_GLOBAL)
        return
    except OSError:
        pass
    bundled = _find("libOpenCL.so.1")
    if bundled is None:
        raise ImportError(f"libOpenCL.so.1 was not found. {REMEDY}")
    ctypes.CDLL(bundled, mode=ctypes.RTLD_GLOBAL)


def name_compiler():
    """The program that compiles kernels in processes of its own, which lies beside this package."""
    program = pathlib.Path(__file__).parent / "bin" / "tartan"
    if program.exists():
        os.environ.setdefault("TARTAN_COMPILER", str(program))


find_drivers()
load_opencl()
name_compiler()
