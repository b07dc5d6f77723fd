"""`gemmgen schema`: the JSON Schema of a spec, for completion in editors."""

from __future__ import annotations

import json
from pathlib import Path

import click

from gemmgen.files import write_atomic
from gemmgen.spec.schema import json_schema


@click.command("schema")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write to this file.")
def command(output: Path | None) -> None:
    """Print the JSON Schema of a spec."""
    text = json.dumps(json_schema(), indent=2) + "\n"
    if output is None:
        click.echo(text, nl=False)
    else:
        write_atomic(output, text)
