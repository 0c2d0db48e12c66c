"""``results``: a table from a CSV file, so that a page cannot differ from it."""

import csv

from docutils import nodes
from docutils.parsers.rst import Directive, directives


class Results(Directive):
    """Chosen rows and columns of a CSV file beside the page; the first column names the rows."""

    required_arguments = 1
    option_spec = {  # noqa: RUF012
        "rows": directives.unchanged_required,
        "columns": directives.unchanged_required,
        "digits": directives.nonnegative_int,
    }

    def run(self):
        """Read the file and make the table; numbers get as many digits as asked for."""
        environment = self.state.document.settings.env
        _, path = environment.relfn2path(self.arguments[0])
        environment.note_dependency(path)
        with open(path, newline="", encoding="utf-8") as file:
            header, *body = csv.reader(file)
        columns = [name.strip() for name in self.options["columns"].split(";")]
        chosen = [name.strip() for name in self.options["rows"].split(";")]
        by_name = {row[0]: dict(zip(header, row, strict=True)) for row in body}
        digits = self.options.get("digits", 1)
        rows = [[header[0], *columns]]
        for name in chosen:
            rows.append([name, *(_cell(by_name[name][column], digits) for column in columns)])
        return [_table(rows)]


def _cell(text, digits):
    return f"{float(text):.{digits}f}" if text else ""


def _table(rows):
    group = nodes.tgroup(cols=len(rows[0]))
    group += [nodes.colspec(colwidth=1) for _ in rows[0]]
    for part, lines in ((nodes.thead(), rows[:1]), (nodes.tbody(), rows[1:])):
        for line in lines:
            row = nodes.row()
            row += [nodes.entry("", nodes.paragraph(text=cell)) for cell in line]
            part += row
        group += part
    return nodes.table("", group)


def setup(app):
    """Tell Sphinx."""
    app.add_directive("results", Results)
    return {"parallel_read_safe": True}
