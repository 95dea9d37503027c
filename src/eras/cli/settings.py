"""Options made from the fields of a configuration, so that each setting is explained in one place."""

from __future__ import annotations

import inspect
import types
from collections.abc import Collection
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typer
from pydantic import BaseModel


def with_setting_options(command: Any, config: type[BaseModel], without: Collection[str] = ()) -> Any:
    """Replace the command's `**settings` by one option for each field of `config`; those not given are None."""
    own = [p for p in inspect.signature(command, eval_str=True).parameters.values() if p.name != "settings"]
    options = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own[1:]]
    taken = {*without, *(p.name for p in own)}
    command.__signature__ = inspect.Signature([own[0], *options, *_options(config, taken)])
    command.__annotations__ = {p.name: p.annotation for p in command.__signature__.parameters.values()}
    return command


def _options(config: type[BaseModel], taken: Collection[str]) -> list[inspect.Parameter]:
    options = []
    for name, field in config.model_fields.items():
        if name in taken:
            continue
        flag, kind, metavar = name.replace("_", "-"), _plain(field.annotation), None
        if get_origin(kind) is Literal:
            kind, metavar = str, "[" + "|".join(get_args(kind)) + "]"
        option = typer.Option(
            f"--{flag}/--no-{flag}" if kind is bool else f"--{flag}",
            help=field.description,
            metavar=metavar,
            rich_help_panel="Settings",
            show_default=False,
        )
        annotation = Annotated[kind | None, option]  # type: ignore[valid-type]  # a type made at run time
        options.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation))
    return options


def _plain(annotation: Any) -> Any:
    """The type without its None."""
    if get_origin(annotation) in (Union, types.UnionType):
        return next(kind for kind in get_args(annotation) if kind is not type(None))
    return annotation
