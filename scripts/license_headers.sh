#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Adds the license line to each source file without it, after a "#!" line if there is one.
# Usage: scripts/license_headers.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

git ls-files '*.h' '*.cc' '*.l' '*.y' '*.cmake' '*.sh' '*.py' '*.proto' | while read -r file; do
  head -n 2 "$file" | grep -q 'SPDX-License-Identifier: ' && continue
  case "$file" in
    *.cmake | *.sh | *.py) line='# SPDX-License-Identifier: Apache-2.0' ;;
    *.l | *.y) line='/* SPDX-License-Identifier: Apache-2.0 */' ;;
    *) line='// SPDX-License-Identifier: Apache-2.0' ;;
  esac
  if head -n 1 "$file" | grep -q '^#!'; then
    sed -i "1a $line" "$file"
  else
    sed -i "1i $line" "$file"
  fi
done
