"""Stores behind one face: a folder that all workers see, or an object store of which each machine has a mirror.

An object store has these objects. A job begins when ``plan.json`` is put, which happens once::

    plan.json              the plan, and in "mirror" the number of the store, its files, and the folder of its mirrors
    NUMBER/data …          the files of the plan: rows, squares, inputs
    NUMBER/parts/000001    results of shares, each put once, after its matches/000001.runs/…
    NUMBER/leases/000001   who works on a share now: read by others, and removed with the share
    NUMBER/failed/000001   errors of shares that are not done; told/000001 seconds and bytes of done ones
    NUMBER/differing/…     results of a second worker that are not the first one's
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import json
import os
import posixpath
import random
import re
import secrets
import shutil
import socket
import tempfile
import threading
import time
import typing
import weakref
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from . import _zipfold, remote
from .errors import ArrayTypeError, InputError, RequestError, ZipfoldError
from .inference import Inference
from .lazy import Pairs
from .mirrors import PREFIX, filling, freed, held
from .objects import Objects

__all__ = ["Folder", "Store", "Temporary", "store_of"]

#: Seconds between two looks at a folder, and the most between two looks at an object store.
_LOOK, _LONGEST_LOOK = 0.05, 2.0
#: Requests at one time.
_REQUESTS = 8
#: Seconds before a share that failed is tried again by the same worker.
_AFTER_FAILURE = 1.0
#: Files with the seconds of shares that a job looks at: enough for a rate.
_TOLD = 100
#: The folders of a store that its plan leaves empty.
_EMPTY = ("parts", "matches", "leases", "failed", "running", "clocks", "told")
_SHARE = r"\d{6}"


def plan_in(folder: str, question: Any, shares: int | None, asked: Any, *, whole: bool = False) -> dict[str, Any]:
    """Plans a question of arrays, an inference, or one of a problem file, in a folder; with ``whole`` it needs no other files."""
    if isinstance(question, Inference):
        text = question._plan(folder, shares, asked)
    elif isinstance(question, Pairs):
        text = _zipfold.store_plan((question._text(), *question._arguments()), folder, shares, asked)
        with open(os.path.join(folder, "question.json"), "w", encoding="utf-8") as more:
            json.dump({"tall": list(question._tall)}, more)
    else:
        with remote.problem_of(os.fspath(question), folder, whole=whole) as path:
            text = _zipfold.store_plan_file(path, folder, shares, asked)
    return typing.cast("dict[str, Any]", json.loads(text))


def removed_with(owner: Any, folder: str) -> Callable[[], Any]:
    """Has a folder removed with ``owner``, unless a fork of this process ends; what removes it at once."""
    process = os.getpid()
    return weakref.finalize(owner, lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == process else None)


class Temporary:
    """A folder for a store of this process, which goes with the last job at it."""

    #: The ones of this process, by folder.
    known: typing.ClassVar[weakref.WeakValueDictionary[str, Temporary]] = weakref.WeakValueDictionary()

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="zipfold-")
        self.remove = removed_with(self, self.folder)
        self.known[self.folder] = self


class Folder:
    """A store in a folder that all workers see."""

    #: Seconds without a change after which no worker is taken to be between two shares.
    quiet = 0.0

    def __init__(self, folder: str) -> None:
        self.name = folder

    @property
    def address(self) -> tuple[str, str | None]:
        """What workers find the store by."""
        return self.name, None

    def plan(self, question: Any, shares: int | None, asked: Any) -> int:
        """Makes it a store; the number of shares."""
        return int(plan_in(self.name, question, shares, asked)["shares"])

    def is_of_inference(self) -> bool:
        """Whether it is that of an inference."""
        return _zipfold.store_is_of_inference(self.name)

    def status(self, lease: float) -> dict[str, Any]:
        """How far it is."""
        return typing.cast("dict[str, Any]", json.loads(_zipfold.store_status(self.name, lease)))

    def pause(self, waited: float) -> float:
        """Seconds until the next look of somebody who has waited this long."""
        return _LOOK

    @contextlib.contextmanager
    def gathered(self) -> typing.Iterator[str]:
        """The folder with the parts that are there."""
        yield self.name

    def work(self, share: int | None, habits: tuple[float, int], asked: Any) -> dict[str, Any]:
        """Works on one share, or on shares until none is left."""
        return typing.cast("dict[str, Any]", json.loads(_zipfold.store_work(self.name, share, habits, asked)))


def _each(call: Callable[[Any], Any], items: Iterable[Any]) -> None:
    """Calls for several items at one time."""
    with concurrent.futures.ThreadPoolExecutor(_REQUESTS) as threads:
        for _ in threads.map(call, items):
            pass


def _files(root: str) -> list[str]:
    """The names of the files of a plan, but for the plan itself."""
    found = []
    for at, folders, names in os.walk(root):
        if at == root:
            folders[:] = [folder for folder in folders if folder not in _EMPTY]
            names = [name for name in names if name != "plan.json" and not name.startswith(".")]
        found += [os.path.relpath(os.path.join(at, name), root) for name in names]
    return sorted(name.replace(os.sep, "/") for name in found)


class _Look:
    """A folder of a job with what it has seen of a store."""

    def __init__(self) -> None:
        #: Made at the first look.
        self.folder: str | None = None
        #: The states of the objects that it has.
        self.seen: dict[str, tuple[int, str]] = {}


class Pieces:
    """What is known of the files in a mirror that are there in pieces: the shares whose rows each of them has.

    One process of a machine alone writes it (:func:`zipfold.mirrors.filling`).
    """

    def __init__(self, root: str) -> None:
        self._note = os.path.join(root, ".pieces")
        self.files: dict[str, list[int]] = {}
        with contextlib.suppress(FileNotFoundError, ValueError), open(self._note, encoding="utf-8") as text:
            self.files = json.load(text)

    def _keep(self) -> None:
        own = f"{self._note}.{secrets.token_hex(8)}"
        with open(own, "w", encoding="utf-8") as text:
            json.dump(self.files, text)
        os.replace(own, self._note)

    def are_cut(self, names: list[str]) -> None:
        """Files that have pieces from now on."""
        if any(name not in self.files for name in names):
            for name in names:
                self.files.setdefault(name, [])
            self._keep()

    def have(self, names: list[str], share: int) -> None:
        """Files that have the rows of a share."""
        for name in names:
            self.files[name].append(share)
        if names:
            self._keep()

    def are_whole(self, names: list[str]) -> None:
        """Files that are there whole."""
        gone = [name for name in names if self.files.pop(name, None) is not None]
        if gone:
            self._keep()


class Store(Folder):
    """A store in an object store. Workers of a machine have a mirror of it, and a job has folders with what it looks at."""

    quiet = 5.0

    def __init__(self, url: str, number: str | None = None) -> None:
        self._objects = Objects(url)
        super().__init__(self._objects.url)
        self._number = number
        self._known: dict[str, Any] | None = None
        #: What a status is made of, with the names of parts alone, and what is merged: a status changes nothing below a merge.
        self._names, self._whole = _Look(), _Look()
        #: One thread at a time looks.
        self._turn = threading.RLock()

    @property
    def address(self) -> tuple[str, str | None]:
        return self.name, self._number

    def pause(self, waited: float) -> float:
        return min(_LONGEST_LOOK, max(_LOOK, waited / 20))

    def plan(self, question: Any, shares: int | None, asked: Any) -> int:
        objects, number = self._objects, secrets.token_hex(16)
        if objects.has("plan.json"):
            raise self._is_taken()
        root = os.path.join(tempfile.gettempdir(), PREFIX + number)
        with held(root):
            plan = plan_in(root, question, shares, asked, whole=True)
            names = _files(root)
            paths = [os.path.join(root, name) for name in names]
            facts = [(os.path.getsize(path), remote.hash_of(path)) for path in paths]
            # Names of inputs are part of the identity of every part, so all mirrors have them in one place.
            place = root if plan["inputs"] else None
            plan["mirror"] = {"number": number, "root": place, "files": dict(zip(names, facts, strict=True))}
            # The folder of an inference has no such file.
            local = os.path.join(root, ".plan.json" if "slices.json" in names else "plan.json")
            with open(local, "w", encoding="utf-8") as file:
                json.dump(plan, file)
            try:
                _each(lambda both: objects.send(both[0], f"{number}/{both[1]}"), zip(paths, names, strict=True))
            except BaseException:
                objects.remove(number, tree=True)
                raise
            # A call that fails may have put it: then its files stay, and another place is needed.
            if not objects.put(local, "plan.json"):
                objects.remove(number, tree=True)
                raise self._is_taken()
        self._known, self._number = plan, number
        return int(plan["shares"])

    def _is_taken(self) -> RequestError:
        return RequestError(f"{self.name}: a store already\n  try: another place with store=…")

    def _plan(self) -> dict[str, Any]:
        """The plan, of the same question as ever."""
        if self._known is not None:
            return self._known
        name, text = f"{self.name}/plan.json", self._objects.read("plan.json")
        if text is None:
            raise RequestError(f"{name}: expected a store, got a place without a plan\n  try: zf.submit with this store=…")
        try:
            plan = json.loads(text)
            mirror, _ = plan["mirror"], plan["shares"] + 0
            number, root, files = mirror["number"], mirror["root"], mirror["files"]
            inside = all(file == posixpath.normpath(file) and file[0] not in "./" for file in files)
            expected = os.path.join(os.path.dirname(root or tempfile.gettempdir()), PREFIX + number) if root else None
            if not re.fullmatch("[0-9a-f]{32}", number) or root != expected or not inside:
                raise ValueError("names that no plan has")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise InputError(f"{name}: no plan of a store in an object store: {type(error).__name__}: {error}") from None
        if self._number not in (None, number):
            raise RequestError(f"{name}: expected the plan of this job, got that of a later one\n  try: submit it again, elsewhere")
        self._known, self._number = plan, number
        return typing.cast("dict[str, Any]", plan)

    def is_of_inference(self) -> bool:
        return "slices.json" in self._plan()["mirror"]["files"]

    def _of(self, name: str) -> str:
        return f"{self._plan()['mirror']['number']}/{name}"

    def _root(self) -> str:
        mirror = self._plan()["mirror"]
        return str(mirror["root"] or os.path.join(tempfile.gettempdir(), PREFIX + mirror["number"]))

    @contextlib.contextmanager
    def _named(self, *folders: str) -> typing.Iterator[None]:
        """Errors name the object, not the copy of this machine."""
        try:
            yield
        except ZipfoldError as error:
            raise type(error)(self._in_words(str(error), *folders)) from None

    def _in_words(self, text: str, *folders: str) -> str:
        for folder in folders:
            text = text.replace(folder, f"{self.name}/{self._of('')[:-1]}")
        return text

    def _fetch(self, folder: str, wanted: Callable[[str], bool]) -> None:
        """Fetches the files of the plan that are wanted and not there whole."""
        plan, files = self._plan(), self._plan()["mirror"]["files"]
        cut = Pieces(folder)
        for empty in _EMPTY:
            os.makedirs(os.path.join(folder, empty), exist_ok=True)

        def fetch(name: str) -> None:
            local = os.path.join(folder, name)
            os.makedirs(os.path.dirname(local), exist_ok=True)
            # Files next to an input may be taken to be its chunks.
            own = os.path.join(folder, "clocks", secrets.token_hex(8))
            self._objects.fetch(self._of(name), own, tuple(files[name]))
            for one in plan["inputs"]:
                if local == one["path"] or local.startswith(one["path"] + "/"):
                    # Workers need not read it again for its hash.
                    os.utime(own, ns=(one["modified"], one["modified"]))
            os.replace(own, local)

        lacking = [name for name in files if wanted(name) and (name in cut.files or not os.path.exists(os.path.join(folder, name)))]
        _each(fetch, lacking)
        cut.are_whole(lacking)
        # The plan of an inference is another file.
        if "slices.json" not in files and not os.path.exists(os.path.join(folder, "plan.json")):
            own = os.path.join(folder, "clocks", secrets.token_hex(8))
            with open(own, "w", encoding="utf-8") as file:
                json.dump(plan, file)
            os.replace(own, os.path.join(folder, "plan.json"))

    # What a job does.

    def _looked(self, look: _Look, *folders: str) -> str:
        """The folder of a look, with what the store has now in some folders."""
        if look.folder is None:
            look.folder = tempfile.mkdtemp(prefix="zipfold-job-")
            removed_with(self, look.folder)
        self._fetch(look.folder, lambda name: name == "slices.json")
        for folder in folders:
            found = self._objects.names(self._of(folder), _SHARE + r"(\.runs/[^./]+)?")
            names = list(found)[: _TOLD if folder == "told" else None]
            whole = folder != "parts" or look is self._whole
            self._bring(look, look.folder, {f"{folder}/{name}": found[name] for name in names}, folder, whole)
        return look.folder

    def _bring(self, look: _Look, root: str, there: dict[str, tuple[int, str]], folder: str, whole: bool) -> None:
        for gone in [name for name in look.seen if name.startswith(f"{folder}/") and name not in there]:
            os.remove(os.path.join(root, gone))
            del look.seen[gone]

        def bring(name: str) -> None:
            local, state = os.path.join(root, name), there[name]
            if not whole:
                open(local, "ab").close()
                look.seen[name] = state
            elif look.seen.get(name) != state or not state[1]:
                os.makedirs(os.path.dirname(local), exist_ok=True)
                # Notes of a share may be removed in this moment, because it is done.
                with contextlib.suppress(*(() if folder in ("parts", "matches") else (InputError,))):
                    self._objects.fetch(self._of(name), local)
                    look.seen[name] = state

        _each(bring, there)

    def status(self, lease: float) -> dict[str, Any]:
        with self._turn:
            look = self._looked(self._names, "parts", "told", "failed", "leases")
            with self._named(look):
                return typing.cast("dict[str, Any]", json.loads(_zipfold.store_status(look, lease)))

    @contextlib.contextmanager
    def gathered(self) -> typing.Iterator[str]:
        odd = sorted(self._objects.names(self._of("differing"), f"{_SHARE}-.*"))
        if odd:
            one, other = f"{self._of('parts')}/{odd[0][:6]}", f"{self._of('differing')}/{odd[0]}"
            what = f"{self.name}/{one} and {self.name}/{other}: two workers computed other bytes for share {int(odd[0][:6])}"
            raise InputError(f"{what}\n  try: remove the part and what differs from it, and have workers do its share again")
        with self._turn:
            look = self._looked(self._whole, "failed", "parts", "matches")
            self._fetch(look, lambda name: not name.startswith(("rows/", "inputs/")))
        root = self._root()
        with self._named(look, root), held(root):
            if self._plan()["inputs"]:
                with filling(root):
                    self._fetch(root, lambda name: name.startswith("inputs/"))
            yield look

    # What a worker does.

    def work(self, share: int | None, habits: tuple[float, int], asked: Any) -> dict[str, Any]:
        root = self._root()
        with held(root), self._named(root):
            return self._all(root, habits, asked) if share is None else self._single(root, share, habits, asked, 0)

    def _fill(self, root: str, share: int) -> None:
        """Fetches what a share reads of the plan, which is all of it unless squares have its rows."""
        with filling(root):
            wanted: set[str] | None = None
            if "squares" in self._plan()["mirror"]["files"]:
                self._fetch(root, lambda name: name == "squares")
                names = _zipfold.store_files_of_share(root, share)
                wanted = None if names is None else set(names)
            pieces = self._pieces(root, share)
            self._fetch(root, lambda name: name not in pieces and (wanted is None or name in wanted))
            self._fetch_pieces(root, share, pieces)

    def _pieces(self, root: str, share: int) -> dict[str, list[tuple[int, int]]]:
        """The files of which a share reads some rows alone, and the places of these in each."""
        plan, files = self._plan(), self._plan()["mirror"]["files"]
        rows = [band["rows"] for band in plan.get("bands") or ()][share - 1 : share]
        x = os.path.relpath(str(plan["problem"]["x"]["name"]), root).replace(os.sep, "/") if rows else ""
        if not rows or x == self._other_input(plan, root):
            return {}
        span, fs = (int(rows[0][0]), int(rows[0][1])), self._objects.fs
        path = self._objects.at(self._of(x))
        where = (fs, path, f"{self.name}/{self._of(x)}")
        if x in files:
            places = self._objects.again(self._of(x), lambda: remote.places_of_rows(where, files[x][0], span))
            return {} if places is None else {x: places}
        chunks = self._objects.again(self._of(x), lambda: remote.chunks_of_rows(where, span))
        inside = {name: name[len(x) + 1 :] for name in files if name.startswith(f"{x}/")}
        return {name: [(0, files[name][0])] if chunk in chunks else [] for name, chunk in inside.items()}

    @staticmethod
    def _other_input(plan: dict[str, Any], root: str) -> str:
        """The name of the file of y."""
        y = plan["problem"].get("y") or {}
        return os.path.relpath(str(y.get("name", root)), root).replace(os.sep, "/")

    def _fetch_pieces(self, root: str, share: int, pieces: dict[str, list[tuple[int, int]]]) -> None:
        """Has places of files in the mirror, whose other bytes are holes. Workers know the rows of their share by a hash."""
        cut, files = Pieces(root), self._plan()["mirror"]["files"]

        def fetch(name: str) -> None:
            local = os.path.join(root, name)
            if os.path.exists(local) and name not in cut.files:
                return
            os.makedirs(os.path.dirname(local), exist_ok=True)
            with open(local, "r+b" if os.path.exists(local) else "wb") as file:
                file.truncate(files[name][0])
                for start, end in pieces[name]:
                    file.seek(start)
                    self._objects.copy(self._of(name), (start, end), file)

        known = {name for name in pieces if share in cut.files.get(name, ())}
        new = [name for name in pieces if name not in known]
        whole = {name for name in new if os.path.exists(os.path.join(root, name)) and name not in cut.files}
        # A process that is lost from here on leaves files that the next one takes to be cut, and not whole.
        cut.are_cut([name for name in new if name not in whole])
        _each(fetch, new)
        cut.have([name for name in new if name not in whole], share)

    def _single(self, root: str, share: int, habits: tuple[float, int], asked: Any, lost: int) -> dict[str, Any]:
        """Computes a share in the mirror, and puts what came of it into the store."""
        objects, name = self._objects, f"{share:06}"
        if objects.has(self._of(f"parts/{name}")):
            return {"done": [], "failed": []}
        self._fill(root, share)
        known, local = objects.read(self._of(f"failed/{name}")), os.path.join(root, "failed", name)
        if known is not None:
            with open(local, "wb") as file:
                file.write(known)
        else:
            # One that is left here is of a time before another machine had done the share.
            with contextlib.suppress(FileNotFoundError):
                os.remove(local)
        with self._lease(name, habits[0], lost):
            freed(root, name)
            worked = json.loads(self._in_words(_zipfold.store_work(root, share, habits, asked), root))
            if worked["failed"]:
                with open(local, encoding="utf-8") as text:
                    objects.write(self._of(f"failed/{name}"), self._in_words(text.read(), root).encode())
                return typing.cast("dict[str, Any]", worked)
            try:
                # What an earlier call has computed and not put counts, too.
                return {"done": [share] if self._deliver(root, name) else [], "failed": []}
            except ZipfoldError as error:
                told = self._in_words(str(error), root)
                self._note_undelivered(share, known, told, error)
                return {"done": [], "failed": [[share, told]]}

    def _note_undelivered(self, share: int, known: bytes | None, told: str, error: ZipfoldError) -> None:
        """Notes that the part of a share could not be put, as the engine notes that it failed."""
        name = f"{share:06}"
        with contextlib.suppress(ZipfoldError):
            if self._objects.has(self._of(f"parts/{name}")):
                # It is done by another worker. A part that differs is kept under differing/, and the merge tells it.
                return
        note = self._failure(share, known)
        note |= {"times": int(note["times"]) + 1, "error": told, "no_room": False, "host": socket.gethostname()}
        try:
            self._objects.write(self._of(f"failed/{name}"), json.dumps(note).encode())
        except ZipfoldError:
            # Where the store takes no note, the worker ends, and whoever started it sees why.
            raise error from None

    def _failure(self, share: int, known: bytes | None) -> dict[str, Any]:
        """What a note says of a share that failed, or what one would say of a share that has not."""
        note: dict[str, Any] = {"share": share, "times": 0, "error": "", "no_room": False, "host": socket.gethostname()}
        with contextlib.suppress(ValueError, TypeError):
            note |= json.loads(known or b"{}")
        return note

    def _deliver(self, root: str, name: str) -> bool:
        """Puts the part of a share into the store, after its matches, and removes it from the mirror; false if it is gone."""
        objects, part, told = self._objects, os.path.join(root, "parts", name), os.path.join(root, "told", name)
        runs, there = os.path.join(root, "matches", f"{name}.runs"), self._of(f"parts/{name}")
        odd = self._of(f"differing/{name}-{secrets.token_hex(8)}")
        same = mine = True
        try:
            for run in os.listdir(runs) if os.path.isdir(runs) else ():
                same &= objects.put(os.path.join(runs, run), self._of(f"matches/{name}.runs/{run}"))
            # A process that was lost may have left the part alone.
            with contextlib.suppress(FileNotFoundError), open(told, "rb") as file:
                objects.write(self._of(f"told/{name}"), file.read())
            same &= objects.put(part, there) or self._varies()
            if same:
                # The share is done. If its part is removed one day, it is computed again.
                objects.remove(self._of(f"failed/{name}"))
            else:
                objects.send(part, odd)
        except (FileNotFoundError, InputError):
            # Another process of this machine may have put it, and removed it here.
            if os.path.exists(part) or not objects.has(there):
                raise
            mine = False
        # The part is the last one to go: who sees none computes the share anew.
        shutil.rmtree(runs, ignore_errors=True)
        for done in (told, part):
            with contextlib.suppress(FileNotFoundError):
                os.remove(done)
        if not same:
            what = f"expected the bytes of this worker, which are in {self.name}/{odd}, got others"
            raise InputError(f"{self.name}/{there}: {what}\n  try: workers of one version, on machines whose memory is sound")
        return mine

    def _varies(self) -> bool:
        """Whether parts of one share may have other bytes: threads that look for the best pairs tell each other what is not
        among them, so a part may keep other pairs beyond the best ones, and count others as left out. Answers are the same."""
        return any(fold.get("kind") == "top" for fold in self._plan()["problem"]["folds"])

    @contextlib.contextmanager
    def _lease(self, name: str, lease: float, lost: int) -> typing.Iterator[None]:
        """Tells others that this worker is at a share, again and again, until another one has taken it over."""
        over, place = threading.Event(), self._of(f"leases/{name}")
        who = {"host": socket.gethostname(), "process": os.getpid(), "number": secrets.token_hex(16)}
        note: dict[str, Any] = {"who": who, "lost": lost, "beat": 0}

        def holder() -> str | None:
            """The number of the worker that has the share; none if there is no note that can be read as one."""
            text = self._objects.read(place)
            with contextlib.suppress(ValueError, KeyError, TypeError):
                return str(json.loads(text or b"")["who"]["number"])
            return None

        def tell() -> None:
            self._objects.write(place, json.dumps(note).encode())

        def beat() -> None:
            while not over.wait(lease / 4):
                # A beat that fails is made up for by the next one, or the share is done twice.
                with contextlib.suppress(ZipfoldError):
                    if holder() not in (None, who["number"]):
                        return
                    note["beat"] += 1
                    tell()

        with contextlib.suppress(ZipfoldError):
            tell()
        beats = threading.Thread(target=beat, daemon=True)
        beats.start()
        try:
            yield
        finally:
            over.set()
            beats.join()
            with contextlib.suppress(ZipfoldError):
                if holder() == who["number"]:
                    self._objects.remove(place)

    def _all(self, root: str, habits: tuple[float, int], asked: Any) -> dict[str, Any]:
        """Works on shares that nobody has, in an order of its own, and on the ones of lost workers, until none is left."""
        lease, retries = habits
        done: list[int] = []
        failed: dict[int, str] = {}
        tries: Counter[int] = Counter()
        #: The leases of others, and since when each is as it is by the clock of this worker: clocks need not agree.
        leases: dict[int, tuple[bytes, float]] = {}
        waited = 0.0
        while True:
            parts = self._objects.names(self._of("parts"), _SHARE)
            missing = [share for share in range(1, self._plan()["shares"] + 1) if f"{share:06}" not in parts]
            left = [share for share in missing if tries[share] < retries]
            if not left:
                # A share that failed here and that another worker has done has not failed, unless its parts differ.
                odd = self._objects.names(self._of("differing"), f"{_SHARE}-.*") if failed else {}
                failing = sorted({*missing, *(int(name[:6]) for name in odd)} & failed.keys())
                return {"done": done, "failed": [[share, failed[share]] for share in failing]}
            share, lost = self._free(left, leases, lease)
            if share is None:
                pause = min(self.pause(waited), lease / 4)
                time.sleep(pause)
                waited += pause
                continue
            waited, tries[share] = 0.0, tries[share] + 1
            error = self._given_up(share, retries, lost)
            if error is not None:
                failed[share], tries[share] = error, retries
                continue
            worked = self._single(root, share, habits, asked, lost)
            done += worked["done"]
            failed |= dict(worked["failed"])
            if worked["failed"] and tries[share] < retries:
                time.sleep(_AFTER_FAILURE)

    def _free(self, left: list[int], leases: dict[int, tuple[bytes, float]], lease: float) -> tuple[int | None, int]:
        """A share that nobody has, or whose lease has had no beat for long, and how many workers were lost at it."""
        taken = self._objects.names(self._of("leases"), _SHARE)
        free = [share for share in left if f"{share:06}" not in taken]
        if free:
            return random.choice(free), 0
        for share in left:
            note, now = self._objects.read(self._of(f"leases/{share:06}")) or b"", time.monotonic()
            if share not in leases or leases[share][0] != note:
                leases[share] = (note, now)
            elif now - leases[share][1] >= lease:
                del leases[share]
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    return share, int(json.loads(note)["lost"]) + 1
                return share, 0
        return None, 0

    def _given_up(self, share: int, retries: int, lost: int) -> str | None:
        """The error of a share that was tried often enough, or that too many workers were lost at."""
        name = self._of(f"failed/{share:06}")
        note = self._failure(share, self._objects.read(name))
        if lost >= retries:
            note |= {"times": lost, "error": f"its worker was lost {lost} times"}
            self._objects.write(name, json.dumps(note).encode())
            self._objects.remove(self._of(f"leases/{share:06}"))
        return str(note["error"]) if int(note["times"]) >= retries else None


def store_of(place: Any, number: str | None = None) -> Folder:
    """The store at a path or URL."""
    if remote.is_url(place):
        return Store(place, number)
    if not isinstance(place, (str, os.PathLike)):
        raise ArrayTypeError(f"store: expected a path or a URL, got {place!r}\n  try: store='/scratch/store'")
    return Folder(os.path.abspath(os.fspath(place)))
