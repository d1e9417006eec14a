// A server of the TypeScript SDK 2.x, in both eras: `node server.mjs FOLDER [--http]`.

import { getRequestListener } from '@hono/node-server';
import { Server, createMcpHandler, inputRequired } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';

import { CAPABILITIES, OFFER, IS_HTTP, callTool, getPrompt, listTools, listen, readResource } from './tools.mjs';

const KEY = 'name';

function build() {
  const info = { name: 'test-typescript', version: '1.2.3', title: 'Test server' };
  const server = new Server(info, { capabilities: CAPABILITIES, instructions: OFFER.instructions });
  const about = ({ mcpReq }) => ({
    signal: mcpReq.signal,
    meta: mcpReq._meta,
    progress: async (params) => {
      const progressToken = mcpReq._meta?.progressToken;
      if (progressToken === undefined) return;
      await mcpReq.notify({ method: 'notifications/progress', params: { ...params, progressToken } });
    },
    // Over HTTP each request has a server of its own, and all of them have one handler.
    changed: async () => (IS_HTTP ? handler.notify.toolsChanged() : server.sendToolListChanged()),
    // In the older era the SDK asks the client itself, and then calls the tool again.
    ask: (question, then) => {
      const answer = mcpReq.inputResponses?.[KEY];
      if (answer !== undefined) return then(answer);
      return inputRequired({ inputRequests: { [KEY]: inputRequired.elicit(question) }, requestState: 'asked' });
    },
  });
  server.setRequestHandler('tools/list', listTools);
  server.setRequestHandler('tools/call', ({ params }, context) => callTool(params, about(context)));
  server.setRequestHandler('resources/list', () => ({ resources: OFFER.resources }));
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: OFFER.templates }));
  server.setRequestHandler('resources/read', ({ params }) => readResource(params));
  server.setRequestHandler('prompts/list', () => ({ prompts: OFFER.prompts }));
  server.setRequestHandler('prompts/get', ({ params }) => getPrompt(params));
  return server;
}

const handler = createMcpHandler(build);
if (IS_HTTP) listen(getRequestListener(handler.fetch));
else serveStdio(build);
