"""A server of the Python SDK, in both eras, that offers what `offer.json` says.

`server.py FOLDER`: what it has done stands in FOLDER/log, one line each, so that a test can see what
really ran. With `--http` it listens instead, and writes its port to FOLDER/port.
"""

import json
import socket
import sys
from pathlib import Path

import anyio
import mcp_types as types
import uvicorn
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError

OFFER = json.loads((Path(__file__).parent.parent / "offer.json").read_text("utf-8"))
LOG = Path(sys.argv[1]) / "log"
MODERN = "2026-07-28"

bus = InMemorySubscriptionBus()
version = 1


def note(line):
    with LOG.open("a", encoding="utf-8") as log:
        log.write(line + "\n")


def text(words, **more):
    return {"content": [{"type": "text", "text": words}], **more}


async def list_tools(_context, _params):
    tools = json.loads(json.dumps(OFFER["tools"]))
    for tool in tools:
        tool["description"] = tool["description"].replace("Version 1.", f"Version {version}.")
    return types.ListToolsResult.model_validate({"tools": tools})


async def call_tool(context, params):
    tool = TOOLS.get(params.name)
    if tool is None:
        raise MCPError(types.INVALID_PARAMS, f"no tool `{params.name}`")
    result = await tool(context, params, params.arguments or {})
    return result if isinstance(result, types.Result) else types.CallToolResult.model_validate(result)


async def get_weather(_context, _params, _arguments):
    return OFFER["weather"]


async def count_slowly(context, _params, arguments):
    steps, label = arguments["steps"], arguments["label"]
    note(f"began {label}")
    try:
        for step in range(1, steps + 1):
            await anyio.sleep(arguments["pause"] / 1000)
            await context.session.report_progress(step, steps, f"{label} {step}")
    except anyio.get_cancelled_exc_class():
        note(f"cancelled {label}")
        raise
    note(f"finished {label}")
    return text(f"counted to {steps}")


async def get_echo(context, _params, arguments):
    own = {key: value for key, value in (context.meta or {}).items() if key.startswith("example.org/")}
    return text(json.dumps(arguments), structuredContent=arguments, _meta=own)


async def get_version(_context, _params, _arguments):
    return text(f"version {version}")


async def list_again(context, _params, _arguments):
    global version
    version += 1
    if context.protocol_version == MODERN:
        await bus.publish(ToolsListChanged())
    else:
        await context.session.send_tool_list_changed()
    return text("refreshed")


async def ask_name(context, params, _arguments):
    question = OFFER["question"]
    if context.protocol_version != MODERN:
        answer = await context.session.elicit_form(question["message"], question["requestedSchema"])
        return text(f"{answer.action} {(answer.content or {}).get('name')}")
    answer = (params.input_responses or {}).get("name")
    if answer is None:
        request = {"method": "elicitation/create", "params": {"mode": "form", **question}}
        asked = {"inputRequests": {"name": request}, "requestState": "asked", "resultType": "input_required"}
        return types.InputRequiredResult.model_validate(asked)
    return text(f"{answer.action} {(answer.content or {}).get('name')}")


async def delete_everything(_context, _params, arguments):
    note(f"deleted {arguments['label']}")
    return text("deleted")


TOOLS = {
    "get_weather": get_weather,
    "count_slowly": count_slowly,
    "get_echo": get_echo,
    "get_version": get_version,
    "list_again": list_again,
    "ask_name": ask_name,
    "delete_everything": delete_everything,
}


async def list_resources(_context, _params):
    return types.ListResourcesResult.model_validate({"resources": OFFER["resources"]})


async def list_templates(_context, _params):
    return types.ListResourceTemplatesResult.model_validate({"resourceTemplates": OFFER["templates"]})


async def read_resource(_context, params):
    if params.uri == "test://notes":
        contents = OFFER["notes"]
    elif params.uri == "test://log":
        log = LOG.read_text("utf-8") if LOG.exists() else ""
        contents = [{"uri": params.uri, "mimeType": "text/plain", "text": log}]
    else:
        raise MCPError(types.INVALID_PARAMS, f"no resource `{params.uri}`")
    return types.ReadResourceResult.model_validate({"contents": contents})


async def list_prompts(_context, _params):
    return types.ListPromptsResult.model_validate({"prompts": OFFER["prompts"]})


async def get_prompt(_context, params):
    words = f"Please greet {(params.arguments or {}).get('name')}."
    message = {"role": "user", "content": {"type": "text", "text": words}}
    answer = {"description": "A greeting", "messages": [message], "_meta": {"example.org/mood": "kind"}}
    return types.GetPromptResult.model_validate(answer)


async def main():
    server = Server(
        "test-python",
        version="1.2.3",
        title="Test server",
        instructions=OFFER["instructions"],
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
        on_subscriptions_listen=ListenHandler(bus),
    )
    if sys.argv[2:] == ["--http"]:
        return await listen(server.streamable_http_app())
    options = server.create_initialization_options(NotificationOptions(tools_changed=True))
    async with stdio_server() as (reading, writing):
        await server.run(reading, writing, options)


async def listen(app):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        # In one step, so that nobody reads half of it.
        port = LOG.with_name("port")
        port.with_suffix(".new").write_text(str(listening.getsockname()[1]), "utf-8")
        port.with_suffix(".new").rename(port)
        config = uvicorn.Config(app, log_level="warning")
        await uvicorn.Server(config).serve(sockets=[listening])


if __name__ == "__main__":
    anyio.run(main)
