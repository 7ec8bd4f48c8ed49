"""Files to a repository of the Hugging Face Hub, many in one commit: it allows only so many commits an hour."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from worldgauge.core.errors import DataError

TOGETHER = 50
"""Files of one commit. The Hub advises fewer than 100, and takes 128 commits an hour (2026)."""

_NOT_ALLOWED = (401, 403)


def counts_commits(files: Any, base: str) -> bool:
    """Whether a place is a repository of the Hub; a bucket of the Hub has no commits.

    Args:
        files: A file system of fsspec.
        base: The path of the place in it.
    """
    kinds = (files.protocol,) if isinstance(files.protocol, str) else files.protocol
    return "hf" in kinds and not base.startswith("buckets/")


def commit(files: Any, contents: Mapping[str, Path | bytes]) -> None:
    """Add files to a repository in one commit. Content that the Hub has received before is not sent again.

    Args:
        files: The Hub's file system, which knows its address and the token.
        contents: The files, or what they hold, by their paths in the file system. At least one.

    Raises:
        DataError: There is no such repository, or its owner has not allowed this.
    """
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

    first = next(iter(contents))
    try:
        places = {path: files.resolve_path(path) for path in contents}
    except FileNotFoundError as error:
        raise DataError(f"hf://{first}: the Hub shows no such repository; make it there first, and log in") from error
    place = places[first]
    additions = [
        CommitOperationAdd(places[path].path_in_repo, content if isinstance(content, bytes) else str(content))
        for path, content in contents.items()
    ]
    more = f" and {len(additions) - 1} more" if len(additions) > 1 else ""
    try:
        HfApi(endpoint=files.endpoint, token=files.token).create_commit(
            place.repo_id,
            additions,
            commit_message=f"Add {additions[0].path_in_repo}{more}",
            repo_type=place.repo_type,
            revision=place.revision,
        )
    except HfHubHTTPError as error:
        if error.response is not None and error.response.status_code in _NOT_ALLOWED:
            raise DataError(
                f"hf://{first}: not allowed to write; log in (hf auth login) with a token that may write"
            ) from error
        raise
