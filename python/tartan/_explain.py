# SPDX-License-Identifier: Apache-2.0
"""tartan.explain: reports the kernels, plans and memory of captured functions, models and sessions."""

from __future__ import annotations

import functools
import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from tartan import _core, _dtypes, _runtime
from tartan._function import Function, first_tier
from tartan._tensor import ConcretizationError, Tensor, evaluate, state, to_host
from tartan.inference import InferenceSession

# A profile ends after _RUNS executions or _SECONDS seconds, and reports each kernel's median.
_RUNS = 7
_SECONDS = 2.0
_SHOWN = 25  # maximum number of kernels in the printed text of a program
_SHOWN_DECISIONS = 60  # maximum number of lines about fusion


class Explanation:
    """A report that can be printed, shown in a notebook, or written as a page with `save`.

    `programs` has one entry per program with `name`, `tier`, `device`, `kernels`, `buffers` and `memory`. Tiers:
    "ready" (dynamic-shape kernels, which compile quickly), "exact" (shape-specialised kernels), "host" (no kernels).
    `kernels` here covers all programs; `memory` requires a single program."""

    __slots__ = ("title", "programs")
    title: str
    programs: list[Any]

    def __init__(self, title: str, reports: Sequence[Any]) -> None:
        self.title = title
        self.programs = reports

    @property
    def tier(self) -> str:
        """The tiers of all programs, or the common one."""
        return ", ".join(dict.fromkeys(report.tier for report in self.programs))

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """One dictionary per kernel, in the order of their first launch. Keys: `program`, `name`, `computes`,
        `operations`, `plans` with the terms of the cost model, `source`, `launches` per execution,
        `setup_launches`, `work_groups` of the largest launch, `work_group_size`. Totals over all launches of an
        execution: `flops`, `bytes`, `predicted_us`, and `measured_us` (None if unknown)."""
        return [dict(kernel, program=report.name) for report in self.programs for kernel in report.kernels]

    @property
    def fusion(self) -> list[dict[str, Any]]:
        """One dictionary per launch of an execution, in order. Keys: `program`, `kernel`, `computes`, `accepted`
        (fused operations) and `refused` (why it is not one launch with those whose results it reads). A decision has
        `rule`, `accepted`, `producer`, `consumer` (None: the algorithm of the producer), `reason`, `fused_us`,
        `separate_us` (None if not estimated), and, if refused, `launch` (the producer's position, None: at load)."""
        return [dict(launch, program=report.name) for report in self.programs for launch in report.fusion]

    @property
    def memory(self) -> dict[str, Any]:
        """Bytes on the device, for a single program: `constants`, `variables`, `temporaries` (inputs, outputs and
        intermediate values, which share memory), `unshared` (temporaries without sharing), and `peak`, the
        maximum that one step needs together with constants and variables."""
        if len(self.programs) != 1:
            raise ValueError(f"there are {len(self.programs)} programs: `programs` has the memory of each")
        return self.programs[0].memory

    def save(self, path: Any) -> None:
        """Writes a self-contained HTML page."""
        with open(os.fspath(path), "w", encoding="utf-8") as file:
            file.write(_core.reports_page(self.title, self.programs))

    def _repr_html_(self):
        return _core.reports_part(self.programs)

    def __repr__(self):
        return "\n\n".join(_text(report) for report in self.programs)


def _us(value):
    return "" if value is None else _core.format_us(value)


