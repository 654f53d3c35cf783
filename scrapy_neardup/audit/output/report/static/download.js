// Files made in the browser, for spreadsheets and programs.

/** A cell of CSV that no spreadsheet takes for a formula. */
function csvCell(value) {
  const text = String(value ?? "");
  const safe = /^[\s\u0000-\u001f]*[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) || /^[\t\r\n]/.test(text) ? `'${text}` : text;
  return `"${safe.replaceAll('"', '""')}"`;
}

/** The parts of a CSV file, with the mark by which spreadsheets know UTF-8. */
function* csv(header, rows) {
  yield `\ufeff${header.map(csvCell).join(",")}\r\n`;
  for (const row of rows) yield `${row.map(csvCell).join(",")}\r\n`;
}

function download(name, type, parts) {
  const address = URL.createObjectURL(new Blob([...parts], { type }));
  const link = element("a", { href: address, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
