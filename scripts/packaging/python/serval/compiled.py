"""Compiles models that are not ONNX, once, into a cache."""

import hashlib
import os
import secrets
import shutil
import stat
import subprocess

from serval.errors import ServalError, invalid
from serval.program import RUNTIME, command

SPEC_FILE = "model.serval"
FILES_MAX = 100_000


def folder_of(path, flags, cache):
    """Returns what the engine opens: the ONNX file itself, or a compiled folder. `flags`: those of
    `serval compile`. Raises ServalError."""
    if not os.path.exists(path):
        raise ServalError("ModelInvalid", f"{path}: there is no such file or folder")
    if not flags and (path.endswith(".onnx") and os.path.isfile(path)):
        return path
    if os.path.isfile(os.path.join(path, SPEC_FILE)):
        if flags:
            raise invalid(f"{path}: is compiled; expected no settings, got {', '.join(flags)}")
        return path
    cache = os.path.abspath(os.fspath(cache) if cache is not None else _default_cache())
    _make_own(cache)
    folder = os.path.join(cache, _key(path, flags))
    if not os.path.isfile(os.path.join(folder, SPEC_FILE)):
        _compile(path, flags, cache, folder)
    return folder


def _default_cache():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(base, "serval", "compiled")


def _make_own(cache):
    """Makes the cache's folder. Only this user may write to it: the engine trusts its contents."""
    try:
        os.makedirs(cache, mode=0o700, exist_ok=True)
        about = os.stat(cache)
    except OSError as error:
        raise ServalError("InvalidArgument", f"{cache}: {error.strerror}") from None
    if about.st_uid != os.geteuid() or about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise invalid(f"{cache}: expected a folder of this user that no other can write to")


def _compile(path, flags, cache, folder):
    building = os.path.join(cache, f"building-{os.getpid()}-{secrets.token_hex(8)}")
    arguments = [f"--{name}={value}" for name, value in flags.items()]
    program = command("compile", path, "--out", building, *arguments)
    try:
        done = subprocess.run(
            program, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    except OSError as error:
        raise ServalError("RuntimeUnavailable", f"{program[0]}: {error.strerror}") from None
    try:
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()
            lines = [line for line in said.splitlines() if line.startswith("serval: ")]
            text = lines[-1][len("serval: ") :] if lines else said
            text = text or f"serval compile ended with {done.returncode}"
            code = "InvalidArgument" if done.returncode == 2 else "ModelInvalid"
            place = "" if code == "InvalidArgument" or path in text else f"{path}: "
            raise ServalError(code, place + text)
        try:
            os.rename(building, folder)
        except OSError:  # another process was faster
            if not os.path.isfile(os.path.join(folder, SPEC_FILE)):
                raise
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _key(path, flags):
    """A name that differs whenever the compiled model could: by the model's files, the settings and
    this program."""
    digest = hashlib.sha256()
    bundle = os.path.join(RUNTIME, "dist", "bundle")
    for name in sorted(os.listdir(bundle)):
        about = os.stat(os.path.join(bundle, name))
        digest.update(f"{name} {about.st_size} {about.st_mtime_ns}\n".encode())
    with open(os.path.join(RUNTIME, "package.json"), "rb") as file:
        digest.update(file.read())
    for name, value in sorted(flags.items()):
        digest.update(f"{name}={value}\n".encode())
        if os.path.isfile(value):  # a schema
            _add_file(digest, value)
    digest.update(os.path.basename(os.path.abspath(path)).encode() + b"\n")
    for name, file in _files(path):
        digest.update(f"{name}\n".encode("utf-8", "surrogateescape"))
        _add_file(digest, file)
    return digest.hexdigest()


def _files(path):
    if os.path.isfile(path):
        return [("", path)]
    found = []
    for folder, folders, names in os.walk(path):
        folders.sort()
        for name in sorted(names):
            file = os.path.join(folder, name)
            found.append((os.path.relpath(file, path), file))
            if len(found) > FILES_MAX:
                raise ServalError("ModelInvalid", f"{path}: more than {FILES_MAX} files")
    return found


def _add_file(digest, path):
    try:
        about = os.stat(path)
        digest.update(f"{about.st_size}\n".encode())
        if not stat.S_ISREG(about.st_mode):  # reading a pipe might never end
            digest.update(f"{about.st_mtime_ns}\n".encode())
            return
        with open(path, "rb") as file:
            for block in iter(lambda: file.read(1 << 20), b""):
                digest.update(block)
    except OSError as error:
        raise ServalError("ModelInvalid", f"{path}: {error.strerror}") from None
