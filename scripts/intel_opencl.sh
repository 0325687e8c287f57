#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Installs Intel's OpenCL runtime for CPUs, a second driver for tests besides PoCL, into a separate
# folder. Prints the folder for OCL_ICD_VENDORS, with which programs find only this driver.
# Usage: OCL_ICD_VENDORS=$(scripts/intel_opencl.sh [FOLDER]) build/tartan devices
# CL_CONFIG_CPU_TARGET_ARCH=corei7|corei7-avx|core-avx2|skx makes it compile for an older processor.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/packages.sh

folder=$(realpath -m "${1:-build-intel-opencl}")
[ "$(uname -m)" = x86_64 ] || fail "Intel's runtime is for x86-64, this is $(uname -m)"
vendors=$folder/vendors
if [ ! -f "$vendors/intel.icd" ]; then
  python3 -m pip --version >/dev/null 2>&1 || install_packages python3-pip
  # Not --target, which loses the files that a wheel stores outside its packages: here all of them.
  python3 -m pip install --quiet --ignore-installed --prefix "$folder" \
    intel-opencl-rt intel-cmplr-lib-rt >&2 || fail "pip could not install intel-opencl-rt"
  driver=$(find "$folder" -name libintelocl.so | head -n 1)
  [ -n "$driver" ] || fail "intel-opencl-rt has no libintelocl.so"
  mkdir -p "$vendors"
  # The rename at the end ensures that an incomplete folder is not mistaken for a complete one.
  echo "$driver" >"$vendors/intel.icd.new"
  mv "$vendors/intel.icd.new" "$vendors/intel.icd"
fi
echo "$vendors"
