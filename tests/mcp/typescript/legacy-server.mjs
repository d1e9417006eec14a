// A server of the TypeScript SDK 1.x, which knows only the older era:
// `node legacy-server.mjs FOLDER [--http]`.

import { randomUUID } from 'node:crypto';

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { CAPABILITIES, OFFER, IS_HTTP, callTool, getPrompt, listTools, listen, readResource } from './tools.mjs';

function build() {
  const info = { name: 'test-typescript-legacy', version: '1.2.3', title: 'Test server' };
  const server = new Server(info, { capabilities: CAPABILITIES, instructions: OFFER.instructions });
  const about = ({ signal, _meta: meta, sendNotification }) => ({
    signal,
    meta,
    progress: async (params) => {
      const progressToken = meta?.progressToken;
      if (progressToken === undefined) return;
      await sendNotification({ method: 'notifications/progress', params: { ...params, progressToken } });
    },
    changed: () => server.sendToolListChanged(),
    ask: async (question, then) => then(await server.elicitInput({ mode: 'form', ...question })),
  });
  server.setRequestHandler(ListToolsRequestSchema, listTools);
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => callTool(params, about(extra)));
  server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: OFFER.resources }));
  server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: OFFER.templates }));
  server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => readResource(params));
  server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: OFFER.prompts }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params }) => getPrompt(params));
  return server;
}

const sessions = new Map();

async function handle(request, response) {
  const known = sessions.get(request.headers['mcp-session-id']);
  if (known !== undefined) return known.handleRequest(request, response);
  const transport = new StreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => sessions.set(id, transport),
  });
  await build().connect(transport);
  return transport.handleRequest(request, response);
}

if (IS_HTTP) listen(handle);
else await build().connect(new StdioServerTransport());
