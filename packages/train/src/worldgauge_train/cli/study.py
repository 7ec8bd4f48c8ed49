"""`worldgauge study`: what memory, denoising steps, distillation and data are worth to a model, and held-out homes."""

from __future__ import annotations

import inspect
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import MISSING, Field, asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from worldgauge.core.errors import UsageError
from worldgauge.terminal.commands import Command
from worldgauge.terminal.options import Data, Deadline, Json, Limit, Models, Seed, Settings, Verbose, Workers
from worldgauge_train.cli.app import Cache, cache_folder

if TYPE_CHECKING:
    from worldgauge_train.study_findings import StudyFinding
    from worldgauge_train.study_run import StudyRequest

SuiteName = Annotated[str, typer.Argument(metavar="SUITE", help="Suite of the tasks, such as mind.")]
Pages = Annotated[Path, typer.Option(help="Folder for the page, its plots and its runs.")]
Measures = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Compare this metric of the suite. Default: headline, detail. Can be repeated."),
]
Beside = Annotated[list[str] | None, typer.Option(help="Compare with this model too, such as freeze. Can be repeated.")]


@dataclass(frozen=True, kw_only=True)
class StudyCommand(ABC):
    """A study as a command: the fields are its options. These are those of all studies."""

    suite: SuiteName
    data: Data
    out: Pages
    metric: Measures = None
    beside: Beside = None
    settings: Settings = None
    workers: Workers = 1
    seed: Seed = 0
    limit: Limit = None
    deadline: Deadline = 1800.0
    verbose: Verbose = False
    json: Json = False

    @abstractmethod
    def find(self, asked: StudyRequest) -> StudyFinding:
        """Do the study."""

    def own(self) -> dict[str, Any]:
        """Values of the options that other studies have not, in order."""
        return {one.name: getattr(self, one.name) for one in own_fields(type(self))}

    def words(self) -> list[str]:
        """The words after the suite of a command line that repeats this study."""
        said = {"data": self.data, "out": self.out, **self.own()}
        said |= {"metric": self.metric, "beside": self.beside, "set": self.settings, "limit": self.limit}
        said["seed"] = self.seed
        lists = {name: value if isinstance(value, list) else [value] for name, value in said.items()}
        return [
            word
            for name, values in lists.items()
            for one in values
            if one is not None
            for word in (f"--{name}", str(one))
        ]


@dataclass(frozen=True, kw_only=True)
class OfModels(StudyCommand):
    """A study that compares models."""

    model: Models = None

    def models(self) -> list[str]:
        """Text of each model."""
        if not self.model:
            raise UsageError("give --model, such as --model trained:checkpoint")
        return self.model


@dataclass(frozen=True, kw_only=True)
class MemoryCommand(OfModels):
    """Compare models with more and more context frames."""

    context: Annotated[str, typer.Option(help="Numbers of context frames. All frames are always included.")] = (
        "1,8,24,72,all"
    )

    def find(self, asked: StudyRequest) -> StudyFinding:
        """See `StudyCommand.find`."""
        from worldgauge_train.study_findings import counts_of
        from worldgauge_train.study_run import memory_study

        return memory_study(asked, self.models(), counts_of(self.context, "--context"))


@dataclass(frozen=True, kw_only=True)
class Denoising(OfModels):
    """Compare denoising steps of trained models: quality against time."""

    steps: Annotated[str, typer.Option(help="Numbers of denoising steps.")] = "1,2,4,8,32"

    def find(self, asked: StudyRequest) -> StudyFinding:
        """See `StudyCommand.find`."""
        from worldgauge_train.study_findings import counts_of
        from worldgauge_train.study_run import denoising_study

        return denoising_study(asked, self.models(), counts_of(self.steps, "--steps"))


@dataclass(frozen=True, kw_only=True)
class Distillation(OfModels):
    """Compare a teacher (the first model) with its students."""

    def find(self, asked: StudyRequest) -> StudyFinding:
        """See `StudyCommand.find`."""
        from worldgauge_train.study_run import distillation_study

        return distillation_study(asked, self.models())


@dataclass(frozen=True, kw_only=True)
class Transfer(OfModels):
    """Compare the first model with models of other training data."""

    def find(self, asked: StudyRequest) -> StudyFinding:
        """See `StudyCommand.find`."""
        from worldgauge_train.study_run import transfer_study

        return transfer_study(asked, self.models())


@dataclass(frozen=True, kw_only=True)
class HeldOut(OfModels):
    """Compare rollouts with walks in held-out homes: PSNR, SSIM, LPIPS, FVD.

    --set lpips=NETWORK and --set fvd=NETWORK name the networks, as in loopnav.
    """

    clips: Annotated[int, typer.Option(help="Number of clips, spread over homes. FVD needs 200.", min=1)] = 20

    def find(self, asked: StudyRequest) -> StudyFinding:
        """See `StudyCommand.find`."""
        from worldgauge_train.study_heldout import heldout_study

        return heldout_study(asked, self.models(), self.clips)


