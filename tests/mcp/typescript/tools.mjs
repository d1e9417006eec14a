// What the two TypeScript servers have in common: they offer what `offer.json` says. What they have
// done stands in FOLDER/log, one line each, so that a test can see what really ran.

import { appendFileSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const OFFER = JSON.parse(readFileSync(new URL('../offer.json', import.meta.url), 'utf8'));
export const CAPABILITIES = { tools: { listChanged: true }, resources: {}, prompts: {} };

export const IS_HTTP = process.argv[3] === '--http';

const LOG = join(process.argv[2], 'log');
let version = 1;

/** Serves over HTTP, and writes to FOLDER/port where. */
export function listen(handle) {
  const server = createServer(handle);
  server.listen(0, '127.0.0.1', () => {
    // In one step, so that nobody reads half of it.
    const port = join(process.argv[2], 'port');
    writeFileSync(`${port}.new`, String(server.address().port));
    renameSync(`${port}.new`, port);
  });
}

function note(line) {
  appendFileSync(LOG, `${line}\n`);
}

export function text(words, more = {}) {
  return { content: [{ type: 'text', text: words }], ...more };
}

/** An error that the SDKs turn into one of JSON-RPC. */
function refused(message) {
  return Object.assign(new Error(message), { code: -32602 });
}

export function listTools() {
  const tools = structuredClone(OFFER.tools);
  for (const tool of tools) tool.description = tool.description.replace('Version 1.', `Version ${version}.`);
  return { tools };
}

/** Runs a tool. `request` is what the SDK knows about the call, under names of our own. */
export async function callTool({ name, arguments: given = {} }, request) {
  const tool = TOOLS[name];
  if (tool === undefined) throw refused(`no tool \`${name}\``);
  return tool(given, request);
}

const TOOLS = {
  get_weather: () => OFFER.weather,
  count_slowly: async ({ steps, pause, label }, { signal, progress }) => {
    note(`began ${label}`);
    for (let step = 1; step <= steps; step += 1) {
      await sleep(pause);
      if (signal.aborted) {
        note(`cancelled ${label}`);
        return text('cancelled');
      }
      await progress({ progress: step, total: steps, message: `${label} ${step}` });
    }
    note(`finished ${label}`);
    return text(`counted to ${steps}`);
  },
  get_echo: (given, { meta = {} }) => {
    const own = Object.entries(meta).filter(([key]) => key.startsWith('example.org/'));
    return text(JSON.stringify(given), { structuredContent: given, _meta: Object.fromEntries(own) });
  },
  get_version: () => text(`version ${version}`),
  list_again: async (_given, { changed }) => {
    version += 1;
    await changed();
    return text('refreshed');
  },
  ask_name: (_given, { ask }) => ask(OFFER.question, (answer) => text(`${answer.action} ${answer.content?.name}`)),
  delete_everything: ({ label }) => {
    note(`deleted ${label}`);
    return text('deleted');
  },
};

export function readResource({ uri }) {
  if (uri === 'test://notes') return { contents: OFFER.notes };
  if (uri !== 'test://log') throw refused(`no resource \`${uri}\``);
  let log = '';
  try {
    log = readFileSync(LOG, 'utf8');
  } catch {
    // Nothing has happened yet.
  }
  return { contents: [{ uri, mimeType: 'text/plain', text: log }] };
}

export function getPrompt({ arguments: given = {} }) {
  const content = { type: 'text', text: `Please greet ${given.name}.` };
  const messages = [{ role: 'user', content }];
  return { description: 'A greeting', messages, _meta: { 'example.org/mood': 'kind' } };
}
