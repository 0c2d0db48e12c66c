"""Workbooks of several formats, made of rows of cells."""

import datetime
import io
import zipfile
from xml.sax.saxutils import escape


def xlsx(sheets, hidden=()):
    """Bytes of an .xlsx file; `sheets` maps names to rows of cells, None is an empty cell."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
        if name in hidden:
            sheet.sheet_state = "hidden"
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def xls(sheets):
    """Bytes of an .xls file."""
    import xlwt

    book = xlwt.Workbook()
    as_date = xlwt.easyxf(num_format_str="YYYY-MM-DD")
    for name, rows in sheets.items():
        sheet = book.add_sheet(name)
        for i, row in enumerate(rows):
            for j, cell in enumerate(row):
                if isinstance(cell, datetime.date):
                    sheet.write(i, j, cell, as_date)
                elif cell is not None:
                    sheet.write(i, j, cell)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


_ODS = """<?xml version="1.0" encoding="UTF-8"?><office:document-content
 xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"
 xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"
 xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0" office:version="1.2">
<office:body><office:spreadsheet>{}</office:spreadsheet></office:body></office:document-content>"""
_MANIFEST = """<?xml version="1.0" encoding="UTF-8"?><manifest:manifest
 xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"></manifest:manifest>"""


def ods(sheets):
    """Bytes of an .ods file."""
    tables = []
    for name, rows in sheets.items():
        lines = "".join(
            f"<table:table-row>{''.join(map(_ods_cell, row))}</table:table-row>" for row in rows
        )
        tables.append(f'<table:table table:name="{escape(name)}">{lines}</table:table>')
    buffer = io.BytesIO()
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("mimetype", kind)
        archive.writestr("META-INF/manifest.xml", _MANIFEST)
        archive.writestr("content.xml", _ODS.format("".join(tables)))
    return buffer.getvalue()


def _ods_cell(cell):
    kind, value = "string", None
    if cell is None:
        return "<table:table-cell/>"
    if isinstance(cell, bool):
        kind, value = "boolean", f'office:boolean-value="{str(cell).lower()}"'
    elif isinstance(cell, int | float):
        kind, value = "float", f'office:value="{cell}"'
    elif isinstance(cell, datetime.date):
        kind, value = "date", f'office:date-value="{cell.isoformat()}"'
    shown = f"<text:p>{escape(str(cell))}</text:p>"
    return f'<table:table-cell office:value-type="{kind}" {value or ""}>{shown}</table:table-cell>'
