# SPDX-License-Identifier: Apache-2.0


class TartanLayer:
    """Backend-specific base class of layers; adds nothing."""
