# SPDX-License-Identifier: Apache-2.0


class TartanLayer:
    """What layers have besides what Keras gives them: nothing."""
