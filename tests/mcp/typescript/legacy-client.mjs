// A client of the TypeScript SDK 1.x, which knows only the older era, that does what `steps.mjs` says.

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';

import { main } from './steps.mjs';

async function connect({ elicit, url }, server) {
  const capabilities = elicit === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client({ name: 'test-typescript-legacy', version: '1' }, { capabilities });
  if (elicit !== undefined) client.setRequestHandler(ElicitRequestSchema, () => elicit);
  const transport =
    url === undefined ? new StdioClientTransport(server) : new StreamableHTTPClientTransport(new URL(url));
  let version;
  const told = transport.setProtocolVersion?.bind(transport);
  transport.setProtocolVersion = (negotiated) => {
    version = negotiated;
    told?.(negotiated);
  };
  await client.connect(transport);
  return {
    client,
    protocol: () => version,
    call: (params, options) => client.callTool(params, undefined, options),
    changes: async () => {
      const heard = new Promise((resolve) =>
        client.setNotificationHandler(ToolListChangedNotificationSchema, resolve),
      );
      return { heard };
    },
  };
}

await main(connect);
