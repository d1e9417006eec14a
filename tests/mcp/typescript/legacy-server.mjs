// A server of the TypeScript SDK 1.x, which knows only the older era: `node legacy-server.mjs FOLDER`.

import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import {
  CallToolRequestSchema,
  GetPromptRequestSchema,
  ListPromptsRequestSchema,
  ListResourceTemplatesRequestSchema,
  ListResourcesRequestSchema,
  ListToolsRequestSchema,
  ReadResourceRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';

import { CAPABILITIES, OFFER, callTool, getPrompt, listTools, readResource } from './tools.mjs';

const info = { name: 'test-typescript-legacy', version: '1.2.3', title: 'Test server' };
const server = new Server(info, { capabilities: CAPABILITIES, instructions: OFFER.instructions });

function about({ signal, _meta: meta, sendNotification }) {
  return {
    signal,
    meta,
    progress: async (params) => {
      const progressToken = meta?.progressToken;
      if (progressToken === undefined) return;
      await sendNotification({ method: 'notifications/progress', params: { ...params, progressToken } });
    },
    changed: () => server.sendToolListChanged(),
    ask: async (question, then) => then(await server.elicitInput({ mode: 'form', ...question })),
  };
}

server.setRequestHandler(ListToolsRequestSchema, listTools);
server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => callTool(params, about(extra)));
server.setRequestHandler(ListResourcesRequestSchema, () => ({ resources: OFFER.resources }));
server.setRequestHandler(ListResourceTemplatesRequestSchema, () => ({ resourceTemplates: OFFER.templates }));
server.setRequestHandler(ReadResourceRequestSchema, ({ params }) => readResource(params));
server.setRequestHandler(ListPromptsRequestSchema, () => ({ prompts: OFFER.prompts }));
server.setRequestHandler(GetPromptRequestSchema, ({ params }) => getPrompt(params));

await server.connect(new StdioServerTransport());
