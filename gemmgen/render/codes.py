"""What each R code means, at length (`gemmgen explain`)."""

from __future__ import annotations

from collections.abc import Mapping

CODES: Mapping[str, str] = {
    "R301": "A partial asks for a fact that the plan does not have, or breaks a rule of Jinja. The"
    " fault is in templates/ or in the plan, never in the spec; file and line of the partial are"
    " shown.",
    "R302": "What the templates print for this spec is not Python, so the formatter refuses it. The"
    " fault is in templates/, never in the spec.",
    "R303": "The file that would be written is a spec, or the kernel of another spec. By default"
    " the `# spec:` line at its top says so: a copy of a spec outside of specs/ that kept its name,"
    " most likely. With `-o FILE` its place in generated/ does. `-o` of another file writes"
    " elsewhere.",
}
