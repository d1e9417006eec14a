// A client of the TypeScript SDK 2.x, in both eras, that does what `steps.mjs` says.

import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';

import { main } from './steps.mjs';

const CHANGED = 'notifications/tools/list_changed';

async function connect({ era, elicit, url }, server) {
  const capabilities = elicit === undefined ? {} : { elicitation: { form: {} } };
  const versionNegotiation = { mode: era === 'legacy' ? 'legacy' : 'auto' };
  const info = { name: 'test-typescript', version: '1' };
  const client = new Client(info, { capabilities, versionNegotiation });
  if (elicit !== undefined) client.setRequestHandler('elicitation/create', () => elicit);
  const remote = () => new StreamableHTTPClientTransport(new URL(url));
  await client.connect(url === undefined ? new StdioClientTransport(server) : remote());
  const protocol = () => client.getNegotiatedProtocolVersion();
  return {
    client,
    protocol,
    call: (params, options) => client.callTool(params, options),
    // A promise in an object, because a promise of a promise would be waited for.
    changes: async () => {
      const heard = new Promise((resolve) => client.setNotificationHandler(CHANGED, resolve));
      if (protocol() === '2026-07-28') await client.listen({ toolsListChanged: true });
      return { heard };
    },
  };
}

await main(connect);
