// Further work on an estimate: begin it, and wait for its result.

import { ask, pause, Refusal } from "./api.js";

// `tell` gets what is being done; what comes is null if `wanted` says that nobody waits any more.
export async function followUp(path, kind, request, tell, wanted = () => true) {
  let told = await ask("POST", `${path}/follow-ups`, { kind, ...request });
  while (["waiting", "running"].includes(told.state)) {
    tell(told.step ? `${told.step} …` : "Waiting …");
    await pause();
    if (!wanted()) {
      return null;
    }
    told = await ask("GET", `${path}/follow-ups/${kind}`);
  }
  tell("");
  if (told.state !== "done") {
    throw new Refusal(0, told.error?.message ?? "It was stopped.", told.error?.field);
  }
  return told;
}
