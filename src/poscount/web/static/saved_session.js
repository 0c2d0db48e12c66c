// A session as one file: its data files, how they are written, and what was chosen. The browser packs
// and unpacks it as a form with files, and sends what is in it like any other files: so nothing in
// such a file is believed that would not be believed of a file that somebody drops on the page.

import { Refusal } from "./api.js";

const VERSION = 2;

export async function pack(session, files, choices) {
  const form = new FormData();
  const about = files.map(({ role, settings }) => ({ role, settings }));
  form.append("session", JSON.stringify({ version: VERSION, files: about, choices }));
  for (const { id, name } of files) {
    const response = await fetch(`/api/sessions/${session}/files/${id}`);
    if (!response.ok) {
      throw new Refusal(response.status, `${name} is no longer on the server.`, null);
    }
    form.append("file", new File([await response.blob()], name));
  }
  return new Response(form).blob();
}

const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// The files with their roles and settings, and what was chosen.
export async function unpack(blob) {
  try {
    const [line] = (await blob.slice(0, 200).text()).split("\r\n");
    const type = `multipart/form-data; boundary=${line.slice(2)}`;
    const form = await new Response(blob, { headers: { "Content-Type": type } }).formData();
    const { version, files, choices } = JSON.parse(form.get("session"));
    const sent = form.getAll("file");
    const whole = files.every(({ role, settings }) => typeof role === "string" && isTable(settings)) && isTable(choices);
    if (version !== VERSION || files.length !== sent.length || !whole) {
      throw new Error("it was saved by another version, or changed");
    }
    return { files: files.map((about, i) => ({ ...about, file: sent[i] })), choices };
  } catch {
    throw new Refusal(0, "This is not a session that this page has saved, or it is damaged.", null);
  }
}