@dataclass(frozen=True, kw_only=True)
class DataScaling(StudyCommand):
    """Train on more and more episodes, and fit a scaling law.

    All networks are kept in OUT/checkpoints. A stopped study goes on.
    """

    train: Annotated[
        list[str], typer.Option(help="SOURCE=FOLDER to train on, as for worldgauge train. Can be repeated.")
    ]
    base: Annotated[
        list[Path] | None, typer.Option(help="Train this checkpoint further, each clip once. Can be repeated.")
    ] = None
    recipe: Annotated[str | None, typer.Option(help="Train this recipe from scratch instead of --base.")] = None
    steps: Annotated[
        int | None, typer.Option(help="With --recipe: number of training steps. Default: the recipe's.", min=1)
    ] = None
    clips: Annotated[str, typer.Option(help="Numbers of episodes to train on. 0: the unchanged base.")] = (
        "0,400,2000,10000,40000"
    )
    seeds: Annotated[int, typer.Option(help="Trainings per number of episodes.", min=1)] = 3
    cache: Cache = None

    def own(self) -> dict[str, Any]:
        """See `StudyCommand.own`; without the cache, which changes no result."""
        return {name: value for name, value in super().own().items() if name != "cache"}

    def find(self, asked: StudyRequest) -> StudyFinding:
        """See `StudyCommand.find`."""
        from worldgauge.terminal.options import texts_of
        from worldgauge_train.study_findings import counts_of
        from worldgauge_train.study_scaling import Trainings, data_study
        from worldgauge_train.training.recipe import changed, named_recipe

        counts = [one for one in counts_of(self.clips, "--clips") if one is not None]
        steps = {} if self.steps is None else {"steps": self.steps}
        recipe = None if self.recipe is None else changed(named_recipe(self.recipe), steps)
        folders = [(name, Path(folder)) for name, folder in texts_of(self.train, "--train").items()]
        cache, bases = cache_folder(self.cache), tuple(self.base or ())
        return data_study(asked, Trainings(folders, counts, self.seeds, cache, bases, recipe))


def own_fields(study: type[StudyCommand]) -> list[Field[Any]]:
    """Options of a study that not all studies have."""
    shared = {one.name for one in fields(StudyCommand)}
    return [one for one in fields(study) if one.name not in shared]


def command_of(study: type[StudyCommand]) -> Callable[..., None]:
    """The command of a study: its own options stand after the folders, before those of all."""

    def command(**given: Any) -> None:
        _do(study(**given))

    hints = get_type_hints(study, include_extras=True)
    shared = list(fields(StudyCommand))
    parameters = [
        inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if one.default is MISSING else one.default,
            annotation=hints[one.name],
        )
        for one in (*shared[:3], *own_fields(study), *shared[3:])
    ]
    command.__doc__ = inspect.getdoc(study)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _do(study: StudyCommand) -> None:
    from worldgauge.terminal.options import resumable, settings_of
    from worldgauge.terminal.progress import RunProgress
    from worldgauge_train.study_run import StudyRequest

    with resumable(), RunProgress(verbose=study.verbose) as progress:
        asked = StudyRequest(
            study.suite,
            study.data,
            study.out,
            tuple(study.metric or ()),
            tuple(study.beside or ()),
            settings_of(study.settings),
            study.workers,
            study.seed,
            study.limit,
            study.deadline,
            progress,
        )
        found = study.find(asked)
    _write(found, study)


def _write(found: StudyFinding, study: StudyCommand) -> None:
    from worldgauge.terminal.output import headline, print_json, print_text, written
    from worldgauge_train.study_findings import write_finding

    command = ["worldgauge", "study", found.study.name, found.suite, *study.words()]
    page = write_finding(found, study.out / f"{found.study.name}.html", shlex.join(command))
    if study.json:
        print_json(
            page=str(page),
            study=found.study.name,
            question=found.study.question,
            tables=[asdict(table) for table in found.tables],
            gains=[gain._asdict() | {"difference": gain.difference._asdict()} for gain in found.gains],
            laws=[{"metric": metric, "of": name, **law._asdict()} for (metric, name), law in found.laws.items()],
            words=list(found.words),
        )
        return
    for table in found.tables:
        headline(table)
        for note in table.notes:
            print_text(note, style="dim")
    for sentence in found.words:
        print_text(sentence)
    written(page, json=False)


COMMANDS = tuple(
    Command(command_of(study), "Tools", f"worldgauge study {name} {example} --out studies", name=name, group="study")
    for name, study, example in (
        ("memory", MemoryCommand, "mind --data data/mind --model trained:checkpoint"),
        ("denoising", Denoising, "mind --data data/mind --model trained:checkpoint"),
        ("distillation", Distillation, "mind --data data/mind --model trained:teacher --model trained:student"),
        ("transfer", Transfer, "worldinworld --data data --model trained:villages --model trained:homes"),
        ("heldout", HeldOut, "worldinworld --data data/coverage-val --model trained:checkpoint"),
        ("data", DataScaling, "worldinworld --data data --base checkpoint --train coverage=data/coverage"),
    )
)
