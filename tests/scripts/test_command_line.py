"""The command line: what is taken, and one line with exit code 2 for whatever is not."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import hydra
import pytest
import yaml
from omegaconf import OmegaConf

from seq2seq import experiment
from seq2seq.config import Config, from_tree, to_tree
from seq2seq.errors import RunDiverged, RunError
from seq2seq.experiment import TrainSettings
from seq2seq.training import atomic
from seq2seq.training.checkpoint import ABOUT_FILE, FORMAT, SETTINGS_FILE, WEIGHTS_FILE
from seq2seq.training.state import RunState

ROOT = Path(__file__).resolve().parents[2]
SEARCH_KEYS = "batch_size, max_length_extra, max_length_ratio, min_length_ratio, no_repeat_ngram"
SEVERAL = "only --multirun takes several values. If it is one text, quote it twice:"
UNREADABLE = "which cannot be read. If it is one text, quote it twice:"

SUCH_AS = "A checkpoint is a folder such as RUN/best."
FLAGS = "Settings are written KEY=VALUE, before or after all flags."
NO_MEMORY = (
    "error: Out of memory: lower batching.max_tokens, search.batch_size or the model's sizes."
)
# In Hydra's own words.
NO_INTERVALS = "BasicSweeper does not support sweep type : INTERVAL_SWEEP"
ONLY_ONE = "Only one of --run, --multirun, --cfg, --info and --shell_completion can be specified"


class Ended(NamedTuple):
    """How a command ended, and the settings of each call of what it would have done."""

    code: int
    output: str
    error: str
    calls: list[Any]


@pytest.fixture
def cli(tmp_path, monkeypatch, capsys):
    """Calls a real script in an empty folder; instead of its command, settings are noted."""
    calls: list[Config] = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HYDRA_FULL_ERROR", "0")  # which launch changes
    for name in ("train", "evaluate", "translate"):
        monkeypatch.setattr(experiment, name, lambda settings: calls.append(settings) or 0)
    monkeypatch.setattr(experiment, "best_validation", lambda settings: 0.0)

    def call(script: str, *arguments: str) -> Ended:
        path = str(ROOT / "scripts" / f"{script}.py")
        monkeypatch.setattr(sys, "argv", [path, *arguments])
        code: Any = 0
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as ended:
            code = ended.code
        return Ended(code, *capsys.readouterr(), calls)

    return call


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory) -> Path:
    """A run whose checkpoint has no more than its settings: a beam of 7, Multi30k, no case."""
    overrides = ["data=multi30k", "search=beam", "search.beam_size=7", "lowercase_scores=true"]
    with hydra.initialize_config_dir(version_base="1.3", config_dir=str(ROOT / "configs")):
        tree: Any = OmegaConf.to_container(hydra.compose("train", [*overrides, "run_dir=before"]))
    folder = tmp_path_factory.mktemp("a run")
    for name in ("best", "last"):
        write_checkpoint(folder / name, to_tree(from_tree(tree, TrainSettings)))
    return folder


def write_checkpoint(folder: Path, settings: dict[str, Any]) -> None:
    folder.mkdir(parents=True)
    about = {"format": FORMAT, "state": RunState().as_dict()}
    (folder / ABOUT_FILE).write_text(json.dumps(about), encoding="utf-8")
    kept = {key: value for key, value in settings.items() if key != "_target_"}
    (folder / SETTINGS_FILE).write_text(yaml.safe_dump(kept), encoding="utf-8")
    (folder / WEIGHTS_FILE).touch()
    atomic.seal(folder)


def assert_refused(ended: Ended, message: str, folder: Path) -> None:
    assert ended.error == f"error: {message}\n"
    assert (ended.code, ended.output, ended.calls) == (2, "", [])
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("override", "key", "nearest"),
    [
        ("training.max_epoch=3", "training.max_epoch", "training.max_epochs"),
        ("+training.max_epoch=3", "training.max_epoch", "training.max_epochs"),
        ("++training.max_epoch=3", "training.max_epoch", "training.max_epochs"),
        ("~training.max_epoch", "training.max_epoch", "training.max_epochs"),
        ("trainng.max_epochs=3", "trainng.max_epochs", "training.max_epochs"),
        ("training.max_epochs.x=3", "training.max_epochs.x", "training.max_epochs"),
        ("learning_rate=3", "learning_rate", "optimizer.learning_rate"),
        ("model/encoder.num_layers=2", "model/encoder.num_layers", "model.encoder.num_layers"),
        ("dta=multi30k", "dta", "data"),
        ("encoder=gru", "encoder", "model/encoder"),
        ("model/encodr=gru", "model/encodr", "model/encoder"),
        ("data@model=files", "data@model", "data"),
    ],
)
def test_a_mistyped_key_is_answered_with_the_nearest(cli, tmp_path, override, key, nearest):
    message = f"`{key}` is not a setting. Did you mean `{nearest}`?"
    assert_refused(cli("train", override), message, tmp_path)


@pytest.mark.parametrize(
    ("override", "group", "problem"),
    [
        ("data=multi30", "data", "has no option 'multi30'. Did you mean `multi30k`?"),
        ("++data=multi30", "data", "has no option 'multi30'. Did you mean `multi30k`?"),
        ("model/encoder=grru", "model/encoder", "has no option 'grru'. Did you mean `gru`?"),
        (
            "search=null",
            "search",
            "has no option null. Valid names are: beam, greedy, mbr, sampling.",
        ),
        ("search=[beam]", "search", "has no option ['beam']. Did you mean `beam`?"),
        (
            "model.encoder=gru",
            "model.encoder",
            "is a group. Choose with model/encoder=, from: gru, lstm, transformer.",
        ),
        ("objective/decay=linear", "objective/decay", "is in none of the files that are chosen."),
        ("++search=beam", "search", "is there already. Write search=beam."),
        ("~model/encoder", "model/encoder", "cannot be taken away: each setting needs a value."),
    ],
)
def test_a_wrong_choice_is_answered_with_the_right_ones(cli, tmp_path, override, group, problem):
    assert_refused(cli("train", override), f"`{group}` {problem}", tmp_path)


@pytest.mark.parametrize(
    ("override", "key", "problem"),
    [
        ("search.qq=3", "search.qq", f"is not a setting. Valid names are: {SEARCH_KEYS}."),
        (
            "training.keeping={num_bst: 1}",
            "training.keeping.num_bst",
            "is not a setting. Did you mean `training.keeping.num_best`?",
        ),
        (
            "model.encoder={hidden_dim: {a: 1}}",
            "model.encoder.hidden_dim.a",
            "is not a setting. Did you mean `model.encoder.hidden_dim`?",
        ),
        ("training.max_epochs=x", "training.max_epochs", "must be a whole number, but is 'x'."),
        ("training.max_epochs=true", "training.max_epochs", "must be a whole number, but is true."),
        ("training.max_epochs={1", "training.max_epochs", "must be a whole number, but is '{1'."),
        ("optimizer.learning_rate=0", "optimizer.learning_rate", "must be above 0, but is 0.0."),
        ("model.dropout=nan", "model.dropout", "must be a finite number, but is nan."),
        ("run_dir=", "run_dir", "must not be empty."),
        ("run_dir=null", "run_dir", "must be a text, but is null."),
        ("run_dir=???", "run_dir", "has no value. Set it: run_dir=..."),
        ("run_dir=~/x", "run_dir", "is ~/x, but only a shell knows what ~ is. Write it out."),
        (
            "run_dir=a,b",
            "run_dir",
            f"""is a,b, but {SEVERAL} "run_dir='a,b'".""",
        ),
        ("run_dir=ä,b", "run_dir", f"""is ä,b, {UNREADABLE} "run_dir='ä,b'"."""),
        ("run_dir=${foo}", "run_dir", "cannot be resolved: Interpolation key 'foo' not found"),
        ("run_dir=${x:1}", "run_dir", "cannot be resolved: Unsupported interpolation type x"),
        ("run_dir=${run_dir}", "run_dir", "cannot be resolved: Recursive interpolation detected"),
        ("data=files", "data.train_source", "has no value. Set it: data.train_source=..."),
        (
            "data._target_=os.system",
            "data._target_",
            "must name a DataConfig of this package, but is 'os.system'.",
        ),
        (
            "model/positions=sinusoidal",
            "model.positions",
            "has no effect on a recurrent model. Use model/positions=none.",
        ),
        (
            "+training.patience=3",
            "training.patience",
            "is there already. Write training.patience=3.",
        ),
        (
            "~training.patience",
            "training.patience",
            "cannot be taken away: each setting needs a value.",
        ),
        ("training.max_epochs", "training.max_epochs", "is not an override. Write KEY=VALUE."),
        ("=3", "=3", "is not an override. Write KEY=VALUE."),
        ("-", "-", "is not an override. Write KEY=VALUE."),
        ("hydra.foo=3", "hydra.foo", "is in none of the files that are chosen."),
        ("hydra.mode=MULTIRUN", "hydra.mode", "is not for you to set: a sweep is started by -m."),
        (
            "model.encoder.num_layers=2000000000",
            "model.encoder.num_layers",
            "must be at most 1000, but is 2000000000.",
        ),
    ],
)
def test_a_wrong_value_is_answered_with_its_key(cli, tmp_path, override, key, problem):
    assert_refused(cli("train", override), f"`{key}` {problem}", tmp_path)


def test_an_unknown_experiment_is_answered_with_those_that_there_are(cli, tmp_path):
    names = sorted(path.stem for path in (ROOT / "configs" / "experiment").glob("*.yaml"))
    message = f"`experiment` has no option 'qqq'. Valid names are: {', '.join(names)}."
    assert_refused(cli("train", "experiment=qqq"), message, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--multirun", "training.max_epoch=1,2"],
            "`training.max_epoch` is not a setting. Did you mean `training.max_epochs`?",
        ),
        (["data=multi30,files", "-m"], "`data` has no option 'multi30'. Did you mean `multi30k`?"),
        (["-m", "training.patience=1,0"], "`training.patience` must be at least 1, but is 0."),
        (
            ["-m", "search=beam,greedy", "search.beam_size=3"],
            "`search.beam_size` is not a setting. Did you mean `search.batch_size`?",
        ),
        (
            ["-m", "resume=a,b"],
            "`resume` cannot go with -m: all runs of the sweep would share it.",
        ),
        (["-m", "run_dir=interval(1,3)"], NO_INTERVALS),
        (["--cfg", "job", "dta=files"], "`dta` is not a setting. Did you mean `data`?"),
        (["--help", "data=multi30"], "`data` has no option 'multi30'. Did you mean `multi30k`?"),
        (["--data", "files"], f"unrecognized arguments: --data. {FLAGS}"),
        (["--cfg", "job", "-m"], ONLY_ONE),
    ],
)
def test_flags_change_nothing_about_that(cli, tmp_path, arguments, message):
    assert_refused(cli("train", *arguments), message, tmp_path)


@pytest.mark.parametrize(
    ("script", "override", "message"),
    [
        ("evaluate", "split=test", "`checkpoint` has no value. Set it: checkpoint=..."),
        ("translate", "input=x", "`checkpoint` has no value. Set it: checkpoint=..."),
        ("evaluate", "checkpont=x", "`checkpont` is not a setting. Did you mean `checkpoint`?"),
        ("evaluate", "checkpoint=", "`checkpoint` must be the name of a folder, but is ''."),
        ("translate", "checkpoint=a b", f"a b is not there. {SUCH_AS}"),
        ("train", "resume=nowhere", "nowhere is not there. `resume` names the folder of a run."),
    ],
)
def test_no_checkpoint_is_said_in_one_line(cli, tmp_path, script, override, message):
    assert_refused(cli(script, override), message, tmp_path)


def test_a_folder_that_is_no_checkpoint_is_said_in_one_line(cli, tmp_path, tmp_path_factory):
    folder = tmp_path_factory.mktemp("no checkpoint")
    message = f"{folder} is not a checkpoint: it has no {ABOUT_FILE}."
    for script in ("evaluate", "translate"):
        assert_refused(cli(script, f"checkpoint={folder}"), message, tmp_path)


def test_a_text_is_taken_as_it_is_meant(cli, monkeypatch):
    monkeypatch.setenv("PLACE", "here")
    texts = {
        "run_dir": ("a b/c", "a b/c"),
        "data.train_source": ("Größe_字#1", "Größe_字#1"),
        "data.train_target": ("it's (new)=1", "it's (new)=1"),
        "data.validation_source": ("C:\\runs\\ü\\", "C:\\runs\\ü\\"),
        "data.validation_target": ("${oc.env:PLACE}/ü_${runtime.seed}", "here/ü_1"),
        "data.test_source": ("'a, b'", "a, b"),
        "++data.test_target": ('"5"', "5"),
    }
    ended = cli("train", "data=files", *(f"{key}={given}" for key, (given, _) in texts.items()))
    assert (ended.code, ended.error) == (0, "")
    (settings,) = ended.calls
    assert settings.run_dir == "a b/c"
    tree = to_tree(settings)
    for key, (_, meant) in texts.items():
        name = key.removeprefix("++").removeprefix("data.")
        found = tree[name] if name in tree else tree["data"][name]
        assert found == ([meant] if name.startswith("train_") else meant)


def test_the_last_of_several_values_counts(cli):
    (settings,) = cli(
        "train", "run_dir=a", "run_dir=b", "run_dir=a", "data=files", "data=multi30k"
    ).calls
    assert settings.run_dir == "a"
    assert type(settings.data).__name__ == "Multi30kConfig"


def test_keys_of_a_group_can_be_set_together(cli):
    (settings,) = cli("train", "model.encoder={hidden_dim: 6, dropout: 0.25}").calls
    assert (settings.model.encoder.hidden_dim, settings.model.encoder.dropout) == (6, 0.25)


def test_the_command_line_is_stronger_than_an_experiment(cli):
    experiment_and_more = ["experiment=multi30k_en_de_gru", "data=phrasebook", "model.tie=none"]
    (settings,) = cli("train", *experiment_and_more).calls
    assert type(settings.data).__name__ == "PhrasebookConfig"
    assert (settings.model.tie, settings.model.encoder.layer_norm) == ("none", True)


def test_a_checkpoint_gives_what_is_not_set(cli, run_folder):
    checkpoint = f"checkpoint={run_folder}/best"
    settings = cli("evaluate", checkpoint).calls[-1]
    assert type(settings.data).__name__ == "Multi30kConfig"
    assert (settings.search.beam_size, settings.lowercase_scores) == (7, True)
    settings = cli("evaluate", checkpoint, "search.length_penalty=0.5", "data.target=fr").calls[-1]
    assert (settings.search.beam_size, settings.search.length_penalty) == (7, 0.5)
    assert settings.data.target == "fr"
    settings = cli("translate", checkpoint, "search=greedy").calls[-1]
    assert type(settings.search).__name__ == "GreedyConfig"


def test_a_mistyped_key_of_a_checkpoint_is_found(cli, run_folder, tmp_path):
    message = "`search.beam_siz` is not a setting. Did you mean `search.beam_size`?"
    checkpoint = f"checkpoint={run_folder}/best"
    assert_refused(cli("translate", checkpoint, "search.beam_siz=3"), message, tmp_path)


def test_a_resumed_run_keeps_its_settings_but_for_what_is_set(cli, run_folder, tmp_path):
    resume = f"resume={run_folder}"
    (settings,) = cli("train", resume, "training.max_epochs=77").calls
    assert (settings.resume, settings.run_dir) == (str(run_folder), "before")
    assert (settings.search.beam_size, settings.training.max_epochs) == (7, 77)


def test_a_checkpoint_in_a_runs_place_is_answered_with_the_run(cli, run_folder, tmp_path):
    message = f"`resume` names a checkpoint. Give the run: resume={run_folder}"
    assert_refused(cli("train", f"resume={run_folder}/last"), message, tmp_path)


@pytest.mark.parametrize(
    ("script", "override"),
    [("train", "resume=run"), ("translate", "output=x"), ("translate", "heatmaps=x")],
)
def test_a_sweep_shares_no_folder(cli, tmp_path, script, override):
    key = override.partition("=")[0]
    message = f"`{key}` cannot go with -m: all runs of the sweep would share it."
    assert_refused(cli(script, "-m", override, "checkpoint=x"), message, tmp_path)


def test_a_sweep_over_checkpoints_is_refused(cli, tmp_path):
    message = "`checkpoint` must be the name of a folder, but is more than one."
    assert_refused(cli("evaluate", "-m", "checkpoint=a,b"), message, tmp_path)


def test_no_flag_unpickles(cli, tmp_path):
    message = "--experimental-rerun is not offered: it would unpickle a file."
    assert_refused(cli("train", "--experimental-rerun=x"), message, tmp_path)


def test_a_resumed_run_cannot_change_its_data(cli, run_folder, tmp_path):
    message = "`data` is in none of the files that are chosen."
    assert_refused(cli("train", f"resume={run_folder}", "data=files"), message, tmp_path)


@pytest.mark.parametrize(
    ("script", "key", "problem"),
    [
        ("train", "hydra", "The checkpoint's settings hold `hydra`, which is not one."),
        ("train", "defaults", "The checkpoint's settings hold `defaults`, which is not one."),
        (
            "evaluate",
            "search",
            "`search._target_` must name a SearchConfig of this package, but is 'os.mkdir'.",
        ),
    ],
)
def test_a_strangers_checkpoint_runs_no_code(
    cli, run_folder, tmp_path_factory, tmp_path, script, key, problem
):
    folder, marker = tmp_path_factory.mktemp("stranger"), tmp_path_factory.mktemp("m") / "made"
    call = {"_target_": "os.mkdir", "path": str(marker)}
    stranger = {"hydra": {"callbacks": {"one": call}}, "defaults": ["one"], "search": call}
    saved = yaml.safe_load((run_folder / "best" / SETTINGS_FILE).read_text(encoding="utf-8"))
    write_checkpoint(folder / "last", {**saved, key: stranger[key]})
    named = f"resume={folder}" if script == "train" else f"checkpoint={folder / 'last'}"
    assert_refused(cli(script, named), problem, tmp_path)
    assert not marker.exists()


def test_each_run_of_a_sweep_has_a_folder_of_its_own_in_one(cli, tmp_path):
    ended = cli("train", "-m", "search=greedy,beam")
    assert (ended.code, ended.output, ended.error) == (0, "", "")
    folders = [Path(settings.run_dir) for settings in ended.calls]
    assert [folder.name for folder in folders] == ["0", "1"]
    assert len({folder.parent for folder in folders}) == 1
    assert [one.name for one in (tmp_path / folders[0].parent).iterdir()] == ["multirun.yaml"]
    assert [one.name for one in tmp_path.iterdir()] == ["runs"]


def test_a_sweep_goes_on_where_a_run_diverges(cli, monkeypatch):
    seen = []

    def diverge(settings):
        seen.append(settings.runtime.seed)
        if settings.runtime.seed == 1:
            raise RunDiverged("The loss is not finite.")
        return 0

    monkeypatch.setattr(experiment, "train", diverge)
    ended = cli("train", "-m", "runtime.seed=1,2")
    assert (ended.code, seen) == (0, [1, 2])
    assert ended.error == "error: The loss is not finite.\n"
    assert cli("train", "run_dir=run", "runtime.seed=1").code == 2  # a run by itself ends


@pytest.mark.parametrize(
    ("flags", "error", "code", "last_line"),
    [
        ([], RunError("The disk\n  is full."), 2, "error: The disk is full."),
        (["-m"], RunError("The disk is full."), 2, "error: The disk is full."),
        ([], ZeroDivisionError("a bug"), 1, "ZeroDivisionError: a bug"),
        ([], RuntimeError("DefaultCPUAllocator: not enough memory: you"), 2, NO_MEMORY),
        ([], MemoryError(), 2, NO_MEMORY),
        ([], RuntimeError("x is not allocated"), 1, "RuntimeError: x is not allocated"),
    ],
)
def test_what_goes_wrong_inside_ends_like_what_it_is(
    cli, monkeypatch, flags, error, code, last_line
):
    def fail(settings):
        raise error

    monkeypatch.setattr(experiment, "train", fail)
    ended = cli("train", "run_dir=run", *flags)
    assert (ended.code, ended.error.splitlines()[-1]) == (code, last_line)
    assert ("Traceback" in ended.error) is (code == 1)
    assert "hydra" not in ended.error.lower()


@pytest.mark.parametrize("flags", [[], ["-m"]])
def test_the_exit_code_is_the_commands(cli, monkeypatch, flags):
    monkeypatch.setattr(experiment, "train", lambda settings: 143)
    assert cli("train", "run_dir=run", *flags).code == 143


def test_ctrl_c_leaves_no_traceback(cli, monkeypatch):
    def interrupt(settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(experiment, "train", interrupt)
    assert cli("train")[:3] == (130, "", "")


@pytest.mark.parametrize("script", ["train", "translate"])
def test_help_and_the_config_are_shown(cli, tmp_path, script):
    ended = cli(script, "--help")
    assert (ended.code, ended.error) == (0, "")
    assert "model/encoder: gru, lstm, transformer" in ended.output
    ended = cli(script, "--cfg", "job")
    assert (ended.code, ended.error) == (0, "")
    assert yaml.safe_load(ended.output)
    assert list(tmp_path.iterdir()) == [] == ended.calls


def shell(*command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of a shell, under a locale that knows ASCII only; `$0` is Python."""
    return subprocess.run(
        ["sh", "-c", " ".join(command), sys.executable],
        cwd=folder,
        env={**os.environ, "LC_ALL": "C", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        encoding="utf-8",
    )


def test_a_real_shell_sees_one_line_and_exit_code_2(tmp_path):
    ended = shell(
        'exec "$0"', str(ROOT / "scripts/train.py"), "model.tie=größe <&-", folder=tmp_path
    )
    assert ended.stderr == (
        "error: `model.tie` must be one of none, target_output, all, but is 'größe'. "
        "Valid names are: all, none, target_output.\n"
    )
    assert (ended.returncode, ended.stdout) == (2, "")
    assert list(tmp_path.iterdir()) == []


def test_output_is_utf8_under_any_locale(tmp_path):
    script = str(ROOT / "scripts/train.py")
    ended = shell('exec "$0"', script, "--cfg job run_dir=größe_字", folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert yaml.safe_load(ended.stdout)["run_dir"] == "größe_字"


@pytest.fixture
def program(tmp_path) -> str:
    """A command that writes two million characters."""
    path = tmp_path / "program.py"
    path.write_text(
        "from pathlib import Path\n"
        "from seq2seq import experiment, launch\n"
        "def command(settings):\n"
        "    print('x\\n' * 1_000_000)\n"
        "    return 0\n"
        f"configs = Path({str(ROOT / 'configs')!r})\n"
        "launch.run(launch.for_training, experiment.TrainSettings, command, configs)\n",
        encoding="utf-8",
    )
    return '"$0" program.py'


def test_a_reader_who_has_seen_enough_is_no_error(program, tmp_path):
    ended = shell(program, "| head -n 1", folder=tmp_path)
    assert (ended.stdout, ended.stderr) == ("x\n", "")


def test_a_closed_output_is_no_error_and_a_full_one_is_one_line(program, tmp_path):
    ended = shell(program, ">&-", folder=tmp_path)
    assert (ended.returncode, ended.stderr) == (0, "")
    ended = shell(program, ">&- 2>&-", folder=tmp_path)
    assert ended.returncode == 0
    if Path("/dev/full").exists():
        ended = shell(program, "> /dev/full", folder=tmp_path)
        assert ended.stderr == "error: The output: No space left on device.\n"
        assert ended.returncode == 2
