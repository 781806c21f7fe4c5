"""The page of a reproduction, as Markdown that needs nothing else and depends on the findings alone."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from diptych.experiments.reproduce.page_claims import claim_lines
from diptych.experiments.reproduce.page_parts import lower_headings, side_by_side_lines
from diptych.experiments.reproduce.page_scores import ranking_lines, score_lines
from diptych.experiments.reproduce.standings import MEASURES
from diptych.experiments.reproduce.wording import plain, table

_PROTOCOL_TITLES = {
    "transductive": "Transductive: training also sees the features of test items, as in the paper",
    "inductive": "Inductive: training sees the training split alone",
}


def render_page(content: Mapping[str, Any]) -> str:
    """Write the page from the content of `reproduction.json`."""
    lines = [f"# {content['title']}: the comparison of CDMLMR, run again", "", f"The paper: {content['paper']}", ""]
    if "parts" not in content:
        return "\n".join([*lines, *_part_lines(content, _console(content))]) + "\n"
    lines += [f"- {part['title']}: {_verdict_counts(part)}." for part in content["parts"].values()]
    lines += ["", content["caveat"], "", *_console(content), "", *side_by_side_lines(content)]
    for part in content["parts"].values():
        lines += ["", f"## {part['title']}", "", lower_headings("\n".join(_part_lines(part)))]
    return "\n".join(lines) + "\n"


def _part_lines(content: Mapping[str, Any], command: Sequence[str] = ()) -> list[str]:
    """All about one dataset; the command is left out where it stands above."""
    lines = [_summary(content), "", *_setting(content, command), "", *claim_lines(content)]
    for protocol in content["protocols"]:
        lines += ["", f"## {_PROTOCOL_TITLES[protocol]}", "", f"Training saw: {_words(content, protocol)}."]
        for measure in MEASURES:
            lines += ["", *score_lines(content, protocol, "plain", measure)]
        lines += ["", *ranking_lines(content, protocol, "plain")]
        for measure in MEASURES:
            lines += ["", *score_lines(content, protocol, "z-scored", measure)]
        lines += _missing(content, protocol)
    return [*lines, "", *_environment(content)]


def _verdict_counts(content: Mapping[str, Any]) -> str:
    """How many claims held, under the paper's own protocol and plain cosine."""
    protocol = next(iter(content["protocols"]))
    claims = [claim["verdicts"] for claim in content["claims"] if claim["of_paper"]]
    verdicts = [each.get(protocol) or next(iter(each.values())) for each in claims]
    counts = Counter(verdict["plain"]["outcome"] for verdict in verdicts)
    shown = ", ".join(f"{counts[name]} {name}" for name in ("reproduced", "not reproduced", "cannot be tested"))
    return f"of {len(verdicts)} claims under the {protocol} protocol: {shown}"


def _summary(content: Mapping[str, Any]) -> str:
    counts = _verdict_counts(content)
    comparable = (
        "The inputs are the paper's, so absolute figures can be compared."
        if content["inputs"]["same_as_paper"]
        else f"**The inputs are not the paper's ({plain(content['inputs']['words'])}): absolute figures are not "
        "comparable, only orders are.**"
    )
    return f"{counts[0].upper()}{counts[1:]}. {comparable}"


def _console(content: Mapping[str, Any]) -> list[str]:
    """The command, and what the person who ran it has to say."""
    note = plain(content["note"])
    return ["```console", f"$ {content['command']}", "```", *(["", note] if note else [])]


def _setting(content: Mapping[str, Any], command: Sequence[str]) -> list[str]:
    dataset, chance = content["dataset"], content["chance"]
    splits = ", ".join(f"{count:,} {name}" for name, count in dataset["splits"].items())
    rows = [[name, each["paper"], plain(each["here"])] for name, each in content["inputs"]["modalities"].items()]
    hours = content["fit_seconds"] / 3600
    lines = [
        *([*command, ""] if command else []),
        f"Dataset `{dataset['fingerprint']}`: {splits} items, {len(dataset['classes'])} classes"
        + (f"; {plain(dataset['source'])}." if dataset["source"] else "."),
        f"Seeds {', '.join(map(str, content['seeds']))}. Fitting took {hours:.2f} hours, each run counted as from a "
        f"cold start. A random ranking has MAP {chance['map']:.3f} and MAP@50 {chance['map@50']:.3f}.",
        "",
        *table(["input", "the paper", "here"], rows),
    ]
    caveat = content["inputs"]["caveat"]
    return [*lines, "", caveat] if caveat and command else lines


def _words(content: Mapping[str, Any], protocol: str) -> str:
    found = content["protocols"][protocol]
    shared = any(each["shared_with_inductive"] for each in found["methods"].values())
    return plain(found["words"]) + ("; methods that read no such pool share their inductive run" if shared else "")


def _missing(content: Mapping[str, Any], protocol: str) -> list[str]:
    missing = content["protocols"][protocol]["missing"]
    return [line for name, reason in missing.items() for line in ("", f"`{plain(name)}` {plain(reason)}")]


def _environment(content: Mapping[str, Any]) -> list[str]:
    versions, machine = content["environment"]["versions"], content["environment"]["machine"]
    shown = ", ".join(f"{name} {version}" for name, version in versions.items())
    kind = f"{machine['system']}, {machine['architecture']}, {plain(machine['processor'])}, {machine['cores']} cores"
    return ["## Computed with", "", f"{shown}; {kind}."]
