# SPDX-License-Identifier: Apache-2.0
"""Runs a program on one input under limits, and checks what it did."""

import dataclasses
import os
import re
import signal
import subprocess
import tempfile
import time
import unicodedata

SHOWN_BYTES = 300
# Nothing here needs so much address space; an allocation beyond it fails, so that a bug cannot harm the machine.
ADDRESS_SPACE_BYTES = 6 << 30


@dataclasses.dataclass
class Input:
    """One run of the program.

    name       stable, so that a failure can be run again by it
    arguments  of the program; {folder} stands for the folder that prepare() may write into
    expected   exit codes that this input may end with; None: any that docs/cli.md promises
    stdin      bytes, or a path to a file
    streams    descriptor number -> "closed", "full" or "pipe" (a pipe whose reader is gone)
    prepare    called with the folder before the run; makes the files that `arguments` name
    ulimit     options of the shell's ulimit for this run
    """

    name: str
    arguments: list
    expected: tuple = None
    stdin: object = b""
    streams: dict = dataclasses.field(default_factory=dict)
    prepare: object = None
    ulimit: str = ""


@dataclasses.dataclass
class Limits:
    seconds: float = 20
    rss_bytes: int = 1 << 30


@dataclasses.dataclass
class Outcome:
    exit_code: int  # -N: ended by signal N
    timed_out: bool
    rss_bytes: int
    seconds: float
    out: bytes
    err: bytes


def promised_exit_codes(page):
    """The exit codes of the first table of docs/cli.md whose head names them."""
    rows = page.split("| exit code |", 1)[1].splitlines()[2:]
    codes = set()
    for row in rows:
        match = re.match(r"\|\s*(\d+)\s*\|", row)
        if match is None:
            break
        codes.add(int(match.group(1)))
    return codes


def _stream(number, kind, folder):
    """A descriptor for the child, or None when it is to be closed."""
    if kind == "full":
        return os.open("/dev/full", os.O_RDWR)
    if kind == "pipe":
        reader, writer = os.pipe()
        os.close(reader)
        return writer
    if kind == "closed":
        return None
    path = os.path.join(folder, f"stream{number}")
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)


def _read(descriptor, limit=64 << 20):
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read(limit)


def _processor_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _is_over(process, elapsed, seconds):
    """A program that a busy machine gives no processor gets more time; one that waits for something does not for ever."""
    return elapsed > seconds and (elapsed > 3 * seconds or _processor_seconds(process.pid) > seconds)


def _wait(process, seconds):
    """Returns (exit code, timed out, peak resident bytes)."""
    begin = time.monotonic()
    pause = 0.0005
    timed_out = False
    while True:
        pid, status, usage = os.wait4(process.pid, 0 if timed_out else os.WNOHANG)
        if pid != 0:
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode, timed_out, usage.ru_maxrss * 1024
        if not timed_out and _is_over(process, time.monotonic() - begin, seconds):
            timed_out = True
            process.kill()
            continue
        time.sleep(pause)
        pause = min(pause * 1.5, 0.05)


def shell_words(given, limit_memory):
    """Limits and closed descriptors; then the shell becomes the program."""
    words = ["ulimit -c 0;"]
    if limit_memory:
        words.append(f"ulimit -v {ADDRESS_SPACE_BYTES >> 10};")
    if given.ulimit:
        words.append(f"ulimit {given.ulimit};")
    words.append('exec "$0" "$@"')
    words += [f"{number}>&-" for number, kind in sorted(given.streams.items()) if kind == "closed"]
    return " ".join(words)


def run(program, given, limits, limit_memory=True):
    """Runs `program` (a list: its path and leading arguments) on one Input."""
    with tempfile.TemporaryDirectory(prefix="berth-hostile-") as folder:
        files = os.path.join(folder, "files")
        os.mkdir(files)
        if given.prepare is not None:
            given.prepare(files)
        if isinstance(given.stdin, bytes):
            with open(os.path.join(folder, "stdin"), "wb") as file:
                file.write(given.stdin)
        stdin_path = os.path.join(folder, "stdin") if isinstance(given.stdin, bytes) else given.stdin
        arguments = [part.replace(b"{folder}", os.fsencode(files)) for part in map(os.fsencode, given.arguments)]
        descriptors = [os.open(stdin_path, os.O_RDONLY)]
        descriptors += [_stream(number, given.streams.get(number), folder) for number in (1, 2)]
        begin = time.monotonic()
        spare = [subprocess.DEVNULL if descriptor is None else descriptor for descriptor in descriptors]
        process = subprocess.Popen(["/bin/sh", "-c", shell_words(given, limit_memory)] + program + arguments, stdin=spare[0],
                                   stdout=spare[1], stderr=spare[2], cwd=files,
                                   env={"LC_ALL": "C", "PATH": os.environ["PATH"]})
        exit_code, timed_out, rss = _wait(process, limits.seconds)
        seconds = time.monotonic() - begin
        texts = [b"" if descriptors[n] is None or n in given.streams else _read(descriptors[n]) for n in (1, 2)]
        for descriptor in descriptors:
            if descriptor is not None:
                os.close(descriptor)
        return Outcome(exit_code, timed_out, rss, seconds, *texts)


def control_problem(text):
    """What a terminal would act on in bytes that should be lines of plain text; empty: nothing."""
    try:
        decoded = text.decode("utf-8")
    except UnicodeDecodeError as error:
        return f"byte {text[error.start]:#04x} at {error.start} is not UTF-8"
    if decoded.isascii() and decoded.replace("\n", "").isprintable():
        return ""
    for place, character in enumerate(decoded):
        if character != "\n" and unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp"):
            return f"U+{ord(character):04X} at character {place}"
    return ""


def message_problem(err):
    """What is wrong with text on standard error; empty: nothing."""
    problem = control_problem(err)
    if problem:
        return "a control byte on stderr: " + problem
    for line in err.splitlines():
        if not line.startswith(b"berth: "):
            return "a line on stderr that is not the program's: " + repr(line[:SHOWN_BYTES])
    return ""


def problem_of(given, outcome, limits, promised):
    """Why `outcome` is a failure; empty: it is none."""
    if outcome.timed_out:
        return f"hangs: not done after {outcome.seconds:.0f} s"
    if outcome.exit_code < 0:
        return f"crashes: signal {-outcome.exit_code} ({signal.Signals(-outcome.exit_code).name})"
    if outcome.rss_bytes > limits.rss_bytes:
        return f"uses {outcome.rss_bytes >> 20} MiB of memory, more than {limits.rss_bytes >> 20}"
    if outcome.exit_code not in promised:
        return f"ends with {outcome.exit_code}, which docs/cli.md does not promise"
    if given.expected is not None and outcome.exit_code not in given.expected:
        return f"ends with {outcome.exit_code}, expected {' or '.join(map(str, given.expected))}"
    problem = message_problem(outcome.err)
    if not problem and control_problem(outcome.out):
        problem = "a control byte on stdout: " + control_problem(outcome.out)
    if not problem and outcome.exit_code in (1, 2, 4) and not outcome.err and 2 not in given.streams:
        # config check answers on standard output what it refuses.
        if "check" not in given.arguments or not outcome.out:
            problem = f"ends with {outcome.exit_code} and says nothing"
    return problem