def _text(report):
    if report.tier == "host":
        return f"{report.name}: computed by the host, without kernels"
    memory = {name: _core.format_bytes(value) for name, value in report.memory.items()}
    kernels = sorted(report.kernels, key=lambda k: -_time_of(k))
    rows = [("measured", "predicted", "launches", "work", "bytes", "operations", "computes")]
    for kernel in kernels[:_SHOWN]:
        rows.append((_us(kernel["measured_us"]), _us(kernel["predicted_us"]), str(kernel["launches"]),
                     _core.format_flops(kernel["flops"]), _core.format_bytes(kernel["bytes"]),
                     _short(" / ".join(kernel["operations"])), _short(", ".join(kernel["computes"]))))
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    inputs = ", ".join(f"{b['dtype']}{list(b['shape'])}" for b in report.buffers if b["kind"] == "input")
    lines = [f"{report.name}({_short(inputs)}): {len(kernels)} {report.tier} kernels, {len(report.launches)} launches "
             f"on {report.device}",
             f"memory: constants {memory['constants']}, variables {memory['variables']}, temporaries "
             f"{memory['temporaries']} ({memory['unshared']} without sharing), peak {memory['peak']}"]
    for row in rows:
        cells = [cell.rjust(width) if c < 5 else cell.ljust(width) for c, (cell, width) in enumerate(zip(row, widths))]
        lines.append(("  " + "  ".join(cells)).rstrip())
    if len(kernels) > _SHOWN:
        lines.append(f"  … {len(kernels) - _SHOWN} more")
    lines.append("fusion, accepted (+) and refused (-):")
    decisions = report.fusion_text.splitlines()
    lines += ["  " + line for line in decisions[:_SHOWN_DECISIONS]]
    if len(decisions) > _SHOWN_DECISIONS:
        lines.append(f"  … {len(decisions) - _SHOWN_DECISIONS} more lines: `fusion` has all")
    return "\n".join(lines)


def _time_of(kernel):
    known = kernel["measured_us"] if kernel["measured_us"] is not None else kernel["predicted_us"]
    return -1 if known is None else known


def _short(text):
    return text if len(text) <= 60 else text[:59] + "…"


def explain(what: Any, *args: Any, profile: bool = False, tier: str | None = None, **kwargs: Any) -> Explanation:
    """Returns an `Explanation` of one of the following:

    - a function, captured or not, for these arguments, or for every signature it was called with;
    - a Keras model: the steps captured by `fit`, `evaluate` and `predict`, or `predict` with a given input;
    - an `InferenceSession` that has run, or with inputs (a dictionary, or positional), on which it is run;
    - a lazy tensor: the program that would compute it with kernels.

    Nothing is built or run, except for a session with inputs and with `profile`. A profile measures each kernel
    separately, on these arguments or on zeros, and on copies of the variables. `tier` selects "ready" or "exact"
    kernels instead of the ones in use. ValueError if there is nothing to explain; TypeError for other objects."""
    if tier not in (None, "ready", "exact"):
        raise ValueError(f"the tier must be 'ready' or 'exact', not {tier!r}")
    if state.trace is not None:
        raise ConcretizationError("explain was called while a function is captured")
    while isinstance(what, functools.partial) and isinstance(what.func, Function):
        args, kwargs, what = what.args + args, {**what.keywords, **kwargs}, what.func
    if isinstance(what, InferenceSession):
        return _of_session(what, args or ((kwargs,) if kwargs else ()), profile, tier)
    if isinstance(what, Tensor):
        return _of_tensor(what, args, profile, tier)
    if hasattr(what, "_captured_steps"):
        return _of_model(what, args, profile, tier)
    if isinstance(what, type) or not callable(what):
        raise TypeError("explain takes a function of tensors, a Keras model, an InferenceSession or a lazy "
                        f"tensor, not {type(what).__name__}")
    function = what if isinstance(what, Function) else Function(what)
    given = (args, kwargs) if args or kwargs or function is not what else None
    reports = _of_function(function, given, profile, tier)
    if not reports:
        raise ValueError(f"'{function._name}' has not been captured: call it first, or give explain its arguments")
    return Explanation(function._name, reports)


def _of_function(function, given, profile, tier):
    if given is None:
        return [_report(program, None, profile, tier) for program in list(function._programs.values())]
    program, tensors = function._program_for(*given)
    hosts = None
    if profile:
        evaluate(*tensors)
        hosts = [t._host for t in tensors]
    return [_report(program, hosts, profile, tier)]


