# SPDX-License-Identifier: Apache-2.0
"""Programs from PyPI that use onnxruntime, with only the import replaced. Their wheels contain the models; expected
results are known or come from onnxruntime."""

import re
import subprocess
import sys

import numpy as np
import pytest

# The file with the import, the original line, and its replacement.
_CLIENTS = {
    "swift-f0==0.3.0": ("swift_f0/core.py", "import onnxruntime\n", "import tartan as onnxruntime\n"),
    "arabic-name-romanizer==0.2.0": ("arabic_name_romanizer/inference.py", "        import onnxruntime as ort\n",
                                     "        import tartan as ort\n"),
    "speechmos==0.0.1.1": ("speechmos/plcmos.py", "import onnxruntime as ort\n", "import tartan as ort\n")}
_NO_NETWORK = re.compile(r"connection broken|Temporary failure in name resolution|Network is unreachable|ProxyError|"
                         r"Could not fetch URL|Read timed out", re.I)


@pytest.fixture(scope="module")
def clients(tmp_path_factory):
    """A folder with the packages, each with one line replaced."""
    if sys.version_info < (3, 11):
        pytest.skip("a client needs Python 3.11")
    folder = tmp_path_factory.mktemp("clients")
    done = subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--retries", "1",
         "--timeout", "15", "--target", str(folder), *_CLIENTS], capture_output=True, text=True)
    if done.returncode and _NO_NETWORK.search(done.stderr):
        pytest.skip("PyPI is not reachable: " + done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    for name, line, ours in _CLIENTS.values():
        path = folder / name
        source = path.read_text(encoding="utf-8")
        assert source.count(line) == 1
        path.write_text(source.replace(line, ours), encoding="utf-8")
    return folder


def _run(folder, code):
    start = f"import sys; sys.path.insert(0, {str(folder)!r}); sys.modules['onnxruntime'] = None\n"
    done = subprocess.run([sys.executable, "-c", start + code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_detector_of_pitch_finds_a_tone(clients):
    printed = _run(clients, """
import numpy as np, swift_f0
t = np.arange(16000) / 16000
for pitch in (110.0, 220.0, 523.25):
    tone = sum(0.3 / k * np.sin(2 * np.pi * pitch * k * t) for k in (1, 2, 3))
    found = swift_f0.SwiftF0(threads=1, spin=False).detect(tone.astype(np.float32), 16000)
    sure = found.confidence > 0.5
    print(pitch, np.median(found.pitch_hz[sure]), sure.mean())
""")
    for line in printed.splitlines():
        pitch, found, sure = map(float, line.split())
        assert abs(found / pitch - 1) < 0.005 and sure > 0.8, printed


def test_a_writer_of_names_writes_what_it_writes_with_onnxruntime(clients):
    printed = _run(clients, """
import pathlib, arabic_name_romanizer
from arabic_name_romanizer.inference import OnnxModel
folder = pathlib.Path(arabic_name_romanizer.__file__).parent / "resources"
for found in OnnxModel(folder).transliterate_units(["عبدالرحمن", "شيماء", "زغلول"], "EG", 2):
    for name, score in found:
        print(name, score)
""")
    wanted = [("Abdurrahman", -0.16549164), ("Abderrahmane", -0.25171699), ("Shayma", -0.29865104), ("Shaima", -0.33000166),
              ("Zaghloul", -0.12476185), ("Zaghlul", -0.42984612)]  # by onnxruntime 1.32
    found = [line.split() for line in printed.splitlines()]
    assert [name for name, _ in found] == [name for name, _ in wanted]
    np.testing.assert_allclose([float(score) for _, score in found], [score for _, score in wanted], atol=1e-4)


# speechmos has two more raters of speech. They need librosa, and give onnxruntime's marks within 7e-6.
def test_a_rater_of_speech_gives_the_marks_that_it_gives_with_onnxruntime(clients):
    printed = _run(clients, """
import numpy as np
from speechmos import plcmos
t = np.arange(48000) / 16000
for pitch in (110.0, 220.0):
    voice = sum(0.2 / k * np.sin(2 * np.pi * pitch * k * t) for k in (1, 2, 3)) * (1 + np.sin(2 * np.pi * 3 * t)) / 2
    voice[16000:17600] = 0
    np.random.seed(0)  # it draws the raters
    print(plcmos.run(voice, 16000)["plcmos"])
""")
    wanted = [3.11686732, 3.42631520]  # by onnxruntime 1.32
    np.testing.assert_allclose([float(mark) for mark in printed.split()], wanted, atol=1e-4)
