# SPDX-License-Identifier: Apache-2.0
"""Captured functions: run once with symbolic tensors, compiled as one program per signature, and replayed."""

from __future__ import annotations

import atexit
import functools
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from tartan import _core, _progress, _runtime, _tree
from tartan._messages import without_place
from tartan._tensor import Tensor, another, evaluate, from_host, from_numpy, state, to_host
from tartan._types import _R


# A program starts with shape-specialised kernels ("exact") that an earlier process has left on disk, or if it is large
# and runs on a GPU. Otherwise the host computes it if it is small, or it has dynamic-shape kernels ("ready"). From this run on, exact kernels are compiled in
# the background and replace them between two runs. With TARTAN_TIER=exact, the first run waits for them.
_EXACT_AFTER = 3
_background = set()  # compiling threads
_improvements = set()  # cancellations of compilations of exact kernels
_EXIT_SECONDS = 3.0  # for which the end of the process waits for exact kernels; the next process finds those on disk


def first_tier():
    """Returns the tier of a program that nothing on disk is known about."""
    return "exact" if os.environ.get("TARTAN_TIER") == "exact" else "ready"


@atexit.register
def _wait_for_background():
    """Waits for compiling threads, because drivers crash if the process ends while they compile. Exact kernels are
    cancelled after a while."""
    end = time.monotonic() + _EXIT_SECONDS
    for thread in list(_background):
        thread.join(max(end - time.monotonic(), 0))
    for cancellation in list(_improvements):
        cancellation.cancel()
    for thread in list(_background):
        thread.join()


class _Compilation:
    """A compilation in a thread, so that the main thread, which waits for it, handles signals at once. Ctrl-C cancels
    it."""

    def __init__(self, key, compile):
        self.key, self._compile, self._made = key, compile, None
        self._cancellation = _core.Cancellation()
        self.is_cancelled = False
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, name="tartan compiles", daemon=True)

    def _work(self):
        if threading.current_thread() is self._thread:
            _background.add(self._thread)
        try:
            program = self._compile(self._cancellation)
            self._made = lambda: program
        except BaseException as error:
            self._made = functools.partial(_raise, error)
        finally:
            self._compile = None
            self._done.set()
            _background.discard(self._thread)

    def result(self):
        """Waits. Returns a function that returns the program, or raises the error of the compilation."""
        try:
            if self._thread.ident is None and self._made is None:
                if threading.current_thread() is threading.main_thread():
                    self._thread.start()
                else:
                    self._work()
            while not self._done.wait(0.1):  # a signal just before a wait would not end it
                pass
        except BaseException:
            self.is_cancelled = True
            self._cancellation.cancel()
            raise
        return self._made


def _raise(error):
    raise error


class _Trace:
    """The variables that a function reads and writes while it is captured."""

    def __init__(self):
        self.reads = {}  # variable → placeholder
        self.writes = {}  # variable → tensor

    def read(self, variable):
        """Returns a tensor object of its own, because its elements may be assigned to."""
        if variable in self.writes:
            return another(self.writes[variable])
        found = self.reads.get(variable)
        if found is None:
            found = self.reads[variable] = variable._placeholder()
        return another(found)

    def write(self, variable, value):
        self.read(variable)
        self.writes[variable] = another(value)


class _Result:
    """A result tensor of an execution in flight. The execution is awaited only when the value is needed."""

    __slots__ = ()

    def __init__(self, coming, number, traced):
        self._coming, self._number = coming, number
        self._shape, self._type = traced.shape, traced.dtype
        self._depth = 0
        self._home = state.trace

    def __getattr__(self, name):  # for slots that are still empty
        if name not in ("_host", "_value"):
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        _runtime.check_process()
        try:
            host = self._coming.wait()[self._number]
        except (ValueError, IndexError) as error:
            raise without_place(error) from None
        self._host, self._value = host, _core.Value.leaf(host)
        return getattr(self, name)

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._type


@functools.lru_cache(None)
def _result_of(kind):
    """Returns the subclass of _Result for a tensor class."""
    slots = ("_coming", "_number", "_shape", "_type")
    return type("_Result", (_Result, kind), {"__slots__": slots, "__hash__": kind.__hash__, "__module__": __name__})