def _of_tensor(tensor, args, profile, tier):
    if args:
        raise TypeError("explain takes a tensor without arguments")
    if tensor.is_traced:
        raise ValueError("the tensor belongs to a captured function")
    if tensor._host is not None or tensor._value.known is not None:
        raise ValueError("the tensor has its value already: explain it before its value is requested")
    return Explanation("tensor", _of_function(Function(lambda: tensor, "tensor"), ((), {}), profile, tier))


def _of_model(model, args, profile, tier):
    reports = []
    for function, inputs in model._captured_steps(*args):
        given = None if inputs is None else (inputs, {})
        reports += _of_function(function, given, profile, tier)
    if not reports:
        raise ValueError(f"no step of the model '{model.name}' has been captured: call fit, evaluate or predict first, "
                         "or give explain an input")
    return Explanation(model.name, reports)


def _report(program, hosts, profile, tier):
    device = _runtime.device()
    inputs, states, values, name = program.parts
    if tier is None:
        with program.lock:
            is_here = program.program is not None and program.place is device
            tier = program.tier if is_here and program.tier != "host" else first_tier()
    report = _core.Report.plan(device, inputs, states, values, name, tier)
    if profile:
        report.note_times(_measure(device, program, hosts, tier))
    return report


def _measure(device, program, hosts, tier):
    """Returns the milliseconds of each launch, measured on copies of the variables."""
    inputs, states, values, name = program.parts
    if hosts is None:
        hosts = [to_host(np.zeros(x.shape, _dtypes.numpy_dtype(_dtypes.ALL[x.dtype]))) for x in inputs]
    copy = _core.Program.create(device, inputs, states, values, name, tier)
    held = [variable.value.host() for variable in program.variables]
    copy.bind([_core.DeviceTensor.from_host(device, host) for host in held + program.captured])
    return _median_times(lambda: [(kernel, ms) for kernel, _, ms, _, _ in copy.profile(hosts)])


def _median_times(run):
    run()  # the first execution has one-time costs
    names, runs = None, []
    end = time.monotonic() + _SECONDS
    while len(runs) < _RUNS and (not runs or time.monotonic() < end):
        launches = run()
        if [kernel for kernel, _ in launches] != names:  # exact kernels have replaced ready ones
            names, runs = [kernel for kernel, _ in launches], []
        runs.append([ms for _, ms in launches])
    return [(kernel, statistics.median(times[i] for times in runs)) for i, kernel in enumerate(names)]


def _of_session(session, args, profile, tier):
    if isinstance(session._session, _core.StateSession):
        raise NotImplementedError("explain does not take a session with states")
    if isinstance(session._session, _core.ParallelSession):
        raise NotImplementedError("explain does not take a session on several devices")
    if tier is not None:
        raise ValueError("a session has the tier that it was created with: give explain no tier")
    feed = None
    if args:
        names = [node.name for node in session.get_inputs()]
        if len(args) > len(names) and not isinstance(args[0], dict):
            raise ValueError(f"the model has {len(names)} inputs ({', '.join(names)}), not {len(args)}")
        feed = session._feed(args[0] if isinstance(args[0], dict) else dict(zip(names, args)))
        session._session.run(feed)
    elif profile:
        raise ValueError("a session is measured on inputs: give them to explain")
    for _ in range(3):  # exact kernels may replace others in between
        reports = _core.Report.of_session(session._session)
        if not reports:
            raise ValueError("the session has run no program: run it first, or give explain inputs")
        if not profile or _note_times(reports, session._session, feed):
            break
    return Explanation(os.path.basename(reports[0].name), reports)


def _note_times(reports, session, feed):
    """Assigns the launch times of an execution, which runs some of the programs in order. Returns False if it has
    launches of none of them."""
    times = _median_times(lambda: session.profile(feed))
    names = [kernel for kernel, _ in times]
    unknown = len(names)
    for report in reports:
        kernels = report.kernels
        launched = [kernels[k]["name"] for k in report.launches]
        for begin in range(len(names) - len(launched) + 1 if launched else 0):
            if names[begin:begin + len(launched)] == launched:
                report.note_times(times[begin:begin + len(launched)])
                unknown -= len(launched)
                break
    return unknown <= 0
