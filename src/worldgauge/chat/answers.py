"""The answer in a model's text: reasoning is left out, and the last complete answer counts (docs/howto/policies.md)."""

from __future__ import annotations

import re

_WORD = r"(?:[a-z]{1,12}[:_-]?)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|rationale|scratchpad|cot)"
_NAME = rf"(?:{_WORD}|chain_of_thought|inner_monologue)"
_PIPED = r"(?:thinking|think|thought|reasoning)"
_FORMS = (
    # An opening and a closing mark. The first two are words, too: their closing marks need the opening ones.
    (r"\A\s{0,99}here(?:'s| is) my thought process:", r"here(?:'s| is) my response:"),
    (r"\Aanalysis(?=(?-i:[A-Z]))", r"assistantfinal"),
    (r"\[(?:think|thinking|reasoning)\]", r"\[/(?:think|thinking|reasoning)\]"),
    (r"◁think▷", r"◁/think▷"),
    (rf"<\|(?:begin|start)_(?:of_)?{_PIPED}\|>", rf"<\|end_(?:of_)?{_PIPED}\|>"),
    (r"<\|inner_prefix\|>", r"<\|inner_suffix\|>"),
    (r"<unused94>thought", r"<unused95>"),
    (r"<\|channel>thought", r"<channel\|>"),
    (r"<\|open\|>think<\|sep\|>", r"<\|close\|>think<\|sep\|>"),
    (r"<\|content_thinking\|>", r"<\|content_text\|>"),
    (r"<\|channel\|>(?!\s{0,9}final)", r"<\|channel\|>\s{0,9}final(?:[^<]|<(?!\|message)){0,120}<\|message\|>"),
    (
        rf"(?:<|&lt;)\|?\s?{_NAME}(?:\s[^<>]{{0,200}})?\|?(?:(?<!/)>|&gt;)",
        rf"(?:<|&lt;)\|?\s?/\s?{_NAME}\s?\|?(?:>|&gt;)",
    ),
)
_NEED_OPENING, _TAG = ("0", "1"), str(len(_FORMS) - 1)
_HINTS = "think thought reason reflection analysis rationale scratchpad cot monologue inner_ unused9 channel content_t"
"""Without one of these words a text has no mark."""
_MARK = re.compile(
    "|".join(f"(?P<o{n}>{opening})|(?P<c{n}>{closing})" for n, (opening, closing) in enumerate(_FORMS)), re.IGNORECASE
)
_CONTROL = re.compile(
    r"<\|(?:open|close)\|>\w{1,20}<\|sep\|>|<\|(?!(?:begin|end)_of_box\|)[^<>|\s]{1,40}\|>|<｜[^<>｜]{1,40}｜>"
)
"""Tokens of chat templates that some servers leave in the text; those around a boxed answer are read."""
_FAR = 20_000
"""Characters after a mark within which a quotation may end."""


def answer_text(text: str) -> str:
    """A model's text without its reasoning, which is between marks such as <think> and </think>.

    A closing mark alone ends reasoning from the start; an opening mark alone cuts the rest. Quoted marks are words.
    """
    spans = _answer_spans(text)
    if spans == [(0, len(text))] and "<|" not in text and "<｜" not in text:
        return text
    return _CONTROL.sub("", "\n".join(text[start:end] for start, end in spans))


def answer_start(text: str) -> int:
    """Where the answer begins behind all reasoning; the length of the text when there is none."""
    spans = _answer_spans(text)
    return spans[-1][0] if spans else len(text)


def last_object(text: str) -> str | None:
    """The last complete JSON object in an answer, as text that is not parsed yet; quotes may be single.

    Braces without a field are not an object, and nothing after an incomplete object counts.
    """
    found, at = None, 0
    while (opened := _OBJECT.search(text, at)) and (end := _end_of_object(text, opened.start())):
        found, at = text[opened.start() : end], end
    return found


_OBJECT = re.compile(r"\{(?=\s{0,999}(?:[\"']|\w{1,99}\s{0,99}:))")
_TOKEN = re.compile(r"\"(?:[^\"\\]|\\.)*+\"|(?<=[\s{\[,:])'(?:[^'\\]|\\.|(?<=\w)'(?=\w))*+'|[{}]", re.DOTALL)


def _end_of_object(text: str, start: int) -> int | None:
    """Where the object that begins at `start` ends; None when it does not."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        depth += (token[0] == "{") - (token[0] == "}")
        if not depth:
            return token.end()
    return None


def _answer_spans(text: str) -> list[tuple[int, int]]:
    """Start and end of each part of `text` outside reasoning; none when reasoning does not end."""
    lower = text.lower()
    if not any(word in lower for word in _HINTS.split()):
        return [(0, len(text))]
    spans: list[tuple[int, int]] = []
    inside: str | None = None
    start, counted, fences, left_open = 0, 0, 0, -1
    signs = {'"': 0, "`": 0}
    last_fence = text.rfind("```")
    for mark in _MARK.finditer(text):
        closing, name = str(mark.lastgroup).startswith("c"), _name_of(mark)
        passed = text[counted : mark.start()]
        counted = mark.end()
        fences += passed.count("```")
        _, newline, line = passed.replace("```", "").rpartition("\n")
        for sign in signs:
            signs[sign] = (0 if newline else signs[sign]) + line.count(sign) - line.count(f"\\{sign}")
        if any(count % 2 and _ends_on_line(text, sign, mark.end()) for sign, count in signs.items()):
            continue
        if inside is None and fences % 2 and last_fence > mark.end() and (not closing or left_open == fences):
            left_open = fences
            continue
        if closing and inside is None and name not in _NEED_OPENING:
            spans.clear()
        elif closing and inside == name:
            inside = None
        elif not closing and inside is None:
            spans.append((start, mark.start()))
            inside = name
        else:
            continue
        start, fences, left_open = mark.end(), 0, -1
        signs = dict.fromkeys(signs, 0)
    return [] if inside is not None else [*spans, (start, len(text))]


def _name_of(mark: re.Match[str]) -> str:
    """What the closing mark shares with the opening one: <think> may end with </thinking>, not with </analysis>."""
    form = str(mark.lastgroup)[1:]
    words = re.sub(r"\s.*|[^a-z]", "", mark[0].lower().lstrip("</& ").removeprefix("lt;"), flags=re.DOTALL)
    return form if form != _TAG else "think" if "think" in words or "thought" in words else words


def _ends_on_line(text: str, sign: str, start: int) -> bool:
    end = text.find(sign, start, start + _FAR)
    return end >= 0 and text.find("\n", start, end) < 0
