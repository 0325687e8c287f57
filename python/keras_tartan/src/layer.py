# SPDX-License-Identifier: Apache-2.0


class BackendLayer:
    """Backend-specific base class of layers; adds nothing."""