class _Program:
    """A captured function for one signature."""

    def __init__(self, function, name, form, leaves):
        trace = _Trace()
        inputs = []
        traced = []
        for leaf in leaves:
            if isinstance(leaf, Tensor):
                placeholder = _core.Value.placeholder(f"x{len(inputs)}", str(leaf.dtype), list(leaf.shape))
                inputs.append(placeholder)
                leaf = leaf._kind(placeholder)
                leaf._home = trace
            traced.append(leaf)
        outer, state.trace = state.trace, trace
        rules, state.rules = state.rules, None
        try:
            args, kwargs = _tree.unflatten(form, iter(traced))
            result = function(*args, **kwargs)
        finally:
            state.trace = outer
            state.rules = rules
        self.outputs = []
        self.form = _tree.flatten(result, self.outputs)
        self.variables = list(trace.reads)
        self.written = list(trace.writes)
        values = [t._value for t in self.outputs if isinstance(t, Tensor)]
        states = [(trace.reads[v]._value, trace.writes[v]._value if v in trace.writes else None)
                  for v in self.variables]
        given = set(inputs) | {s[0] for s in states}
        # Tensors from outside the function keep the values that they had when it was captured.
        self.captured = []
        for value in _core.placeholders(values + [s[1] for s in states if s[1] is not None]):
            if value in given:
                continue
            if value.known is None:
                raise RuntimeError("the function uses a tensor of another function that is being captured: "
                                   "give it as an argument")
            self.captured.append(value.known)
            states.append((value, None))
        self.parts = (inputs, states, values, name)
        self.program = None
        self.tier = None  # tier of the current kernels
        self.memory = None  # device memory to which the program is bound
        self.watched = None
        self.place = None
        self.making = None  # the compilation in progress, or the one that a signal cancelled
        self.lock = threading.Lock()

    def compile(self, device):
        inputs, states, values, name = self.parts
        tier = "soonest" if first_tier() == "ready" else "exact"
        if self.making is None or self.making.is_cancelled or self.making.key != (device, tier):
            self.making = _Compilation((device, tier), lambda cancellation: _core.Program.create(
                device, inputs, states, values, name, tier, cancellation=cancellation))
        with _progress.compiling(name):
            made = self.making.result()
        self.making = None
        self.program = made()
        self.tier = self.program.tier
        self.runs = _EXACT_AFTER if self.tier == "exact" else 0
        self.better = None
        self.place = device
        self.kept = [_core.DeviceTensor.from_host(device, value) for value in self.captured]
        self.memory = None

    def improve(self, device):
        """Compiles exact kernels in a background thread, until nobody has the program any more."""
        inputs, states, values, name = self.parts
        cancellation = _core.Cancellation()
        program = weakref.ref(self, lambda _: cancellation.cancel())
        _improvements.add(cancellation)

        def work():
            try:
                better = _core.Program.create(device, inputs, states, values, name, "exact", apart=True,
                                              cancellation=cancellation)
                improved = program()
                if improved is not None:
                    improved._take(better, device)
            except Exception as error:  # the ready kernels stay in use, and the user is warned
                if not cancellation.is_cancelled:
                    warnings.warn(f"{name} continues with slower kernels, because exact ones failed: {error}", RuntimeWarning)
            finally:
                _improvements.discard(cancellation)
                _background.discard(thread)

        thread = threading.Thread(target=work, name=f"tartan compiles {name}", daemon=True)
        _background.add(thread)
        thread.start()

    def _take(self, better, device):
        with self.lock:
            if self.place is device:
                self.better = better

    def run(self, hosts, watched=None):
        """Starts a run. `watched` has lists of variables: the core's program then has an event for each list."""
        device = _runtime.device()
        with self.lock:
            if self.program is None or self.place is not device:
                self.compile(device)
            replaced = None
            if self.better is not None:
                replaced, self.program, self.better = self.program, self.better, None
                self.memory, self.tier = None, "exact"
            memory = [v.memory_on(device) for v in self.variables]
            if self.memory is None or any(a is not b for a, b in zip(self.memory, memory)):
                self.program.bind(memory + self.kept)
                self.memory, self.watched = memory, None
            if watched is not self.watched:
                number = {variable: i for i, variable in enumerate(self.variables)}
                self.program.watch_states([[number[variable] for variable in group] for group in watched])
                self.watched = watched
            if replaced is not None:
                self.program.check_swap(replaced, hosts)
            self.program.start(hosts)
            for variable in self.written:
                variable.changed_on_device()
            coming = self.program.outputs_later()
            self.runs += 1
            if self.runs == _EXACT_AFTER:
                self.improve(device)
        numbers = iter(range(len(self.outputs)))
        leaves = [_result_of(output._kind)(coming, next(numbers), output) if isinstance(output, Tensor) else output
                  for output in self.outputs]
        return _tree.unflatten(self.form, iter(leaves))


