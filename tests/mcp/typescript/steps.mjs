// What the two TypeScript clients have in common: they do what they are told on standard input, one
// JSON object, `{"connections": [...]}`; README.md says what stands in it. All connections are made
// at once. For each, one line of JSON is printed.

import { existsSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const PATIENCE = 60_000;

/** Makes every connection that is asked for. `connect` makes one, and says what only its SDK knows. */
export async function main(connect) {
  const { connections } = JSON.parse(readFileSync(0, 'utf8'));
  await Promise.all(connections.map((plan) => run(plan, connect)));
}

async function run(plan, connect) {
  const [command, ...args] = plan.command ?? [];
  const connection = await connect(plan, { command, args, env: plan.environment });
  listen(connection, connection.client.transport);
  const steps = [];
  for (const step of plan.steps) steps.push(await tried(connection, step));
  console.log(JSON.stringify({ name: plan.name, protocol: connection.protocol(), steps }));
  await connection.client.close();
}

/** Keeps every message that comes in from now on, before the SDK has looked at it, and by what the
 * progress of the last call is told: that of one that was taken back may still come. */
function listen(connection, transport) {
  connection.heard = [];
  const { onmessage, send } = transport;
  transport.onmessage = (message, ...more) => {
    connection.heard.push(message);
    onmessage(message, ...more);
  };
  transport.send = (message, ...more) => {
    if (message.method === 'tools/call') connection.token = message.params._meta?.progressToken;
    return send.call(transport, message, ...more);
  };
}

async function tried(connection, step) {
  try {
    return await STEPS[step.do](connection, step);
  } catch (error) {
    if (typeof error.code !== 'number') throw error;
    return { error: { code: error.code, message: error.message } };
  }
}

const STEPS = {
  server: async ({ client }) => ({
    capabilities: client.getServerCapabilities(),
    info: client.getServerVersion(),
    instructions: client.getInstructions(),
  }),
  tools: ({ client }) => client.listTools(),
  resources: ({ client }) => client.listResources(),
  templates: ({ client }) => client.listResourceTemplates(),
  prompts: ({ client }) => client.listPrompts(),
  read: ({ client }, { uri }) => client.readResource({ uri }),
  prompt: ({ client }, { name, arguments: given }) => client.getPrompt({ name, arguments: given }),
  log: async ({ client }, { contains }) => {
    for (;;) {
      const { contents } = await client.readResource({ uri: 'test://log' });
      if (contents[0].text.split('\n').includes(contains)) return true;
      await sleep(10);
    }
  },
  call: async (connection, { name, arguments: given, meta }) => {
    const options = { onprogress: () => {}, timeout: PATIENCE };
    const result = await connection.call({ name, arguments: given, _meta: meta }, options);
    // As they came: the SDK forgets those that it reads together with the answer.
    const told = connection.heard.filter(
      ({ method, params }) => method === 'notifications/progress' && params.progressToken === connection.token,
    );
    return { result, progress: told.map(({ params }) => [params.progress, params.total, params.message]) };
  },
  cancel: async ({ call }, { name, arguments: given, file }) => {
    const stop = new AbortController();
    const begun = resolvers();
    const calling = call({ name, arguments: given }, { onprogress: begun.resolve, signal: stop.signal });
    const outcome = calling.then(
      (result) => ({ cancelled: false, result }),
      () => ({ cancelled: true }),
    );
    if (file === undefined) await Promise.race([begun.promise, outcome]);
    else while (!existsSync(file)) await sleep(10);
    stop.abort('changed my mind');
    return outcome;
  },
  concurrent: async ({ call }, { count }) => {
    const numbers = Array.from({ length: count }, (_, number) => number);
    const wrong = [];
    const calling = numbers.map(async (number) => {
      const given = { number, words: 'x'.repeat(number % 100) };
      const result = await call({ name: 'get_echo', arguments: given }, { timeout: PATIENCE });
      const got = result.structuredContent ?? {};
      if (got.number !== number || got.words !== given.words) wrong.push(result);
    });
    await Promise.all(calling);
    return { own: count - wrong.length, wrong: wrong.slice(0, 3) };
  },
  change: async ({ client, call, changes }) => {
    const { heard } = await changes();
    await call({ name: 'list_again', arguments: {} });
    await heard;
    return client.listTools();
  },
};

// Node 20 has no Promise.withResolvers.
function resolvers() {
  let resolve;
  const promise = new Promise((set) => {
    resolve = set;
  });
  return { promise, resolve };
}
