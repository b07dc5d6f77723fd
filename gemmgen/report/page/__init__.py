"""Records to one static page: no server, no network, no script.

`documents` reads records, `svg` and `charts` draw, `figures` says what is drawn from which record,
`diffs` sets neighbours side by side, `page` puts it together, `browser` makes PNG files.
"""

from __future__ import annotations