# Minimum bytes of an array that is copied to memory from which a GPU reads while the host goes on.
_LARGE = 1 << 16


def _given(array):
    """Returns a tensor with the values that an argument has now."""
    if array.nbytes < _LARGE:
        return from_numpy(array)
    return from_host(_runtime.device().copy_for_runs(to_host(array, copy=False)))


class _Same:
    """Wraps an object as a key that compares by identity. The object is kept alive, so that its address is not
    reused."""

    __slots__ = ("_object",)

    def __init__(self, leaf):
        self._object = leaf

    def __eq__(self, other):
        return isinstance(other, _Same) and self._object is other._object

    def __hash__(self):
        return id(self._object)


def _key_of(leaf):
    if isinstance(leaf, Tensor):
        return (leaf._kind, leaf.dtype, leaf.shape)
    if isinstance(leaf, float):
        return (type(leaf), leaf.hex())  # distinguishes the signs of zeros, but not NaN from NaN
    if isinstance(leaf, (bool, int, complex, str, bytes, type(None))):
        return (type(leaf), leaf)
    try:
        hash(leaf)
    except TypeError:
        return _Same(leaf)
    return leaf


class Function:
    """A function that is compiled once per signature: shapes and dtypes of its tensors, and values of all other
    arguments (identity for unhashable objects). NumPy arrays among the arguments count as tensors. Variables that
    it reads and writes stay on the device. Side effects other than computation happen once, during capture."""

    def __init__(self, function: Callable[..., _R], name: str | None = None) -> None:
        functools.update_wrapper(self, function)
        self._function = function
        self._name = name or getattr(function, "__name__", "function")
        self._programs = {}
        self._lock = threading.RLock()
        self._watched = None  # lists of variables; the last run has an event for each
        self._last_program = None  # the core's program of the last run, if it watched

    def __call__(self, *args: Any, **kwargs: Any) -> _R:
        # The call becomes part of an enclosing captured or mapped function, or of a recording; a compiled program
        # has no derivatives. A process that was forked has no device.
        if state.trace is not None or state.levels or state.recording or _runtime.is_forked():
            return self._function(*args, **kwargs)
        program, tensors = self._program_for(args, kwargs)
        evaluate(*tensors)
        results = program.run([t._host for t in tensors], self._watched)
        self._last_program = program.program if self._watched is not None else None
        return results

    def _program_for(self, args, kwargs):
        """Returns the program for this signature, capturing it first if necessary, and its input tensors."""
        leaves = []
        form = _tree.flatten((args, kwargs), leaves)
        leaves = [_given(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in leaves]
        return self._find(form, leaves), [x for x in leaves if isinstance(x, Tensor)]

    def _find(self, form, leaves):
        key = (form, tuple(_key_of(x) for x in leaves))
        with self._lock:
            found = self._programs.get(key)
            if found is None:
                found = self._programs[key] = _Program(self._function, self._name, form, leaves)
            return found

    def __get__(self, instance: Any, owner: Any = None) -> Callable[..., _R]:
        return self if instance is None else functools.partial(self, instance)

    def _written(self):
        """Returns the set of variables that the captured programs write."""
        with self._lock:
            return {variable for program in self._programs.values() for variable in program.written}

    @property
    def signatures(self) -> int:
        """The number of captured signatures."""
        return len(self._programs)


def function(f=None, *, name=None):
    """Captures a function of tensors and compiles it once per signature; also usable as a decorator.

        @tartan.function
        def step(x, y): ...
    """
    if f is None:
        return functools.partial(function, name=name)
    return Function(f, name)
